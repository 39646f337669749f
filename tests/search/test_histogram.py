import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dance_samples import random_words, words
from dancematch.errors import InputError
from dancematch.search.stage1.histogram import (
    IDF_STEPS,
    Histograms,
    channels_seen,
    combine_channels,
    inverse_document_frequency,
    word_counts,
)
from dancematch.types import SEEN_FROM

COUNTS = st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(1, 7)).flatmap(
    lambda shape: st.tuples(
        arrays.arrays(np.uint8, shape, elements=st.integers(0, 9)),
        arrays.arrays(np.uint8, shape[1:], elements=st.integers(0, 9)),
    )
)
WEIGHTINGS = st.sampled_from(["cosine", "sqrt-idf"])


def slow_cosines(known: np.ndarray, query: np.ndarray, weighting: str) -> np.ndarray:
    """The equations as they are written: dense, one entry and channel after the other."""
    entries, channels, vocabulary = known.shape
    result = np.zeros((channels, entries))
    for channel in range(channels):
        idf = np.ones(vocabulary)
        if weighting == "sqrt-idf":
            having = np.array([(known[:, channel, word] > 0).sum() for word in range(vocabulary)])
            idf = np.round((0.1 + np.log((1 + entries) / (1 + having))) * IDF_STEPS) / IDF_STEPS

        def weigh(counts, idf=idf):
            quarters = np.minimum(np.round(4 * np.sqrt(counts.astype(float))), 15)
            return idf * (quarters / 4 if weighting == "sqrt-idf" else counts.astype(float))

        for entry in range(entries):
            one, other = weigh(known[entry, channel]), weigh(query[channel])
            lengths = np.linalg.norm(one) * np.linalg.norm(other)
            result[channel, entry] = one @ other / lengths if lengths else 0
    return result


@given(COUNTS, WEIGHTINGS)
def test_two_implementations_agree(counts, weighting):
    known, query = counts
    expected = slow_cosines(known, query, weighting)

    np.testing.assert_allclose(expected, Histograms(list(known), weighting).cosines(query), atol=1e-5)


@given(COUNTS, WEIGHTINGS)
def test_a_cosine_lies_between_0_and_1(counts, weighting):
    known, query = counts
    found = Histograms(list(known), weighting).cosines(query)

    assert found.min() >= 0
    assert found.max() <= 1 + 1e-5


@given(COUNTS, WEIGHTINGS)
def test_everything_is_like_itself(counts, weighting):
    """1 where a channel has any word at all, 0 where it has none."""
    known, _ = counts
    histograms = Histograms(list(known), weighting)
    for place, own in enumerate(known):
        np.testing.assert_allclose(own.any(axis=1), histograms.cosines(own)[:, place], atol=1e-5)
    assert len(known) == len(histograms)


@given(COUNTS, WEIGHTINGS, st.randoms(use_true_random=False))
def test_renaming_the_words_changes_nothing(counts, weighting, random):
    known, query = counts
    order = list(range(known.shape[2]))
    random.shuffle(order)
    plain = Histograms(list(known), weighting).cosines(query)
    renamed = Histograms(list(known[:, :, order]), weighting).cosines(query[:, order])

    np.testing.assert_allclose(plain, renamed, atol=1e-5)


def test_rare_words_say_more():
    """Two entries share one word each with the query; the one whose word few others have is nearer."""
    common, rare = [1, 0, 1, 0], [0, 1, 0, 1]
    known = [np.array([row], dtype=np.uint8) for row in (common, rare, [1, 0, 0, 0], [1, 0, 0, 0])]
    query = np.array([[1, 1, 0, 0]], dtype=np.uint8)

    by_count = Histograms(known, "cosine").cosines(query)[0]
    by_rarity = Histograms(known, "sqrt-idf").cosines(query)[0]
    assert by_count[0] == pytest.approx(by_count[1])
    assert by_rarity[1] > by_rarity[0]


def test_one_entry_more_changes_the_worth_of_hardly_any_word():
    """Rarity comes in steps; none is further from the logarithm than half of one, and none is 0."""
    having = np.arange(100_001)
    before, after = (
        inverse_document_frequency(having, entries, "sqrt-idf") for entries in (100_000, 100_001)
    )

    assert np.abs(before - (0.1 + np.log(100_001 / (1 + having)))).max() <= 0.5 / IDF_STEPS + 1e-6
    assert before.min() > 0
    assert np.mean(before != after) < 0.001


def test_unknown_weightings_are_refused():
    with pytest.raises(InputError, match="weighting must be one of cosine, sqrt-idf"):
        Histograms([np.zeros((1, 2), np.uint8)], "magic")


def test_words_are_counted_by_channel():
    counts = word_counts(words([[0, 2], [0, 1], [3, 1]], vocabulary=4))

    assert [[2, 0, 0, 1], [0, 2, 1, 0]] == counts.tolist()


def test_what_is_hardly_seen_is_not_counted():
    seen = [[1, SEEN_FROM], [1, SEEN_FROM - 0.01], [0, 1]]
    made = words([[0, 2], [0, 1], [3, 1]], vocabulary=4, visibility=seen)

    assert [[2, 0, 0, 0], [0, 1, 1, 0]] == word_counts(made).tolist()
    np.testing.assert_allclose([2 / 3, 2 / 3], channels_seen(made))


def test_standing_still_for_long_does_not_overflow():
    made = words(np.zeros((1000, 1), int))

    assert 255 == word_counts(made)[0, 0]


def test_the_channels_mean_is_weighted_by_what_the_query_shows():
    cosines = np.array([[1.0], [0.4]], dtype=np.float32)
    both = np.ones((2, 1))

    np.testing.assert_allclose([0.7], combine_channels(cosines, np.array([1, 1]), both))
    np.testing.assert_allclose([1.0], combine_channels(cosines, np.array([1, 0]), both))
    np.testing.assert_allclose([0.8], combine_channels(cosines, np.array([1, 0.5]), both), atol=1e-6)


def test_what_only_one_shows_is_weaker_evidence_but_none_against():
    """An entry without legs that is alike in the arms: below a whole match, above the legs counted as 0."""
    cosines = np.array([[1.0, 1.0], [1.0, 0.0]], dtype=np.float32)
    entries = np.array([[1, 1], [1, 0]])
    whole, half = combine_channels(cosines, np.array([1, 1]), entries)

    assert whole > half > 0.5


def test_who_shows_nothing_is_like_nobody():
    made = words(random_words(5, 0).words, visibility=np.zeros((5, 2)))
    histograms = Histograms([word_counts(random_words(5, 0))])
    cosines = histograms.cosines(word_counts(made))

    assert [0.0] == combine_channels(cosines, channels_seen(made), np.ones((2, 1))).tolist()
