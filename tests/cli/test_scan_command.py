"""dancematch scan, as people type it."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dancematch import formats
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.scan.moments import moments_of_motions
from dancematch.skeletons import BODY15
from dancematch.types import Motion
from scan_samples import fill, programme


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A catalogue of three dances, and a programme of two of them with an unknown one between."""
    where = tmp_path_factory.mktemp("scan")
    with open_catalogue(where / "dances.db") as catalogue:
        fill(catalogue)
    formats.write(where / "show.npz", [programme()[0]])
    return where


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def test_a_line_per_segment_and_a_file_per_program(folder, tmp_path):
    kinds = ("srt", "vtt", "eaf", "edl")
    wanted = [part for kind in kinds for part in (f"--{kind}", tmp_path / f"show.{kind}")]
    wanted += ["--plot", tmp_path / "show.svg", "--csv", tmp_path / "show.csv"]
    answer = run_main("scan", folder / "dances.db", folder / "show.npz", *wanted)
    lines = answer.out.splitlines()

    assert (0, 3) == (answer.code, len(lines))
    assert "match           dance1 (1.npz), 0:00-0:0" in lines[0]
    assert lines[1].endswith("dancer 1    no known dance")
    assert "dance3" in lines[2]
    assert "mirrored" in lines[2]
    assert {*(f"show.{kind}" for kind in kinds), "show.svg", "show.csv"} == {
        p.name for p in tmp_path.iterdir()
    }
    assert ["dance1", "", "dance3"] == [row["dance"] for row in rows(tmp_path / "show.csv")]
    assert {"show.npz"} == {row["file"] for row in rows(tmp_path / "show.csv")}


def test_of_several_videos_each_line_stands_under_its_own(folder, tmp_path):
    for name in ("one.npz", "two.npz"):
        formats.write(tmp_path / name, [Motion(np.full((90, 15, 3), np.nan), 30.0, BODY15)])
    lines = run_main("scan", folder / "dances.db", tmp_path).out.splitlines()

    assert [str(tmp_path / "one.npz"), str(tmp_path / "two.npz")] == lines[::2]


def test_a_video_without_a_dancer_says_so(folder, monkeypatch):
    monkeypatch.setattr("dancematch.pipeline.scan.scan.read_moments", lambda *_: iter(()))
    answer = run_main("scan", folder / "dances.db", folder / "show.npz")

    assert (3, "no dancer is seen\n") == (answer.code, answer.out)


def test_two_files_of_one_name_are_refused_before_the_scan(folder, tmp_path):
    both = ("--srt", tmp_path / "a.srt", "--vtt", tmp_path / "a.srt")
    answer = run_main("scan", folder / "dances.db", folder / "show.npz", *both)

    assert (1, "") == (answer.code, answer.out)
    assert "one name" in answer.complaint


def test_a_catalogue_that_changes_during_a_scan_is_told(folder, monkeypatch):
    counted = iter(range(100))
    monkeypatch.setattr(Catalogue, "generation", property(lambda _: next(counted)))
    answer = run_main("scan", folder / "dances.db", folder / "show.npz")

    assert 0 == answer.code
    assert "changed during the scan" in answer.err


class _Film:
    """Live pictures that the user ends after a while."""

    name = "the hall"

    def __init__(self) -> None:
        self.ended = threading.Event()


def test_an_interrupt_ends_live_pictures_and_keeps_what_was_found(folder, tmp_path, monkeypatch):
    """The dance that is still danced is told and written; the exit code is that of a scan that ended."""
    film = _Film()

    def read(*_, **__):
        for number, moment in enumerate(moments_of_motions([programme()[0]], 0.0)):
            yield moment
            if number == 3:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("dancematch.pipeline.scan.scan.read_moments", read)
    monkeypatch.setattr("dancematch.cli.use.scan._find_sources", lambda *_: [film])
    answer = run_main("scan", folder / "dances.db", "-", "--srt", tmp_path / "hall.srt")

    assert film.ended.is_set()
    assert 0 == answer.code
    assert "dance1" in answer.out
    assert "dance1" in (tmp_path / "hall.srt").read_text()


def test_nothing_is_overwritten_unasked_and_nothing_is_scanned_before_that_is_known(folder, tmp_path):
    (tmp_path / "show.srt").write_text("mine")
    answer = run_main("scan", folder / "dances.db", folder / "show.npz", "--srt", tmp_path / "show.srt")

    assert (1, "") == (answer.code, answer.out)
    assert "exists already" in answer.complaint
    assert "mine" == (tmp_path / "show.srt").read_text()


