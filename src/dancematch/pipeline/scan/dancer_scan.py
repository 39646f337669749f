"""The scan of one dancer: overlapping windows are searched for and named together.

Six seconds are enough to tell when one dance ends and the next begins, but little to recognise another person
by. So what the windows leave without a name is looked at again, fifteen seconds at a time.
"""

from collections.abc import Iterator

from dancematch.pipeline.scan.access import CatalogueAccess
from dancematch.pipeline.scan.feeds import Feed
from dancematch.pipeline.scan.labelling import Run, label_windows
from dancematch.pipeline.scan.segment_finder import SHORTEST_SECONDS, ScanWindow, SegmentFinder
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.types import Span

WINDOW_SECONDS = 6.0
HOP_SECONDS = 2.0
SETTLED_WINDOWS = 4  # after a run, that are something else before it is taken for ended
LONGEST_SECONDS = 60.0  # of a run, after which what has been found of it is told
SECOND_LOOK_SECONDS = 15.0  # of what windows leave without a name


class DancerScan:
    """One dancer, from the first window to the last."""

    def __init__(self, dancer: int, feed: Feed, catalogue: CatalogueAccess) -> None:
        self.dancer, self.feed = dancer, feed
        self.told = feed.span.start  # up to which all segments have been told
        self._finder = SegmentFinder(dancer, feed, catalogue)
        self._windows: list[ScanWindow] = []  # of which no segment has been told yet
        self._next_end = feed.span.start + WINDOW_SECONDS

    def advance(self) -> Iterator[ScanSegment]:
        """Search the windows that have been read since, and yield the segments that are settled."""
        while self._next_end <= self.feed.span.end:
            window = Span(self._next_end - WINDOW_SECONDS, self._next_end)
            self._windows.append(self._finder.search_window(window))
            self._next_end += HOP_SECONDS
            yield from self._settle()

    @property
    def searched(self) -> float:
        """Up to where windows have been searched for."""
        return self._next_end - HOP_SECONDS

    def dancing(self) -> ScanSegment | None:
        """What the dancer dances now, as far as it has been read: a match, or None."""
        end = self.feed.span.end
        runs = label_windows([one.log_ratios for one in self._windows])
        if runs and runs[-1].dance_id is not None:
            segment = self._segment(runs[-1])
        else:
            segment = self._look_again(Span(max(self.told, end - SECOND_LOOK_SECONDS), end))
        return segment if segment is not None and segment.verdict == "match" else None

    def finish(self) -> Iterator[ScanSegment]:
        """Search what is left, and yield the last segments."""
        yield from self.advance()
        end = self.feed.span.end
        start = max(self.feed.span.start, end - WINDOW_SECONDS)
        searched = self._windows[-1].span.end if self._windows else self._next_end - HOP_SECONDS
        if end - start >= SHORTEST_SECONDS and (not self._windows or end - searched > HOP_SECONDS / 4):
            self._windows.append(self._finder.search_window(Span(start, end)))
        for run in label_windows([one.log_ratios for one in self._windows]):
            yield from self._tell(run)
        self._windows.clear()
        yield from self._tell_gap(end, final=True)

    def _settle(self) -> Iterator[ScanSegment]:
        """Yield what later windows will not change any more, and forget it."""
        settled = 0
        for run in label_windows([one.log_ratios for one in self._windows]):
            length = self._windows[run.last].span.end - self._windows[run.first].span.start
            if run.last >= len(self._windows) - SETTLED_WINDOWS and length < LONGEST_SECONDS:
                break
            yield from self._tell(run)
            settled = run.last + 1
        del self._windows[:settled]
        pending = self._windows[0].span.start if self._windows else self._next_end - WINDOW_SECONDS
        yield from self._tell_gap(pending, final=False)
        self.feed.forget(min(pending, self.told) - WINDOW_SECONDS)

    def _tell(self, run: Run) -> Iterator[ScanSegment]:
        segment = self._segment(run)
        if segment is not None:
            yield from self._tell_gap(segment.span.start, final=True)
            yield segment
            self.told = segment.span.end

    def _segment(self, run: Run) -> ScanSegment | None:
        if run.dance_id is None:
            return None
        windows = self._windows[run.first : run.last + 1]
        return self._finder.find_segment(windows, run.dance_id, Span(self.told, self.feed.span.end))

    def _tell_gap(self, until: float, *, final: bool) -> Iterator[ScanSegment]:
        """Yield what is found up to there at a second look; unless that is `final`, in whole looks only."""
        while until - self.told >= (SHORTEST_SECONDS if final else SECOND_LOOK_SECONDS):
            look = Span(self.told, min(until, self.told + SECOND_LOOK_SECONDS))
            segment = self._look_again(look)
            if segment is not None:
                yield from self._tell_nothing(segment.span.start)
                yield segment
                self.told = segment.span.end
            else:
                last = look.end == until and final
                yield from self._tell_nothing(until if last else look.start + SECOND_LOOK_SECONDS / 2)
        if final:
            yield from self._tell_nothing(until)

    def _tell_nothing(self, until: float) -> Iterator[ScanSegment]:
        if until - self.told >= SHORTEST_SECONDS / 2:
            yield ScanSegment(self.dancer, Span(self.told, until))
        self.told = max(self.told, until)

    def _look_again(self, look: Span) -> ScanSegment | None:
        """The segment of the likeliest dance of a longer window, if it is one."""
        if look.seconds <= WINDOW_SECONDS:
            return None  # the windows have seen as much
        window = self._finder.search_window(look)
        likeliest = next(iter(window.matches.values()), None)
        if likeliest is None or likeliest.verdict == "no match":
            return None
        return self._finder.find_segment([window], likeliest.dance_id, look)
