from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalogue_samples import clear_exclusions, exclude, named_tracks, named_words, names
from dance_samples import MODEL, SECONDS_PER_WORD, digest, random_words, recorded, toy_codebook
from dancematch.catalogue.records import Changes, Exclusion, NewRecording, StoredTrack
from dancematch.catalogue.sql import change_log, database
from dancematch.catalogue.store import Store
from dancematch.errors import DanceExistsError, InputError, ModelMismatchError, UnknownDanceError
from dancematch.search.engine import Engine, Query
from dancematch.types import Fingerprint, Span
from databases import backup

STEPS = 40


@pytest.fixture
def store(address):
    opened = Store(address, MODEL)
    yield opened
    opened.close()


def new(name: str, *, dancers: int = 1, **changes_) -> tuple[NewRecording, list[StoredTrack]]:
    """A dance of random words, ready to be added."""
    facts = {"file": f"{name}.npz", "content": digest(f"hash of {name}"), "seconds": 20.0, **changes_}
    seed = sum(map(ord, name))
    return recorded(name, **facts), [StoredTrack(random_words(STEPS, seed + n)) for n in range(dancers)]


def test_a_batch_is_added_in_one_generation(store):
    store.add_many([new("waltz"), new("duet", dancers=2), new("polka")])

    assert 1 == store.generation
    assert [("duet", 2), ("polka", 1), ("waltz", 1)] == [(d.name, d.dancers) for d in store.dances()]
    for name, found in named_words(store):
        own = [track.fingerprint.words for track in new(name, dancers=2)[1]]
        assert any((found.words == words).all() for words in own)


def test_an_empty_batch_changes_nothing(store):
    store.add_many([])

    assert 0 == store.generation


@pytest.mark.parametrize(
    ("last", "error", "complaint"),
    [
        (new("waltz", content=digest("another")), DanceExistsError, "already has a dance named 'waltz'"),
        (
            new("b", content=digest("hash of waltz")),
            DanceExistsError,
            "this very content as 'waltz'; 'b' was not",
        ),
        (
            new("b", content=digest("hash of a")),
            DanceExistsError,
            "this very content as 'a'; 'b' was not added",
        ),
        (new("a", content=digest("another")), DanceExistsError, "already has a dance named 'a'"),
        (new("nobody", dancers=0), InputError, "it has no dancer"),
        (
            (
                recorded("x", "x", digest("x"), 1.0),
                [StoredTrack(Fingerprint(np.zeros((2, 2), int), 8, 0.5, "new"))],
            ),
            ModelMismatchError,
            "words of the model toy only",
        ),
    ],
)
def test_a_batch_is_added_as_a_whole_or_not_at_all(store, last, error, complaint):
    store.add(*new("waltz"))
    with pytest.raises(error, match=complaint):
        store.add_many([new("a"), last])

    assert (["waltz"], 1) == (names(store), store.generation)


def test_dances_are_chosen_by_label_and_collection(store):
    store.add_many(
        [
            new("a", label="red", collection="one"),
            new("b", label="red", collection="two"),
            new("c", label="blue", collection="one"),
            new("d"),
        ]
    )

    assert ["a", "b"] == names(store, label="red")
    assert ["a", "c"] == names(store, collection="one")
    assert ["a"] == names(store, label="red", collection="one")
    assert [] == names(store, label="")
    assert ["a", "c"] == [name for name, _ in named_words(store, collection="one")]
    chosen = store.everything(label="red", collection="one").added
    assert ["a"] == [track.dance_id for track in named_tracks(store, chosen)]


def test_removing_several_is_all_or_nothing(store):
    store.add_many([new("a"), new("b"), new("c")])
    with pytest.raises(UnknownDanceError, match="has no dance named 'polka'; nothing was removed"):
        store.remove_many(["a", "polka"])
    assert ["a", "b", "c"] == names(store)
    store.remove_many(["a", "c", "a"])

    assert (["b"], 2) == (names(store), store.generation)


def test_more_can_be_removed_at_once_than_a_statement_can_name(store):
    count = 1300
    words = random_words(1, 0)
    store.add_many(
        [(recorded(f"d{n}", "x", digest(f"h{n}"), 1.0), [StoredTrack(words)]) for n in range(count)]
    )
    store.remove_many([f"d{n}" for n in range(count - 1)])

    assert [f"d{count - 1}"] == names(store)


