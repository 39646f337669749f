"""Quality of words: usage, stability under change, and what is left after decoding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance, small_model
from dancematch.evaluation.measures.word_quality import (
    decoding_error,
    edit_similarity,
    measure_words,
    perplexity,
)

WORDS = st.lists(st.integers(0, 3), min_size=1, max_size=7)


def slow_edits(first, second) -> int:
    """Levenshtein's distance as it is defined."""
    if not first or not second:
        return len(first) + len(second)
    changed = slow_edits(first[:-1], second[:-1]) + (first[-1] != second[-1])
    return min(changed, slow_edits(first[:-1], second) + 1, slow_edits(first, second[:-1]) + 1)


@settings(deadline=None)
@given(WORDS, WORDS)
def test_two_edit_distances_agree(first, second):
    expected = 1 - slow_edits(first, second) / max(len(first), len(second))
    found = edit_similarity(np.array(first)[:, None], np.array(second)[:, None])

    assert pytest.approx(expected) == found


def test_edits_are_counted_by_channel():
    """One channel as before, the other all different."""
    first, second = np.array([[1, 1], [2, 1]]), np.array([[1, 3], [2, 3]])

    assert 0.5 == edit_similarity(first, second)


def test_perplexity_counts_equal_words():
    assert pytest.approx(4) == perplexity([5, 5, 5, 5, 0])
    assert pytest.approx(1) == perplexity([9, 0])
    assert 1 < perplexity([9, 1]) < 2


def test_the_figures_of_words_are_seeded_and_in_range():
    """Used at most wholly; changes leave something; the decoded motion is near, but not the same."""
    motions = [dance(number) for number in range(3)]
    found = measure_words(small_model(), motions)
    again = measure_words(small_model(), motions)

    assert found == again
    assert set(small_model().channels) == set(found.usage) == set(found.perplexity)
    assert all(0 < share <= 1 for share in found.usage.values())
    assert all(1 <= value <= small_model().vocabulary for value in found.perplexity.values())
    assert {"tilt", "noise", "drift", "dropout", "tempo", "phase"} == set(found.agreement)
    assert all(0 < share < 1 for share in found.agreement.values())
    assert 0 < found.error_cm < 40
    assert sum(len(small_model().fingerprint(motion)) for motion in motions) == found.words


def test_more_words_keep_more_of_the_motion():
    motions = [dance(number) for number in range(3)]
    few, many = (
        np.mean([decoding_error(model, m, model.fingerprint(m)) for m in motions])
        for model in (small_model(vocabulary=4), small_model(vocabulary=64))
    )

    assert many < few
