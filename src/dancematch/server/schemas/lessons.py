"""Counts, the diff of two choreographies, and what to practise."""

from pydantic import BaseModel

from dancematch.pipeline.counts.counts import COUNTS_PER_BAR, Counts, CountsSource
from dancematch.report.diff_passages import DiffKind
from dancematch.report.lesson import BeatPair, Lesson
from dancematch.server.schemas.base import with_example
from dancematch.types import Span


class CountsResponse(BaseModel):
    """The beats of a recording: bar 1, count 1 is at `first`, then one every 60 / `bpm` seconds."""

    model_config = with_example(
        bpm=110.0, first=0.05, end=17.4, confidence=0.48, source="movement", counts_per_bar=8
    )
    bpm: float
    first: float
    end: float
    confidence: float
    source: CountsSource
    counts_per_bar: int = COUNTS_PER_BAR

    @classmethod
    def of(cls, counts: Counts | None) -> "CountsResponse | None":
        """The counts, None if there are none."""
        return None if counts is None else cls(**vars(counts))


class RecordingCountsResponse(BaseModel):
    """The counts of a recording."""

    model_config = with_example(
        recording_id="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        counts=None, counts_reason="no tempo stands out in the movement",
    )  # fmt: skip
    recording_id: str
    counts: CountsResponse | None
    counts_reason: str  # why there are none; empty if there are


class DiffLineResponse(BaseModel):
    """A passage of the known dance and what became of it in the clip."""

    model_config = with_example(
        kind="changed", where="counts 5-8 of bar 3", text="Counts 5-8 of bar 3 changed: left arm.",
        reference={"start": 10.9, "end": 13.1}, query={"start": 11.2, "end": 13.4}, mirrored=False,
        parts=["left arm"], degrees=18.7,
    )  # fmt: skip
    kind: DiffKind
    where: str
    text: str
    reference: Span | None
    query: Span | None
    mirrored: bool
    parts: tuple[str, ...]
    degrees: float | None


class LessonResponse(BaseModel):
    """A comparison in the counts of the known dance."""

    counts: CountsResponse | None
    counts_reason: str  # why there are no counts; empty if there are
    beats: tuple[BeatPair, ...]
    diff: list[DiffLineResponse]
    practice: tuple[str, ...]

    @classmethod
    def of(cls, lesson: Lesson) -> "LessonResponse":
        """The lesson without the comparison that it is about."""
        return cls.model_validate(lesson.described())
