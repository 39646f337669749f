"""Measures of rankings, decisions and segments: each told as a story and computed twice."""

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
    recall_at,
    score_ranks,
)
from dancematch.evaluation.measures.temporal_overlap import temporal_iou
from dancematch.types import Span

INFINITY = float("inf")
RANKS = st.lists(st.integers(1, 15), min_size=1, max_size=30)
ANSWERS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=12).filter(
    lambda answers: any(right for _, right in answers)
)
EVALUES = st.lists(st.sampled_from([0.0, 0.01, 0.05, 0.2, 1.0, INFINITY]), min_size=1, max_size=12)


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


def test_every_query_is_found_at_rank_1():
    assert {"1": 1.0, "2": 0.0, "later": 0.0} == rank_distribution([1, 1, 1], shown=2)
    assert 1.0 == recall_at([1, 1, 1], 1)


def test_one_in_four_comes_late():
    """Ranks that are not shown are counted as `later`; recall grows with k."""
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
    assert [{1: 1, 2: 0.5, 3: 0.25}.get(r, 0) for r in ranks] == score_ranks(ranks).tolist()


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([1, 1, 1], (1.0, 1.0, 1.0)),
        ([2, 2], (0.5, 1.0, 0.0)),
        ([4], (0.0, 0.0, 0.0)),
        ([4000], (0.0, 0.0, 0.0)),
        ([1, 99], (0.5, 0.5, 0.5)),
        ([1, 2, 3, 4], (1.75 / 4, 0.75, 0.25)),
    ],
)
def test_the_papers_three_numbers(ranks, expected):
    """Mean score, match in 3, rank 1: perfect, always second, just missed, lost, half lost, one of each."""
    assert expected == (score_ranks(ranks).mean(), recall_at(ranks, 3), recall_at(ranks, 1))


def test_invalid_ranks_are_refused():
    with pytest.raises(ValueError, match="ranks begin at 1, got 0"):
        recall_at([1, 0], 3)
    with pytest.raises(ValueError, match="no query"):
        rank_distribution([])


def test_a_perfect_order():
    assert 1.0 == average_precision(*split([(9, True), (8, True), (3, False)]))


def test_one_wrong_at_the_top():
    """The two right ones after it stand at 1/2 and 2/3."""
    assert pytest.approx((1 / 2 + 2 / 3) / 2) == average_precision(*split([(9, False), (8, True), (7, True)]))


def test_wrong_answers_come_first_in_a_tie():
    """Equal scores for everything are no ranking."""
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
    with pytest.raises(ValueError, match="needs a right answer"):
        average_precision(*split([(1, False)]))


def test_a_search_that_separates_known_from_unknown_dances():
    """Every known dance has a lower E-value than any unknown one: all are accepted, none falsely."""
    known, unknown = [1e-6, 1e-4], [0.3, 2.0]

    assert 1.0 == true_accepts_at(known, [True, True], unknown, 0.0)
    assert (1.0, 0.0) == (true_accepts(known, [True, True], 0.05), false_accepts(unknown, 0.05))


def test_a_badly_calibrated_search():
    """Unknown dances have as low E-values: half are accepted, and to reject them loses half of the known."""
    known, right, unknown = [1e-9, 1e-3], [True, True], [1e-6, 1.0]

    assert (1.0, 0.5) == (true_accepts(known, right, 0.05), false_accepts(unknown, 0.05))
    assert [0.5, 1.0] == [true_accepts_at(known, right, unknown, rate) for rate in (0.0, 0.5)]


def test_accepted_under_a_wrong_name_is_no_true_accept():
    assert 0.5 == true_accepts([1e-9, 1e-9], [True, False], 0.05)


def test_one_unknown_dance_in_a_hundred():
    """Of a hundred unknown dances the limit accepts the lowest E-value and not the next; of 99, none."""
    evalues = [number / 100 for number in range(1, 101)]

    assert 0.01 == false_accepts(evalues, limit_at(evalues, 0.01))
    assert 0.02 > limit_at(evalues, 0.01) > 0.0199
    assert 0 == false_accepts(evalues[:99], limit_at(evalues[:99], 0.01))
    assert INFINITY == limit_at(evalues, 1.0)


@given(EVALUES, EVALUES, st.data())
def test_two_accept_curves_agree(known, unknown, data):
    """Its points are the shares counted one by one; the best one within a rate is `true_accepts_at`."""
    right = data.draw(st.lists(st.booleans(), min_size=len(known), max_size=len(known)))
    curve = accept_curve(known, right, unknown)
    points = list(zip(curve.limits.tolist(), curve.true_accepts, curve.false_accepts, strict=True))

    assert sorted(curve.limits.tolist()) == curve.limits.tolist()
    for limit, true, false in points:
        named = [evalue for evalue, is_right in zip(known, right, strict=True) if is_right]
        assert pytest.approx(sum(evalue <= limit for evalue in named) / len(known)) == true
        assert pytest.approx(sum(evalue <= limit for evalue in unknown) / len(unknown)) == false
    if INFINITY not in known:
        for rate in (0.0, 0.1, 0.5):
            best = max(true for _, true, false in points if false <= rate + 1e-9)
            assert pytest.approx(best) == true_accepts_at(known, right, unknown, rate)


def test_shares_at_a_few_limits():
    true, false = accepts_by_limit([0.01, 0.1], [True, True], [0.03, 9], [0.02, 0.2])

    assert ({"0.02": 0.5, "0.2": 1.0}, {"0.02": 0.0, "0.2": 0.5}) == (true, false)


def test_evalues_must_be_numbers():
    with pytest.raises(ValueError, match="not a number"):
        false_accepts([0.1, float("nan")], 1)
    with pytest.raises(ValueError, match="no query"):
        limit_at([], 0.01)


def test_overlap_of_segments():
    """All, half of the union, and none."""
    assert 1 == temporal_iou(Span(2, 5), Span(2, 5))
    assert 0.5 == temporal_iou(Span(0, 10), Span(0, 5))
    assert 0 == temporal_iou(Span(0, 1), Span(1, 2)) == temporal_iou(Span(0, 1), Span(5, 6))


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


def test_more_queries_make_a_narrower_interval():
    def width(count: int) -> float:
        low, high = mean_interval([0, 1] * count)
        return high - low

    assert width(1000) < width(10) / 5


def test_queries_that_fail_together_make_a_wider_interval():
    """Ten dances of ten recordings, half of them wrong throughout: a hundred queries count as ten."""
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
    """A figure of known and unknown dances: each sample keeps its size."""
    sizes = set()

    def both(known, unknown):
        sizes.add((len(known), len(unknown)))
        return 0.5

    assert (0.5, 0.5) == bootstrap_interval(both, range(3), range(7), draws=5)
    assert {(3, 7)} == sizes


def test_labels_must_fit_the_queries():
    with pytest.raises(ValueError, match="got 1 for 2 queries"):
        mean_interval([0, 1], ["a"])
