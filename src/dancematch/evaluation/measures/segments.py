"""Which dance when: the segments that were found beside the true ones.

A true segment is found if one segment of the same dance overlaps it enough (`temporal_overlap.ENOUGH`); each
segment that was found stands for one true segment at most. Whatever is named beyond that is wrong: a segment
split in two has one right half at best, and one wrong half.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dancematch.evaluation.measures.temporal_overlap import ENOUGH, temporal_iou
from dancematch.types import Span


class DanceSegment(NamedTuple):
    """A period of time with the name of a dance."""

    span: Span
    dance: str


class SegmentPair(NamedTuple):
    """A true segment and the one that found it, by their places."""

    true: int
    found: int


class SegmentCounts(NamedTuple):
    """How many segments there are, were found, and were found rightly."""

    true: int
    found: int
    right: int

    @property
    def precision(self) -> float | None:
        """The share of the found segments that are right; None if nothing was found."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of the true segments that were found; None if there are none."""
        return self.right / self.true if self.true else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; None if there is nothing to find and nothing found."""
        return 2 * self.right / (self.true + self.found) if self.true + self.found else None


class WrongPeriod(NamedTuple):
    """A period in which a dance is named that is not danced."""

    span: Span
    overrun: bool  # by segments that are right, but begin too early or end too late


def add_counts(counts: Iterable[SegmentCounts]) -> SegmentCounts:
    """The counts of several programmes together."""
    held = list(counts)
    return SegmentCounts(*(sum(one[place] for one in held) for place in range(3)))


def merge_dancers(found: Sequence[tuple[int, DanceSegment]]) -> list[DanceSegment]:
    """The segments of all dancers, in order of their start; of a dance danced by several at once, one.

    Segments of one dancer are never merged: a dance that is split in two stays so.
    """
    merged: list[tuple[set[int], DanceSegment]] = []
    for dancer, one in sorted(found, key=lambda item: (item[1].span.start, item[1].span.end, item[0])):
        place = _find_partner(merged, dancer, one)
        if place is None:
            merged.append(({dancer}, one))
        else:
            dancers, other = merged[place]
            end = max(other.span.end, one.span.end)
            merged[place] = dancers | {dancer}, DanceSegment(Span(other.span.start, end), one.dance)
    return [one for _, one in merged]


def _find_partner(
    merged: Sequence[tuple[set[int], DanceSegment]], dancer: int, one: DanceSegment
) -> int | None:
    for place, (dancers, other) in enumerate(merged):
        if other.dance == one.dance and one.span.start < other.span.end and dancers != {dancer}:
            return place
    return None


def assign_segments(truth: Sequence[DanceSegment], found: Sequence[DanceSegment]) -> list[SegmentPair]:
    """One-to-one pairs of the same dance that overlap enough, in order of time.

    The most overlap first. That gives as many pairs as any other way where neither the true segments nor
    the found ones of a dance overlap each other: a segment then overlaps two others enough only if it
    covers both, and nothing else can.
    """
    overlaps = [
        (temporal_iou(true.span, one.span), place, number)
        for place, true in enumerate(truth)
        for number, one in enumerate(found)
        if true.dance == one.dance
    ]
    pairs: dict[int, int] = {}
    for overlap, place, number in sorted(overlaps, key=lambda one: (-one[0], *one[1:])):
        if overlap >= ENOUGH and place not in pairs and number not in pairs.values():
            pairs[place] = number
    return [SegmentPair(place, pairs[place]) for place in sorted(pairs, key=lambda at: truth[at].span.start)]


def count_segments(truth: Sequence[DanceSegment], found: Sequence[DanceSegment]) -> SegmentCounts:
    """How many are there, found, and found rightly."""
    return SegmentCounts(len(truth), len(found), len(assign_segments(truth, found)))


def boundary_errors(
    truth: Sequence[DanceSegment], found: Sequence[DanceSegment]
) -> list[tuple[float, float]]:
    """Of each segment found rightly: seconds by which it begins and ends too late."""
    return [
        (found[pair.found].span.start - truth[pair.true].span.start,
         found[pair.found].span.end - truth[pair.true].span.end)
        for pair in assign_segments(truth, found)
    ]  # fmt: skip


def find_wrong_periods(truth: Sequence[DanceSegment], found: Sequence[DanceSegment]) -> Iterator[WrongPeriod]:
    """Yield the periods in which a dance is named that is not danced, each once, however many name it."""
    right = {pair.found for pair in assign_segments(truth, found)}
    edges = sorted({edge for one in (*truth, *found) for edge in (one.span.start, one.span.end)})
    for start, end in pairwise(edges):
        danced = {one.dance for one in truth if one.span.start <= start < one.span.end}
        wrong = [
            number
            for number, one in enumerate(found)
            if one.span.start <= start < one.span.end and one.dance not in danced
        ]
        if wrong:
            yield WrongPeriod(Span(start, end), overrun=right.issuperset(wrong))
