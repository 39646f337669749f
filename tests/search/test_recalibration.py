import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.errors import InputError
from dancematch.search.confidence.recalibration import (
    LEAST_DECISIONS,
    LEAST_OF_A_KIND,
    DecidedMatch,
    best_offset,
    fit_offset,
    shift_evalue,
    shift_log_ratio,
)
from dancematch.search.confidence.verdict import evalue_of, shipped_calibration
from dancematch.types import MAX_OFFSET

EVALUES = st.floats(1e-6, 0.999)
RATIOS = st.floats(-3, 7)
OFFSETS = st.floats(-MAX_OFFSET, MAX_OFFSET)


def decided(same: int, different: int, evalue: float = 0.3) -> list[DecidedMatch]:
    kinds = [True] * same + [False] * different
    return [DecidedMatch(evalue, kind, f"clip {number}") for number, kind in enumerate(kinds)]


@given(evalues=st.lists(EVALUES, min_size=10, max_size=30))
@settings(max_examples=50, deadline=None)
def test_the_more_are_confirmed_the_larger_is_the_offset_and_never_beyond_its_bounds(evalues):
    offsets = [
        best_offset([DecidedMatch(one, place < same, str(place)) for place, one in enumerate(evalues)])
        for same in range(len(evalues) + 1)
    ]

    assert all(one <= other for one, other in pairwise(offsets))
    assert offsets[0] < offsets[-1]
    assert all(-MAX_OFFSET <= one <= MAX_OFFSET for one in offsets)


def test_odds_that_fit_the_decisions_leave_everything_as_it_is():
    """At an E-value of 1/4, four of five possible matches are right."""
    assert 0 == best_offset(decided(40, 10, evalue=0.25))


def test_many_decisions_move_the_offset_to_what_they_say_and_a_handful_hardly():
    """Half of them right at an E-value of 0.1: ratios are ten times too large."""
    few, many = fit_offset(decided(5, 5, 0.1)), fit_offset(decided(1000, 1000, 0.1))

    assert -1 == pytest.approx(many.offset, abs=0.05)
    assert -0.6 < few.offset < 0
    assert (2000, 1000) == (many.decisions, many.same)


def test_the_cost_is_that_of_decisions_about_other_clips():
    """Even odds cost one bit; an offset that fits costs less than one that is missing."""
    found = fit_offset(decided(100, 100, 0.1))

    assert found.helps
    assert 1 == pytest.approx(found.cost_after, abs=0.05)
    assert (math.log2(1.1) + math.log2(11)) / 2 == pytest.approx(found.cost_before)


def test_decisions_about_one_clip_are_not_in_fit_and_test_at_once():
    """All decisions about one clip: fitted on nothing, the offset is 0 and gains nothing."""
    one_clip = [DecidedMatch(one.evalue, one.same, "clip") for one in decided(5, 15, 0.1)]

    found = fit_offset(one_clip)

    assert found.cost_before == pytest.approx(found.cost_after)
    assert not found.helps


@pytest.mark.parametrize(
    ("same", "different"),
    [(0, 0), (LEAST_DECISIONS - 3, 2), (2, 50), (50, LEAST_OF_A_KIND - 1)],
)
def test_too_few_decisions_or_of_one_kind_are_refused(same, different):
    with pytest.raises(InputError, match=f"{same + different} possible matches are decided, {same} of them"):
        fit_offset(decided(same, different))


@given(ratio=RATIOS, offset=OFFSETS)
def test_a_shifted_ratio_stays_within_what_the_calibration_supports(ratio, offset):
    shifted = shift_log_ratio(ratio, offset)

    assert shifted <= max(ratio, shipped_calibration().most)
    assert shifted == ratio if ratio <= 0 else shifted >= 0


@given(ratios=st.lists(RATIOS, min_size=2, max_size=6), offset=OFFSETS)
def test_a_shift_keeps_the_order(ratios, offset):
    ordered = sorted(ratios)

    assert sorted(shift_log_ratio(one, offset) for one in ordered) == [
        shift_log_ratio(one, offset) for one in ordered
    ]


@given(ratio=RATIOS, offset=OFFSETS, dances=st.integers(1, 1_000_000))
def test_the_evalue_is_that_of_the_shifted_ratio(ratio, offset, dances):
    expected = evalue_of(shift_log_ratio(ratio, offset), dances)

    assert expected == pytest.approx(shift_evalue(evalue_of(ratio, dances), ratio, offset))
