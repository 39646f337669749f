"""Copies of folders and databases that others made: one dance in them spoils no catalogue and no file."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from dance_samples import MODEL, digest, random_words, recorded
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.sql.rows import words_row
from dancematch.catalogue.store import Store
from dancematch.catalogue.transfer import plain_folder
from dancematch.catalogue.transfer.copying import copy_catalogue
from dancematch.catalogue.transfer.plain_folder import HEADER, LINES, open_folder
from dancematch.catalogue.transfer.recording_rows import Copied
from dancematch.errors import DanceMatchError, FormatError, InputError, ModelMismatchError
from dancematch.formats import limits
from dancematch.formats.archive import Archive
from dancematch.types import Fingerprint
from databases import run_sql

FOREIGN = {
    "one channel": random_words(10, 9, channels=1),
    "vocabulary of 7": random_words(10, 9, vocabulary=7),
    "a nanosecond per word": replace(random_words(10, 9), seconds_per_word=1e-9),
}
foreign_words = pytest.mark.parametrize("words", FOREIGN.values(), ids=FOREIGN)


def add(store: Store, name: str, words: Fingerprint) -> None:
    store.add(recorded(name, f"{name}.mp4", digest(name), 5.0), [StoredTrack(words)])


def made(address: Path, *names: str) -> Path:
    """A catalogue of dances of one kind of words."""
    store = Store(address, MODEL)
    for number, name in enumerate(names):
        add(store, name, random_words(10, number))
    store.close()
    return address


def poisoned(address: Path, words: Fingerprint) -> Path:
    """A catalogue whose first dance has words of another kind, with the right checksum."""
    made(address, "poison", "waltz", "polka")
    row = {name: value for name, value in words_row(words).items() if value is not None}
    values = [f"X'{value.hex()}'" if isinstance(value, bytes) else repr(value) for value in row.values()]
    changes = ", ".join(f"{name} = {value}" for name, value in zip(row, values, strict=True))
    run_sql(address, f"UPDATE tracks SET {changes} WHERE recording = 1")  # noqa: S608  (our own values)
    return address


def copied(source: object, target: object, **options: bool) -> Copied:
    return sum(copy_catalogue(str(source), str(target), **options), Copied())


def names(address: Path) -> list[str]:
    store = Store(address, MODEL)
    found = [dance.name for dance in store.dances()]
    store.close()
    return found


def edit_lines(folder: Path, **changes: object) -> None:
    lines = [json.loads(line) | changes for line in (folder / LINES).read_text().splitlines()]
    (folder / LINES).write_text("".join(json.dumps(line) + "\n" for line in lines))


@foreign_words
def test_a_catalogue_takes_words_of_one_kind(words: Fingerprint, tmp_path: Path) -> None:
    """A dance whose words differ in kind from those that are there is refused."""
    made(tmp_path / "d.db", "waltz")
    with pytest.raises(ModelMismatchError, match="its words are of another kind than the others"):
        add(Store(tmp_path / "d.db", MODEL), "poison", words)
    assert ["waltz"] == names(tmp_path / "d.db")


@foreign_words
def test_replaced_words_are_of_one_kind(words: Fingerprint, tmp_path: Path) -> None:
    """Words of several kinds replace none."""
    store = Store(made(tmp_path / "d.db", "waltz", "polka"), MODEL)
    new = [(digest("waltz"), StoredTrack(random_words(4, 1))), (digest("polka"), StoredTrack(words))]
    with pytest.raises(ModelMismatchError, match="of another kind"):
        store.replace_words(MODEL, new, generation=store.generation)
    assert 10 == len(store.fingerprints()[0][1])


@pytest.mark.parametrize("through_folder", [False, True], ids=["database", "folder"])
@foreign_words
def test_a_copy_leaves_out_words_of_another_kind(
    words: Fingerprint, through_folder: bool, tmp_path: Path
) -> None:
    """The dance of another kind fails, even if it is the first, and all others are copied."""
    source: object = poisoned(tmp_path / "old.db", words)
    if through_folder:
        source = f"{tmp_path / 'plain'}/"
        copied(tmp_path / "old.db", source)
        assert 2 == len((tmp_path / "plain" / LINES).read_text().splitlines())
    done = copied(source, tmp_path / "new.db")
    assert (["polka", "waltz"], through_folder) == (
        names(tmp_path / "new.db"),
        "poison (poison.mp4)" not in done.failed,
    )


def test_too_many_words_of_a_dancer_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A track of more words than a motion file may hold is refused by the catalogue."""
    monkeypatch.setattr(limits, "MAX_POSITIONS", 15)
    with pytest.raises(InputError, match="more than 15 are not read"):
        StoredTrack(random_words(8, 1))


def test_a_dancer_of_too_many_words_is_not_read_from_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The header is enough to refuse arrays; none of them is unpacked."""
    folder = tmp_path / "plain"
    copied(made(tmp_path / "d.db", "waltz"), f"{folder}/")
    monkeypatch.setattr(limits, "MAX_POSITIONS", 15)
    monkeypatch.setattr(Archive, "array", lambda *_: pytest.fail("it was unpacked"))
    with open_folder(folder) as source:
        (batch,) = source.batches(200)
    assert ["waltz (waltz.mp4)"] == list(batch.unreadable)


def test_a_dancer_who_is_named_twice_is_read_once_at_most(tmp_path: Path) -> None:
    """A line that names one dancer many times is damaged: each would take the memory of all arrays."""
    folder = tmp_path / "plain"
    copied(made(tmp_path / "d.db", "waltz"), f"{folder}/")
    (line,) = (folder / LINES).read_text().splitlines()
    edit_lines(folder, dancers=json.loads(line)["dancers"] * 2)
    assert ["waltz (waltz.mp4)"] == list(copied(f"{folder}/", tmp_path / "new.db").failed)


def test_a_batch_of_a_folder_is_bounded_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dances that unpack to much come one by one, however many a batch may have."""
    folder = tmp_path / "plain"
    copied(made(tmp_path / "d.db", "a", "b", "c"), f"{folder}/")
    monkeypatch.setattr(plain_folder, "_BATCH_BYTES", 50)
    with open_folder(folder) as source:
        assert [1, 1, 1] == [len(batch.recordings) for batch in source.batches(200)]


@pytest.mark.parametrize("file", [LINES, HEADER, "keep.txt", "..", "a\0b", "", "x" * 300 + ".npz", 7])
def test_only_files_of_our_own_making_are_replaced(file: object, tmp_path: Path) -> None:
    """A list that names another file is damaged, and nothing of the folder is deleted by it."""
    folder = tmp_path / "plain"
    copied(made(tmp_path / "d.db", "waltz"), f"{folder}/")
    (folder / "keep.txt").write_text("mine")
    edit_lines(folder, arrays=file)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(FormatError, match="does not describe a recording"):
        copied(made(tmp_path / "other.db", "polka"), f"{folder}/", force=True)
    assert before == sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_list_that_is_no_file_is_an_error(kind: str, tmp_path: Path) -> None:
    """A list that is a pipe or a device is not taken for an empty one."""
    folder = tmp_path / "plain"
    copied(made(tmp_path / "d.db", "waltz"), f"{folder}/")
    (folder / LINES).unlink()
    if kind == "pipe":
        os.mkfifo(folder / LINES)
    elif kind == "device":
        (folder / LINES).symlink_to("/dev/zero")
    else:
        (folder / LINES).mkdir()
    with pytest.raises(DanceMatchError, match="no ordinary file"):
        copied(f"{folder}/", tmp_path / "new.db")
