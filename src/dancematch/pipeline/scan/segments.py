"""What a scan finds: who dances which dance from when to when."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from dancematch.types import Match, Span, Verdict

JOIN_SECONDS = 1.0  # between two segments of one dance that are one


@dataclass(frozen=True)
class ScanSegment:
    """A period in which a dancer dances one known dance, or none."""

    dancer: int  # by order of appearance, from 1
    span: Span  # when, on the clock of what is scanned
    match: Match | None = None  # the dance, a match or possible match; None: no known dance

    @property
    def verdict(self) -> Verdict:
        """That of the dance; no match where there is none."""
        return "no match" if self.match is None else self.match.verdict

    @property
    def dance(self) -> str | None:
        """The name of the dance."""
        return None if self.match is None else self.match.name

    def renamed(self, names: Mapping[str, str]) -> "ScanSegment":
        """The same under the name that its dance has by now, if it has one."""
        if self.match is None or self.match.dance_id not in names:
            return self
        return replace(self, match=replace(self.match, dance=names[self.match.dance_id]))

    def __repr__(self) -> str:
        found = "no known dance" if self.match is None else f"{self.dance!r}, {self.verdict}"
        return f"<ScanSegment {self.span}, dancer {self.dancer}, {found}>"

    def described(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "dancer": self.dancer,
            "span": asdict(self.span),
            "verdict": self.verdict,
            "dance": self.dance,
            "match": None if self.match is None else asdict(self.match),
        }


def segment_of(description: Mapping[str, Any]) -> ScanSegment:
    """Return the segment that `described` described, without the details of its match."""
    match = description["match"]
    if match is not None:
        spans = {name: Span(**match[name]) for name in ("query", "reference")}
        match = Match(**{**match, **spans, "segment": None, "passages": (), "recordings": ()})
    return ScanSegment(description["dancer"], Span(**description["span"]), match)


class SegmentJoiner:
    """Joins adjoining segments of one dance, or of none, of one dancer, given in order."""

    def __init__(self) -> None:
        self.held: ScanSegment | None = None  # the last one, which the next may be joined to

    def add(self, segments: Iterable[ScanSegment]) -> Iterator[ScanSegment]:
        """Yield the segments that the next one cannot be joined to any more; the last is held back."""
        for segment in segments:
            if self.held is not None and _adjoin(self.held, segment):
                self.held = _join(self.held, segment)
                continue
            complete, self.held = self.held, segment
            if complete is not None:
                yield complete

    def release(self) -> Iterator[ScanSegment]:
        """Yield the segment that is held back."""
        complete, self.held = self.held, None
        if complete is not None:
            yield complete


def _adjoin(one: ScanSegment, other: ScanSegment) -> bool:
    same = (one.match and one.match.dance_id) == (other.match and other.match.dance_id)
    return same and other.span.start - one.span.end <= JOIN_SECONDS


def _join(one: ScanSegment, other: ScanSegment) -> ScanSegment:
    """Both as one, with the match of the longer: what it says of place and tempo holds for most of it."""
    longer = max(one, other, key=lambda segment: segment.span.seconds)
    return replace(longer, span=Span(one.span.start, max(one.span.end, other.span.end)))
