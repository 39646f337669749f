import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.index.calibrate import FEWEST, MAX_EVALUE, evalue

NOBODY = np.zeros(0, dtype=np.float32)
SCORES = st.floats(0, 1)


def crowd(middle: float = 0.3, spread: float = 0.05, count: int = 200, seed: int = 0) -> np.ndarray:
    """What unrelated dances score."""
    drawn = np.random.default_rng(seed).normal(middle, spread, count)
    return np.clip(drawn, 0, 1).astype(np.float32)


@given(SCORES, SCORES, st.integers(0, 20))
def test_a_better_score_is_never_less_sure(one, other, seed):
    low, high = sorted([one, other])

    assert evalue(high, crowd(seed=seed), NOBODY, 10) <= evalue(low, crowd(seed=seed), NOBODY, 10) + 1e-9


@given(SCORES, st.integers(1, 1000))
def test_more_dances_give_chance_more_occasions(score, dances):
    one = evalue(score, crowd(), NOBODY, 1)

    assert pytest.approx(dances * one, rel=1e-6) == evalue(score, crowd(), NOBODY, dances)
    assert 0 <= one <= 1


def test_far_above_the_crowd_is_a_match_and_within_it_is_none():
    assert evalue(0.9, crowd(), NOBODY, 100) < MAX_EVALUE
    for score in (0.2, 0.3, 0.4):
        assert evalue(score, crowd(), NOBODY, 100) > MAX_EVALUE


def test_the_same_score_is_less_sure_where_everybody_is_alike():
    assert evalue(0.7, crowd(0.3), NOBODY, 10) < evalue(0.7, crowd(0.5), NOBODY, 10)
    assert evalue(0.7, crowd(0.3, 0.03), NOBODY, 10) < evalue(0.7, crowd(0.3, 0.1), NOBODY, 10)


def test_peers_who_are_more_alike_raise_the_bar():
    """Dances of the same studio, all alike: what beats the background easily may be one of them."""
    alone = evalue(0.7, crowd(0.3), NOBODY, 10)

    assert evalue(0.7, crowd(0.3), crowd(0.5, count=30), 10) > alone
    assert evalue(0.7, crowd(0.3), crowd(0.1, 0.01, count=30), 10) == pytest.approx(alone)


@pytest.mark.parametrize("count", [0, 1, FEWEST - 1])
def test_without_a_crowd_there_is_no_telling(count):
    assert 7.0 == evalue(0.99, crowd(count=count), NOBODY, 7)


def test_a_crowd_without_any_spread_is_no_proof():
    """All the same score: finite, and a hair above it is no match yet."""
    flat = np.full(200, 0.3, dtype=np.float32)

    assert evalue(0.301, flat, NOBODY, 100) > MAX_EVALUE


@pytest.mark.parametrize("score", [0.0, 1.0, 1.4])
def test_extreme_scores_stay_numbers(score):
    assert np.isfinite(evalue(score, crowd(), crowd(count=50), 10))


def test_an_expectation_is_what_it_says():
    """Of unrelated dances drawn anew, no more beat a score than its E-value foretells, and not far fewer."""
    known, fresh = crowd(0.3, 0.08, 2000, seed=1), crowd(0.3, 0.08, 100_000, seed=2)
    for score in (0.35, 0.4, 0.45):
        share = float((fresh >= score).mean())
        assert 0.5 * share < evalue(score, known, NOBODY, 1) < 6 * share
