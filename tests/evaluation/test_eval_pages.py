"""The page of figures: what its tables and pictures are made with, and that they are there."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EVAL = Path(__file__).parents[2] / "eval"
LARGEST_PICTURE = 100_000  # bytes


@pytest.fixture(scope="module")
def tables() -> dict:
    return runpy.run_path(str(EVAL / "tables.py"))


def test_a_map_keeps_distances_that_a_plane_can_show():
    """Points on a sphere's small cap lie as they did, up to turning; nearly all of it is shown."""
    scaled = runpy.run_path(str(EVAL / "map.py"))["scaled"]
    flat = np.random.default_rng(0).normal(0, 0.01, (12, 2))
    points = np.column_stack([flat, np.sqrt(1 - (flat**2).sum(axis=1))])
    places, shown = scaled(points @ points.T)

    def distances(rows):
        return np.linalg.norm(rows[:, None] - rows, axis=2)

    np.testing.assert_allclose(distances(points), distances(places), atol=1e-3)
    assert shown > 0.99


def test_a_share_carries_its_interval(tables):
    row = {"rank1": 0.5, "match_rate": 1.0, "rank1_dance": None, "intervals": {"rank1": [0.4, 0.6123]}}

    assert "50.0% (40.0 to 61.2)" == tables["share"](row, "rank1")
    assert "100.0%" == tables["share"](row, "match_rate")
    assert "-" == tables["share"](row, "rank1_dance")


def test_every_suite_stands_beside_chance_and_the_paper(tables):
    """Chance first, then what the paper prints, then the floor, time warping and ours."""
    for suite in tables["SUITES"]:
        text = "\n".join(tables["suite_table"](suite))
        expected = ["*chance*", *(name for name, *_ in tables["PAPER"].get(suite, ()))]
        names = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines()[4:] if line]

        assert expected == names[: len(expected)]
        assert {"stage1", "two-stage", "brute-force", "paper", "kmeans", "dtw"} <= set(names)


def test_a_result_that_is_missing_is_one_line(tmp_path):
    """It is named, and how to have it again is said."""
    for file in ("tables.py", "README.md"):
        shutil.copy(EVAL / file, tmp_path)
    done = subprocess.run(
        [sys.executable, tmp_path / "tables.py", "--check"], capture_output=True, text=True, check=False
    )

    assert (1, "") == (done.returncode, done.stdout)
    assert f"{tmp_path / 'results' / 'aist.jsonl'} is missing; 'make eval' measures it\n" == done.stderr


def test_the_pictures_are_there_and_small():
    named = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (EVAL / "README.md").read_text(encoding="utf-8"))

    expected = {"ranks", "confusion", "length", "strength", "calibration", "calibration-real", "map"}
    assert {f"{name}.png" for name in expected} == set(named)
    assert [] == [name for name in named if not 0 < (EVAL / name).stat().st_size < LARGEST_PICTURE]
