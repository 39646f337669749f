"""The scan of one dancer: overlapping windows are searched for, named together, bounded and verified."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dancematch.errors import NoDancerError
from dancematch.pipeline.answer import Answer
from dancematch.pipeline.query import QueryClip, query_of_motions
from dancematch.pipeline.scan.access import CatalogueAccess
from dancematch.pipeline.scan.boundaries import agreement_along, find_end, find_start
from dancematch.pipeline.scan.feeds import Feed
from dancematch.pipeline.scan.labelling import Run, label_windows
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.types import Fingerprint, Match, Span

WINDOW_SECONDS = 6.0
HOP_SECONDS = 2.0
SHORTEST_SECONDS = 2.0  # of a window, and of a segment: less is never accepted
SETTLED_WINDOWS = 4  # after a run, that are something else before it is taken for ended
LONGEST_SECONDS = 60.0  # of a run, after which what has been found of it is told
MOST_VERIFIED_SECONDS = 30.0  # of a segment: more would not make the verdict surer


@dataclass(frozen=True)
class _Window:
    span: Span
    matches: dict[str, Match]  # by dance

    @property
    def log_ratios(self) -> dict[str, float]:
        return {name: match.log_ratio or 0.0 for name, match in self.matches.items()}


class DancerScan:
    """One dancer, from the first window to the last."""

    def __init__(self, dancer: int, feed: Feed, catalogue: CatalogueAccess) -> None:
        self.dancer, self.feed = dancer, feed
        self._catalogue = catalogue
        self._windows: list[_Window] = []  # of which no segment has been told yet
        self._told = feed.span.start  # up to which segments have been told
        self._next_end = feed.span.start + WINDOW_SECONDS

    def advance(self) -> Iterator[ScanSegment]:
        """Search the windows that have been read since, and yield the segments that are settled."""
        while self._next_end <= self.feed.span.end:
            self._add_window(Span(self._next_end - WINDOW_SECONDS, self._next_end))
            self._next_end += HOP_SECONDS
            yield from self._settle()

    def finish(self) -> Iterator[ScanSegment]:
        """Search what is left, and yield the last segments."""
        yield from self.advance()
        end = self.feed.span.end
        start = max(self.feed.span.start, end - WINDOW_SECONDS)
        searched = self._windows[-1].span.end if self._windows else self._next_end - HOP_SECONDS
        if end - start >= SHORTEST_SECONDS and (not self._windows or end - searched > HOP_SECONDS / 4):
            self._add_window(Span(start, end))
        for run in label_windows([one.log_ratios for one in self._windows]):
            yield from self._tell(run)
        self._windows.clear()
        yield from self._tell_gap(end)

    def _add_window(self, span: Span) -> None:
        found = self._search(span)
        matches = {} if found is None else {match.dance_id: match for match in found.candidates}
        self._windows.append(_Window(span, matches))

    def _query(self, span: Span) -> QueryClip | None:
        motion = self.feed.motion(span.start, span.end)
        try:
            return None if motion is None else query_of_motions([motion], self._catalogue.tokeniser, "")
        except NoDancerError:
            return None

    def _search(self, span: Span) -> Answer | None:
        query = self._query(span)
        return None if query is None else self._catalogue.search(query)

    def _settle(self) -> Iterator[ScanSegment]:
        """Yield what later windows will not change any more, and forget it."""
        runs = label_windows([one.log_ratios for one in self._windows])
        told = 0
        for run in runs:
            length = self._windows[run.last].span.end - self._windows[run.first].span.start
            settled = run.last < len(self._windows) - SETTLED_WINDOWS
            if not settled and length < LONGEST_SECONDS:
                break
            yield from self._tell(run)
            told = run.last + 1
        del self._windows[:told]
        keep = self._windows[0].span.start if self._windows else self._next_end - WINDOW_SECONDS
        self.feed.forget(min(keep, self._told) - WINDOW_SECONDS)

    def _tell(self, run: Run) -> Iterator[ScanSegment]:
        if run.dance_id is None:
            return
        span = self._bound(run)
        match = None if span is None else self._verify(span, run.dance_id)
        if span is None or match is None:
            return
        yield from self._tell_gap(span.start)
        yield ScanSegment(self.dancer, span, match)
        self._told = span.end

    def _tell_gap(self, until: float) -> Iterator[ScanSegment]:
        if until - self._told >= SHORTEST_SECONDS / 2:
            yield ScanSegment(self.dancer, Span(self._told, until))
        self._told = max(self._told, until)

    def _bound(self, run: Run) -> Span | None:
        """When the dance of a run begins and ends; None if nothing is left of it."""
        windows = self._windows[run.first : run.last + 1]
        start = self._bound_start(run, windows)
        end = self._bound_end(run, windows)
        return Span(start, end) if end - start >= SHORTEST_SECONDS else None

    def _bound_start(self, run: Run, windows: list[_Window]) -> float:
        window = _clearest(windows[:3], run.dance_id)
        earliest = max(self._told, windows[0].span.start - HOP_SECONDS)
        line = self._agreement(Span(earliest, window.span.end), window.matches[run.dance_id])
        if line is None:
            return max(self._told, windows[0].span.start)
        words, agreement = line
        middle = _step_at(words, (window.span.start + window.span.end) / 2)
        return words.start + words.seconds_per_word * find_start(agreement, 0, middle)

    def _bound_end(self, run: Run, windows: list[_Window]) -> float:
        window = _clearest(windows[-3:], run.dance_id)
        latest = min(self.feed.span.end, windows[-1].span.end + HOP_SECONDS)
        line = self._agreement(Span(window.span.start, latest), window.matches[run.dance_id])
        if line is None:
            return windows[-1].span.end
        words, agreement = line
        middle = _step_at(words, (window.span.start + window.span.end) / 2)
        return words.start + words.seconds_per_word * (1 + find_end(agreement, middle, len(words) - 1))

    def _agreement(self, span: Span, match: Match):  # type: ignore[no-untyped-def]
        """The words of a period of the dancer, and how well they agree with the reference along the match."""
        query, reference = self._query(span), self._catalogue.read_reference(match)
        if query is None or reference is None:
            return None
        words = query.variant(replace(match, dancer=query.dancers[0].dancer)).fingerprint
        return words, agreement_along(match, words, reference)

    def _verify(self, span: Span, dance_id: str) -> Match | None:
        """The match of a whole segment with the dance, if it is one, by a search among all dances."""
        found = self._search(_middle(span, MOST_VERIFIED_SECONDS))
        if found is None or not found.candidates or found.candidates[0].dance_id != dance_id:
            return None
        best = found.candidates[0]
        return None if best.verdict == "no match" else replace(best, dancer=self.dancer)


def _clearest(windows: list[_Window], dance_id: str | None) -> _Window:
    """The window that speaks most for a dance."""
    assert dance_id is not None  # noqa: S101  (a run without a dance is not bounded)
    return max(windows, key=lambda one: one.log_ratios.get(dance_id, float("-inf")))


def _step_at(words: Fingerprint, seconds: float) -> int:
    step = int((seconds - words.start) / words.seconds_per_word)
    return min(max(step, 0), len(words) - 1)


def _middle(span: Span, most: float) -> Span:
    """The span itself, or so many seconds in the middle of a longer one."""
    beyond = max(0.0, span.seconds - most) / 2
    return Span(span.start + beyond, span.end - beyond)
