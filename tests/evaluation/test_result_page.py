"""The page of figures: its tables, its pictures, and the results that they are made of."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from evaluation_samples import EVAL, load_script

LARGEST_PICTURE = 100_000  # bytes


@pytest.fixture(scope="module")
def tables() -> dict:
    return load_script("suite_tables.py")


def test_a_map_keeps_distances_that_a_plane_can_show():
    """Points on a sphere's small cap lie as they did, up to turning; nearly all of it is shown."""
    scale_to_plane = load_script("studies/similarity_map.py")["scale_to_plane"]
    flat = np.random.default_rng(0).normal(0, 0.01, (12, 2))
    points = np.column_stack([flat, np.sqrt(1 - (flat**2).sum(axis=1))])
    places, shown = scale_to_plane(points @ points.T)

    def distances(rows):
        return np.linalg.norm(rows[:, None] - rows, axis=2)

    np.testing.assert_allclose(distances(points), distances(places), atol=1e-3)
    assert shown > 0.99


def test_a_share_carries_its_interval(tables):
    row = {"rank1": 0.5, "match_rate": 1.0, "rank1_dance": None, "intervals": {"rank1": [0.4, 0.6123]}}

    assert "50.0% (40.0 to 61.2)" == tables["format_share"](row, "rank1")
    assert "100.0%" == tables["format_share"](row, "match_rate")
    assert "-" == tables["format_share"](row, "rank1_dance")


def test_every_suite_stands_beside_chance_and_the_paper(tables):
    """Chance first, then what the paper prints, then the floor, time warping and ours."""
    for suite in tables["SUITES"]:
        text = "\n".join(tables["suite_table"](suite))
        expected = ["*chance*", *(name for name, *_ in tables["PAPER"].get(suite, ()))]
        names = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines()[4:] if line]

        assert expected == names[: len(expected)]
        assert {"stage1", "two-stage", "brute-force", "paper", "kmeans", "dtw"} <= set(names)


def test_a_missing_result_is_named_in_one_line(tmp_path):
    """With the command that measures it."""
    for file in ("tables.py", "suite_tables.py", "study_tables.py", "result_files.py", "README.md"):
        shutil.copy(EVAL / file, tmp_path)
    done = subprocess.run(
        [sys.executable, tmp_path / "tables.py", "--check"], capture_output=True, text=True, check=False
    )

    assert (1, "") == (done.returncode, done.stdout)
    assert f"{tmp_path / 'results' / 'map.jsonl'} is missing; 'make eval' measures it\n" == done.stderr


def test_the_pictures_are_there_and_small():
    named = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (EVAL / "README.md").read_text(encoding="utf-8"))

    expected = {"ranks", "confusion", "length", "strength", "calibration", "calibration-real", "map"}
    assert {f"pictures/{name}.png" for name in expected} == set(named)
    assert [] == [name for name in named if not 0 < (EVAL / name).stat().st_size < LARGEST_PICTURE]
