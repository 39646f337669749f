"""The pose estimators: what each one promises, and one row per estimator for the command line.

A new estimator is one module with a class that has the method of `PoseEstimator`, and one row here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dancematch.errors import InputError

if TYPE_CHECKING:
    from dancematch.pose.track import Track
    from dancematch.pose.video import VideoSource


class PoseEstimator(Protocol):
    """Follows people through a video."""

    name: str

    def tracks(self, path: Path, *, on_frame: Callable[[float], None] | None = None) -> "list[Track]":
        """Return one track per person in the video; an empty list if there is none.

        Which tracks are dancers is decided by `select_dancers`, the same for every estimator.
        `on_frame` is called now and then with the share of the clip that is done, 0..1.
        """


@dataclass(frozen=True)
class TracksSoFar:
    """The people in the part of a video that has been read."""

    tracks: "list[Track]"
    seconds: float  # of the video
    complete: bool  # whether that is all of it
    total_seconds: float | None = None  # of the whole video, where it is stated


@runtime_checkable
class ProgressiveEstimator(Protocol):
    """A pose estimator that also tells what it has while it is still reading."""

    def tracks_so_far(
        self, path: Path, *, on_frame: Callable[[float], None] | None = None
    ) -> Iterator[TracksSoFar]:
        """Yield the tracks so far from time to time, and last, as complete, what `tracks` returns.

        Closing the iterator ends the reading.
        """


@runtime_checkable
class FollowingEstimator(Protocol):
    """A pose estimator that follows people through a video of any length, and forgets what is long past."""

    def recent_tracks(
        self,
        source: "VideoSource",
        *,
        every_seconds: float,
        keep_seconds: float,
        on_frame: Callable[[float], None] | None = None,
    ) -> Iterator[TracksSoFar]:
        """Yield the tracks of the last `keep_seconds` every so many seconds, and at the end.

        A person who is followed on has the same poses at the same times in each. Closing the iterator ends
        the reading.
        """


@dataclass(frozen=True)
class EstimatorEntry:
    """One row: where an estimator's class is, and what users must know of it."""

    name: str
    module: str  # imported when the estimator is first made
    class_name: str
    explanation: str
    has_weights: bool = False  # takes `weights_dir`, a folder with its networks
    has_rate: bool = False  # takes `fps`, poses per second of a clip; None: every frame


ESTIMATORS: tuple[EstimatorEntry, ...] = (
    EstimatorEntry(
        "blazepose", "dancematch.pose.blazepose", "BlazePose", "needs nothing but its weights",
        has_weights=True, has_rate=True,
    ),
    EstimatorEntry(
        "comotion", "dancematch.pose.comotion", "CoMotion",
        "runs your own checkout, named by DANCEMATCH_COMOTION (and DANCEMATCH_COMOTION_PYTHON)",
    ),
)  # fmt: skip
"""The first one is the default."""


def make_estimator(name: str, weights_dir: Path | None = None, *, every_frame: bool = False) -> PoseEstimator:
    """Return an estimator by its name; `weights_dir` is for those that have weights.

    With `every_frame`, one that estimates at a rate of its own estimates in every frame.
    """
    entry = next(entry for entry in ESTIMATORS if entry.name == name)
    if weights_dir is not None and not entry.has_weights:
        raise InputError(f"the estimator {name} takes no weights; leave them out, or choose another")
    options: dict[str, Any] = {"weights_dir": weights_dir} if entry.has_weights else {}
    if every_frame and entry.has_rate:
        options["fps"] = None
    estimator: PoseEstimator = getattr(import_module(entry.module), entry.class_name)(**options)
    return estimator


def default_estimator() -> PoseEstimator:
    """Return the estimator that is used unless another is named: BlazePose."""
    return make_estimator(ESTIMATORS[0].name)
