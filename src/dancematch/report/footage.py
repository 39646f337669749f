"""A clip's own pictures, with the dancer's joints marked where the pose estimator saw them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dancematch.pipeline.analysis.file_analysis import ImageTrack
from dancematch.pose.stills import WHOLE, Box, Still, stills_at
from dancematch.pose.video import probe
from dancematch.skeletons import BLAZEPOSE33, BODY15, recipe_for
from dancematch.types import SEEN_FROM, FloatArray, Skeleton

_HEIGHT = 420  # pixels of a still
_MARGIN = 0.25  # around a dancer, as a share of the dancer's size
_ASPECT = 0.75  # width of a still over its height
_FARTHEST_SECONDS = 0.2  # between a moment and the nearest one at which the dancer was tracked


@dataclass(frozen=True, eq=False)
class MarkedStill:
    """A picture of the clip, and where the dancer is in it."""

    still: Still
    joints: FloatArray | None  # [15, 2] of `body15`, in its pixels, NaN where guessed; None if not there


# Cuts stills at some moments (seconds) out of a video, each around a dancer's joints if they are known.
CutStills = Callable[[Path, Sequence[float], Sequence[FloatArray | None]], list[Still]]


def cut_stills(video: Path, moments: Sequence[float], marks: Sequence[FloatArray | None]) -> list[Still]:
    """The frames of a video at these moments, cut to the dancer's joints or, if unknown, whole."""
    size = probe(video)
    boxes = [_box_around(mark, size.width / size.height) for mark in marks]
    return stills_at(video, moments, boxes, height=_HEIGHT)


@dataclass(frozen=True, eq=False)
class Footage:
    """A clip's video, and where its dancers are in the picture; `cut` may decode in another process."""

    video: Path
    dancers: Mapping[int, ImageTrack]  # by their number
    skeleton: Skeleton = BLAZEPOSE33
    cut: CutStills = cut_stills

    def stills(self, dancer: int, moments: Sequence[float]) -> list[MarkedStill]:
        """The pictures at these moments (seconds), cut to the dancer; none if the place is not known."""
        seen = self.dancers.get(dancer)
        if seen is None or seen.image is None:
            return []
        marks = [_joints_at(self.skeleton, seen, moment) for moment in moments]
        return [
            MarkedStill(still, None if mark is None else still.inside(mark))
            for still, mark in zip(self.cut(self.video, moments, marks), marks, strict=True)
        ]


def _joints_at(skeleton: Skeleton, seen: ImageTrack, moment: float) -> FloatArray | None:
    """The dancer's joints of `body15` in the picture, NaN where guessed; None if not tracked."""
    place = int(np.abs(seen.times - moment).argmin())
    if seen.image is None or abs(float(seen.times[place]) - moment) > _FARTHEST_SECONDS:
        return None
    image = seen.image[place]
    outside = ((image < 0) | (image > 1)).any(axis=1)  # of the picture: the estimator guesses there
    points = np.where((outside | (seen.visibility[place] < SEEN_FROM))[:, None], np.nan, image)
    parts = recipe_for(skeleton)
    return np.array(
        [points[[skeleton.index(part) for part in parts[joint]]].mean(axis=0) for joint in BODY15.joints],
        dtype=np.float32,
    )


def _box_around(mark: FloatArray | None, aspect: float) -> Box:
    """The part of a picture, `aspect` times as wide as high, that shows the dancer and a margin."""
    if mark is None or not np.isfinite(mark).any():
        return WHOLE
    low, high = np.nanmin(mark, axis=0), np.nanmax(mark, axis=0)
    width, height = (high - low) * np.array([aspect, 1.0])  # both in heights of the picture
    tall = (1 + 2 * _MARGIN) * max(height, width / _ASPECT, 0.1)
    half = np.array([tall * _ASPECT / aspect, tall]) / 2
    # Moved rather than cut at the picture's edges.
    middle = np.clip((low + high) / 2, np.minimum(half, 0.5), np.maximum(1 - half, 0.5))
    left, top = np.maximum(middle - half, 0).tolist()
    right, bottom = np.minimum(middle + half, 1).tolist()
    return left, top, right, bottom
