"""Scans: which dance when, by whom, in a long video or before a camera.

The names are those of `ScanSegment.described`, which 'dancematch scan --json' prints.
"""

from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from dancematch.catalogue.records import MAX_NAME_LENGTH, NAME_PATTERN
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.server.schemas.base import with_example
from dancematch.server.schemas.motions import MotionResponse
from dancematch.server.schemas.recordings import RecordingResponse
from dancematch.server.schemas.searches import MatchResponse
from dancematch.types import Match, Span, Verdict


class SegmentResponse(BaseModel):
    """A period in which a dancer dances one known dance, or none; `number` is its place among those found."""

    model_config = with_example(
        number=0, dancer=1, span={"start": 12.0, "end": 41.5}, verdict="match", dance="Thriller", match=None,
        corrected=False,
    )  # fmt: skip
    number: int
    dancer: int
    span: Span
    verdict: Verdict
    dance: str | None
    match: MatchResponse | None
    corrected: bool = False  # by a person: the match is the recording that was made of the segment

    @classmethod
    def of(cls, number: int, segment: ScanSegment) -> "SegmentResponse":
        """A segment as it was found."""
        match = None if segment.match is None else MatchResponse.of(segment.match)
        return cls(
            number=number,
            dancer=segment.dancer,
            span=segment.span,
            verdict=segment.verdict,
            dance=segment.dance,
            match=match,
        )

    def segment(self) -> ScanSegment:
        """The segment itself."""
        return ScanSegment(self.dancer, self.span, self.match)

    def correct(self, recording: RecordingResponse) -> "SegmentResponse":
        """The segment as a recording of the dance that it was said to be."""
        seconds = max(recording.seconds, 1e-3)
        match = Match(
            recording.dance_id, 1.0, self.span, Span(0.0, seconds), tempo=1.0, dancer=self.dancer,
            dance=recording.dance, recording=recording.file, recording_id=recording.recording_id,
            verdict="match", same_performance=True,
        )  # fmt: skip
        found = SegmentResponse.of(self.number, replace(self.segment(), match=match))
        return found.model_copy(update={"corrected": True})


class RecognisedResponse(BaseModel):
    """A dance that was recognised while it was danced before a camera."""

    model_config = with_example(
        dancer=1, dance_id="d3f0c2a9b8e7d6c", dance="Thriller", span={"start": 3.0, "end": 9.5},
        delay_seconds=7.1,
    )  # fmt: skip
    dancer: int
    dance_id: str
    dance: str
    span: Span  # as far as it was read
    delay_seconds: float  # from when it began to be danced until it was named


class ScanResponse(BaseModel):
    """All segments of a video, in the order in which they were found."""

    model_config = with_example(
        filename="programme.mp4", live=False, seconds=612.0, read_seconds=612.0, searched=1520,
        segments=[], recognised=[],
    )  # fmt: skip
    filename: str | None
    live: bool
    seconds: float | None  # of the whole video; null while that is not known
    read_seconds: float
    searched: int  # dancers of the catalogue that each part was compared with
    segments: list[SegmentResponse]
    recognised: list[RecognisedResponse]  # before a camera


class SegmentCorrection(BaseModel):
    """Which dance a segment shows: a known one, by name or id, or a new one by its name."""

    model_config = ConfigDict(extra="forbid")
    dance: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH, pattern=NAME_PATTERN)]


class CorrectedResponse(BaseModel):
    """The segment as it is now, and the recording that was made of it."""

    segment: SegmentResponse
    recording: RecordingResponse


class ScanMotionResponse(MotionResponse):
    """The skeletons of a scanned video, on its clock."""

    job_id: str
