"""Video -> Motion: what every pose estimator promises, and the one call that most users need."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dancematch.errors import NoDancerError

if TYPE_CHECKING:
    from dancematch.pose.track import Track
    from dancematch.types import Motion


class PoseEstimator(Protocol):
    """Anything that sees dancers in a video."""

    name: str

    def tracks(self, path: Path, *, on_frame: Callable[[float], None] | None = None) -> "list[Track]":
        """Follow everybody in the video, the most prominent first; nobody gives an empty list.

        `on_frame` is told now and then which share of the clip is done, 0..1.
        """


def default_estimator() -> PoseEstimator:
    """BlazePose, which needs nothing but its weights."""
    from dancematch.pose.blazepose import BlazePose

    return BlazePose()


def estimate_motions(
    path: Path | str,
    estimator: PoseEstimator | None = None,
    on_frame: Callable[[float], None] | None = None,
) -> "list[Motion]":
    """Read the motion of every dancer in a video, the most prominent first.

    BlazePose does it unless another estimator is given. A video without anybody in it is a
    NoDancerError, one that cannot be read a VideoError.
    """
    tracks = (estimator or default_estimator()).tracks(Path(path), on_frame=on_frame)
    if not tracks:
        raise NoDancerError(f"nobody was seen dancing in {path}; a clip that shows a person was expected")
    return [track.motion() for track in tracks]
