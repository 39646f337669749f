"""Dances of the catalogue: one, a page of them, their labels, their map."""

from pydantic import BaseModel

from dancematch.server.schemas.base import EXAMPLE_TIME, with_example
from dancematch.server.schemas.recordings import RecordingResponse

_EXAMPLE = {
    "name": "Thriller", "dance_id": "d3f0c2a9b8e7d6c", "labels": ["pop"], "collection": None, "notes": None,
    "added": EXAMPLE_TIME, "dancers": 1, "seconds": 61.2, "period_seconds": 4.3, "period_strength": 0.8,
    "motion": True, "video": False, "poster": None, "etag": "5d41402abc4b2a76b9719d911017c592",
}  # fmt: skip


class DanceFacts(BaseModel):
    """What is said of a dance, and what of it is kept."""

    name: str
    dance_id: str
    labels: tuple[str, ...]
    collection: str | None
    notes: str | None
    added: str
    dancers: int
    seconds: float
    period_seconds: float | None
    period_strength: float | None
    motion: bool  # whether skeletons of any recording are kept
    video: bool  # whether the video of any recording is kept
    poster: str | None  # the id of the first recording that has a poster
    etag: str


class DanceResponse(DanceFacts):
    """A dance of the catalogue, with the number of its recordings."""

    model_config = with_example(**_EXAMPLE, recordings=1)
    recordings: int


class DanceDetail(DanceFacts):
    """A dance of the catalogue with its recordings."""

    model_config = with_example(**_EXAMPLE, recordings=[])
    recordings: list[RecordingResponse]


class DancesResponse(BaseModel):
    """One page of dances; `next` goes into `after` for the following page."""

    dances: list[DanceResponse]
    total: int
    next: str | None


class LabelsResponse(BaseModel):
    """The number of dances per label and per collection."""

    model_config = with_example(labels={"pop": 12, "": 3}, collections={"studio": 15})
    labels: dict[str, int]
    collections: dict[str, int]


class MapPointResponse(BaseModel):
    """A dance on the map."""

    model_config = with_example(
        dance_id="d3f0c2a9b8e7d6c", name="Thriller", labels=["pop"], collection=None, motion=True, x=0.31,
        y=-0.2,
    )  # fmt: skip
    dance_id: str
    name: str
    labels: tuple[str, ...]
    collection: str | None
    motion: bool
    x: float
    y: float


class MapQueryResponse(BaseModel):
    """A dancer of a query on the map, on its edge if beyond."""

    model_config = with_example(dancer=1, x=0.28, y=-0.17)
    dancer: int
    x: float
    y: float


class MapResponse(BaseModel):
    """Dances as points in the plane, and the dancers of a query if it was asked for."""

    dances: list[MapPointResponse]
    query: list[MapQueryResponse]
    total: int
    explained: list[float]
