"""Which dance when: segments found beside the true ones, told as stories and computed twice."""

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.evaluation.measures.segments import (
    DanceSegment,
    SegmentCounts,
    add_counts,
    assign_segments,
    boundary_errors,
    count_segments,
    find_wrong_periods,
    merge_dancers,
)
from dancematch.evaluation.measures.temporal_overlap import temporal_iou
from dancematch.types import Span


def segment(start: float, end: float, dance: str = "hop") -> DanceSegment:
    return DanceSegment(Span(start, end), dance)


def wrong_seconds(found: list[DanceSegment]) -> tuple[float, float]:
    """Seconds wrongly named: by overruns of right segments, and others."""
    periods = list(find_wrong_periods(TRUTH, found))
    return tuple(sum(one.span.seconds for one in periods if one.overrun == kind) for kind in (True, False))


TRUTH = [segment(0, 10), segment(15, 25, "step"), segment(30, 40)]


def test_a_perfect_scan():
    """Everything is right, at the right time, and nothing is named wrongly."""
    counts = count_segments(TRUTH, TRUTH)

    assert (1.0, 1.0, 1.0) == (counts.precision, counts.recall, counts.f1)
    assert [(0, 0)] * 3 == boundary_errors(TRUTH, TRUTH)
    assert (0, 0) == wrong_seconds(TRUTH)


def test_a_segment_split_in_two():
    """The longer half stands for the dance, the other is one too many; no second is named wrongly."""
    found = [segment(0, 6), segment(6, 10), *TRUTH[1:]]

    assert SegmentCounts(true=3, found=4, right=3) == count_segments(TRUTH, found)
    assert [(0, -4), (0, 0), (0, 0)] == boundary_errors(TRUTH, found)
    assert (0, 0) == wrong_seconds(found)


def test_a_segment_split_into_three():
    """No part is half of it: it is not found, and three segments are wrong."""
    found = [segment(0, 4), segment(4, 7), segment(7, 10)]

    assert SegmentCounts(true=3, found=3, right=0) == count_segments(TRUTH, found)


def test_a_badly_placed_segment():
    """Half beside the dance it is not found; a little beside it, it is, and overruns."""
    beside, nearly = segment(6, 16), segment(1, 12)

    assert 0 == count_segments(TRUTH, [beside]).right
    assert (0, 6) == wrong_seconds([beside])
    assert 1 == count_segments(TRUTH, [nearly]).right
    assert [(1, 2)] == boundary_errors(TRUTH, [nearly])
    assert (2, 0) == wrong_seconds([nearly])


def test_a_wrong_name():
    """At the right time, but another dance: neither found nor right, and wrong all the time."""
    found = [segment(0, 10, "step")]

    assert SegmentCounts(true=3, found=1, right=0) == count_segments(TRUTH, found)
    assert (0, 10) == wrong_seconds(found)


def test_nothing_found():
    counts = count_segments(TRUTH, [])

    assert (None, 0.0, 0.0) == (counts.precision, counts.recall, counts.f1)
    assert [] == boundary_errors(TRUTH, [])
    assert (0, 0) == wrong_seconds([])


def test_nothing_to_find():
    assert (None, None) == (count_segments([], []).f1, count_segments([], []).recall)
    assert 0.0 == count_segments([], [segment(0, 5)]).f1


def test_one_segment_over_two_dances_stands_for_one():
    """The whole programme under one name: one dance of it is found at best, the pause is named wrongly."""
    found = [segment(0, 40)]

    assert SegmentCounts(true=3, found=1, right=0) == count_segments(TRUTH, found)
    assert (0, 20) == wrong_seconds(found)
    assert 1 == count_segments([segment(0, 10), segment(10, 20)], [segment(0, 20)]).right


def test_a_second_is_wrong_once_however_many_name_it():
    """An overrun that another wrong name covers is not the overrun's alone."""
    found = [segment(0, 12), segment(10, 14, "step"), segment(11, 13, "wave")]

    assert (0, 4) == wrong_seconds(found)


def test_several_dancers_of_one_dance_are_one_segment():
    """Two who dance the same are not one too many; one dancer's segments stay apart."""
    both = [(1, segment(0, 6)), (2, segment(4, 10)), (2, segment(0, 3, "step"))]

    assert [segment(0, 3, "step"), segment(0, 10)] == sorted(
        merge_dancers(both), key=lambda one: one.span.end
    )
    split = [(1, segment(0, 6)), (1, segment(6, 10))]
    assert [one for _, one in split] == merge_dancers(split)
    assert [segment(0, 4), segment(5, 9)] == merge_dancers([(1, segment(0, 4)), (2, segment(5, 9))])


def test_counts_add_up():
    total = add_counts([SegmentCounts(3, 4, 2), SegmentCounts(1, 0, 0)])

    assert SegmentCounts(4, 4, 2) == total
    assert 0.5 == total.f1


def most_pairs(truth: list[DanceSegment], found: list[DanceSegment]) -> int:
    """The size of the largest one-to-one assignment, by trying all."""

    def fits(true: DanceSegment, one: DanceSegment) -> bool:
        return true.dance == one.dance and temporal_iou(true.span, one.span) >= 0.5

    for size in range(min(len(truth), len(found)), 0, -1):
        for some in combinations(truth, size):
            for others in permutations(found, size):
                if all(map(fits, some, others)):
                    return size
    return 0


@st.composite
def lanes(draw: st.DrawFn) -> list[DanceSegment]:
    """Segments one after the other, some of them adjoining."""
    lengths = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), max_size=4))
    made, now = [], 0
    for gap, length in lengths:
        made.append(segment(now + gap, now + gap + length, draw(st.sampled_from(["hop", "step"]))))
        now += gap + length
    return made


@given(lanes(), lanes())
@settings(max_examples=150)
def test_the_assignment_is_the_largest_there_is(truth, found):
    """One to one, and as many pairs as any assignment has."""
    pairs = assign_segments(truth, found)

    assert most_pairs(truth, found) == len(pairs)
    assert len(pairs) == len({one.true for one in pairs}) == len({one.found for one in pairs})


@given(lanes(), lanes())
@settings(max_examples=100)
def test_two_counts_of_wrong_seconds_agree(truth, found):
    """Second by second: is a dance named that is not danced?"""

    def named(second: int, segments: list[DanceSegment]) -> set[str]:
        return {one.dance for one in segments if one.span.start <= second < one.span.end}

    slow = sum(bool(named(second, found) - named(second, truth)) for second in range(40))
    fast = sum(one.span.seconds for one in find_wrong_periods(truth, found))

    assert pytest.approx(slow) == fast
