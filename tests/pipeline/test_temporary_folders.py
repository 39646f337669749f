"""What processes that were killed leave in the temporary folder, and that the next one clears it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dance_samples import write_dance
from dancematch.temporary_folder import PREFIX, temporary_folder

PATIENCE_SECONDS = 180

HOLD = """
import sys, time
from dancematch.temporary_folder import temporary_folder
with temporary_folder() as folder:
    (folder / "inside").mkdir()
    (folder / "inside" / "words").write_text("secret")
    (folder / "link").symlink_to(sys.argv[1])
    print(folder, flush=True)
    time.sleep(60)
"""

AT_ONCE = """
import os
from dancematch.temporary_folder import clear_abandoned, temporary_folder
for _ in range(150):
    clear_abandoned()
    with temporary_folder() as folder:
        (folder / "words").write_text(str(os.getpid()))
        assert str(os.getpid()) == (folder / "words").read_text()
    assert not folder.exists()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """A temporary folder of the test's own, also for its child processes."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def start(*command: object, **options: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *map(str, command)], text=True, stdout=subprocess.PIPE, **options
    )


def make_folder() -> None:
    """Make a folder as the next run does: in a process of its own."""
    code = "from dancematch.temporary_folder import temporary_folder\nwith temporary_folder(): pass"
    subprocess.run([sys.executable, "-c", code], check=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_private_empty_and_gone_afterwards(temporary):
    """Also after an error in the work, and with everything that is in it."""
    with suppress(RuntimeError), temporary_folder() as folder:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "c").write_text("x")
        assert (temporary, 0o700) == (folder.parent, folder.stat().st_mode & 0o777)
        raise RuntimeError

    assert [] == names(temporary)


def test_the_folder_of_a_killed_process_is_cleared_and_one_in_use_is_not(temporary, tmp_path):
    """Whatever is in it goes; what a link in it leads to stays."""
    linked = tmp_path / "thesis"
    linked.mkdir()
    (linked / "text").write_text("kept")
    with start("-c", HOLD, linked) as holder:
        folder = Path(holder.stdout.readline().strip())
        make_folder()
        in_use = (folder / "inside" / "words").exists()
        holder.kill()
        holder.wait()
        abandoned = (folder / "inside" / "words").exists()
        make_folder()

    assert (True, True) == (in_use, abandoned)
    assert [] == names(temporary)
    assert ["text"] == names(linked)


def make_link(temporary: Path, elsewhere: Path) -> None:
    """What another user of a shared folder may prepare: a link by our name to a folder of ours."""
    (elsewhere / ".owner").touch()
    (temporary / f"{PREFIX}x").symlink_to(elsewhere)


def make_linked_lock(temporary: Path, elsewhere: Path) -> None:
    (temporary / f"{PREFIX}x").mkdir()
    (temporary / f"{PREFIX}x" / ".owner").symlink_to(elsewhere / "text")


def make_unmarked_folder(temporary: Path, _elsewhere: Path) -> None:
    """Of another program that happens to use our name."""
    (temporary / f"{PREFIX}x").mkdir()
    (temporary / f"{PREFIX}x" / "data").touch()


def make_file(temporary: Path, _elsewhere: Path) -> None:
    (temporary / f"{PREFIX}x").touch()


def make_anothers_folder(temporary: Path, _elsewhere: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make a folder of another user")
    (temporary / f"{PREFIX}x").mkdir()
    (temporary / f"{PREFIX}x" / ".owner").touch()
    os.chown(temporary / f"{PREFIX}x", 65534, 65534)


@pytest.mark.parametrize(
    "prepare", [make_link, make_linked_lock, make_unmarked_folder, make_file, make_anothers_folder]
)
def test_what_is_not_ours_is_left_alone(temporary, tmp_path, prepare: Callable[[Path, Path], None]):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "text").write_text("kept")
    prepare(temporary, elsewhere)
    before = names(elsewhere)
    make_folder()

    assert [f"{PREFIX}x"] == names(temporary)
    assert before == names(elsewhere)


def test_a_folder_that_was_made_and_not_yet_marked_is_cleared(temporary):
    """A process may be killed between the two: then it is empty."""
    (temporary / f"{PREFIX}x").mkdir()
    make_folder()

    assert [] == names(temporary)


def test_processes_that_make_folders_at_once_do_not_clear_each_others(temporary):
    """Each finds in its folder what it has put there, up to the end."""
    crowd = [start("-c", AT_ONCE, stderr=subprocess.PIPE) for _ in range(3)]

    assert [("", "")] * 3 == [process.communicate(timeout=PATIENCE_SECONDS) for process in crowd]
    assert [] == names(temporary)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_next_verb_clears_what_a_killed_add_left(temporary, tmp_path, jobs):
    """The empty tables of a catalogue that is not made yet and, of several jobs, the results of workers."""
    clips = tmp_path / "clips"
    for seed in range(12):
        write_dance(clips / f"dance{seed:02}.npz", seed)
    verb = ("-m", "dancematch", "add", tmp_path / "dances.db", clips, "--model", "floor", "--jobs", jobs)
    with start(*verb, stderr=subprocess.DEVNULL) as adding:
        until = time.monotonic() + PATIENCE_SECONDS
        left = "dances.db" if jobs == 1 else "motions.npz"
        while not list(temporary.rglob(left)) and adding.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        adding.kill()
    abandoned = names(temporary)
    with start("-m", "dancematch", "list", tmp_path / "no.db", stderr=subprocess.DEVNULL) as listing:
        listing.wait()

    assert jobs <= len(abandoned)
    assert [] == names(temporary)
