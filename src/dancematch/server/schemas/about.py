"""The service itself: health, model, limits."""

from typing import Literal

from pydantic import BaseModel

from dancematch.server.schemas.base import SkeletonResponse


class HealthResponse(BaseModel):
    """The service is ready."""

    status: Literal["ready"] = "ready"
    version: str
    dances: int


class LimitsResponse(BaseModel):
    """The largest files that are accepted."""

    upload_bytes: int
    sync_bytes: int
    video_seconds: float
    video_pixels: int
    scan_bytes: int
    scan_seconds: float
    camera_seconds: float


class AboutResponse(BaseModel):
    """The model, the limits, and the caller's scopes."""

    version: str
    model_id: str
    dances: int
    channels: tuple[str, ...]
    channel_joints: dict[str, tuple[str, ...]] | None
    vocabulary: int
    seconds_per_word: float
    max_evalue: float
    skeleton: SkeletonResponse
    bones: dict[str, tuple[str, str]]
    motion_suffixes: tuple[str, ...]
    video_suffixes: tuple[str, ...]
    scopes: list[Literal["read", "write"]]
    token_needed: bool
    keeps_videos: bool
    limits: LimitsResponse
