import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import toy_codebook, words
from dancematch.search.stage1.histogram import Histograms, word_counts
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.stage2.word_alignment import expected_similarity
from dancematch.search.words.word_store import unpack_words
from dancematch.tracks import pack_words
from dancematch.types import SEEN_FROM


@pytest.mark.parametrize("weighting", ["cosine", "sqrt-idf"])
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 4),
    st.sampled_from([3, 8, 300]),
    st.lists(st.integers(1, 40), min_size=1, max_size=6),
)
def test_cosines_are_those_of_the_plain_way(weighting, seed, channels, vocabulary, lengths):
    """By channel, whatever is unseen on either side; -1 says that a stretch shows nothing of it."""
    rng = np.random.default_rng(seed)
    book = toy_codebook([str(number) for number in range(channels)], vocabulary)
    query, *known = (
        words(
            rng.integers(vocabulary, size=(length, channels)),
            vocabulary=vocabulary,
            visibility=rng.choice([0.0, 1.0], size=channels) * rng.uniform(size=(length, channels)),
        )
        for length in (20, *lengths)
    )
    plain = Histograms([word_counts(one) for one in known], weighting)
    usual = expected_similarity(book, np.ones((channels, vocabulary), int))
    found = Variant(query, book, WordStatistics(weighting, plain.idf, usual)).cosines(
        unpack_words(pack_words(known))
    )
    shown = np.stack([(one.visibility >= SEEN_FROM).any(axis=0) for one in known], axis=1)

    np.testing.assert_allclose(np.where(shown, plain.cosines(word_counts(query)), -1), found, atol=1e-5)


def test_a_word_that_comes_more_often_than_can_be_counted_is_as_the_plain_way_has_it():
    """Counts end at 255."""
    book = toy_codebook(["body"], 4)
    query, known = (
        words(np.array([[0], [1]]), vocabulary=4),
        words(np.array([[0]] * 400 + [[1]]), vocabulary=4),
    )
    idf = WordStatistics(
        "cosine", np.ones((1, 4), np.float32), expected_similarity(book, np.ones((1, 4), int))
    )
    found = Variant(query, book, idf).cosines(unpack_words(pack_words([known])))

    assert pytest.approx(256 / np.sqrt(2 * (255**2 + 1)), abs=1e-5) == found[0, 0]
