"""Video -> Motion: what every pose estimator promises, and the calls that most users need."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dancematch.pose.selection import Selection
    from dancematch.pose.track import Track
    from dancematch.types import Motion


class PoseEstimator(Protocol):
    """Anything that follows people through a video."""

    name: str

    def tracks(self, path: Path, *, on_frame: Callable[[float], None] | None = None) -> "list[Track]":
        """Follow everybody in the video, one track per person; nobody gives an empty list.

        Who of them is a dancer is decided by `select_dancers`, the same for every estimator.

        `on_frame` is told now and then which share of the clip is done, 0..1.
        """


def default_estimator() -> PoseEstimator:
    """BlazePose, which needs nothing but its weights."""
    from dancematch.pose.blazepose import BlazePose

    return BlazePose()


def estimate_dancers(
    path: Path | str,
    estimator: PoseEstimator | None = None,
    on_frame: Callable[[float], None] | None = None,
) -> "Selection":
    """Follow everybody in a video and tell the dancers, the most prominent first, from what is ignored.

    BlazePose does it unless another estimator is given. A video without a dancer is a NoDancerError
    that says why, one that cannot be read a VideoError.
    """
    from dancematch.pose.selection import require_dancer, select_dancers

    tracks = (estimator or default_estimator()).tracks(Path(path), on_frame=on_frame)
    return require_dancer(select_dancers(tracks), path)


def estimate_motions(
    path: Path | str,
    estimator: PoseEstimator | None = None,
    on_frame: Callable[[float], None] | None = None,
) -> "list[Motion]":
    """Read the motion of every dancer in a video, the most prominent first, as `estimate_dancers` does."""
    return [track.motion() for track in estimate_dancers(path, estimator, on_frame).dancers]
