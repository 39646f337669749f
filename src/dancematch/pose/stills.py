"""Single pictures out of a video, small enough to stand inside a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import DanceMatchError
from dancematch.pose.video import Image, read_frames
from dancematch.types import FloatArray

HEIGHT = 240  # pixels
_QUALITY = 82  # of JPEG, of 100
_LONGEST_SIDE = 1920  # of what is decoded

Box = tuple[float, float, float, float]  # left, top, right, bottom, of the picture's width and height
WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Still:
    """One picture of a video, cut to a part of it."""

    seconds: float  # the frame's own time
    jpeg: bytes
    width: int
    height: int
    box: Box = WHOLE  # the part

    def inside(self, points: FloatArray) -> FloatArray:
        """Points of the whole picture [n, 2], of its width and height, as pixels of this part."""
        left, top, right, bottom = self.box
        size = np.array([self.width / (right - left), self.height / (bottom - top)])
        return np.asarray((points - np.array([left, top])) * size, dtype=np.float32)


def stills_at(
    video: str | Path, moments: Sequence[float], boxes: Sequence[Box] = (), *, height: int = HEIGHT
) -> list[Still]:
    """The frames nearest to the moments (seconds), a still each; `boxes` say which part of each is wanted."""
    frames = _nearest(Path(video), np.asarray(moments, dtype=np.float64))
    parts = boxes or [WHOLE] * len(frames)
    return [_still(seconds, image, box, height) for (seconds, image), box in zip(frames, parts, strict=True)]


def _nearest(video: Path, wanted: NDArray[np.float64]) -> list[tuple[float, Image]]:
    found: list[tuple[float, Image] | None] = [None] * len(wanted)
    off = np.full(len(wanted), np.inf)
    with read_frames(video, longest_side=_LONGEST_SIDE) as frames:
        for frame in frames:
            for place in np.flatnonzero(np.abs(wanted - frame.seconds) < off):
                off[place] = abs(wanted[place] - frame.seconds)
                found[place] = frame.seconds, frame.image
            if frame.seconds > wanted.max() + 1:
                break
    return [one for one in found if one is not None]


def _still(seconds: float, image: Image, box: Box, height: int) -> Still:
    import cv2

    high, wide = image.shape[:2]
    left, right = (round(min(max(share, 0.0), 1.0) * wide) for share in box[::2])
    top, bottom = (round(min(max(share, 0.0), 1.0) * high) for share in box[1::2])
    if right - left < 2 or bottom - top < 2:  # nothing would be left
        left, top, right, bottom = 0, 0, wide, high
    part = image[top:bottom, left:right]
    shrink = min(1.0, height / len(part))
    size = max(2, round(part.shape[1] * shrink)), max(2, round(len(part) * shrink))
    small: Image = np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    taken = (left / wide, top / high, right / wide, bottom / high)
    return Still(seconds, _encoded(".jpg", small[:, :, ::-1], _QUALITY), *size, taken)


def grey_png(values: NDArray[np.uint8]) -> bytes:
    """A table of greys [rows, columns], 0 black, as a PNG picture."""
    return _encoded(".png", values)


def _encoded(kind: str, pixels: NDArray[np.uint8], quality: int | None = None) -> bytes:
    import cv2

    options = [] if quality is None else [cv2.IMWRITE_JPEG_QUALITY, quality]
    written, data = cv2.imencode(kind, pixels, options)
    if not written:
        raise DanceMatchError(f"a picture could not be written as {kind}")
    return data.tobytes()
