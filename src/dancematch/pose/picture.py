"""The conversion of decoded frames to upright RGB pictures with square pixels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Picture:
    """The conversion of a decoded frame to an upright RGB picture."""

    stored: tuple[int, int]  # width and height to convert to, before turning
    turned: bool  # rows become columns
    flip: int | None  # OpenCV's flip code

    @classmethod
    def of(cls, frame: "VideoFrame", stream: "VideoStream", longest_side: int | None = None) -> Self:
        """Return the conversion that a frame, and all others of its stream, needs."""
        aspect = stream.sample_aspect_ratio or 1
        width, height = float(frame.width * aspect), float(frame.height)
        shrink = min(1.0, longest_side / max(width, height)) if longest_side else 1.0
        turned, flip = _orientation(frame)
        return cls((max(2, round(width * shrink)), max(2, round(height * shrink))), turned, flip)

    @property
    def width(self) -> int:
        """Pixels, as shown."""
        return self.stored[1] if self.turned else self.stored[0]

    @property
    def height(self) -> int:
        """Pixels, as shown."""
        return self.stored[0] if self.turned else self.stored[1]

    def render(self, frame: "VideoFrame") -> Image:
        """Return a frame as a picture."""
        from av.video.reformatter import Interpolation

        width, height = self.stored
        # The default, bicubic for full-colour sources, costs four times as much and shows nothing more.
        way = Interpolation.AREA if width < frame.width else Interpolation.FAST_BILINEAR
        image: Any = frame.reformat(width, height, "rgb24", interpolation=way, threads=1).to_ndarray()
        if self.turned or self.flip is not None:
            import cv2

            image = cv2.transpose(image) if self.turned else image
            image = cv2.flip(image, self.flip) if self.flip is not None else image
        return image  # type: ignore[no-any-return]


def _orientation(frame: "VideoFrame") -> tuple[bool, int | None]:
    """Read the display matrix: whether to transpose, and which flip to do after it.

    The matrix maps a stored pixel to (a x + c y, b x + d y), so it also shows a mirrored
    recording, which a rotation angle cannot: left and right matter to a dance.
    """
    from av.sidedata.sidedata import Type

    sides: Any = frame.side_data  # typed as a mapping from names, which it is not
    data = next((side for side in sides if side.type == Type.DISPLAYMATRIX), None)
    if data is None:
        return False, None
    a, b, _, c, d = np.frombuffer(bytes(data), np.int32)[:5].tolist()
    turned = abs(b) > abs(a)
    mirror_x, mirror_y = (c < 0, b < 0) if turned else (a < 0, d < 0)
    flips = {(False, False): None, (True, False): 1, (False, True): 0, (True, True): -1}
    return turned, flips[mirror_x, mirror_y]
