"""Video -> Motion: the pose estimators, and which of the people they follow are dancers."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.pose.estimators import PoseEstimator, default_estimator

if TYPE_CHECKING:
    from dancematch.pose.selection import Selection

__all__ = ["PoseEstimator", "default_estimator", "estimate_dancers"]


def estimate_dancers(
    path: Path | str,
    estimator: PoseEstimator | None = None,
    on_frame: Callable[[float], None] | None = None,
) -> "Selection":
    """Return the dancers of a video, the most prominent first, and the tracks that are ignored.

    BlazePose follows them unless another estimator is given. A video without a dancer is a
    NoDancerError that says why, one that cannot be read a VideoError.
    """
    from dancematch.pose.selection import require_dancer, select_dancers

    tracks = (estimator or default_estimator()).tracks(Path(path), on_frame=on_frame)
    return require_dancer(select_dancers(tracks), path)
