"""What is scanned, as moments on the way through it: who has been seen so far, and who is gone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dancematch.pipeline.scan.feeds import Feed, MotionFeed, TrackFeed
from dancematch.pose.estimators import TracksSoFar
from dancematch.pose.selection import select_dancers
from dancematch.pose.track import Track
from dancematch.types import Motion

STEP_SECONDS = 2.0  # between moments
KEEP_SECONDS = 10.0  # of a video, by which it is told who is a dancer
GONE_SECONDS = 4.0  # out of view, after which a dancer is another one


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


def moments_of_tracks(parts: Iterable[TracksSoFar]) -> Iterator[Moment]:
    """Follow the dancers of a video, whose recent tracks a pose estimator tells again and again."""
    feeds: dict[int, TrackFeed] = {}
    count = 0
    for read in parts:
        for track in sorted(select_dancers(read.tracks).dancers, key=lambda one: float(one.times[0])):
            known = _recognise(track, feeds)
            if known is None:
                count += 1
                feeds[count] = TrackFeed(track)
            else:
                feeds[known].append(track)
        feeds = {
            dancer: feed for dancer, feed in feeds.items() if read.seconds - feed.span.end < GONE_SECONDS
        }
        yield Moment(read.seconds, dict(feeds), read.total_seconds)


def _recognise(track: Track, feeds: dict[int, TrackFeed]) -> int | None:
    """Which dancer a track goes on with: the one with most poses in common."""
    shared = {dancer: feed.shares(track) for dancer, feed in feeds.items()}
    best = max(shared, key=lambda dancer: shared[dancer], default=None)
    return best if best is not None and shared[best] else None
