"""Single pictures of a video, small enough for a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import DanceMatchError
from dancematch.pose.picture import Image
from dancematch.pose.video import read_frames
from dancematch.types import FloatArray

HEIGHT = 240  # pixels
_QUALITY = 82  # of JPEG, of 100
_LONGEST_SIDE = 1920  # of what is decoded
# Of a picture that must not have many bytes: its size, of what was asked for, and quality, the best first.
_SMALLER = ((1.0, 82), (1.0, 65), (1.0, 45), (0.75, 45), (0.5, 45), (0.5, 20))

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
        """Return points [n, 2], in shares of the whole picture, as pixels of this part."""
        left, top, right, bottom = self.box
        size = np.array([self.width / (right - left), self.height / (bottom - top)])
        return np.asarray((points - np.array([left, top])) * size, dtype=np.float32)


def stills_at(
    video: str | Path, moments: Sequence[float], boxes: Sequence[Box] = (), *, height: int = HEIGHT
) -> list[Still]:
    """Return the frames nearest to the moments (seconds), one still per moment, cut to `boxes` if given."""
    frames = _find_nearest(Path(video), np.asarray(moments, dtype=np.float64))
    parts = boxes or [WHOLE] * len(frames)
    return [
        _make_still(seconds, image, box, height) for (seconds, image), box in zip(frames, parts, strict=True)
    ]


def picture_at(video: str | Path, moment: float, *, longest_side: int, most_bytes: int) -> bytes:
    """Return the whole frame nearest to a moment (seconds) as a small JPEG without metadata."""
    import cv2

    ((_, image),) = _find_nearest(Path(video), np.array([moment]), longest_side)
    for share, quality in _SMALLER:
        height, width = (max(1, round(share * side)) for side in image.shape[:2])
        small = image if share == 1 else cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
        content = _encode_image(".jpg", np.asarray(small, dtype=np.uint8)[:, :, ::-1], quality)
        if len(content) <= most_bytes:
            return content
    raise DanceMatchError(f"a picture of {video} cannot be made as small as {most_bytes:,} bytes")


def _find_nearest(
    video: Path, wanted: NDArray[np.float64], longest_side: int = _LONGEST_SIDE
) -> list[tuple[float, Image]]:
    found: list[tuple[float, Image] | None] = [None] * len(wanted)
    distance = np.full(len(wanted), np.inf)
    with read_frames(video, longest_side=longest_side) as frames:
        for frame in frames:
            for place in np.flatnonzero(np.abs(wanted - frame.seconds) < distance):
                distance[place] = abs(wanted[place] - frame.seconds)
                found[place] = frame.seconds, frame.image
            if frame.seconds > wanted.max() + 1:
                break
    return [one for one in found if one is not None]


def _make_still(seconds: float, image: Image, box: Box, height: int) -> Still:
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
    used = (left / wide, top / high, right / wide, bottom / high)
    return Still(seconds, _encode_image(".jpg", small[:, :, ::-1], _QUALITY), *size, used)


def grey_png(values: NDArray[np.uint8]) -> bytes:
    """Return grey values [rows, columns], 0 = black, as a PNG picture."""
    return _encode_image(".png", values)


def _encode_image(kind: str, pixels: NDArray[np.uint8], quality: int | None = None) -> bytes:
    import cv2

    options = [] if quality is None else [cv2.IMWRITE_JPEG_QUALITY, quality]
    written, data = cv2.imencode(kind, pixels, options)
    if not written:
        raise DanceMatchError(f"a picture could not be written as {kind}")
    return data.tobytes()