def test_changes_say_what_came_and_what_went(store):
    store.add(*new("a"))
    store.add(*new("duet", dancers=2))
    began = store.everything()
    keys = {(track.dance_id, track.dancer): track.key for track in named_tracks(store, began.added)}
    store.add(*new("b", label="red", collection="one"))
    store.remove("duet")
    found = store.changes(began.generation)

    assert found is not None
    assert 4 == found.generation == store.generation
    assert tuple(sorted([keys["duet", 1], keys["duet", 2]])) == found.removed
    assert [("b", 1, ("red",), "one")] == [
        (t.dance_id, t.dancer, t.labels, t.collection) for t in named_tracks(store, found.added)
    ]
    assert Changes(4, (), ()) == store.changes(4)


@pytest.mark.parametrize("since", [-1, 2, 99])
def test_changes_since_a_generation_that_never_was_are_not_known(store, since):
    store.add(*new("a"))

    assert store.changes(since) is None


def test_a_generation_of_another_past_is_not_taken_for_ones_own(store, address):
    """A backup is put back and changed as often as the original: same numbers, other dances."""
    store.add(*new("a"))
    began = store.everything()
    store.close()
    original, restored = Store(backup(address), MODEL), Store(address, MODEL)
    original.add(*new("b"))
    restored.add(*new("c"))
    held = original.everything()
    restored.add(*new("d"))

    assert original.identity == restored.identity
    assert Changes(2, (), ()) == original.changes(held.generation, held.token)
    assert restored.changes(held.generation, held.token) is None
    shared = restored.changes(began.generation, began.token)
    assert shared is not None
    assert ["c", "d"] == [track.dance_id for track in named_tracks(restored, shared.added)]
    assert restored.changes(began.generation, "") is None
    original.close()
    restored.close()


def test_the_states_do_not_grow_for_ever(store, monkeypatch):
    """As many are known by their tokens as there are generations in the log."""
    monkeypatch.setattr(database, "KEPT_GENERATIONS", 10)
    tokens = []
    for number in range(20):
        store.add(*new(f"d{number}"))
        tokens.append(store.everything().token)

    assert store.changes(9, tokens[8]) is None
    assert store.changes(10, tokens[9]) is not None
    assert 20 == len(set(tokens))


def test_the_log_of_removals_does_not_grow_for_ever(store, address, monkeypatch):
    """A cache that is too far behind starts again; any other gets every change."""
    monkeypatch.setattr(change_log, "KEPT_GENERATIONS", 10)
    for number in range(20):
        store.add(*new(f"d{number}"))
        store.remove(f"d{number}")

    assert 40 == store.generation
    assert store.changes(29) is None
    found = store.changes(30)
    assert found is not None
    reused = "://" not in address  # SQLite gives a key that is free again, PostgreSQL never
    assert ((), 1 if reused else 5) == (found.added, len(found.removed))


def test_a_removed_dance_leaves_no_name_in_the_log(tmp_path):
    store = Store(tmp_path / "dances.db", MODEL)
    store.add(*new("secret"))
    store.remove("secret")
    store.close()

    assert b"secret" not in (tmp_path / "dances.db").read_bytes()


def test_new_words_for_all_are_a_new_beginning(store):
    store.add(*new("a"))
    before = store.everything()
    other = Fingerprint(np.zeros((4, 2), int), 4, 0.5, "other")
    replaced = StoredTrack(other, None, 2.0, 0.8, dancer=1)
    store.replace_words("other", [(digest("hash of a"), replaced)], generation=before.generation)
    (track,) = store.everything().added

    assert store.changes(before.generation) is None
    assert Changes(2, (), ()) == store.changes(2)
    assert (2.0, 0.8, "other") == (track.period_seconds, track.period_strength, track.fingerprint.model_id)


