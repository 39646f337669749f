"""Words that are not those that were added: told instead of searched."""

import pytest

from catalogue_samples import edit, named_tracks
from cli_samples import run_main
from dance_samples import dance, digest, recorded, shipped, write_dance
from dancematch.catalogue.editing.requests import EditRecording
from dancematch.catalogue.packed import read_packed_tracks
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.store import Store
from dancematch.errors import CatalogueError
from dancematch.pipeline.catalogue import open_catalogue
from databases import fetch, run_sql

COLUMNS = ("words", "visibility", "bones")
DAMAGED = "the words of 'b' are damaged, and no search can use them; 'dancematch doctor' says more: remove"


@pytest.fixture
def path(address) -> str:
    """A catalogue of three dances with skeletons."""
    store = Store(address, shipped().model_id)
    for number, name in enumerate("abc"):
        track = StoredTrack(shipped().fingerprint(dance(number)), dance(number))
        store.add(recorded(name, f"{name}.npz", digest(name), dance(number).span.end), [track])
    store.close()
    return address


def flip(path: str, column: str) -> None:
    """Flip one bit of the second dance, so that every value of it is still valid."""
    ((content,),) = fetch(path, f"SELECT {column} FROM tracks WHERE key = 2")  # noqa: S608  (our own)
    changed = bytearray(content)
    changed[-2] ^= 1
    run_sql(path, f"UPDATE tracks SET {column} = X'{changed.hex()}' WHERE key = 2")  # noqa: S608


@pytest.mark.parametrize("column", COLUMNS)
def test_a_flipped_bit_is_told_when_words_are_read(path, column):
    """All at once, one by one, and those that have changed: the dance that is damaged is named."""
    store = Store(path, shipped().model_id)
    flip(path, column)
    readers = {
        "packed": lambda: list(read_packed_tracks(store)[1]),
        "one by one": store.everything,
        "by name": lambda: store.tracks(["b"]),
        "changes": lambda: store.changes(0),
    }
    for read in readers.values():
        with pytest.raises(CatalogueError, match=DAMAGED):
            read()

    assert ["a", "c"] == [track.dance_id for track in named_tracks(store, store.tracks(["a", "c"]))]
    store.close()


def test_a_changed_clock_is_told_too(path):
    store = Store(path, shipped().model_id)
    run_sql(path, "UPDATE tracks SET start = start + 1 WHERE key = 2")
    with pytest.raises(CatalogueError, match=DAMAGED):
        list(read_packed_tracks(store)[1])
    store.close()


def test_a_search_that_meets_damaged_words_says_so(path, tmp_path):
    """Before, it went on with another word; listed and removed, the dance harms no more."""
    clip = write_dance(tmp_path / "clip.npz", 0)
    assert 0 == run_main("search", path, clip).code
    flip(path, "words")
    failed = run_main("search", path, clip)
    listed = run_main("list", path, "--json")
    removed = run_main("remove", path, "b")
    found = run_main("search", path, clip, "--json")

    assert (1, "") == (failed.code, failed.out)
    assert DAMAGED in failed.complaint
    assert ["a", "b", "c"] == [line["name"] for line in listed.objects]
    assert (0, "b: removed") == (removed.code, removed.err.splitlines()[0])
    assert (0, "match") == (found.code, found.objects[0]["verdict"])


def test_a_running_process_is_told_of_damage_in_what_is_new(path):
    """The words that are known already stay in use."""
    with open_catalogue(path, create=False) as known:
        assert 3 == known.engine().tracks
        store = Store(path, shipped().model_id)
        track = StoredTrack(shipped().fingerprint(dance(3)))
        store.add(recorded("d", "d.npz", digest("d"), 9.0), [track])
        store.close()
        run_sql(path, "UPDATE tracks SET words_checksum = 7 WHERE key = 4")
        with pytest.raises(CatalogueError, match="the words of 'd' are damaged"):
            known.engine()
        known.remove("d")

        assert 3 == known.engine().tracks


def test_damaged_skeletons_are_told_before_new_words_are_made_of_them(path):
    store = Store(path, shipped().model_id)
    flip(path, "joints")
    with pytest.raises(
        CatalogueError, match="the skeletons of 'b' are damaged; 'dancematch doctor' says more"
    ):
        store.motions("b")

    assert 1 == len(store.motions("a"))
    store.close()


def test_a_damaged_exclusion_is_told(path):
    """With the way to be rid of it."""
    store = Store(path, shipped().model_id)
    run_sql(path, "INSERT INTO exclusions VALUES (2, 3, 1, NULL)")
    for read in (store.everything, lambda: list(read_packed_tracks(store)[1])):
        with pytest.raises(CatalogueError, match=r"an excluded segment is damaged; .* DANCE --clear"):
            read()
    edit(store, EditRecording("b.npz", clear_exclusions=True))

    assert 3 == len(store.everything().added)
    store.close()
