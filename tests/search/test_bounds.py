import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.search.stage1 import columns, top_entries
from dancematch.search.stage1.bounds import LARGEST, bound_scores, round_up_weights
from dancematch.search.stage1.columns import HistogramColumns
from dancematch.search.stage1.histogram import count_codes, word_counts
from dancematch.search.stage1.scan import PLACES
from dancematch.search.words.word_store import unpack_words
from dancematch.tracks import pack_words
from dancematch.types import Fingerprint

CHANNELS, VOCABULARY = 3, 9
HIGHEST = int(count_codes("sqrt-idf")[-1])


def some_words(count: int, seed: int) -> list[Fingerprint]:
    """Tracks of one to forty words, some nearly copies of others, with channels that are hardly ever seen."""
    rng, made = np.random.default_rng(seed), []
    for number in range(count):
        steps = int(rng.integers(1, 41))
        words = rng.integers(VOCABULARY, size=(steps, CHANNELS)) // rng.integers(1, 4)
        if number % 3 == 1:
            words = np.resize(made[-1].words, (steps, CHANNELS))
        seen = rng.random((steps, CHANNELS)) < rng.choice([0.1, 0.9, 1], CHANNELS)
        seen[0, 0] = True
        made.append(Fingerprint(words, VOCABULARY, 0.1, "model", visibility=seen.astype(np.float32)))
    return made


def filled(known: list[Fingerprint]) -> HistogramColumns:
    made = HistogramColumns(CHANNELS, VOCABULARY)
    made.append_fingerprints(known)
    return made


def slow_top(made: HistogramColumns, counts: np.ndarray, seen: np.ndarray, size: int) -> tuple[list, list]:
    """All scores, sorted; equal ones by number."""
    every = made.scores(counts, seen)
    order = np.lexsort((every.rows, -every.scores))[:size]
    return every.rows[order].tolist(), every.scores[order].tolist()


SHARE = st.one_of(st.just(0.0), st.floats(2**-20, 1, width=32))
SEEN = st.lists(SHARE, min_size=CHANNELS, max_size=CHANNELS).map(np.float32)


@given(st.integers(0, 10_000), st.lists(SEEN, min_size=1, max_size=3))
@settings(deadline=None, max_examples=40)
def test_no_score_lies_above_its_bound(seed, seen):
    """Whatever words, channels and shares; and bounds are near where sixteen bits have room for the words."""
    known = some_words(30, seed)
    made = filled(known)
    snapshot = made._snapshot
    counts = [word_counts(one) * factor for one, factor in zip(known, (1, 0.3, 1), strict=False)][: len(seen)]
    queries = [snapshot.query_cells(one, shown) for one, shown in zip(counts, seen, strict=True)]
    cells = round_up_weights(queries, HIGHEST)
    bounds = []
    for block, norms in snapshot.parts():
        part = block.occurrences, norms.coarse, norms.complete
        bounds.append(bound_scores(part, cells, np.zeros(PLACES, np.uint16)))
    for one, shown, bound in zip(counts, seen, np.concatenate(bounds, axis=1), strict=True):
        scores = made.scores(one, shown).scores

        assert (bound >= scores).all()
        # A score is capped at 1 per channel, its bound is not.
        assert (bound <= 1.02 * scores + 5e-3).all()


def test_weights_are_as_large_as_sixteen_bits_allow():
    """The highest code of every word of the query at once just fits."""
    made = filled(some_words(40, 1))
    query = made._snapshot.query_cells(np.ones((CHANNELS, VOCABULARY)), np.ones(CHANNELS, np.float32))
    _, weights, cuts, _, _ = round_up_weights([query], HIGHEST)
    sums = [
        HIGHEST * int(weights[a:b].sum(dtype=np.int64)) for a, b in zip(cuts[0], cuts[0][1:], strict=False)
    ]

    assert all(0.99 * LARGEST < total <= LARGEST for total in sums)


@pytest.mark.parametrize("with_words", [False, True])
@pytest.mark.parametrize("margin", [4, 1000])
def test_the_best_are_those_of_all_scores_to_the_last_bit(with_words, margin, monkeypatch):
    """By columns and by words, over several blocks, equal scores included; a small margin makes it widen."""
    monkeypatch.setattr(columns, "ROWS", 32)
    monkeypatch.setattr(top_entries, "_MARGIN", margin)
    known = some_words(200, 5) + some_words(200, 5)
    made = filled(known)
    made.delete([3, 17, 203])

    def read_words(rows: np.ndarray) -> tuple:
        """Those of even numbers alone."""
        readable = rows % 2 == 0
        return readable, unpack_words(pack_words([known[row] for row in rows[readable].tolist()]))

    seen = [np.array([1, 0.5, 0.25], np.float32), np.array([0, 1, 1], np.float32)]
    counts = [word_counts(known[8]), word_counts(known[30])]
    for size in (1, 20, 150):
        found = made.top_of_each(counts, seen, size, None, read_words if with_words else None)
        for one, shown, top in zip(counts, seen, found, strict=True):
            assert slow_top(made, one, shown, size) == (top.rows.tolist(), top.scores.tolist())


def test_equal_scores_beyond_the_margin_are_looked_for(monkeypatch):
    """More copies than are kept by their bounds: widening finds those with the lowest numbers."""
    tried = []
    wanted = top_entries._highest_bounds
    monkeypatch.setattr(
        top_entries, "_highest_bounds", lambda scanned, size: tried.append(size) or wanted(scanned, size)
    )
    known = some_words(12, 2)
    made = filled([known[0]] * 50 + known + [known[0]] * 50)
    top = made.top(word_counts(known[0]), np.ones(CHANNELS), 10)

    assert list(range(10)) == top.rows.tolist()
    assert len(tried) > 1
