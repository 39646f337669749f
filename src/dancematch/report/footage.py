"""A recording's own pictures, with the dancer's joints marked where the pose estimator saw them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError
from dancematch.pipeline.analysis.clip_files import content_hash
from dancematch.pipeline.analysis.file_analysis import ImageTrack
from dancematch.pose.stills import WHOLE, Box, Still, stills_at
from dancematch.pose.video import probe
from dancematch.skeletons import BLAZEPOSE33, BODY15, recipe_for
from dancematch.types import SEEN_FROM, FloatArray, Skeleton

if TYPE_CHECKING:
    from dancematch.pipeline.query import QueryClip

_HEIGHT = 420  # pixels of a still
_MARGIN = 0.25  # around a dancer, as a share of the dancer's size
_ASPECT = 0.75  # width of a still over its height
_FARTHEST_SECONDS = 0.2  # between a moment and the nearest one at which the dancer was tracked


@dataclass(frozen=True, eq=False)
class MarkedStill:
    """A picture of a video, and where the dancer is in it."""

    still: Still
    joints: FloatArray | None = (
        None  # [15, 2] of `body15`, in its pixels, guessed ones too; None if not there
    )
    seen: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(len(BODY15.joints), dtype=np.bool_))


# Cuts stills at some moments (seconds) out of a video, each around a dancer's joints if they are known.
CutStills = Callable[[Path, Sequence[float], Sequence[FloatArray | None]], list[Still]]


def cut_stills(video: Path, moments: Sequence[float], marks: Sequence[FloatArray | None]) -> list[Still]:
    """The frames of a video at these moments, cut to the dancer's joints or, if unknown, whole."""
    size = probe(video)
    boxes = [_box_around(mark, size.width / size.height) for mark in marks]
    return stills_at(video, moments, boxes, height=_HEIGHT)


@dataclass(frozen=True, eq=False)
class Footage:
    """A video, and where its dancers are in the picture; `cut` may decode in another process."""

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
        # Cut to what was seen: a guess may be far off.
        shown = [
            None if mark is None else np.where(mark.seen[:, None], mark.joints, np.nan) for mark in marks
        ]
        return [
            MarkedStill(still) if mark is None else MarkedStill(still, still.inside(mark.joints), mark.seen)
            for still, mark in zip(self.cut(self.video, moments, shown), marks, strict=True)
        ]


def require_footage(video: Path) -> None:
    """Refuse, before the long work, what cannot be a video."""
    if not video.is_file():
        raise InputError(f"{video} does not exist; the video of the recording was expected")
    if formats.is_motion_file(video):
        raise InputError(
            f"{video} is a motion file and has no frames; the video of the recording was expected"
        )


def reference_footage(
    video: Path, expected_hash: str, expected_name: str, read_query: "Callable[[Path], QueryClip]"
) -> Footage:
    """The footage of a recording of a catalogue, by the numbers that its dancers have there.

    Only the very file that was added is evidence of what the catalogue was told: a file with another content
    hash (SHA-256) than the expected one is refused. `read_query` analyses it, as `Catalogue.read_query` does.
    """
    require_footage(video)
    if content_hash(video) != expected_hash:
        raise InputError(
            f"{video} is not the recording that was matched: that is {expected_name}, byte for byte as it "
            f"was added (SHA-256 {expected_hash})"
        )
    clip = read_query(video)
    # A catalogue numbers the dancers that have words; a clip also counts the others.
    numbers = [one.dancer for one in clip.dancers if one.dancer <= len(clip.images)]
    images = {place: clip.images[number - 1] for place, number in enumerate(numbers, start=1)}
    return Footage(video, images, clip.dancers[0].motion.skeleton)


@dataclass(frozen=True, eq=False)
class _Mark:
    """Where the joints of `body15` are in a picture, of its width and height."""

    joints: FloatArray  # [15, 2]
    seen: NDArray[np.bool_]  # [15]


def _joints_at(skeleton: Skeleton, track: ImageTrack, moment: float) -> _Mark | None:
    """The dancer's joints in the picture, guessed ones too; None if not tracked at that moment."""
    place = int(np.abs(track.times - moment).argmin())
    if track.image is None or abs(float(track.times[place]) - moment) > _FARTHEST_SECONDS:
        return None
    image = track.image[place]
    outside = ((image < 0) | (image > 1)).any(axis=1)  # of the picture: the estimator guesses there
    seen = ~outside & (track.visibility[place] >= SEEN_FROM)
    joints = np.full((len(BODY15.joints), 2), np.nan, dtype=np.float32)
    known = np.zeros(len(joints), dtype=np.bool_)
    for number, parts in enumerate(recipe_for(skeleton)[joint] for joint in BODY15.joints):
        places = [skeleton.index(part) for part in parts]
        if places:  # a layout may lack the joint
            joints[number], known[number] = image[places].mean(axis=0), seen[places].all()
    return _Mark(joints, known & np.isfinite(joints).all(axis=1))


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
