"""Databases edited by hand: SQLite keeps any value in any column, and each is one sentence."""

import json
from pathlib import Path

import pytest

from dance_samples import MODEL, digest, random_words, recorded
from dancematch.catalogue.packed import read_packed_tracks
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.stats import count_stats
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import find_problems, find_problems_quickly
from dancematch.control_characters import escape_json_controls
from dancematch.errors import CatalogueError
from databases import run_sql

LISTED = {"dances": ("name = X'1b5bff'", "notes = X'00'", "collection = X'00'"), "labels": ("label = X'ff'",),
          "recordings": ("seconds = 'abc'",), "tracks": ("period_seconds = 'x'",)}  # fmt: skip
SEARCHED = {"dances": ("name = X'1b5bff'", "collection = X'00'"), "labels": ("label = X'ff'",),
            "recordings": (), "tracks": ("period_seconds = 'x'", "dancer = 'x'")}  # fmt: skip
RECORDED = ("name = X'1b5bff'", "file = X'00'", "performer = X'ff'", "date = X'00'", "seconds = 'abc'")


def edits(of_tables: dict[str, tuple[str, ...]]) -> pytest.MarkDecorator:
    key = {"dances": "key", "labels": "dance", "recordings": "key", "tracks": "recording"}
    made = [f"UPDATE {table} SET {one} WHERE {key[table]} = 1" for table in key for one in of_tables[table]]  # noqa: S608
    return pytest.mark.parametrize("edit", made)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = Store(tmp_path / "d.db", MODEL)
    for name in ("waltz", "polka"):
        opened.add(
            recorded(name, f"{name}.mp4", digest(name), 5.0, "folk"), [StoredTrack(random_words(8, 1))]
        )
    return opened


@edits(LISTED)
def test_a_listing_says_which_value_is_wrong(store: Store, edit: str) -> None:
    """A list of dances with a value of a wrong kind is one sentence that names the dance."""
    run_sql(store.where, edit)
    with pytest.raises(CatalogueError, match=r"of the dance .* is not of its column's kind: .* doctor"):
        store.dances()


@pytest.mark.parametrize("edit", RECORDED)
def test_a_listing_of_recordings_says_so_too(store: Store, edit: str) -> None:
    """The same sentence, for what a recording has."""
    table = "dances" if edit.startswith("name") else "recordings"
    run_sql(store.where, f"UPDATE {table} SET {edit} WHERE key = 1")  # noqa: S608
    with pytest.raises(CatalogueError, match=r"of the dance .* is not of its column's kind: .* doctor"):
        store.recordings()


@edits(SEARCHED)
def test_a_search_reads_no_value_of_a_wrong_kind(store: Store, edit: str) -> None:
    """Both ways to read tracks for a search refuse it with the same sentence."""
    run_sql(store.where, edit)
    for read in (store.everything, lambda: list(read_packed_tracks(store)[1])):
        with pytest.raises(CatalogueError, match="is not of its column's kind"):
            read()


@edits(LISTED)
def test_the_doctor_reports_and_removal_works(store: Store, edit: str) -> None:
    """The full check reports the value; a dance with an ordinary name can be removed, and all is well."""
    run_sql(store.where, edit)
    assert list(find_problems(store))
    count_stats(store)
    if "name" not in edit:
        store.remove("waltz")
        assert [] == list(find_problems(store))


@pytest.mark.parametrize(
    "edit",
    [
        "labels SET label = X'ff' WHERE dance = 1",
        "recordings SET seconds = 9e999 WHERE key = 1",
        "dances SET name = 'a' || char(27) WHERE key = 1",
        "dances SET name = X'1b5bff' WHERE key = 1",
    ],
)
def test_the_quick_check_looks_at_names_and_lengths(store: Store, edit: str) -> None:
    """A name or a length that the gate would refuse shows without reading words."""
    run_sql(store.where, f"UPDATE {edit}")
    assert 1 == len(list(find_problems_quickly(store)))


def test_what_is_no_character_stays_valid_json() -> None:
    """A code point beyond the first plane is two escapes in JSON, and is read back as itself."""
    escaped = escape_json_controls(json.dumps("a\U0001fffe\u061c", ensure_ascii=False))
    assert (r'"a\ud83f\udffe\u061c"', "a\U0001fffe\u061c") == (escaped, json.loads(escaped))
