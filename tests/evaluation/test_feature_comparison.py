"""Methods without words: time warping and late interaction, beside slow ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dancematch.evaluation.methods.feature_comparison import (
    DynamicTimeWarping,
    LateInteraction,
    median_square,
    squared_distances,
    warping_costs,
)
from dancematch.evaluation.suites.retrieval_tasks import make_task
from dancematch.model.kmeans import patch_features
from dancematch.model.parts import PARTS7
from dancematch.motion import canonicalise
from evaluation_samples import evaluate

SEQUENCES = arrays.arrays(np.float32, st.tuples(st.integers(1, 6), st.just(2)), elements=st.integers(-4, 4))


def slow_warping(query, other) -> float:
    """The cost of every cell from its three neighbours, one after the other."""
    rows, columns = len(query), len(other)
    table = np.full((rows + 1, columns + 1), np.inf)
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            cost = np.linalg.norm(query[i - 1].astype(float) - other[j - 1])
            ways = (table[i - 1, j] + cost, table[i, j - 1] + cost, table[i - 1, j - 1] + 2 * cost)
            table[i, j] = 2 * cost if i == j == 1 else min(ways)
    return table[-1, -1] / (rows + columns)


@given(SEQUENCES, st.lists(SEQUENCES, min_size=1, max_size=4))
def test_two_time_warpings_agree(query, others):
    """Filling the tables of many candidates at once gives what filling each by itself does."""
    expected = [slow_warping(query, other) for other in others]

    np.testing.assert_allclose(expected, warping_costs(query, others), atol=1e-3)


def test_warping_ignores_the_tempo():
    """A sequence in which every row comes twice costs nothing, another one does."""
    rows = np.array([[0, 0], [3, 1], [5, 2]], dtype=np.float32)

    assert [0, 0] == warping_costs(rows, [rows, np.repeat(rows, 2, axis=0)]).tolist()
    assert warping_costs(rows, [rows[::-1]])[0] > 1


def test_late_interaction_is_what_its_equation_says(long_clips):
    """Patch by patch and part by part, against a sum written out."""
    motions = [clip.motion for clip in long_clips[:3]]
    found = LateInteraction(motions).scores(0, np.arange(3))
    expected = np.zeros(3)
    canonical = [canonicalise(motion) for motion in motions]
    for joints in PARTS7.values():
        features = [patch_features(one, joints) for one in canonical]
        usual = median_square(np.concatenate(features))
        for other in range(3):
            nearest = [((features[other] - row) ** 2).sum(axis=1).min() for row in features[0]]
            expected[other] += np.exp(-np.array(nearest) / usual).mean() / len(PARTS7)

    np.testing.assert_allclose(expected, found, atol=1e-3)
    assert found[0] == pytest.approx(1, abs=1e-3)


def test_what_is_not_seen_of_a_query_does_not_count(long_clips):
    """Without legs the arms and the torso decide."""
    motions = [clip.motion for clip in long_clips[:3]]
    legless = motions[0].joints.copy()
    legless[:, [motions[0].skeleton.index(f"{side}_ankle") for side in ("left", "right")]] = np.nan
    seen = type(motions[0])(legless, motions[0].fps, motions[0].skeleton)
    scores = LateInteraction(motions, lambda _: seen).scores(0, np.arange(3))

    assert scores[0] == pytest.approx(1, abs=1e-3)
    assert scores[0] > scores[2]


@pytest.mark.parametrize("method", ["dtw", "late-interaction"])
def test_methods_without_words_find_the_other_dancer(long_clips, method):
    """They use no model, so that every genre is unseen to them."""
    result = evaluate(make_task("aist-cross-dancer", long_clips), method)

    assert (1.0, "none", ["BR"], method) == (
        result.rank1,
        result.model_id,
        result.unseen,
        result.method,
    )


def test_time_warping_takes_queries_from_elsewhere(long_clips):
    motions = [clip.motion for clip in long_clips[:3]]
    scores = DynamicTimeWarping(motions, lambda _: motions[2]).scores(0, np.arange(3))

    assert 2 == scores.argmax()
    assert 0 == pytest.approx(scores[2], abs=1e-3)


def test_distances_are_those_of_the_rows():
    rows = np.array([[0, 0], [3, 4]], dtype=np.float32)

    assert [[0, 25], [25, 0]] == squared_distances(rows, rows).tolist()