def test_periods_are_kept(store):
    """Those of every track; of a dance, those of its first dancer."""
    dance, (track,) = new("a")
    store.add(dance, [StoredTrack(track.fingerprint, None, 1.5, 0.7), track])
    store.add(*new("b"))
    periods = {
        (t.dance_id, t.dancer): (t.period_seconds, t.period_strength)
        for t in named_tracks(store, store.everything().added)
    }

    assert {("a", 1): (1.5, 0.7), ("a", 2): (None, 0.0), ("b", 1): (None, 0.0)} == periods
    assert [(1.5, 0.7), (None, 0.0)] == [(d.period_seconds, d.period_strength) for d in store.dances()]


def seen(store: Store, name: str) -> list[bool]:
    """Which words of a dance's first dancer count."""
    found = dict(reversed(named_words(store)))[name]
    return [bool(v) for v in found.visibility.min(axis=1)]


@pytest.mark.parametrize(
    ("start", "end", "unseen"),
    [(1.0, 2.0, range(2, 4)), (1.2, 1.3, range(2, 3)), (0, 0.4, range(1)), (19.0, 99.0, range(38, 40))],
)
def test_every_word_that_an_excluded_segment_touches_is_unseen(store, start, end, unseen):
    store.add(*new("a"))
    exclude(store, "a", Span(start, end))

    assert [step not in unseen for step in range(STEPS)] == seen(store, "a")


def test_excluding_is_on_the_clock_of_the_source(store):
    late = Fingerprint(np.zeros((10, 2), int), 8, SECONDS_PER_WORD, MODEL, start=12.0)
    store.add(recorded("late", "x", digest("x"), 17.0), [StoredTrack(late)])
    exclude(store, "late", Span(0, 12.5))

    assert [False] + [True] * 9 == seen(store, "late")


def test_borders_that_rounding_moved_exclude_no_neighbour(store):
    """A segment that ends where a word begins leaves that word alone, whatever a word's length."""
    made = Fingerprint(np.zeros((100, 2), int), 8, 4 / 30, MODEL, start=0.1)
    store.add(recorded("a", "x", digest("x"), 20.0), [StoredTrack(made)])
    for first in range(0, 100, 10):
        exclude(store, "a", made.span(first, first + 4))

    assert [step % 10 > 4 for step in range(100)] == seen(store, "a")


def test_an_excluded_segment_is_not_found_and_the_rest_is(store):
    store.add_many([new(name) for name in "abcdefgh"])
    whole = dict(named_words(store))["c"]
    (before,) = Engine(toy_codebook(), named_words(store)).search([Query(whole.segment(2, 14))], limit=1)
    exclude(store, "c", Span(0, 8), "walks on")
    engine = Engine(toy_codebook(), named_words(store))
    within = engine.search([Query(whole.segment(2, 14))], limit=8)
    (after,) = engine.search([Query(whole.segment(20, 35))], limit=1)

    assert ("c", "c") == (before.dance_id, after.dance_id)
    assert not any(match.reference.start < 7 for match in within if match.dance_id == "c")
    exclude(store, "c", Span(0, 20))
    everything_gone = Engine(toy_codebook(), named_words(store)).search([Query(whole)], limit=8)
    assert all(np.isfinite(match.score) for match in everything_gone)
    assert "c" != everything_gone[0].dance_id


def test_exclusions_are_listed_replaced_and_cleared(store):
    store.add_many([new("a"), new("b")])
    exclude(store, "b", Span(5, 6))
    exclude(store, "a", Span(3, 4), "bow")
    exclude(store, "a", Span(0, 1), "walks on")
    exclude(store, "a", Span(3, 4), "applause")
    wanted = [Exclusion("a", 0, 1, "walks on"), Exclusion("a", 3, 4, "applause")]

    assert [*wanted, Exclusion("b", 5, 6)] == store.exclusions()
    assert wanted == store.exclusions("a")
    assert (2, 0) == (clear_exclusions(store, "a"), clear_exclusions(store, "a"))
    assert all(seen(store, "a"))
    store.remove("b")
    assert [] == store.exclusions()


def test_a_segment_ends_where_the_dance_does(store):
    store.add(*new("a"))

    assert Exclusion("a", 19.0, 20.0, "bows") == exclude(store, "a", Span(19, 99), "bows")
    assert [Exclusion("a", 19.0, 20.0, "bows")] == store.exclusions("a")


