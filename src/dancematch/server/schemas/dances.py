"""Dances of the catalogue: one, a page of them, their labels, their map."""

from dataclasses import dataclass

from pydantic import BaseModel

from dancematch.catalogue.records import Dance
from dancematch.server.schemas.base import EXAMPLE_TIME, with_example


@dataclass(frozen=True)
class DanceResponse(Dance):
    """A dance of the catalogue, and whether its skeletons and video are kept."""

    __pydantic_config__ = with_example(
        dance_id="thriller", source="thriller.mp4", content_hash="9f86d081", seconds=61.2, label="pop",
        collection=None, added=EXAMPLE_TIME, dancers=1, period_seconds=4.3, period_strength=0.8, motion=True,
        video=False,
    )  # fmt: skip
    motion: bool = False
    video: bool = False


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
        dance_id="thriller", label="pop", collection=None, motion=True, x=0.31, y=-0.2
    )
    dance_id: str
    label: str | None
    collection: str | None
    motion: bool
    x: float
    y: float


class MapResponse(BaseModel):
    """Dances as points in the plane."""

    dances: list[MapPointResponse]
    total: int
    explained: list[float]
