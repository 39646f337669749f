import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq, Levenshtein

from dance_samples import MODEL, random_words, words
from dancematch.search.metrics import registry as metrics
from dancematch.search.metrics.bit_parallel import common_subsequence, levenshtein
from dancematch.search.metrics.elastic import dtw, erp, twed
from dancematch.search.metrics.late_interaction import late_interaction
from dancematch.search.metrics.ngram import ngram_cosines, short_runs
from dancematch.search.metrics.registry import METRICS, PAPER, measure_distances
from dancematch.search.stage1.histogram import Histograms, word_counts
from dancematch.types import Codebook, Fingerprint

VOCABULARY = 8
SEQUENCE = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=9)
LENGTHS = (1, 2, 63, 64, 65, 130)  # around what a block of bits or lanes holds
small = settings(max_examples=60, deadline=None)


def meaning(seed: int = 0, channels: int = 2) -> Codebook:
    """Words with random vectors, alike as their distance says."""
    vectors = np.random.default_rng(seed).normal(size=(channels, VOCABULARY, 3)).astype(np.float32)
    apart = np.linalg.norm(vectors[:, :, None] - vectors[:, None], axis=3)
    return Codebook(MODEL, tuple(map(str, range(channels))), vectors, np.exp(-(apart**2)))


BOOK = meaning()
ONE_PART = meaning(channels=1)
DISTANCES, GAPS = measure_distances(BOOK).distances[0], measure_distances(BOOK).gaps[0].copy()


def clip(sequence: Sequence[int]) -> Fingerprint:
    """A clip of one channel."""
    return words(np.array(sequence)[:, None], vocabulary=VOCABULARY)


def likeness(metric: metrics.Metric, one: Sequence[int], other: Sequence[int]) -> float:
    return float(metric.similarities(clip(one), [clip(other)], ONE_PART)[0, 0])


