"""Windows of a dancer, named together."""

from itertools import groupby, pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.pipeline.scan.labelling import CHANGE, MOST, NEEDED, Run, label_windows

STRONG, WEAK = NEEDED + 3, NEEDED + 0.4


def score(labels, log_ratios) -> float:
    """What a sequence of names scores, by the definition."""
    changes = sum(one != other for one, other in pairwise(labels))
    support = [
        min(MOST, max(-MOST, ratios.get(name, -MOST) - NEEDED))
        for name, ratios in zip(labels, log_ratios, strict=True)
        if name is not None
    ]
    return sum(support) - CHANGE * changes


def unfold(runs: list[Run]) -> list[str | None]:
    return [run.dance_id for run in runs for _ in range(run.first, run.last + 1)]


@settings(max_examples=60)
@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.floats(-3, 6), max_size=2), min_size=1, max_size=6))
def test_no_sequence_of_names_scores_more(log_ratios):
    """Against all sequences there are."""
    best = max(score(names, log_ratios) for names in product([None, "a", "b"], repeat=len(log_ratios)))

    assert pytest.approx(best) == score(unfold(label_windows(log_ratios)), log_ratios)


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.floats(-3, 6), max_size=2), max_size=9))
def test_runs_cover_all_windows_in_order_and_neighbours_differ(log_ratios):
    runs = label_windows(log_ratios)

    assert list(range(len(log_ratios))) == [n for run in runs for n in range(run.first, run.last + 1)]
    assert len(runs) == len(list(groupby(run.dance_id for run in runs)))


def test_one_dance_after_another():
    found = label_windows([{"a": STRONG}] * 3 + [{"b": STRONG}] * 2)

    assert [Run("a", 0, 2), Run("b", 3, 4)] == found


def test_one_weak_window_between_strong_ones_does_not_split_a_dance():
    found = label_windows([{"a": STRONG}, {"a": STRONG}, {"a": NEEDED - 1}, {"a": STRONG}])

    assert [Run("a", 0, 3)] == found


def test_weak_windows_count_together():
    """One alone does not pay for two changes of name, three in a row do."""
    nothing: dict[str, float] = {}

    assert [Run(None, 0, 2)] == label_windows([nothing, {"a": WEAK}, nothing])
    assert [Run(None, 0, 0), Run("a", 1, 6), Run(None, 7, 7)] == label_windows(
        [nothing, *[{"a": WEAK}] * 6, nothing]
    )
