"""Corrections of a catalogue: each as a whole or not at all, said in sentences, and undone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalogue_samples import POSTER, address_of, edit, named_tracks, names, of_dance, undo
from dance_samples import MODEL, digest, random_words
from dancematch.catalogue.details import read_etag
from dancematch.catalogue.editing.edit import CatalogueEditor
from dancematch.catalogue.editing.requests import Edit, EditDance, EditRecording
from dancematch.catalogue.listing import read_dance, read_dance_recordings, read_poster, read_recording
from dancematch.catalogue.records import MAX_NOTES_LENGTH, Exclusion, StoredTrack
from dancematch.catalogue.reviews import ReviewStore
from dancematch.catalogue.sql.schema import metadata
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import find_problems
from dancematch.errors import (
    CatalogueError,
    ChangedMeanwhileError,
    DanceExistsError,
    InputError,
    UnknownDanceError,
)
from dancematch.types import Span
from databases import contents, fetch, run_sql
from review_samples import possible


@pytest.fixture
def store(address):
    """Thriller in two recordings, one with two dancers, and two other dances."""
    opened = Store(address, MODEL)
    words = [StoredTrack(random_words(40, seed)) for seed in range(5)]
    opened.add(
        of_dance("Thriller", "a.mp4", labels=("pop",), notes="of 1983", performer="Michael"), words[:1]
    )
    opened.add(of_dance("Thriller", "b.mp4", poster=POSTER), words[1:3], join=True)
    opened.add(
        of_dance("Waltz", "c.mp4", labels=("ball", "old"), collection="Vienna", notes="slow"), words[3:4]
    )
    opened.add(of_dance("Polka", "d.mp4"), words[4:])
    yield opened
    opened.close()


def state(store: Store) -> dict[str, Any]:
    """All that a catalogue says, without keys and generations."""
    return contents(address_of(store))


def said(store: Store, dance: str) -> tuple[Any, ...]:
    known = read_dance(store, dance)
    return known.name, known.labels, known.collection, known.notes


def files(store: Store, dance: str) -> list[str]:
    return [one.file for one in read_dance_recordings(store, dance)]


ONE_OF_EACH: dict[str, tuple[list[Edit], list[str]]] = {
    "rename": ([EditDance("Polka", {"name": "Ländler"})], ["Polka is now called Ländler"]),
    "labels": (
        [EditDance("Thriller", {"labels": ("b", "a", "b")})],
        ["Thriller: label a added", "Thriller: label b added", "Thriller: label pop removed"],
    ),
    "add and remove labels": (
        [EditDance("Waltz", add_labels=("new",), remove_labels=("old", "never had"))],
        ["Waltz: label new added", "Waltz: label old removed"],
    ),
    "notes": ([EditDance("Polka", {"notes": "fast; gay"})], ["Polka: notes fast; gay"]),
    "no notes": ([EditDance("Waltz", {"notes": None})], ["Waltz: notes removed"]),
    "collection": ([EditDance("Waltz", {"collection": "Berlin"})], ["Waltz: collection Berlin"]),
    "facts of a recording": (
        [EditRecording("a.mp4", {"performer": None, "url": "https://example.org/a", "date": "1983-12"})],
        [
            f"a.mp4 (Thriller): {fact}"
            for fact in ("performer removed", "url https://example.org/a", "date 1983-12")
        ],
    ),
    "move": (
        [EditRecording("b.mp4", move_to="Polka")],
        ["b.mp4: moved from Thriller to Polka"],
    ),
    "move the last": (
        [EditRecording("d.mp4", move_to="Thriller")],
        ["Polka: merged into Thriller with 1 recording"],
    ),
    "new dance": (
        [EditRecording("b.mp4", new_dance="Zombie")],
        ["Zombie: a dance of its own, with 1 recording of Thriller"],
    ),
    "merge": (
        [EditDance("Waltz", merge_into="Thriller")],
        [
            "Thriller: label ball added",
            "Thriller: label old added",
            "Thriller: collection Vienna",
            "Thriller: notes of 1983; slow",
            "Waltz: merged into Thriller with 1 recording",
        ],
    ),
    "exclude": (
        [EditRecording("c.mp4", exclude=Span(18, 99), reason="bows")],
        ["c.mp4: 18.00 to 20.00 s never match: bows"],
    ),
    "several": (
        [EditDance("Polka", {"name": "Waltz"}), EditDance("Waltz", {"name": "Polka"}, add_labels=("x",))],
        ["Polka is now called Waltz", "Waltz is now called Polka", "Polka: label x added"],
    ),
}
each_kind = pytest.mark.parametrize(("wanted", "sentences"), ONE_OF_EACH.values(), ids=ONE_OF_EACH)


@each_kind
def test_an_edit_is_said_dry_made_undone_and_made_again(store, wanted, sentences):
    """The sentences are those of the dry run, which changes nothing; undoing twice is what was made."""
    before, generation = state(store), store.generation
    dry = edit(store, *wanted, dry_run=True)
    assert (sorted(sentences), True) == (sorted(dry.changes), dry.dry_run)
    assert (before, generation) == (state(store), store.generation)

    made = edit(store, *wanted)
    after = state(store)
    assert (sorted(sentences), generation + 1) == (sorted(made.changes), store.generation)
    assert before != after

    told = undo(store, dry_run=True)
    assert (after, generation + 1) == (state(store), store.generation)
    assert told.changes == undo(store).changes != ()
    assert before == state(store)
    undo(store)
    assert after == state(store)
    assert [] == list(find_problems(store))


def test_a_dry_run_changes_no_byte_of_the_file(tmp_path):
    file = tmp_path / "dances.db"
    store = Store(file, MODEL)
    store.add(of_dance("Thriller", "a.mp4"), [StoredTrack(random_words(4, 1))])
    store.truncate_log()
    before = file.read_bytes()
    edit(
        store,
        EditDance("Thriller", {"name": "Zombie"}),
        EditRecording("a.mp4", exclude=Span(1, 2)),
        dry_run=True,
    )

    assert before == file.read_bytes()
    store.close()
    assert before == file.read_bytes()


def test_merged_dances_have_the_labels_notes_and_recordings_of_both(store):
    """The id is that of the dance that stays; its own collection stays, too."""
    edit(store, EditDance("Thriller", {"collection": "MJ"}))
    kept = read_dance(store, "Thriller").dance_id
    edit(store, EditDance("Waltz", merge_into="Thriller"))

    assert ("Thriller", ("ball", "old", "pop"), "MJ", "of 1983; slow") == said(store, "Thriller")
    assert (kept, ["a.mp4", "b.mp4", "c.mp4"], ["Polka", "Thriller"]) == (
        read_dance(store, "Thriller").dance_id,
        files(store, "Thriller"),
        names(store),
    )


def test_the_same_notes_are_not_joined_twice(store):
    edit(store, EditDance("Polka", {"notes": "of 1983"}))
    edit(store, EditDance("Polka", merge_into="Thriller"))

    assert "of 1983" == read_dance(store, "Thriller").notes


def test_a_merge_and_a_rename_to_the_freed_name_are_one_edit(store):
    """Also to that of a dance whose last recording goes, and for a dance that is made."""
    edit(store, EditDance("Waltz", merge_into="Thriller"), EditDance("Thriller", {"name": "Waltz"}))
    assert ["Polka", "Waltz"] == names(store)
    edit(store, EditRecording("d.mp4", move_to="Waltz"), EditRecording("a.mp4", new_dance="Polka"))
    assert (["a.mp4"], ["b.mp4", "c.mp4", "d.mp4"]) == (files(store, "Polka"), files(store, "Waltz"))
    undo(store)

    assert (["a.mp4", "b.mp4", "c.mp4"], ["d.mp4"]) == (files(store, "Waltz"), files(store, "Polka"))


def test_dances_that_are_merged_in_a_row_end_in_the_last(store):
    edit(store, EditDance("Polka", merge_into="Waltz"), EditDance("Waltz", merge_into="Thriller"))

    assert (["Thriller"], ["a.mp4", "b.mp4", "c.mp4", "d.mp4"]) == (names(store), files(store, "Thriller"))
    undo(store)
    assert ["Polka", "Thriller", "Waltz"] == names(store)


def test_several_recordings_go_to_one_new_dance(store):
    made = edit(store, EditRecording("a.mp4", new_dance="New"), EditRecording("c.mp4", new_dance="New"))

    assert (["a.mp4", "c.mp4"], ["b.mp4"]) == (files(store, "New"), files(store, "Thriller"))
    assert ["New", "Polka", "Thriller"] == names(store)
    assert {read_dance(store, "New").dance_id, read_dance(store, "Thriller").dance_id} == set(made.dance_ids)


def test_dances_and_recordings_are_named_in_several_ways(store):
    """A dance by name or id, a recording by id, its beginning, or its file; no name is an id."""
    of_waltz = read_dance(store, "Waltz").dance_id
    edit(store, EditDance(of_waltz, {"notes": "by id"}), EditRecording(digest("d.mp4")[:8], {"date": "2001"}))
    edit(store, EditRecording(digest("c.mp4"), {"date": "2002"}))
    assert ("by id", "2001", "2002") == (
        read_dance(store, "Waltz").notes,
        read_recording(store, "d.mp4").date,
        read_recording(store, "c.mp4").date,
    )
    with pytest.raises(InputError, match="does not look like the id of one"):
        edit(store, EditDance("Polka", {"name": of_waltz}))


def test_recordings_with_one_file_name_are_told_apart_by_their_dance(store):
    other = of_dance("Polka", "again.mp4")
    run_sql_name = "UPDATE recordings SET file = 'a.mp4' WHERE file = 'd.mp4'"
    with store.transaction("BEGIN IMMEDIATE") as connection:
        connection.exec_driver_sql(run_sql_name)
    store.add(other, [StoredTrack(random_words(4, 9))], join=True)
    with pytest.raises(InputError, match=r"2 recordings of .* are named 'a.mp4'; name the one by its id"):
        edit(store, EditRecording("a.mp4", {"date": "2001"}))
    edit(
        store,
        EditRecording("a.mp4", {"date": "2001"}, of_dance="Polka"),
        EditRecording("a.mp4", {"date": "2002"}, of_dance="Thriller"),
    )
    with pytest.raises(UnknownDanceError, match=r"has no recording named 'c.mp4'"):
        edit(store, EditRecording("c.mp4", {"date": "2001"}, of_dance="Polka"))

    assert ("2001", "2002") == (
        read_recording(store, "a.mp4", "Polka").date,
        read_recording(store, "a.mp4", "Thriller").date,
    )


def test_segments_are_clipped_merged_and_cleared(store):
    edit(store, EditRecording("a.mp4", exclude=Span(1, 3), reason="walks on"))
    edit(store, EditRecording("a.mp4", exclude=Span(18, 30)), EditRecording("b.mp4", exclude=Span(0, 1)))
    edit(store, EditRecording("a.mp4", exclude=Span(2, 4), reason="waits"))
    wanted = [(1, 4, "walks on; waits", "a.mp4"), (18, 20, None, "a.mp4"), (0, 1, None, "b.mp4")]
    assert wanted == [(one.start, one.end, one.reason, one.file) for one in store.exclusions("Thriller")]
    told = edit(store, EditRecording("a.mp4", clear_exclusions=True, exclude=Span(5, 6)))

    assert [Exclusion("Thriller", 5, 6), Exclusion("Thriller", 0, 1)] == store.exclusions("Thriller")
    assert (
        "a.mp4: 1.00 to 4.00 s may match again",
        "a.mp4: 18.00 to 20.00 s may match again",
    ) == told.changes[1:]
    assert ("a.mp4: all of it may match again, 1 segment(s) cleared",) == edit(
        store, EditRecording("a.mp4", clear_exclusions=True)
    ).changes
    assert ("a.mp4: 5.00 to 6.00 s never match",) == undo(store).changes


def test_the_reason_of_a_segment_alone_can_be_changed_and_undone(store):
    edit(store, EditRecording("a.mp4", exclude=Span(1, 3), reason="walks on"))
    edit(store, EditRecording("a.mp4", exclude=Span(1, 3), reason="stumbles"))
    assert ["stumbles"] == [one.reason for one in store.exclusions()]
    assert ("a.mp4: 1.00 to 3.00 s never match: walks on",) == undo(store).changes

    assert ["walks on"] == [one.reason for one in store.exclusions()]


REFUSED: dict[str, tuple[list[Edit], type[Exception], str]] = {
    "unknown dance": ([EditDance("Tango", {"notes": "x"})], UnknownDanceError, "has no dance named 'Tango'"),
    "unknown target": ([EditDance("Polka", merge_into="Tango")], UnknownDanceError, "no dance named 'Tango'"),
    "move to nowhere": (
        [EditRecording("a.mp4", move_to="Tango")],
        UnknownDanceError,
        "no dance named 'Tango'",
    ),
    "unknown recording": (
        [EditRecording("x.mp4", {"date": "2001"})],
        UnknownDanceError,
        "no recording named",
    ),
    "too short an id": ([EditRecording(digest("a.mp4")[:7])], UnknownDanceError, "no recording named"),
    "name taken": ([EditDance("Polka", {"name": "Waltz"})], DanceExistsError, "has the name 'Waltz'; merge"),
    "new dance's name taken": ([EditRecording("a.mp4", new_dance="Waltz")], DanceExistsError, "name 'Waltz'"),
    "two of one name": (
        [EditDance("Polka", {"name": "Tango"}), EditDance("Waltz", {"name": "Tango"})],
        DanceExistsError,
        "another dance has the name 'Tango'",
    ),
    "into itself": ([EditDance("Polka", merge_into="Polka")], InputError, "cannot be merged into itself"),
    "two ways to go": (
        [EditRecording("a.mp4", move_to="Polka", new_dance="Tango")],
        InputError,
        "a.mp4 can go to one dance only",
    ),
    "two targets": (
        [EditRecording("a.mp4", move_to="Polka"), EditRecording("a.mp4", move_to="Waltz")],
        InputError,
        "its dance cannot be both 'Polka' and 'Waltz'",
    ),
    "two names": (
        [EditDance("Polka", {"name": "A"}), EditDance("Polka", {"name": "B"})],
        InputError,
        "its name cannot be both 'A' and 'B'",
    ),
    "a label added and removed": (
        [EditDance("Polka", add_labels=("x",)), EditDance("Polka", remove_labels=("x",))],
        InputError,
        "its label x cannot be both 'added' and 'removed'",
    ),
    "merged twice": (
        [EditDance("Polka", merge_into="Waltz"), EditDance("Polka", merge_into="Thriller")],
        InputError,
        "'Polka' is merged into another dance in the same edit",
    ),
    "in a circle": (
        [EditDance("Polka", merge_into="Waltz"), EditDance("Waltz", merge_into="Polka")],
        InputError,
        "'Polka' is merged into another dance in the same edit",
    ),
    "no name": ([EditDance("Polka", {"name": None})], InputError, "'Polka' needs a name"),
    "an empty name": ([EditDance("Polka", {"name": " "})], InputError, "needs a character that can be seen"),
    "a name of two lines": ([EditDance("Polka", {"name": "a\nb"})], InputError, "one line without control"),
    "long notes": ([EditDance("Polka", {"notes": "x" * 2001})], InputError, "notes has at most 2000"),
    "labels in one": ([EditDance("Polka", {"labels": ("a;b",)})], InputError, "a label has no ';'"),
    "a text of labels": (
        [EditDance("Polka", {"labels": "ab"})],
        InputError,
        "labels are several texts, got 'ab'",
    ),
    "a number of labels": ([EditDance("Polka", add_labels=(7,))], InputError, "labels are several texts"),  # type: ignore[arg-type]
    "many labels": (
        [EditDance("Polka", {"labels": tuple(f"l{n}" for n in range(101))})],
        InputError,
        "at most 100 labels, got 101",
    ),
    "no address": ([EditRecording("a.mp4", {"url": "example.org"})], InputError, "begins with http"),
    "no date": ([EditRecording("a.mp4", {"date": "1983-02-30"})], InputError, "a date is a year, a month"),
    "no field": ([EditDance("Polka", {"performer": "x"})], InputError, "a dance has no 'performer'"),
    "no field of a recording": ([EditRecording("a.mp4", {"file": "x"})], InputError, "has no 'file'"),
    "beyond the end": ([EditRecording("a.mp4", exclude=Span(20, 21))], InputError, "is not in 'a.mp4'"),
    "a new dance without a name": ([EditRecording("a.mp4", new_dance="")], InputError, "needs a character"),
}


def test_what_cannot_be_is_refused_and_nothing_of_the_edit_is_made(store):
    """One printable sentence; what came before it in the same edit is not made either."""
    before, generation = state(store), store.generation
    first = EditDance("Thriller", {"notes": "first"})
    for what, (wanted, error, complaint) in REFUSED.items():
        for dry_run in (True, False):
            with pytest.raises(error, match=complaint) as caught:
                edit(store, first, *wanted, dry_run=dry_run)
            assert str(caught.value).isprintable()
        assert generation == store.generation, what

    assert before == state(store)


def test_notes_that_are_too_long_together_refuse_a_merge(store):
    edit(store, EditDance("Polka", {"notes": "x" * MAX_NOTES_LENGTH}))
    with pytest.raises(InputError, match="notes has at most 2000 characters, got 2006"):
        edit(store, EditDance("Polka", merge_into="Waltz"))

    assert ["Polka", "Thriller", "Waltz"] == names(store)


def test_an_edit_of_what_was_changed_meanwhile_is_refused(store):
    """By its ETag, which any change of the dance or its recordings changes, and no other does."""
    changes: list[Edit] = [
        EditDance("Thriller", {"notes": "x"}),
        EditDance("Thriller", add_labels=("x",)),
        EditRecording("b.mp4", {"date": "1999"}),
        EditRecording("b.mp4", exclude=Span(0, 1)),
        EditRecording("b.mp4", exclude=Span(0, 1), reason="x"),
        EditRecording("b.mp4", move_to="Polka"),
    ]
    seen = [read_etag(store, "Thriller")]
    for change in changes:
        edit(store, change)
        seen.append(read_etag(store, "Thriller"))
    edit(store, EditDance("Waltz", {"notes": "y"}))
    assert (len(changes) + 1, seen[-1]) == (len(set(seen)), read_etag(store, "Thriller"))

    before, generation = state(store), store.generation
    for stale in seen[:-1]:
        with pytest.raises(
            ChangedMeanwhileError, match="'Thriller' has been changed meanwhile; look at it again"
        ):
            edit(store, EditDance("Thriller", {"name": "Lost"}), expected={"Thriller": stale})
    assert (before, generation) == (state(store), store.generation)
    edit(store, EditDance("Thriller", {"name": "Found"}), expected={"Thriller": seen[-1]})
    assert "Found" in names(store)


def test_an_undone_edit_has_the_etag_of_before(store):
    before = read_etag(store, "Waltz"), read_etag(store, "Thriller")
    edit(store, EditDance("Waltz", merge_into="Thriller"))
    undo(store)

    assert before == (read_etag(store, "Waltz"), read_etag(store, "Thriller"))


def add_zombie(store: Store) -> None:
    store.add(of_dance("Zombie", "z.mp4"), [StoredTrack(random_words(4, 7))], join=True)


@pytest.mark.parametrize(
    ("wanted", "conflict", "complaint"),
    [
        (
            EditDance("Waltz", {"name": "Valse"}),
            lambda store: store.add(of_dance("Waltz", "z.mp4"), [StoredTrack(random_words(4, 7))]),
            "a dance was named 'Waltz' since",
        ),
        (EditRecording("a.mp4", new_dance="Zombie"), add_zombie, "has been changed again since"),
        (
            EditDance("Waltz", {"labels": ("x",)}),
            lambda store: store.add(
                of_dance("Waltz", "z.mp4", labels=("y",)), [StoredTrack(random_words(4, 7))], join=True
            ),
            "has been changed again since",
        ),
    ],
    ids=["name taken", "a recording more", "a label more"],
)
def test_what_has_changed_again_is_not_undone(
    store, wanted: Edit, conflict: Callable[[Store], None], complaint: str
):
    """A recording that came since would be lost with its dance, a name would be there twice."""
    edit(store, wanted)
    conflict(store)
    before = state(store)
    with pytest.raises(CatalogueError, match=complaint):
        undo(store)

    assert before == state(store)


def test_a_recording_that_came_since_stays_when_a_merge_is_undone(store):
    edit(store, EditDance("Waltz", merge_into="Thriller"))
    store.add(of_dance("Thriller", "z.mp4"), [StoredTrack(random_words(4, 7))], join=True)
    undo(store)

    assert (["a.mp4", "b.mp4", "z.mp4"], ["c.mp4"]) == (files(store, "Thriller"), files(store, "Waltz"))


@pytest.mark.parametrize("remove", ["the dance", "another dance", "a recording"])
def test_after_a_removal_there_is_nothing_to_undo(store, remove):
    """Of what was removed nothing is kept, not even for that."""
    edit(store, EditDance("Waltz", {"name": "Valse"}))
    if remove == "a recording":
        store.remove_recordings(["b.mp4"])
    else:
        store.remove("Valse" if remove == "the dance" else "Polka")
    with pytest.raises(InputError, match=r"there is no edit to undo in .*: none was made, or something was"):
        undo(store)


def test_without_an_edit_there_is_nothing_to_undo(store):
    with pytest.raises(InputError, match="there is no edit to undo"):
        undo(store)


def test_a_damaged_log_is_one_sentence_and_the_next_edit_mends_it(store, address):
    edit(store, EditDance("Waltz", {"name": "Valse"}))
    run_sql(address, "UPDATE edits SET before = '{\"dances\": 7}'")
    with pytest.raises(CatalogueError, match="what was kept of the last edit is damaged"):
        undo(store)
    edit(store, EditDance("Valse", {"name": "Waltz"}))
    undo(store)

    assert "Valse" in names(store)


def test_an_edit_that_changes_nothing_leaves_the_last_one_to_be_undone(store):
    edit(store, EditDance("Waltz", {"name": "Valse"}))
    assert () == edit(store, EditDance("Valse", {"name": "Valse"}, add_labels=("old",))).changes
    undo(store)

    assert "Waltz" in names(store)


def changed_files(store: Store, since: int) -> tuple[list[str], list[str]]:
    """The files whose tracks a search removes, and those that it adds, because of the changes since."""
    found = store.changes(since)
    assert found is not None
    files = dict(fetch_files(store))
    return (
        sorted(files[key] for key in found.removed),
        sorted(files[track.key] for track in named_tracks(store, found.added)),
    )


def fetch_files(store: Store) -> list[tuple[int, str]]:
    query = "SELECT tracks.key, file FROM tracks JOIN recordings ON recording = recordings.key"
    return [(key, file) for key, file in fetch(address_of(store), query)]


THRILLER = ["a.mp4", "b.mp4", "b.mp4"]  # two dancers in the second


@pytest.mark.parametrize(
    ("wanted", "touched"),
    [
        (EditDance("Thriller", {"name": "Zombie", "notes": "x"}), []),
        (EditRecording("a.mp4", {"performer": "x", "url": None, "date": "1983"}), []),
        (EditDance("Thriller", add_labels=("x",)), THRILLER),
        (EditDance("Thriller", {"collection": "x"}), THRILLER),
        (EditRecording("b.mp4", exclude=Span(0, 1)), ["b.mp4", "b.mp4"]),
        (EditRecording("b.mp4", move_to="Polka"), ["b.mp4", "b.mp4"]),
        (EditRecording("a.mp4", new_dance="x"), ["a.mp4"]),
        (EditDance("Polka", merge_into="Thriller"), ["d.mp4"]),
        (EditDance("Waltz", merge_into="Thriller"), [*THRILLER, "c.mp4"]),
    ],
)
def test_a_search_reads_again_what_it_knows_of_and_nothing_else(store, wanted, touched):
    """No track of a rename, those of one dance for a label; the same when it is undone."""
    for change in (lambda: edit(store, wanted), lambda: undo(store)):
        since = store.generation
        change()
        assert (touched, touched) == changed_files(store, since)


def test_the_reason_of_a_segment_is_none_of_the_searchs_business(store):
    edit(store, EditRecording("a.mp4", exclude=Span(1, 3)))
    since = store.generation
    edit(store, EditRecording("a.mp4", exclude=Span(1, 3), reason="stumbles"))

    assert ([], []) == changed_files(store, since)


def test_a_moved_recording_is_of_its_new_dance_for_a_search(store):
    edit(store, EditRecording("b.mp4", move_to="Polka"))
    found = [(track.dance_id, track.dancer) for track in named_tracks(store, store.everything().added)]

    assert [("Polka", 1), ("Polka", 1), ("Polka", 2), ("Thriller", 1), ("Waltz", 1)] == sorted(found)


SECRETS = {
    "labels": ("Sëcret-label",), "notes": "Sëcret-notes", "collection": "Sëcret-collection",
    "performer": "Sëcret-performer", "url": "https://secret.example/url",
}  # fmt: skip


def keep_a_secret(store: Store) -> None:
    """Add a recording that nobody may know of, edit it, and let it be reviewed."""
    store.add(
        of_dance("Sëcret-name", "Sëcret-file.mp4", poster=POSTER, **SECRETS),
        [StoredTrack(random_words(4, 8))],
    )
    wanted = EditRecording("Sëcret-file.mp4", exclude=Span(1, 2), reason="Sëcret-reason")
    edit(store, wanted, EditDance("Sëcret-name", {"name": "Sëcret-new-name", "notes": None}))
    (known,) = (one for one in store.recordings() if one.file == "Sëcret-file.mp4")
    reviews = ReviewStore(store)
    reviews.add([replace(possible("Sëcret-query"), recording_id=known.recording_id)])
    (waiting,) = reviews.read()
    reviews.decide(waiting.review_id, "rejected", "Sëcret-person", "Sëcret-note")


TRACES = ["Sëcret".encode(), rb"S\u00ebcret", b"secret.example", POSTER]


def bytes_of_all_rows(address: str) -> bytes:
    """Every value of every table."""
    return b"".join(
        value if isinstance(value, bytes) else str(value).encode()
        for table in metadata.tables
        for row in fetch(address, f"SELECT * FROM {table}")  # noqa: S608  (our own names)
        for value in row
    )


@pytest.mark.parametrize("by", ["dance", "recording"])
def test_all_that_is_known_of_a_recording_is_erased_with_it(store, address, by):
    """Names, labels, notes, performer, poster, segments, reviews, and what was kept to undo an edit."""
    store.remove("Thriller")  # which has the same poster
    keep_a_secret(store)
    before = bytes_of_all_rows(address)
    assert [True] * len(TRACES) == [trace in before for trace in TRACES]
    if by == "dance":
        store.remove("Sëcret-new-name")
    else:
        store.remove_recordings(["Sëcret-file.mp4"])
    kept = bytes_of_all_rows(address)

    assert [False] * len(TRACES) == [trace in kept for trace in TRACES]
    assert ["Polka", "Waltz"] == names(store)
    if "://" not in address:
        beside = sorted(Path(address).parent.glob(f"{Path(address).name}*"))
        on_disk = b"".join(path.read_bytes() for path in beside)
        assert [False] * len(TRACES) == [trace in on_disk for trace in TRACES]


def test_a_recording_of_two_dancers_is_moved_and_removed_as_one(store):
    """Both dancers; the dance that stays counts its own."""
    edit(store, EditRecording("b.mp4", move_to="Polka"))
    counts = {one.name: (one.recordings, one.dancers, one.seconds) for one in store.dances()}
    assert {"Polka": (2, 3, 40.0), "Thriller": (1, 1, 20.0), "Waltz": (1, 1, 20.0)} == counts
    store.remove_recordings(["b.mp4", "a.mp4"])

    assert {"Polka": (1, 1), "Waltz": (1, 1)} == {
        one.name: (one.recordings, one.dancers) for one in store.dances()
    }
    assert 2 == len(store.everything().added)


def test_recordings_are_removed_all_or_none(store):
    with pytest.raises(UnknownDanceError, match=r"has no recording named 'x.mp4'; nothing was removed"):
        store.remove_recordings(["a.mp4", "x.mp4"])

    assert 4 == len(store.recordings())


def test_posters_are_kept_moved_and_refused(store):
    assert ["b.mp4"] == [one.file for one in store.recordings() if one.poster]
    edit(store, EditRecording("b.mp4", move_to="Waltz"))
    assert (POSTER, None) == (read_poster(store, digest("b.mp4")), read_poster(store, digest("a.mp4")))
    for wrong in (b"", POSTER[:-1], b"<svg/>", POSTER + bytes(70_000) + b"\xff\xd9"):
        with pytest.raises(InputError, match="a picture"):
            store.add(of_dance("x", "x.mp4", poster=wrong), [StoredTrack(random_words(4, 8))])


def test_a_recording_joins_a_dance_and_says_no_other_thing_of_it(store):
    """Labels are added, what is missing is filled in, what contradicts is refused, two new ones too."""
    words = [StoredTrack(random_words(4, 8))]
    store.add(of_dance("Polka", "e.mp4", labels=("x",), collection="C", notes="N"), words, join=True)
    assert ("Polka", ("x",), "C", "N") == said(store, "Polka")
    for facts in ({"collection": "D"}, {"notes": "M"}):
        with pytest.raises(InputError, match=r"'Polka' is there already, and its .* nothing was added"):
            store.add(of_dance("Polka", "f.mp4", **facts), words, join=True)
    two = [(of_dance("Thriller", f"{c}.mp4", collection=c), words) for c in "CD"]
    with pytest.raises(InputError, match="its collection is 'C', not 'D'"):
        store.add_many(two, join=True)
    with pytest.raises(DanceExistsError, match="already has a dance named 'Polka', of other content"):
        store.add(of_dance("Polka", "f.mp4"), words)

    assert (None, 5) == (read_dance(store, "Thriller").collection, len(store.recordings()))


def test_an_undo_says_which_edit_it_means(store):
    """Somebody else's later edit is not taken back by mistake."""
    mine = edit(store, EditDance("Waltz", {"notes": "mine"}))
    theirs = edit(store, EditDance("Polka", {"notes": "theirs"}))
    with pytest.raises(ChangedMeanwhileError, match="there has been another edit since"):
        CatalogueEditor(store).undo(mine.edit_id)

    assert ("mine", "theirs") == (read_dance(store, "Waltz").notes, read_dance(store, "Polka").notes)
    CatalogueEditor(store).undo(theirs.edit_id)
    assert read_dance(store, "Polka").notes is None


def test_a_merged_dance_takes_no_new_name(store):
    with pytest.raises(InputError, match="name the dance that stays instead"):
        edit(store, EditDance("Waltz", {"name": "Valse"}, merge_into="Polka"))
