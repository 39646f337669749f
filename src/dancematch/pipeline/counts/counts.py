"""The counts of a dance: an even grid of beats, eight to a bar, and the names of its parts.

A bar is an eight-count, as dancers count. Bar 1, count 1 is the first beat of the recording: where the
choreographer begins to count cannot be seen.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from dancematch.types import Span

COUNTS_PER_BAR = 8
CountsSource = Literal["music", "movement"]
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class CountName(NamedTuple):
    """A count of a dance; both numbers from 1."""

    bar: int
    number: int


@dataclass(frozen=True)
class Counts:
    """Beats at an even tempo, from the first to the last within a recording."""

    bpm: float
    first: float  # seconds of bar 1, count 1
    end: float  # seconds of the recording's end
    confidence: float  # 0..1; below a limit that depends on the source there are no counts
    source: CountsSource

    @property
    def seconds_per_count(self) -> float:
        """From one beat to the next."""
        return 60 / self.bpm

    @property
    def beats(self) -> list[float]:
        """The time of each beat."""
        number = max(1, math.ceil((self.end - self.first) / self.seconds_per_count - 1e-6))
        return [self.first + beat * self.seconds_per_count for beat in range(number)]

    def beat_at(self, seconds: float) -> int:
        """The number of the nearest beat, from 0; before the first it is the first."""
        return max(0, math.floor((seconds - self.first) / self.seconds_per_count + 0.5))

    def beat_before(self, seconds: float) -> int:
        """The number of the beat that is being danced, from 0; before the first it is the first."""
        return max(0, math.floor((seconds - self.first) / self.seconds_per_count + 1e-6))

    def within(self, span: Span) -> tuple[int, int]:
        """The first and last beat whose counts lie mostly within a span; the nearest one if none does."""
        first = self.beat_at(span.start)
        return first, max(first, self.beat_at(span.end) - 1)

    def describe(self, span: Span) -> str:
        """What dancers call a span: "counts 5-8 of bar 3"."""
        return describe_beats(*self.within(span))


@dataclass(frozen=True)
class Counted:
    """The counts of a recording or, where they cannot be trusted, why there are none."""

    counts: Counts | None
    reason: str = ""  # empty if there are counts


def place_beat(beat: int) -> CountName:
    """The bar and count of a beat, which is numbered from 0."""
    return CountName(beat // COUNTS_PER_BAR + 1, beat % COUNTS_PER_BAR + 1)


def describe_beats(first: int, last: int) -> str:
    """What dancers call the beats from `first` to `last`: "bar 2", "counts 5 and 6 of bar 3"."""
    begin, end = place_beat(first), place_beat(last)
    if begin.number == 1 and end.number == COUNTS_PER_BAR:
        return f"bar {begin.bar}" if begin.bar == end.bar else f"bars {begin.bar}-{end.bar}"
    if begin.bar == end.bar:
        return f"{_list_counts(begin.number, end.number)} of bar {begin.bar}"
    return f"bar {begin.bar}, count {begin.number} to bar {end.bar}, count {end.number}"


def describe_eight_count(first: int, last: int) -> str:
    """The same in a teacher's sentence: "in counts 5 and 6 of the second eight-count"."""
    begin, end = place_beat(first), place_beat(last)
    if begin.bar != end.bar:
        start = f"from count {begin.number} of the {_order(begin.bar)} eight-count"
        return f"{start} to count {end.number} of the {_order(end.bar)}"
    if (begin.number, end.number) == (1, COUNTS_PER_BAR):
        return f"in the {_order(begin.bar)} eight-count"
    return f"in {_list_counts(begin.number, end.number)} of the {_order(begin.bar)} eight-count"


def _list_counts(first: int, last: int) -> str:
    if first == last:
        return f"count {first}"
    return f"counts {first} and {last}" if last == first + 1 else f"counts {first}-{last}"


def _order(number: int) -> str:
    return _ORDINALS[number - 1] if number <= len(_ORDINALS) else f"{number}{_ending(number)}"


def _ending(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def units_of(counts: Counts | None, span: Span, beats: int, seconds: float) -> Iterator[Span]:
    """Cut a span into units of so many beats on the grid or, without counts, of so many seconds.

    A rest at an end that is shorter than half a unit belongs to its neighbour.
    """
    step = beats * counts.seconds_per_count if counts else seconds
    first = counts.first if counts else span.start
    begin = math.ceil((span.start - first) / step + 0.5 - 1e-6)
    last = math.floor((span.end - first) / step - 0.5 + 1e-6)
    bounds = [span.start, *(first + step * number for number in range(begin, last + 1)), span.end]
    for start, end in pairwise(bounds):
        if end - start > 1e-6:
            yield Span(start, end)
