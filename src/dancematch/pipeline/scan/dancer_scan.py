"""The scan of one dancer: overlapping windows are searched for, named together, bounded and verified."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dancematch.errors import NoDancerError
from dancematch.pipeline.answer import Answer
from dancematch.pipeline.query import QueryClip, query_of_motions
from dancematch.pipeline.scan.access import CatalogueAccess
from dancematch.pipeline.scan.boundaries import Values, agreement_along, bound_end, bound_start
from dancematch.pipeline.scan.feeds import Feed
from dancematch.pipeline.scan.labelling import Run, label_windows
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.types import Fingerprint, Match, Span

WINDOW_SECONDS = 6.0
HOP_SECONDS = 2.0
SHORTEST_SECONDS = 2.0  # of a window, and of a segment: less is never accepted
EDGE_WINDOWS = 3  # at either end of a run, of which the clearest says where the dance begins or ends
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

    def dancing(self) -> ScanSegment | None:
        """What the dancer dances now, as far as it has been read: a match, or None."""
        runs = label_windows([one.log_ratios for one in self._windows])
        segment = self._segment(runs[-1]) if runs else None
        return segment if segment is not None and segment.verdict == "match" else None

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
        segment = self._segment(run)
        if segment is not None:
            yield from self._tell_gap(segment.span.start)
            yield segment
            self._told = segment.span.end

    def _tell_gap(self, until: float) -> Iterator[ScanSegment]:
        if until - self._told >= SHORTEST_SECONDS / 2:
            yield ScanSegment(self.dancer, Span(self._told, until))
        self._told = max(self._told, until)

    def _segment(self, run: Run) -> ScanSegment | None:
        """The segment of a run, if a search for all of it says that it is that dance."""
        if run.dance_id is None:
            return None
        start, end = self._bound(self._windows[run.first : run.last + 1], run.dance_id)
        if end - start < SHORTEST_SECONDS:
            return None
        match = self._verify(Span(start, end), run.dance_id)
        return None if match is None else ScanSegment(self.dancer, Span(start, end), match)

    def _bound(self, windows: Sequence[_Window], dance_id: str) -> tuple[float, float]:
        """When the dance that these windows show begins and ends."""
        start, end = max(self._told, windows[0].span.start), windows[-1].span.end
        first, last = (
            _clearest(windows[:EDGE_WINDOWS], dance_id),
            _clearest(windows[-EDGE_WINDOWS:], dance_id),
        )
        earliest = max(self._told, start - HOP_SECONDS)
        found = self._agreement(Span(earliest, first.span.end), first.matches.get(dance_id))
        if found is not None:
            start = bound_start(*found, _middle(first.span))
        latest = min(self.feed.span.end, end + HOP_SECONDS)
        found = self._agreement(Span(last.span.start, latest), last.matches.get(dance_id))
        if found is not None:
            end = bound_end(*found, _middle(last.span))
        return start, end

    def _agreement(self, span: Span, match: Match | None) -> tuple[Fingerprint, Values] | None:
        """The words of a period of the dancer, and how well they agree with the reference along a match."""
        query = None if match is None else self._query(span)
        reference = None if match is None else self._catalogue.read_reference(match)
        if match is None or query is None or reference is None:
            return None
        words = query.dancers[0].queries()[int(match.mirrored)].fingerprint
        return words, agreement_along(match, words, reference)

    def _verify(self, span: Span, dance_id: str) -> Match | None:
        """The match of a segment with the dance, if a search among all dances finds it likeliest."""
        beyond = max(0.0, span.seconds - MOST_VERIFIED_SECONDS) / 2
        found = self._search(Span(span.start + beyond, span.end - beyond))
        if found is None or not found.candidates or found.candidates[0].dance_id != dance_id:
            return None
        best = found.candidates[0]
        return None if best.verdict == "no match" else replace(best, dancer=self.dancer)


def _clearest(windows: Sequence[_Window], dance_id: str) -> _Window:
    """The window that speaks most for a dance."""
    return max(windows, key=lambda one: one.log_ratios.get(dance_id, float("-inf")))


def _middle(span: Span) -> float:
    return (span.start + span.end) / 2
