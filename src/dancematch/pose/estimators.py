"""The pose estimators: what each one promises, and one row per estimator for the command line.

A new estimator is one module with a class that has the method of `PoseEstimator`, and one row here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dancematch.errors import InputError

if TYPE_CHECKING:
    from dancematch.pose.track import Track


class PoseEstimator(Protocol):
    """Follows people through a video."""

    name: str

    def tracks(self, path: Path, *, on_frame: Callable[[float], None] | None = None) -> "list[Track]":
        """Return one track per person in the video; an empty list if there is none.

        Which tracks are dancers is decided by `select_dancers`, the same for every estimator.
        `on_frame` is called now and then with the share of the clip that is done, 0..1.
        """


@dataclass(frozen=True)
class EstimatorEntry:
    """One row: where an estimator's class is, and what users must know of it."""

    name: str
    module: str  # imported when the estimator is first made
    class_name: str
    explanation: str
    has_weights: bool = False  # takes `weights_dir`, a folder with its networks


ESTIMATORS: tuple[EstimatorEntry, ...] = (
    EstimatorEntry(
        "blazepose", "dancematch.pose.blazepose", "BlazePose", "needs nothing but its weights",
        has_weights=True,
    ),
    EstimatorEntry(
        "comotion", "dancematch.pose.comotion", "CoMotion",
        "runs your own checkout, named by DANCEMATCH_COMOTION (and DANCEMATCH_COMOTION_PYTHON)",
    ),
)  # fmt: skip
"""The first one is the default."""


def make_estimator(name: str, weights_dir: Path | None = None) -> PoseEstimator:
    """Return an estimator by its name; `weights_dir` is for those that have weights."""
    entry = next(entry for entry in ESTIMATORS if entry.name == name)
    if weights_dir is not None and not entry.has_weights:
        raise InputError(f"the estimator {name} takes no weights; leave them out, or choose another")
    make: Callable[..., Any] = getattr(import_module(entry.module), entry.class_name)
    estimator: PoseEstimator = make(weights_dir=weights_dir) if entry.has_weights else make()
    return estimator


def default_estimator() -> PoseEstimator:
    """Return the estimator that is used unless another is named: BlazePose."""
    return make_estimator(ESTIMATORS[0].name)