def test_segments_that_overlap_become_one(store):
    """Both reasons are kept, that of a segment which is covered is not; neighbours stay two."""
    store.add(*new("a"))
    exclude(store, "a", Span(1, 3), "walks on")
    exclude(store, "a", Span(5, 7), "bows")
    assert Exclusion("a", 1, 4, "walks on; waits") == exclude(store, "a", Span(2, 4), "waits")
    assert Exclusion("a", 1, 7, "walks on; waits; bows") == exclude(store, "a", Span(3.5, 5.5))
    assert Exclusion("a", 0, 8, "all of it") == exclude(store, "a", Span(0, 8), "all of it")
    exclude(store, "a", Span(8, 9), "applause")

    assert [(0, 8), (8, 9)] == [(one.start, one.end) for one in store.exclusions("a")]
    assert [step >= 18 for step in range(STEPS)] == seen(store, "a")


STRETCHES = st.tuples(st.integers(0, 38), st.integers(1, 12)).map(
    lambda drawn: Span(drawn[0] / 2, (drawn[0] + drawn[1]) / 2)
)


ONE_STORE = (HealthCheck.function_scoped_fixture,)  # for all examples: `emptied` before each


def emptied(store: Store) -> Store:
    store.remove_many(names(store))
    return store


@settings(max_examples=20, deadline=None, suppress_health_check=ONE_STORE)
@given(spans=st.lists(STRETCHES, min_size=1, max_size=8))
def test_whatever_is_excluded_is_unseen_and_nothing_else(store, spans):
    """However the segments overlap, they are kept apart from each other and within the dance."""
    emptied(store).add(*new("a"))
    for span in spans:
        exclude(store, "a", span)
    moments = [(step + 0.5) * SECONDS_PER_WORD for step in range(STEPS)]
    kept = store.exclusions("a")

    assert [not any(s.start < m < s.end for s in spans) for m in moments] == seen(store, "a")
    assert all(one.end <= other.start for one, other in pairwise(kept))
    assert all(one.end <= 20.0 for one in kept)


def test_what_cannot_be_excluded_is_refused(store):
    store.add(*new("a"))
    with pytest.raises(UnknownDanceError, match="has no dance named 'polka'"):
        exclude(store, "polka", Span(0, 1))
    with pytest.raises(UnknownDanceError, match="has no dance named 'polka'"):
        store.exclusions("polka")
    with pytest.raises(InputError, match=r"from 20.0 s on is not in 'a.npz', it lasts 20.0 s"):
        exclude(store, "a", Span(20, 21))

    assert ([], 1) == (store.exclusions(), store.generation)


def state(found: Changes) -> dict[int, tuple]:
    """What a search would hold, by key, in a form that can be compared."""
    return {
        t.key: (t.dance_id, t.dancer, t.period_seconds, t.fingerprint.visibility.tobytes())
        for t in found.added
    }


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["toggle", "toggle", "exclude", "clear"]),
        st.integers(0, 1),
        st.booleans(),
    ),
    min_size=4,
    max_size=16,
)


def change(store: Store, action: str, number: int) -> None:
    """Do something to a dance; a dance that is not there can only come."""
    name = f"d{number}"
    there = store.has(name)
    if action == "toggle" and there:
        store.remove(name)
    elif action == "toggle" or not there:
        store.add(*new(name, dancers=1 + number))
    elif action == "exclude":
        exclude(store, name, Span(number, number + 1))
    else:
        clear_exclusions(store, name)


@settings(max_examples=25, deadline=None, suppress_health_check=ONE_STORE)
@given(actions=ACTIONS)
def test_following_the_changes_gives_what_reading_everything_gives(store, actions):
    """Whatever is done in whatever order, and however seldom one looks."""
    held: dict[int, tuple] = {}
    generation = emptied(store).generation
    for at, (action, number, look) in enumerate(actions, start=1):
        change(store, action, number)
        if look or at == len(actions):
            found = store.changes(generation)
            assert found is not None
            for key in found.removed:
                held.pop(key, None)
            assert not held.keys() & state(found).keys()
            held |= state(found)
            generation = found.generation
            assert state(store.everything()) == held
