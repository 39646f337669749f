"""A clip's own pictures, with the dancer's joints marked where the pose estimator saw them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dancematch.pipeline.analysis import ImageTrack
from dancematch.pose.stills import WHOLE, Box, Still, stills_at
from dancematch.pose.video import probe
from dancematch.report.compare import VISIBLE
from dancematch.skeletons import BLAZEPOSE33, BODY15, recipe_for
from dancematch.types import FloatArray, Skeleton

_HEIGHT = 420  # pixels of a still
_MARGIN = 0.25  # around a dancer, of the dancer's size
_ASPECT = 0.75  # width of a still over its height
_FARTHEST_SECONDS = 0.2  # from a moment, that the dancer is still said to be there


@dataclass(frozen=True, eq=False)
class MarkedStill:
    """A picture of the clip, and where the dancer is in it."""

    still: Still
    joints: FloatArray | None  # [15, 2] of `body15`, in its pixels, NaN where guessed; None if not there


# Cuts the pictures at some moments (seconds) out of a video, each around a dancer's joints if they are known.
Cut = Callable[[Path, Sequence[float], Sequence[FloatArray | None]], list[Still]]


def cut_stills(video: Path, moments: Sequence[float], marks: Sequence[FloatArray | None]) -> list[Still]:
    """The pictures of a video at these moments, around the dancer's joints or, if unknown, whole."""
    size = probe(video)
    boxes = [_around(mark, size.width / size.height) for mark in marks]
    return stills_at(video, moments, boxes, height=_HEIGHT)


@dataclass(frozen=True, eq=False)
class Footage:
    """A clip's video, and where its dancers are in the picture; `cut` may see to the decoding elsewhere."""

    video: Path
    dancers: Mapping[int, ImageTrack]  # by their number
    skeleton: Skeleton = BLAZEPOSE33
    cut: Cut = cut_stills

    def stills(self, dancer: int, moments: Sequence[float]) -> list[MarkedStill]:
        """The pictures at these moments (seconds), cut to the dancer; none if nobody knows where that is."""
        seen = self.dancers.get(dancer)
        if seen is None or seen.image is None:
            return []
        marks = [_mark(self.skeleton, seen, moment) for moment in moments]
        return [
            MarkedStill(still, None if mark is None else still.inside(mark))
            for still, mark in zip(self.cut(self.video, moments, marks), marks, strict=True)
        ]


def _mark(skeleton: Skeleton, seen: ImageTrack, moment: float) -> FloatArray | None:
    """The dancer's joints of `body15` in the picture, NaN where guessed; None if nobody is there."""
    place = int(np.abs(seen.times - moment).argmin())
    if seen.image is None or abs(float(seen.times[place]) - moment) > _FARTHEST_SECONDS:
        return None
    image = seen.image[place]
    outside = ((image < 0) | (image > 1)).any(axis=1)  # of the picture: nobody sees what is there
    points = np.where((outside | (seen.visibility[place] < VISIBLE))[:, None], np.nan, image)
    parts = recipe_for(skeleton)
    return np.array(
        [points[[skeleton.index(part) for part in parts[joint]]].mean(axis=0) for joint in BODY15.joints],
        dtype=np.float32,
    )


def _around(mark: FloatArray | None, picture: float) -> Box:
    """The part of a picture, `picture` times as wide as high, that shows the dancer and some room around."""
    if mark is None or not np.isfinite(mark).any():
        return WHOLE
    low, high = np.nanmin(mark, axis=0), np.nanmax(mark, axis=0)
    width, height = (high - low) * np.array([picture, 1.0])  # both in heights of the picture
    tall = (1 + 2 * _MARGIN) * max(height, width / _ASPECT, 0.1)
    half = np.array([tall * _ASPECT / picture, tall]) / 2
    # Moved rather than cut at the picture's edges.
    middle = np.clip((low + high) / 2, np.minimum(half, 0.5), np.maximum(1 - half, 0.5))
    left, top = np.maximum(middle - half, 0).tolist()
    right, bottom = np.minimum(middle + half, 1).tolist()
    return left, top, right, bottom
