"""The verbs of a catalogue when something is in their way: one message, early, and nothing left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import Puppet, write_dance, write_puppets
from dancematch.catalogue.store import Store
from dancematch.errors import CatalogueError
from dancematch.pipeline.catalogue import open_catalogue

DANCEMATCH = str(Path(sys.executable).with_name("dancematch"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two known dances, and a file that is none."""
    folder = tmp_path_factory.mktemp("verbs")
    for number in (1, 2):
        write_dance(folder / "known" / f"dance{number}.npz", number)
    write_dance(folder / "new.npz", 3)
    (folder / "bad.bvh").write_bytes(b"garbage")
    run_main("add", folder / "dances.db", folder / "known", "--jobs", 1)
    return folder


@pytest.fixture
def db(folder) -> Path:
    return folder / "dances.db"


def test_a_first_add_that_fails_wholly_leaves_no_catalogue(folder, tmp_path):
    """Neither the file nor anything beside it; what is good makes it, whatever else fails."""
    known = tmp_path / "dances.db"
    failed = run_main("add", known, folder / "bad.bvh", "--jobs", 1)
    assert (1, "0 added, 0 skipped, 1 failed") == (failed.code, failed.err.splitlines()[-1])
    assert [] == list(tmp_path.iterdir())
    mixed = run_main("add", known, folder / "bad.bvh", folder / "new.npz", "--jobs", 1)

    assert (1, "1 added, 0 skipped, 1 failed") == (mixed.code, mixed.err.splitlines()[-1])
    assert ["new"] == [line["name"] for line in run_main("list", known, "--json").objects]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "a dance's name needs a character that can be seen, got ''; give another name"),
        (" ", "a dance's name needs a character that can be seen, got ' '; give another name"),
        ("a\nb", r"a dance's name is one line without control characters, got 'a\nb'; give another name"),
        ("\x1b[", r"a dance's name is one line without control characters, got '\x1b['; give another name"),
    ],
)
def test_what_is_no_name_is_one_sentence(folder, tmp_path, name, complaint):
    answer = run_main("add", tmp_path / "dances.db", folder / "new.npz", "--dance", name)

    assert (1, "", complaint) == (answer.code, answer.out, answer.complaint)
    assert [] == list(tmp_path.iterdir())


def test_a_file_with_an_odd_name_still_gets_one_that_can_be_typed(tmp_path):
    """A line break in a file's name is shown as what it is: something that is no text."""
    odd = write_dance(tmp_path / "in" / "two\nlines.npz", 1)
    answer = run_main("add", tmp_path / "dances.db", odd, "--jobs", 1)

    assert 0 == answer.code
    assert ["two\ufffdlines"] == [
        line["name"] for line in run_main("list", tmp_path / "dances.db", "--json").objects
    ]


def test_what_is_known_is_said(db, folder, tmp_path):
    """The content, with the name that it has, or the name, which is another content's."""
    content = run_main("add", db, folder / "known" / "dance1.npz", "--dance", "another name")
    name = run_main("add", db, write_dance(tmp_path / "dance1.npz", 4))

    assert (0, 1) == (content.code, name.code)
    assert "skipped, its very content is known as dance1" in content.err
    assert "'dance1' is already the name of another dance" in name.err
    assert (
        "the content is new: if it is another recording of that dance, say so (--dance 'dance1')" in name.err
    )


def test_adding_to_what_can_only_be_read_fails_once_and_before_the_work(db, tmp_path, monkeypatch):
    """No estimator is even made; one sentence, however many files."""
    clips = write_puppets(tmp_path, a=3, b=4)

    def no_estimator() -> Puppet:
        raise AssertionError("work was done that could only fail")

    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    with (
        open_catalogue(db, make_estimator=no_estimator) as known,
        pytest.raises(CatalogueError, match="can only be read"),
    ):
        list(known.add_many(clips))
    answer = run_main("add", db, *clips, "--jobs", 1)
    assert 1 == answer.code
    assert "can only be read: the file, or the folder that it is in, cannot be written" in answer.complaint


@pytest.mark.parametrize("verb", ["list", "dedup"])
def test_what_is_no_catalogue_is_called_what_it_is(folder, tmp_path, verb):
    (tmp_path / "empty.db").touch()

    assert "is a folder, not a catalogue" in run_main(verb, folder / "known").complaint
    assert "is an empty file, no catalogue yet" in run_main(verb, tmp_path / "empty.db").complaint
    assert "there is no catalogue at" in run_main(verb, tmp_path / "gone.db").complaint


def test_a_folder_is_no_place_to_add_to(folder):
    answer = run_main("add", folder / "known", folder / "new.npz", "--jobs", 1)

    assert "is a folder, not a catalogue; name a file in it, such as" in answer.complaint


@pytest.mark.parametrize(
    "line", ["list dances.db", "list dances.db --json", "doctor dances.db", "--help", "list --help"]
)
@pytest.mark.parametrize("with_errors", [False, True], ids=["stdout", "both"])
def test_a_reader_who_leaves_ends_a_command_quietly(folder, line, with_errors):
    """As after `| head`: no traceback, no complaint, and the exit code that a shell knows for it."""
    reading, writing = os.pipe()
    os.close(reading)
    errors = writing if with_errors else subprocess.PIPE
    done = subprocess.run(
        [DANCEMATCH, *line.split()], cwd=folder, stdout=writing, stderr=errors, check=False, timeout=180
    )
    os.close(writing)

    assert (141, None if with_errors else b"") == (done.returncode, done.stderr)


def test_a_search_makes_nothing(folder, tmp_path):
    """Whoever opens a catalogue that is not there, only to look, leaves none either."""
    with open_catalogue(tmp_path / "dances.db") as known:
        assert [] == known.dances()
        assert [] == known.search(folder / "new.npz").candidates
    assert [] == list(tmp_path.iterdir())
    with pytest.raises(CatalogueError, match="there is no catalogue"):
        Store(tmp_path / "dances.db", None, create=False)
