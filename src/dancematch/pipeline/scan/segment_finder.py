"""A dance that windows propose -> a segment: where it begins and ends, and whether it is that dance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dancematch.errors import NoDancerError
from dancematch.pipeline.answer import Answer
from dancematch.pipeline.query import QueryClip, query_of_motions
from dancematch.pipeline.scan.access import CatalogueAccess
from dancematch.pipeline.scan.boundaries import Values, agreement_along, bound_end, bound_start
from dancematch.pipeline.scan.feeds import Feed
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.types import Fingerprint, Match, Span

SHORTEST_SECONDS = 2.0  # of a segment: less is never accepted
EDGE_WINDOWS = 3  # at either end of a dance, of which the clearest says where it begins or ends
REACH_SECONDS = 2.0  # beyond the windows, within which the dance may begin or end
GROWTH_SECONDS = 6.0  # beyond a segment that was found, within which it may go on
LEAST_GROWTH_SECONDS = 1.0  # for which it is worth a search
MOST_VERIFIED_SECONDS = 30.0  # of a segment: more would not make the verdict surer


@dataclass(frozen=True)
class ScanWindow:
    """Some seconds of a dancer, and the dances they may be."""

    span: Span
    matches: dict[str, Match]  # by the dance's id

    @property
    def log_ratios(self) -> dict[str, float]:
        """The log likelihood ratio of each dance."""
        return {name: match.log_ratio or 0.0 for name, match in self.matches.items()}


class SegmentFinder:
    """Searches for periods of one dancer."""

    def __init__(self, dancer: int, feed: Feed, catalogue: CatalogueAccess) -> None:
        self._dancer, self._feed, self._catalogue = dancer, feed, catalogue

    def search_window(self, span: Span) -> ScanWindow:
        """Search for a period; it has no match where no dancer is seen."""
        found = self._search(span)
        return ScanWindow(span, {} if found is None else {one.dance_id: one for one in found.candidates})

    def find_segment(self, windows: Sequence[ScanWindow], dance_id: str, within: Span) -> ScanSegment | None:
        """The segment that windows propose, if a search for all of it finds that dance likeliest.

        A line that was found in a short window may be a little off; once the segment is found as a whole,
        its own line says more exactly how far it goes.
        """
        segment = self._verify(self._bound(windows, dance_id, within, REACH_SECONDS), dance_id)
        if segment is None or segment.match is None:
            return None
        known = ScanWindow(segment.span, {dance_id: segment.match})
        wider = self._bound([known], dance_id, within, GROWTH_SECONDS)
        if wider is None or wider.seconds < segment.span.seconds + LEAST_GROWTH_SECONDS:
            return segment
        grown = self._verify(wider, dance_id)
        return grown if grown is not None and _ratio(grown) >= _ratio(segment) else segment

    def _query(self, span: Span) -> QueryClip | None:
        motion = self._feed.motion(span.start, span.end)
        try:
            return None if motion is None else query_of_motions([motion], self._catalogue.tokeniser, "")
        except NoDancerError:
            return None

    def _search(self, span: Span) -> Answer | None:
        query = self._query(span)
        return None if query is None else self._catalogue.search(query)

    def _bound(self, windows: Sequence[ScanWindow], dance_id: str, within: Span, reach: float) -> Span | None:
        """When the dance that windows show begins and ends; None if nothing is left of it."""
        start, end = max(within.start, windows[0].span.start), min(within.end, windows[-1].span.end)
        first = _clearest(windows[:EDGE_WINDOWS], dance_id)
        before = max(within.start, start - reach), min(within.end, first.span.end)
        if (found := self._agreement(*before, first.matches.get(dance_id))) is not None:
            start = bound_start(*found, _middle(first.span))
        last = _clearest(windows[-EDGE_WINDOWS:], dance_id)
        after = max(within.start, last.span.start), min(within.end, end + reach)
        if (found := self._agreement(*after, last.matches.get(dance_id))) is not None:
            end = bound_end(*found, _middle(last.span))
        return Span(start, end) if end - start >= SHORTEST_SECONDS else None

    def _agreement(self, start: float, end: float, match: Match | None) -> tuple[Fingerprint, Values] | None:
        """The words of a period of the dancer, and how well they agree with the reference along a match."""
        if match is None or end - start <= 0:
            return None
        query, reference = self._query(Span(start, end)), self._catalogue.read_reference(match)
        if query is None or reference is None:
            return None
        words = query.dancers[0].query_of(match).fingerprint
        return words, agreement_along(match, words, reference)

    def _verify(self, span: Span | None, dance_id: str) -> ScanSegment | None:
        """The segment, if a search among all dances finds the dance likeliest and at least possible."""
        if span is None:
            return None
        beyond = max(0.0, span.seconds - MOST_VERIFIED_SECONDS) / 2
        found = self._search(Span(span.start + beyond, span.end - beyond))
        best = found.candidates[0] if found is not None and found.candidates else None
        if best is None or best.dance_id != dance_id or best.verdict == "no match":
            return None
        return ScanSegment(self._dancer, span, replace(best, dancer=self._dancer))


def _ratio(segment: ScanSegment) -> float:
    return segment.match.log_ratio or 0.0 if segment.match is not None else 0.0


def _clearest(windows: Sequence[ScanWindow], dance_id: str) -> ScanWindow:
    """The window that speaks most for a dance."""
    return max(windows, key=lambda one: one.log_ratios.get(dance_id, float("-inf")))


def _middle(span: Span) -> float:
    return (span.start + span.end) / 2
