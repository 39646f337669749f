"""Video -> Motion: the pose estimators, and which of the people they follow are dancers."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.pose.estimators import PoseEstimator, ProgressiveEstimator, default_estimator

if TYPE_CHECKING:
    from dancematch.pose.selection import Selection

__all__ = ["PoseEstimator", "dancers_so_far", "default_estimator", "estimate_dancers"]


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


def dancers_so_far(
    path: Path | str,
    estimator: PoseEstimator | None = None,
    on_frame: Callable[[float], None] | None = None,
) -> "Generator[tuple[Selection, float | None], None, None]":
    """Yield the dancers in the part of a video that has been read, with its seconds; last, with None, all.

    A part without a dancer is passed over; the whole is a NoDancerError then. An estimator that is not
    progressive gives the whole alone.
    """
    from dancematch.pose.selection import require_dancer, select_dancers

    estimator = estimator or default_estimator()
    if not isinstance(estimator, ProgressiveEstimator):
        yield estimate_dancers(path, estimator, on_frame), None
        return
    for read in estimator.tracks_so_far(Path(path), on_frame=on_frame):
        found = select_dancers(read.tracks)
        if read.complete:
            yield require_dancer(found, path), None
        elif found.dancers:
            yield found, read.seconds
