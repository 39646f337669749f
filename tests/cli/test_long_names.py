"""Names that a file system does not take: shortened where we choose them, else one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import Puppet, save_small_model, write_dance
from dancematch.errors import InputError
from dancematch.formats.files import MAX_NAME_BYTES, clear_parts, fit_file_name, write_bytes
from dancematch.pipeline.analysis.extract import extract

LONG = "x" * 300


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Path:
    return write_dance(tmp_path_factory.mktemp("clip") / "clip.npz", 1)


@pytest.mark.parametrize("length", [242, 250, MAX_NAME_BYTES])
def test_a_name_that_just_fits_is_written(tmp_path, length):
    """The name under which it is written first is no longer."""
    path = tmp_path / ("x" * (length - 4) + ".txt")
    write_bytes(path, b"all of it")
    write_bytes(path, b"again", overwrite=True)

    assert [path] == list(tmp_path.iterdir())
    assert b"again" == path.read_bytes()


def test_a_name_that_does_not_fit_is_one_sentence_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match=r"cannot be written: File name too long; choose a shorter name$"):
        write_bytes(tmp_path / LONG, b"")

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "stem", ["x" * 300, "é" * 126 + "x", "踊" * 85, "x" * 252, os.fsdecode(b"\xe9" * 252)]
)
def test_a_name_that_we_choose_is_shortened(tmp_path, stem):
    """In bytes, between two characters, with the suffix; the same name becomes the same again."""
    made = fit_file_name(f"{stem}.npz")
    (tmp_path / made).touch()

    assert len(os.fsencode(made)) <= MAX_NAME_BYTES < len(os.fsencode(f"{stem}.npz"))
    assert (".npz", made) == (Path(made).suffix, fit_file_name(f"{stem}.npz"))
    assert made != fit_file_name(f"{stem}y.npz")


def test_extract_shortens_the_name_of_its_file(tmp_path):
    """A stem of 252 bytes has room for three more, not for .npz; repeated, the file is known again."""
    clips = [tmp_path / f"{letter * 252}.ts" for letter in "ab"]
    for number, clip in enumerate(clips):
        clip.write_text(str(number), encoding="utf-8")
    first, again = (dict(run_extract(clips, tmp_path / "out")) for _ in range(2))

    assert first == again
    assert set(clips) == set(first)
    assert {MAX_NAME_BYTES} == {len(path.name) for path in first.values()}
    assert set(first.values()) == set((tmp_path / "out").iterdir())


def run_extract(clips: list[Path], folder: Path) -> list[tuple[Path, Path | None]]:
    return [(found.path, target) for found, target in extract(clips, folder, make_estimator=Puppet)]


def test_words_of_a_name_that_just_fits_are_written(tmp_path, clip):
    save_small_model(tmp_path / "model")
    long = tmp_path / ("x" * 251 + ".npz")
    long.write_bytes(clip.read_bytes())
    answer = run_main("extract", long, clip, "--words", "-o", tmp_path / "out", "--model", tmp_path / "model")

    assert 0 == answer.code
    assert {"clip.npz", long.name} == {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "{clip}", "{clip}", "--report", "{here}/{long}.html"],
        ["compare", "{clip}", "{clip}", "--report", "{here}/{long}/x.html"],
        ["search", "{here}/dances.db", "{clip}", "--plot", "{here}/{long}.png"],
        ["search", "{here}/dances.db", "{clip}", "--report", "{here}/{long}.json"],
        ["extract", "{clip}", "--words", "-o", "{here}/{long}.npz"],
        ["extract", "{clip}", "-o", "{here}/{long}"],
        ["extract", "{clip}", "{here}/other.npz", "--words", "-o", "{here}/{long}"],
        ["add", "{here}/dances.db", "{here}/{long}.mp4"],
        ["add", "{here}/{long}.db", "{clip}"],
        ["info", "{here}/{long}.mp4"],
        ["info", "{here}/{long}.npz"],
        ["search", "{here}/dances.db", "{here}/{long}.mp4"],
        ["list", "{here}/{long}.db"],
        ["copy", "{here}/dances.db", "{here}/{long}/"],
        ["copy", "{here}/{long}/", "{here}/dances.db"],
        ["words", "--render", "-o", "{here}/{long}.html"],
        ["eval", "weights", "{here}/dances.db", "-o", "{here}/{long}.json"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_path_that_is_too_long_is_one_sentence(tmp_path, clip, arguments):
    """Before the work, and nothing is lost or left."""
    known = tmp_path / "dances.db"
    assert 0 == run_main("add", known, clip, "--jobs", 1).code
    before = known.read_bytes()
    given = [one.format(clip=clip, here=tmp_path, long=LONG) for one in arguments]
    answer = run_main(*given)

    assert (1, "") == (answer.code, answer.out)
    assert "too long" in answer.complaint
    assert before == known.read_bytes()
    assert [] == [path for path in tmp_path.iterdir() if not path.name.startswith("dances.db")]


@pytest.mark.parametrize("more", [[], ["--words"]], ids=["skeletons", "words"])
def test_extract_clears_what_a_killed_run_left_unfinished(tmp_path, clip, more):
    """Files of processes that are gone; not those of one that runs, nor of other programs."""
    out = tmp_path / "out"
    out.mkdir()
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    left, busy = (out / f".dancematch-0123456789abcdef.{number}.part" for number in (gone.pid, os.getppid()))
    for path in (left, busy, out / ".other.part"):
        path.touch()
    assert 0 == run_main("extract", clip, "-o", out, *more).code

    assert {busy.name, ".other.part", "clip.npz"} == {path.name for path in out.iterdir()}


def test_what_is_left_of_a_killed_write_is_known_by_its_name(tmp_path):
    """The pattern and the name agree: what a process killed in `write_bytes` leaves, the next clears."""
    code = (
        "import os, pathlib, signal, sys\n"
        "from dancematch.formats import files\n"
        "os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_bytes(pathlib.Path(sys.argv[1]), b'half')\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, tmp_path / "a.npz"], check=False)
    (left,) = tmp_path.iterdir()
    clear_parts(tmp_path)

    assert (-9, ".part") == (killed.returncode, left.suffix)
    assert [] == list(tmp_path.iterdir())
