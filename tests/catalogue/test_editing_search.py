"""What a search says of recordings that were merged, moved and taken back: from memory, cache and shards."""

import pytest

from catalogue_samples import edit, of_dance, undo
from dance_samples import MODEL, random_words, toy_codebook
from dancematch.catalogue.editing.requests import Edit, EditDance, EditRecording
from dancematch.catalogue.listing import read_names
from dancematch.catalogue.records import ShardOf, StoredTrack
from dancematch.catalogue.store import Store
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.search.engine import Query
from dancematch.search.settings import DanceFilter

DANCES, SHARDS = 12, 3


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Dances of one recording each, as many as are worth a cache."""
    monkeypatch.setattr("dancematch.pipeline.cached_engine.MIN_CACHED_TRACKS", 1)
    opened = Store(tmp_path / "dances.db", MODEL)
    opened.add_many(
        [(of_dance(f"d{n}", f"{n}.mp4"), [StoredTrack(random_words(30, n))]) for n in range(DANCES)]
    )
    yield opened
    opened.close()


def found(store: Store, engine: CachedEngine, number: int, only: DanceFilter | None = None) -> str | None:
    """The name of the dance that is found for the words of a recording."""
    matches = engine.current().search([Query(random_words(30, number))], limit=1, only=only or DanceFilter())
    return read_names(store)[matches[0].dance_id] if matches else None


def opened(store: Store, shard: ShardOf | None = None) -> CachedEngine:
    return CachedEngine(store, toy_codebook(), (), shard)


def answers(store: Store, engine: CachedEngine) -> list[str | None]:
    return [found(store, engine, number) for number in range(DANCES)]


def expected(**changes: str) -> list[str]:
    return [changes.get(f"d{number}", f"d{number}") for number in range(DANCES)]


EDITS: dict[str, tuple[list[Edit], list[str]]] = {
    "merge": ([EditDance("d3", merge_into="d8")], expected(d3="d8")),
    "move": ([EditRecording("3.mp4", move_to="d1")], expected(d3="d1")),
    "new dance": ([EditRecording("3.mp4", new_dance="new")], expected(d3="new")),
    "rename": (
        [EditDance("d3", {"name": "d4"}), EditDance("d4", {"name": "d3"})],
        expected(d3="d4", d4="d3"),
    ),
}
each = pytest.mark.parametrize(("wanted", "after"), EDITS.values(), ids=EDITS)


@each
def test_a_search_finds_the_dance_that_a_recording_is_of_now(store, wanted, after):
    """In a process that goes on, in one that opens the cache of before, and after a restart; undone, too."""
    running = opened(store)
    assert expected() == answers(store, running)
    running.close()  # the cache is written
    edit(store, *wanted)
    assert after == answers(store, opened(store)) == answers(store, running)
    running.close()
    again = opened(store)
    again.current()
    again.close()
    assert after == answers(store, opened(store))
    undo(store)
    assert expected() == answers(store, opened(store))


@each
def test_shards_follow_a_recording_to_its_new_dance(store, wanted, after):
    """It is in one shard before and after, that of the dance it is of."""
    shards = [opened(store, ShardOf(number, SHARDS)) for number in range(SHARDS)]
    assert [DANCES // SHARDS] * SHARDS == [shard.current().tracks for shard in shards]
    edit(store, *wanted)
    followed = [shard.current().tracks for shard in shards]
    made_anew = [opened(store, ShardOf(number, SHARDS)).current().tracks for number in range(SHARDS)]

    assert (DANCES, made_anew) == (sum(followed), followed)
    for number in range(DANCES):
        assert after[number] in {found(store, shard, number) for shard in shards}


def test_a_merged_recording_has_the_labels_and_the_collection_of_its_dance(store):
    """A search among one label finds it, and one among those that it has no more does not."""
    edit(
        store,
        EditDance("d3", {"collection": "old"}),
        EditDance("d8", {"labels": ("x",), "collection": "new"}),
    )
    running = opened(store)
    assert "d3" == found(store, running, 3, DanceFilter(collection="old"))
    edit(store, EditRecording("3.mp4", move_to="d8"))

    assert ["d8", "d8", None] == [
        found(store, running, 3, only)
        for only in (DanceFilter(label="x"), DanceFilter(collection="new"), DanceFilter(collection="old"))
    ]