def packed(candidates: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    flat = np.array([word for candidate in candidates for word in candidate], dtype=np.uint16)
    return flat, np.cumsum([0, *map(len, candidates)])


def of_all_lengths(count: int, longest: int, seed: int = 0) -> list[list[int]]:
    """More candidates than a block has lanes, in no order of length, one of them without words."""
    rng = np.random.default_rng(seed)
    lengths = [0, longest, *rng.integers(1, longest + 1, size=count - 2)]
    return [rng.integers(VOCABULARY, size=length).tolist() for length in rng.permutation(lengths)]


# Slow references: the equations as they are written, a cell after the other, 1 = the first word.


def table(one: Sequence[int], other: Sequence[int], cell: Callable[..., float], empty: float = math.inf):
    """Fill D from the origin; `cell` gets D and a place, and `empty` is what lies outside."""
    grid = {(0, 0): 0.0}

    def value(i: int, j: int) -> float:
        return grid.get((i, j), empty)

    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            if (i, j) != (0, 0):
                grid[i, j] = cell(value, i, j)
    return grid[len(one), len(other)]


def slow_twed(one: Sequence[int], other: Sequence[int], original: bool = False) -> float:
    nu, penalty = 0.001, 1.0
    a, b = [None, *one], [None, *other]  # nothing is like nothing

    def cell(value, i, j):
        if i == 0 or j == 0:
            return math.inf
        if original:
            both = (a[i] != b[j]) + (a[i - 1] != b[j - 1]) + nu * (abs(i - j) + abs((i - 1) - (j - 1)))
            return min(
                value(i - 1, j - 1) + both,
                value(i - 1, j) + (a[i] != a[i - 1]) + nu + penalty,
                value(i, j - 1) + (b[j] != b[j - 1]) + nu + penalty,
            )
        here = (a[i] != b[j]) + nu * abs(i - j)
        return min(
            value(i - 1, j - 1) + here + (a[i - 1] != b[j - 1]),
            value(i - 1, j) + here + penalty,
            value(i, j - 1) + here + penalty,
        )

    return table(one, other, cell)


def slow_erp(one: Sequence[int], other: Sequence[int], distances: np.ndarray, gaps: np.ndarray) -> float:
    def cell(value, i, j):
        both = distances[one[i - 1], other[j - 1]] if i and j else math.inf
        return min(
            value(i - 1, j - 1) + both,
            value(i - 1, j) + (gaps[one[i - 1]] if i else 0),
            value(i, j - 1) + (gaps[other[j - 1]] if j else 0),
        )

    return table(one, other, cell)


def slow_dtw(one: Sequence[int], other: Sequence[int], distances: np.ndarray) -> float:
    def cell(value, i, j):
        if i == 0 or j == 0:
            return math.inf
        return distances[one[i - 1], other[j - 1]] + min(
            value(i - 1, j - 1), value(i - 1, j), value(i, j - 1)
        )

    return table(one, other, cell)


def slow_lcss(one: Sequence[int], other: Sequence[int]) -> float:
    def cell(value, i, j):
        if i == 0 or j == 0:
            return 0
        if one[i - 1] == other[j - 1]:
            return value(i - 1, j - 1) + 1
        return max(value(i - 1, j), value(i, j - 1))

    return table(one, other, cell)


def slow_edr(one: Sequence[int], other: Sequence[int]) -> float:
    def cell(value, i, j):
        both = int(one[i - 1] != other[j - 1]) if i and j else math.inf
        return min(value(i - 1, j - 1) + both, value(i - 1, j) + 1, value(i, j - 1) + 1)

    return table(one, other, cell)


def slow_cosine(one: Sequence[int], other: Sequence[int], order: int) -> float:
    counts = [Counter(zip(*(s[k:] for k in range(order)), strict=False)) for s in (one, other)]
    lengths = [math.sqrt(sum(n * n for n in count.values())) for count in counts]
    shared = sum(n * counts[1][gram] for gram, n in counts[0].items())
    return shared / math.prod(lengths) if all(lengths) else math.nan


def slow_late(one: Sequence[int], other: Sequence[int], similarity: np.ndarray) -> float:
    there = np.mean([max(similarity[a, b] for b in other) for a in one])
    back = np.mean([max(similarity[a, b] for a in one) for b in other])
    return float(there + back) / 2


PAIRS = {
    "twed": (twed, slow_twed),
    "twed original": (lambda *s: twed(*s, original=True), lambda *s: slow_twed(*s, original=True)),
    "erp": (lambda *s: erp(*s, DISTANCES, GAPS), lambda *s: slow_erp(*s, DISTANCES, GAPS)),
    "dtw": (lambda *s: dtw(*s, DISTANCES), lambda *s: slow_dtw(*s, DISTANCES)),
    "lcss": (lambda *s: common_subsequence(*s, VOCABULARY), slow_lcss),
    "edr": (lambda *s: levenshtein(*s, VOCABULARY), slow_edr),
    "bigram": (lambda *s: ngram_cosines(*s, 2), lambda *s: slow_cosine(*s, 2)),
    "trigram": (lambda *s: ngram_cosines(*s, 3), lambda *s: slow_cosine(*s, 3)),
    "late": (
        lambda *s: late_interaction(*s, BOOK.similarity[0]),
        lambda *s: slow_late(*s, BOOK.similarity[0]),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@small
@given(query=SEQUENCE, candidates=st.lists(SEQUENCE, min_size=1, max_size=4))
def test_two_implementations_agree(name, query, candidates):
    fast, slow = PAIRS[name]
    expected = [slow(query, candidate) for candidate in candidates]

    np.testing.assert_allclose(
        expected, fast(np.array(query, np.uint16), *packed(candidates)), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("length", [1, 4, 33, 66])
def test_two_implementations_agree_over_many_candidates(name, length):
    """Every lane and block is right, whatever the lengths beside it; no words disturb nobody."""
    fast, slow = PAIRS[name]
    query = np.random.default_rng(length).integers(VOCABULARY, size=length).astype(np.uint16)
    candidates = of_all_lengths(37, 40)
    found = fast(query, *packed(candidates))
    expected = {c: slow(query.tolist(), words) for c, words in enumerate(candidates) if words}

    assert 36 == len(expected)
    np.testing.assert_allclose(list(expected.values()), [found[c] for c in expected], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", LENGTHS)
def test_bit_parallel_counts_are_those_of_rapidfuzz(length):
    query = np.random.default_rng(length).integers(VOCABULARY, size=length).astype(np.uint16)
    candidates = of_all_lengths(60, 150)
    sequences = (query, *packed(candidates), VOCABULARY)

    assert [LCSseq.similarity(query.tolist(), c) for c in candidates] == common_subsequence(
        *sequences
    ).tolist()
    assert [Levenshtein.distance(query.tolist(), c) for c in candidates] == levenshtein(*sequences).tolist()


def test_no_candidates_have_no_values():
    assert (2, 0) == METRICS["twed"].similarities(random_words(5, 0), [], BOOK).shape


# What the paper prints.


def test_the_papers_similarities():
    """Each phi of the paper, by hand: q = 1 2 3 4, s = 1 2 4."""
    query, other = [1, 2, 3, 4], [1, 2, 4]
    mean_length = 3.5
    warped = 1 + (0.001 + 1)  # 3 beside 4, then the same 4 again beside the second one: a step apart, an edit

    assert pytest.approx(math.exp(-warped / (2 * mean_length))) == likeness(PAPER["twed"], query, other)
    assert pytest.approx(3 / mean_length) == likeness(PAPER["lcss"], query, other)
    assert pytest.approx(1 - 1 / 4) == likeness(PAPER["edr"], query, other)
    assert pytest.approx(math.exp(-0.5 * 3 / mean_length)) == likeness(PAPER["erp"], query, other)
    assert pytest.approx(math.exp(-1 / mean_length)) == likeness(PAPER["dtw"], query, other)
    assert pytest.approx((1 / math.sqrt(6) + 0) / 2) == likeness(PAPER["ngram"], query, other)
    assert pytest.approx(3 / math.sqrt(4 * 3)) == likeness(PAPER["histogram"], query, other)


@small
@given(SEQUENCE, SEQUENCE)
def test_the_papers_erp_is_on_the_words_numbers(one, other):
    numbers = np.arange(VOCABULARY)
    edits = slow_erp(one, other, abs(numbers[:, None] - numbers), 0.5 * numbers)
    expected = math.exp(-edits / ((len(one) + len(other)) / 2))

    assert pytest.approx(expected, rel=1e-4) == likeness(PAPER["erp"], one, other)


def test_marteaus_recursion_is_another_one():
    assert slow_twed([1, 1, 2], [1, 2]) != slow_twed([1, 1, 2], [1, 2], original=True)
    assert likeness(METRICS["twed"], [1, 1, 2], [1, 2]) != likeness(
        METRICS["twed-marteau"], [1, 1, 2], [1, 2]
    )


def test_the_histogram_is_stage_ones_plain_cosine():
    query, known = random_words(30, 1), [random_words(20, seed) for seed in range(2, 6)]
    expected = Histograms([word_counts(one) for one in known], "cosine").cosines(word_counts(query))

    np.testing.assert_allclose(expected, METRICS["histogram"].similarities(query, known, BOOK), rtol=1e-5)


def test_short_runs_of_two_words_are_bigrams_alone():
    found = short_runs(np.array([1, 2], np.uint16), *packed([[1, 2], [1, 2, 3], [1], [2, 1]]))

    np.testing.assert_allclose([1, math.sqrt(0.5), np.nan, 0], found, rtol=1e-6)
