"""Recordings of dances, and the table that says of files what they are."""

from pydantic import BaseModel

from dancematch.pipeline.recording_index import IndexRow
from dancematch.server.schemas.base import EXAMPLE_TIME, with_example


class ExclusionResponse(BaseModel):
    """A segment of a recording that never matches."""

    start: float
    end: float
    reason: str | None


class RecordingResponse(BaseModel):
    """A recording of a dance, and whether its skeletons and video are kept."""

    model_config = with_example(
        recording_id="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", file="thriller.mp4",
        seconds=61.2, performer="Michael", url=None, date="1983", added=EXAMPLE_TIME,
        dance_id="d3f0c2a9b8e7d6c", dance="Thriller", dancers=1, period_seconds=4.3, period_strength=0.8,
        poster=False, motion=True, video=False, exclusions=[],
    )  # fmt: skip
    recording_id: str
    file: str
    seconds: float
    performer: str | None
    url: str | None
    date: str | None
    added: str
    dance_id: str
    dance: str
    dancers: int
    period_seconds: float | None
    period_strength: float | None
    poster: bool
    motion: bool
    video: bool
    exclusions: list[ExclusionResponse]


class IndexRowResponse(BaseModel):
    """What an index says of one file; null or no label: nothing."""

    file: str
    dance: str | None
    performer: str | None
    labels: tuple[str, ...]
    url: str | None
    date: str | None
    collection: str | None
    notes: str | None

    @classmethod
    def of(cls, row: IndexRow) -> "IndexRowResponse":
        """A row without its place in the table."""
        return cls.model_validate(row, from_attributes=True)


class IndexResponse(BaseModel):
    """The rows of an index, one per file."""

    rows: list[IndexRowResponse]
