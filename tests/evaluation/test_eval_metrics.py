"""How good a ranking, a decision or a place is; each number told as a story and computed twice."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.evaluation.measures.accept_rates import (
    accept_curve,
    accepts_by_limit,
    false_accepts,
    limit_at,
    true_accepts,
    true_accepts_at,
)
from dancematch.evaluation.measures.bootstrap import bootstrap_interval, mean_interval
from dancematch.evaluation.measures.ranking import (
    average_precision,
    rank_distribution,
    rank_of,
    rank_scores,
    recall_at,
)
from dancematch.evaluation.measures.temporal_overlap import Fit, seconds_fit, segments_fit, temporal_iou
from dancematch.types import Span

INFINITY = float("inf")
RANKS = st.lists(st.integers(1, 15), min_size=1, max_size=30)
ANSWERS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=12).filter(
    lambda answers: any(right for _, right in answers)
)
DOUBTS = st.lists(st.sampled_from([0.0, 0.01, 0.05, 0.2, 1.0, INFINITY]), min_size=1, max_size=12)
SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda at: Span(at[0], at[0] + at[1])), max_size=5
)


def slow_average_precision(answers: list[tuple[int, bool]]) -> float:
    """Down the list, wrong ones first among equals: at each right answer, the share of right ones so far."""
    ranked = sorted(answers, key=lambda answer: (-answer[0], answer[1]))
    shares = [
        sum(right for _, right in ranked[: place + 1]) / (place + 1)
        for place, (_, right) in enumerate(ranked)
        if right
    ]
    return sum(shares) / len(shares)


def split(answers: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    scores, right = zip(*answers, strict=True)
    return np.array(scores, dtype=np.float32), np.array(right)


def test_everybody_is_found_at_once():
    assert {"1": 1.0, "2": 0.0, "later": 0.0} == rank_distribution([1, 1, 1], shown=2)
    assert 1.0 == recall_at([1, 1, 1], 1)


def test_one_in_four_comes_late():
    """Whoever is not among the shown ranks stands under `later`; recall grows with k."""
    ranks = [1, 1, 2, 50]

    assert {"1": 0.5, "2": 0.25, "3": 0.0, "later": 0.25} == rank_distribution(ranks, shown=3)
    assert [0.5, 0.75, 0.75, 1.0] == [recall_at(ranks, k) for k in (1, 2, 49, 50)]


@given(RANKS, st.integers(1, 12))
def test_two_rank_distributions_agree(ranks, k):
    found = rank_distribution(ranks)

    assert pytest.approx({str(r): ranks.count(r) / len(ranks) for r in range(1, 11)}) == {
        name: share for name, share in found.items() if name != "later"
    }
    assert pytest.approx(1) == sum(found.values())
    assert pytest.approx(sum(r <= k for r in ranks) / len(ranks)) == recall_at(ranks, k)
    assert [{1: 1, 2: 0.5, 3: 0.25}.get(r, 0) for r in ranks] == rank_scores(ranks).tolist()


def test_ranks_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="ranks begin at 1, got 0"):
        recall_at([1, 0], 3)
    with pytest.raises(ValueError, match="no query"):
        rank_distribution([])


def test_a_perfect_order():
    assert 1.0 == average_precision(*split([(9, True), (8, True), (3, False)]))


def test_one_wrong_at_the_top():
    """The two right ones after it stand at 1/2 and 2/3."""
    assert pytest.approx((1 / 2 + 2 / 3) / 2) == average_precision(*split([(9, False), (8, True), (7, True)]))


def test_a_tie_counts_against_us():
    """A search that says the same of everything knows nothing."""
    scores, right = split([(1, True), (1, False), (1, False)])

    assert 3 == rank_of(scores, right)
    assert pytest.approx(1 / 3) == average_precision(scores, right)


@given(ANSWERS)
def test_two_average_precisions_agree(answers):
    scores, right = split(answers)
    ranked = sorted(answers, key=lambda answer: (-answer[0], answer[1]))

    assert pytest.approx(slow_average_precision(answers)) == average_precision(scores, right)
    assert 1 + [is_right for _, is_right in ranked].index(True) == rank_of(scores, right)


def test_nothing_right_has_no_precision():
    with pytest.raises(ValueError, match="no right answer"):
        average_precision(*split([(1, False)]))


def test_a_search_that_knows_its_own_from_strangers():
    """Every known dance is surer than any stranger: all are let in and nobody else."""
    known, strangers = [1e-6, 1e-4], [0.3, 2.0]

    assert 1.0 == true_accepts_at(known, [True, True], strangers, 0.0)
    assert (1.0, 0.0) == (true_accepts(known, [True, True], 0.05), false_accepts(strangers, 0.05))


def test_a_badly_calibrated_search():
    """It is as sure of strangers: half of them come in, and to keep them out half of the known are lost."""
    known, right, strangers = [1e-9, 1e-3], [True, True], [1e-6, 1.0]

    assert (1.0, 0.5) == (true_accepts(known, right, 0.05), false_accepts(strangers, 0.05))
    assert [0.5, 1.0] == [true_accepts_at(known, right, strangers, rate) for rate in (0.0, 0.5)]


def test_sure_and_wrong_is_no_true_accept():
    assert 0.5 == true_accepts([1e-9, 1e-9], [True, False], 0.05)


def test_one_stranger_in_a_hundred():
    """Of a hundred strangers the limit lets in the surest and not the next; of ninety-nine, nobody."""
    doubts = [number / 100 for number in range(1, 101)]

    assert 0.01 == false_accepts(doubts, limit_at(doubts, 0.01))
    assert 0.02 > limit_at(doubts, 0.01) > 0.0199
    assert 0 == false_accepts(doubts[:99], limit_at(doubts[:99], 0.01))
    assert INFINITY == limit_at(doubts, 1.0)


@given(DOUBTS, DOUBTS, st.data())
def test_two_accept_curves_agree(known, strangers, data):
    """Its points are the shares counted one by one; the best one within a rate is `true_accepts_at`."""
    right = data.draw(st.lists(st.booleans(), min_size=len(known), max_size=len(known)))
    curve = accept_curve(known, right, strangers)
    points = list(zip(curve.limits.tolist(), curve.true_accepts, curve.false_accepts, strict=True))

    assert sorted(curve.limits.tolist()) == curve.limits.tolist()
    for limit, true, false in points:
        named = [doubt for doubt, is_right in zip(known, right, strict=True) if is_right]
        assert pytest.approx(sum(doubt <= limit for doubt in named) / len(known)) == true
        assert pytest.approx(sum(doubt <= limit for doubt in strangers) / len(strangers)) == false
    if INFINITY not in known:
        for rate in (0.0, 0.1, 0.5):
            best = max(true for _, true, false in points if false <= rate + 1e-9)
            assert pytest.approx(best) == true_accepts_at(known, right, strangers, rate)


def test_shares_at_a_few_limits():
    true, false = accepts_by_limit([0.01, 0.1], [True, True], [0.03, 9], [0.02, 0.2])

    assert ({"0.02": 0.5, "0.2": 1.0}, {"0.02": 0.0, "0.2": 0.5}) == (true, false)


def test_doubts_must_be_numbers():
    with pytest.raises(ValueError, match="not a number"):
        false_accepts([0.1, float("nan")], 1)
    with pytest.raises(ValueError, match="no query"):
        limit_at([], 0.01)


def test_the_very_place():
    assert Fit(1, 1, 1) == seconds_fit([Span(2, 5)], [Span(2, 5)])
    assert (1, 1) == segments_fit([Span(2, 5)], [Span(2, 5)])
    assert 1 == temporal_iou(Span(2, 5), Span(2, 5))


def test_split_in_two():
    """Second by second two halves are as good as the whole; as stretches, one of them is too many."""
    halves = [Span(0, 3), Span(3, 5)]

    assert Fit(1, 1, 1) == seconds_fit(halves, [Span(0, 5)])
    assert (0.5, 1.0) == segments_fit(halves, [Span(0, 5)])


def test_found_too_much():
    """Twice as long as it is: half of what was found is wrong, nothing is missed."""
    assert Fit(0.5, 1.0, 0.5) == seconds_fit([Span(0, 10)], [Span(0, 5)])


def test_found_twice():
    """Saying the same place twice does not make it longer, but it is one stretch too many."""
    assert Fit(1.0, 0.5, 0.5) == seconds_fit([Span(0, 2), Span(0, 2)], [Span(0, 4)])
    assert (0.5, 1.0) == segments_fit([Span(0, 2), Span(0, 2)], [Span(0, 2)])


def test_somewhere_else():
    assert Fit(0, 0, 0) == seconds_fit([Span(0, 1)], [Span(5, 6)])
    assert 0 == temporal_iou(Span(0, 1), Span(1, 2))


def test_nothing_said_is_not_wrong():
    assert Fit(1, 0, 0) == seconds_fit([], [Span(0, 1)])
    assert (1.0, 0.0) == segments_fit([], [Span(0, 1)])
    assert Fit(0, 1, 0) == seconds_fit([Span(0, 1)], [])


def test_a_partner_is_given_up_for_one_more_pair():
    """The first found stretch fits both true ones, the second only the nearer: both get one."""
    found, true = [Span(0, 4), Span(0, 3)], [Span(0, 3), Span(0, 6)]

    assert (1.0, 1.0) == segments_fit(found, true, enough=0.6)


@given(SPANS, SPANS)
def test_seconds_may_be_counted_one_by_one(found, true):
    """Whole seconds: sets of them say the same."""
    ours, theirs = ({s for span in spans for s in range(span.start, span.end)} for spans in (found, true))
    shared = len(ours & theirs)
    expected = Fit(
        shared / len(ours) if ours else 1.0,
        shared / len(theirs) if theirs else 1.0,
        shared / len(ours | theirs) if ours | theirs else 1.0,
    )

    assert pytest.approx(expected) == seconds_fit(found, true)


@settings(deadline=None)
@given(SPANS, SPANS, st.sampled_from([0.2, 0.5, 0.7]))
def test_no_other_pairing_is_better(found, true, enough):
    """All ways to pair the stretches, tried."""
    few, many = sorted((found, true), key=len)
    most = max(
        sum(temporal_iou(*pair) >= enough for pair in zip(few, chosen, strict=True))
        for chosen in permutations(many, len(few))
    )
    expected = (most / len(found) if found else 1.0, most / len(true) if true else 1.0)

    assert pytest.approx(expected) == segments_fit(found, true, enough)


def slow_interval(values, clusters, draws, seed):
    """Every draw as a list of queries, its mean taken, the draws put in order."""
    labels = list(dict.fromkeys(clusters))
    rng = np.random.default_rng(seed)
    means = []
    for _ in range(draws):
        chosen = [labels[place] for place in rng.integers(len(labels), size=len(labels))]
        drawn = [v for label in chosen for v, own in zip(values, clusters, strict=True) if own == label]
        means.append(sum(drawn) / len(drawn))
    return np.quantile(means, 0.025), np.quantile(means, 0.975)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abcd")), min_size=1, max_size=15),
    st.integers(0, 9),
)
def test_three_bootstraps_agree(queries, seed):
    """The fast one for means, the one for any figure, and one written out."""
    values, clusters = zip(*queries, strict=True)
    slow = slow_interval(values, clusters, 40, seed)
    of_places = bootstrap_interval(
        lambda places: float(np.mean(np.array(values)[places])), clusters, draws=40, seed=seed
    )

    assert pytest.approx(slow) == mean_interval(values, clusters, draws=40, seed=seed)
    assert pytest.approx(slow) == of_places


def test_no_exception_no_width():
    assert (1.0, 1.0) == mean_interval([1, 1, 1])


def test_more_queries_are_surer():
    def width(count: int) -> float:
        low, high = mean_interval([0, 1] * count)
        return high - low

    assert width(1000) < width(10) / 5


def test_takes_that_go_wrong_together_are_less_sure():
    """Ten dances of ten takes, half of them wrong throughout: a hundred queries that say what ten do."""
    values = np.repeat([0, 1] * 5, 10)
    alone, together = mean_interval(values), mean_interval(values, np.repeat(range(10), 10).tolist())
    ten = mean_interval(values[::10])

    assert together == ten
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


def test_the_interval_holds_what_it_says():
    """Of 200 samples of a coin whose share is known, about 95 in a hundred intervals hold it."""
    rng = np.random.default_rng(4)
    held = 0
    for seed in range(200):
        low, high = mean_interval(rng.random(100) < 0.7, draws=200, seed=seed)
        held += low <= 0.7 <= high

    assert 0.90 <= held / 200 <= 0.99


def test_two_samples_are_drawn_apart():
    """A figure of known dances and strangers: each is as many as it was."""
    sizes = set()

    def both(known, strangers):
        sizes.add((len(known), len(strangers)))
        return 0.5

    assert (0.5, 0.5) == bootstrap_interval(both, range(3), range(7), draws=5)
    assert {(3, 7)} == sizes


def test_labels_must_fit_the_queries():
    with pytest.raises(ValueError, match="got 1 for 2 queries"):
        mean_interval([0, 1], ["a"])
