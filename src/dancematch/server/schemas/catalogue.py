"""What goes over the wire, for OpenAPI: the nouns' own names (a test compares them), with examples."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from dancematch.server.schemas.searches import Frames, Search, example

_NOW = "2026-01-02T03:04:05+00:00"


class Error(BaseModel):
    """A short name for programs and a sentence for people."""

    model_config = example(error="unknown_dance", message="the catalogue has no dance named 'thriller'")
    error: str
    message: str


class Health(BaseModel):
    """The service is ready."""

    status: Literal["ready"]
    version: str
    dances: int


class Skeleton(BaseModel):
    """A joint layout: joint i hangs from joint parents[i], -1 for a root."""

    model_config = example(name="body15", joints=["pelvis", "neck"], parents=[-1, 0])
    name: str
    joints: list[str]
    parents: list[int]


class Limits(BaseModel):
    """What may be sent."""

    upload_bytes: int
    sync_bytes: int
    video_seconds: float
    video_pixels: int


class About(BaseModel):
    """The model, the limits, and what this caller may do."""

    version: str
    model_id: str
    dances: int
    channels: list[str]
    channel_joints: dict[str, list[str]] | None
    vocabulary: int
    seconds_per_word: float
    max_evalue: float
    skeleton: Skeleton
    bones: dict[str, list[str]]
    scopes: list[Literal["read", "write"]]
    token_needed: bool
    keeps_videos: bool
    limits: Limits


class Dance(BaseModel):
    """What the catalogue says of a dance it knows, and whether skeletons and video are there to be seen."""

    model_config = example(
        dance_id="thriller", source="thriller.mp4", content_hash="9f86d081", seconds=61.2, label="pop",
        collection=None, added=_NOW, dancers=1, period_seconds=4.3, period_strength=0.8, motion=True,
        video=False,
    )  # fmt: skip
    dance_id: str
    source: str
    content_hash: str
    seconds: float
    label: str | None
    collection: str | None
    added: str
    dancers: int
    period_seconds: float | None
    period_strength: float | None
    motion: bool
    video: bool


class Dances(BaseModel):
    """One page of dances; `next` goes into `after` for the page that follows."""

    dances: list[Dance]
    total: int
    next: str | None


class Labels(BaseModel):
    """How many dances have each label and are of each collection."""

    model_config = example(labels={"pop": 12, "": 3}, collections={"studio": 15})
    labels: dict[str, int]
    collections: dict[str, int]


class Job(BaseModel):
    """Work that takes a while; `result` is the dance or the answer when it is done."""

    model_config = example(
        job_id="c3ab8ff13720e8ad9047dd39466b3c89", kind="search", state="running", progress=0.4, ahead=0,
        created=_NOW, started=_NOW, finished=None, filename="a.mp4", dance_id=None, error=None, result=None,
    )  # fmt: skip
    job_id: str
    kind: Literal["add", "search"]
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    progress: Annotated[float, Field(ge=0, le=1)]
    ahead: int
    created: str
    started: str | None
    finished: str | None
    filename: str | None
    dance_id: str | None
    error: Error | None
    result: Search | Dance | None


class Jobs(BaseModel):
    """The newest jobs."""

    jobs: list[Job]


class MotionDancer(BaseModel):
    """One dancer's frames: x, y, z of each joint in turn."""

    dancer: int
    fps: float
    start: float
    seconds: float
    frames: Frames


class Motion(BaseModel):
    """Skeletons to be drawn."""

    dance_id: str | None = None
    search_id: str | None = None
    decoded: bool = False
    skeleton: Skeleton
    metres_per_unit: float
    dancers: list[MotionDancer]


class PictureDancer(BaseModel):
    """Where one dancer is in the picture: x, y of each joint in turn, in thousandths."""

    dancer: int
    times: list[float]
    frames: Frames


class Picture(BaseModel):
    """Skeletons to be drawn over the video."""

    search_id: str
    skeleton: Skeleton
    dancers: list[PictureDancer]


class WordsDancer(BaseModel):
    """What one dancer says: a row a step, a word or null a channel."""

    dancer: int
    model_id: str
    vocabulary: int
    seconds_per_word: float
    start: float
    words: Frames


class Words(BaseModel):
    """Motion words."""

    dance_id: str | None = None
    search_id: str | None = None
    mirrored: bool = False
    channels: list[str]
    dancers: list[WordsDancer]


class Neighbour(BaseModel):
    """A word that is like another one."""

    word: int
    similarity: float


class Word(BaseModel):
    """One word of a channel, with its figure."""

    word: int
    count: int
    nearest: list[Neighbour]
    frames: list[list[int]]


class Channel(BaseModel):
    """The words of one body part."""

    name: str
    joints: list[int]
    words: list[Word]


class Vocabulary(BaseModel):
    """What the model can say."""

    model_id: str
    seconds_per_word: float
    dances: int
    source: str
    skeleton: Skeleton
    metres_per_unit: float
    body: list[int]
    channels: list[Channel]


class Place(BaseModel):
    """A dance on the map."""

    model_config = example(dance_id="thriller", label="pop", collection=None, motion=True, x=0.31, y=-0.2)
    dance_id: str
    label: str | None
    collection: str | None
    motion: bool
    x: float
    y: float


class Map(BaseModel):
    """Dances as points in the plane."""

    dances: list[Place]
    total: int
    explained: list[float]
