import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.index.calibrate import ENOUGH_DANCES, FEWEST, MAX_EVALUE, NOBODY, Judging, evalues, tail_of

SCORES = st.floats(0, 1)


def evalue(score: float, background: np.ndarray, peers: Judging, trials: int) -> float:
    """Of one score."""
    return float(evalues(np.array([score]), tail_of(background), peers, trials)[0])


def dances(scores: np.ndarray) -> Judging:
    """Peers that are all of different dances."""
    return Judging(scores, np.arange(len(scores)))


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

    assert evalue(0.7, crowd(0.3), dances(crowd(0.5, count=30)), 10) > alone
    assert evalue(0.7, crowd(0.3), dances(crowd(0.1, 0.01, count=30)), 10) == pytest.approx(alone)


def test_one_dance_among_few_may_be_as_good():
    """It may be the one in question, however many takes of it there are; a second dance raises the bar."""
    scores, numbers = np.full(12, 0.2), np.arange(12)
    plain = evalue(0.7, crowd(0.2), Judging(scores, numbers), 10)
    scores[:1] = 0.65
    one = evalue(0.7, crowd(0.2), Judging(scores, numbers), 10)
    scores[:3] = 0.65
    three_dances = evalue(0.7, crowd(0.2), Judging(scores, numbers), 10)
    three_takes = evalue(0.7, crowd(0.2), Judging(scores, np.array([0, 0, 0, *range(3, 12)])), 10)

    assert plain == one == pytest.approx(three_takes)
    assert three_dances > MAX_EVALUE > one


def test_takes_of_few_dances_are_few_dances():
    """However many takes: the fewer dances they are of, the more alike strangers are assumed to be."""
    takes = np.full(30, 0.1)
    by_dances = [
        evalue(0.45, crowd(0.1), Judging(takes, np.arange(30) % count), 10)
        for count in range(1, ENOUGH_DANCES + 1)
    ]

    assert sorted(by_dances, reverse=True) == by_dances
    assert evalue(0.45, crowd(0.1), NOBODY, 10) > by_dances[0] > 10 * by_dances[-1]
    assert pytest.approx(evalue(0.45, crowd(0.1), dances(takes), 10)) == by_dances[-1]


@pytest.mark.parametrize("count", [0, 1, FEWEST - 1])
def test_without_a_crowd_there_is_no_telling(count):
    assert 7.0 == evalue(0.99, crowd(count=count), NOBODY, 7)


def test_a_crowd_without_any_spread_is_no_proof():
    """All the same score: finite, and a hair above it is no match yet."""
    flat = np.full(200, 0.3, dtype=np.float32)

    assert evalue(0.301, flat, NOBODY, 100) > MAX_EVALUE


@pytest.mark.parametrize("score", [0.0, 1.0, 1.4])
def test_extreme_scores_stay_numbers(score):
    assert np.isfinite(evalue(score, crowd(), dances(crowd(count=50)), 10))


def test_an_expectation_is_what_it_says():
    """Of unrelated dances drawn anew, no more beat a score than its E-value foretells, and not far fewer."""
    known, fresh = crowd(0.3, 0.08, 2000, seed=1), crowd(0.3, 0.08, 100_000, seed=2)
    for score in (0.35, 0.4, 0.45):
        share = float((fresh >= score).mean())
        assert 0.5 * share < evalue(score, known, NOBODY, 1) < 6 * share


@given(st.lists(st.floats(0, 0.99), min_size=FEWEST, max_size=60))
def test_a_tail_is_numpys_quantiles(scores):
    stretched = -np.log1p(-np.array(scores))
    middle, high = np.quantile(stretched, [0.5, 0.95])

    assert pytest.approx((middle, max((high - middle) / 1.6448536, 0.08)), abs=1e-6) == tail_of(
        np.array(scores)
    )