def test_a_file_that_cannot_be_read_spoils_no_other(folder, tmp_path):
    """Nor does it go unnoticed: the exit code is 1."""
    (tmp_path / "torn.mp4").write_bytes(b"no video")
    answer = run_main("scan", folder / "dances.db", tmp_path / "torn.mp4", folder / "show.npz", "--json")

    assert (1, ["dance1", None, "dance3"]) == (answer.code, [one["dance"] for one in answer.objects])
    assert "torn.mp4 cannot be opened as a video" in answer.err
    assert "1 of 2 could not be scanned" in answer.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name VIDEOS, or say --camera"),
        (["show.npz", "--camera"], "--camera films"),
        (["-", "show.npz"], "- is a stream of its own"),
        (["-", "--follow"], "--follow is about a file"),
        (["show.npz", "--resume"], "--resume goes on"),
    ],
)
def test_what_cannot_be_scanned_together_is_wrong_usage(folder, arguments, complaint):
    answer = run_main("scan", folder / "dances.db", *arguments)

    assert 2 == answer.code
    assert complaint in answer.err


def test_a_camera_that_is_not_there_is_one_sentence(folder):
    answer = run_main("scan", folder / "dances.db", "--camera", "/nowhere/video7")

    assert 1 == answer.code
    assert "the camera /nowhere/video7 cannot be opened" in answer.err


# The command line; the process is killed as soon as it has kept the first segment.
KILLED = """
import os, signal
from dancematch.pipeline.scan.journal import ScanJournal
settle = ScanJournal.settle

def settle_and_die(*arguments, **options):
    settle(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

ScanJournal.settle = settle_and_die
from dancematch.cli import main
main()
"""


def test_a_scan_that_was_killed_goes_on(folder, tmp_path):
    """Killed when the first segment is kept; both runs find what one finds, under the names of the end."""
    db = shutil.copy(folder / "dances.db", tmp_path / "dances.db")
    arguments = ["scan", str(db), str(folder / "show.npz"), "--csv"]
    assert 0 == run_main(*arguments, tmp_path / "whole.csv").code
    part = tmp_path / "killed.csv.part"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments, str(tmp_path / "killed.csv")], capture_output=True
    )
    assert -signal.SIGKILL == killed.returncode
    assert b"settled" in part.read_bytes()

    assert 1 == run_main(*arguments, tmp_path / "killed.csv").code
    assert 0 == run_main("edit", db, "dance1", "--name", "Waltz").code
    resumed = run_main(*arguments, tmp_path / "killed.csv", "--resume")
    assert 0 == resumed.code
    assert "the catalogue was changed during the scan" in resumed.err
    whole, again = rows(tmp_path / "whole.csv"), rows(tmp_path / "killed.csv")
    assert not part.exists()
    assert [row["dance"].replace("dance1", "Waltz") for row in whole] == [row["dance"] for row in again]
    assert [float(r["start"]) for r in whole] == pytest.approx([float(r["start"]) for r in again], abs=1.0)


def test_a_finished_scan_is_said_to_be_finished(folder, tmp_path):
    """The same line again: the exit code of the first time, and the file is left alone."""
    table = tmp_path / "found.csv"
    arguments = ["scan", folder / "dances.db", folder / "show.npz", "--csv", table, "--resume"]
    assert 0 == run_main(*arguments).code
    before = table.read_bytes(), table.stat().st_mtime_ns
    again = run_main(*arguments)
    shutil.copy(folder / "show.npz", tmp_path / "another.npz")
    more = run_main(*arguments, tmp_path / "another.npz")

    assert (0, "") == (again.code, again.out)
    assert f"{table} is finished: nothing is left to scan" in again.err
    assert 1 == more.code
    assert "is finished and says nothing of 1 of 2 videos (another.npz)" in more.complaint
    assert before == (table.read_bytes(), table.stat().st_mtime_ns)


def test_a_journal_of_other_options_or_with_damage_is_refused(folder, tmp_path):
    arguments = [
        "scan",
        folder / "dances.db",
        folder / "show.npz",
        "--csv",
        tmp_path / "found.csv",
        "--resume",
    ]
    part = tmp_path / "found.csv.part"
    part.write_text(json.dumps({"catalogue": "another"}) + "\n")
    assert "was begun with other dances" in run_main(*arguments).complaint
    assert part.exists()

    part.write_text("")
    assert 0 == run_main(*arguments).code
    assert not part.exists()
