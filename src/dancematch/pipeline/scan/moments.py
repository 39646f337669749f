"""What is scanned, as moments on the way through it: who has been seen so far, and who is gone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dancematch.pipeline.scan.feeds import Feed, MotionFeed
from dancematch.types import Motion

STEP_SECONDS = 2.0  # between moments


@dataclass(frozen=True)
class Moment:
    """How far the reading is."""

    seconds: float
    present: dict[int, Feed]  # dancers by number who may still come into view
    total: float | None = None  # seconds of all of it, where that is known


def moments_of_motions(motions: Sequence[Motion]) -> Iterator[Moment]:
    """Read motions, each a dancer, along their common clock."""
    order = sorted(range(len(motions)), key=lambda number: motions[number].start)
    feeds = {dancer: MotionFeed(motions[number]) for dancer, number in enumerate(order, start=1)}
    begin, end = min(one.start for one in motions), max(one.span.end for one in motions)
    seconds = begin
    while seconds < end:
        seconds = min(end, seconds + STEP_SECONDS)
        present: dict[int, Feed] = {}
        for dancer, number in enumerate(order, start=1):
            feed, span = feeds[dancer], motions[number].span
            if span.start < seconds and seconds - STEP_SECONDS < span.end:
                feed.read_until = seconds
                present[dancer] = feed
        yield Moment(seconds, present, end)
