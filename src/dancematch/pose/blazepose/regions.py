"""Where people are in a frame: rotated squares, in pixels, y down."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]  # [n, 2] pixels

_MARGIN = 1.25  # the networks were trained on regions a quarter larger than the body circle


@dataclass(frozen=True)
class Region:
    """A square around a person, rotated so that the body is upright in it."""

    x: float
    y: float
    size: float
    angle: float = 0.0  # radians, clockwise on the screen

    @classmethod
    def around(cls, hips: NDArray[np.floating], top: NDArray[np.floating]) -> "Region":
        """Return the region of a body with this middle of the hips, whose circle passes through `top`."""
        right, down = float(top[0] - hips[0]), float(top[1] - hips[1])
        return cls(
            float(hips[0]),
            float(hips[1]),
            2 * _MARGIN * float(np.hypot(right, down)),
            np.arctan2(right, -down),
        )

    def to_frame(self, points: NDArray[np.floating]) -> Points:
        """Return points [n, 2] of the unit square of this region in the frame."""
        offset = (points - 0.5) * self.size
        cos, sin = np.cos(self.angle), np.sin(self.angle)
        turned = offset @ np.array([[cos, sin], [-sin, cos]])
        return np.asarray(turned + np.array([self.x, self.y]), dtype=np.float32)

    def matrix(self, side: int) -> NDArray[np.float64]:
        """Return the affine map [2, 3] from a `side` x `side` crop's pixels to the frame's."""
        step = self.size / side
        cos, sin = step * np.cos(self.angle), step * np.sin(self.angle)
        middle = (side - 1) / 2
        return np.array(
            [
                [cos, -sin, self.x - 0.5 - middle * (cos - sin)],
                [sin, cos, self.y - 0.5 - middle * (sin + cos)],
            ]
        )

    def distance(self, other: "Region") -> float:
        """Return the distance of two regions, in units of their mean size."""
        return float(np.hypot(self.x - other.x, self.y - other.y)) / (0.5 * (self.size + other.size) + 1e-9)


@dataclass(frozen=True)
class SearchWindow:
    """A rectangle of the frame to search for people, in pixels."""

    left: int
    top: int
    width: int
    height: int

    @classmethod
    def about(cls, region: Region, width: int, height: int) -> "SearchWindow":
        """Return a square a quarter larger than a region, moved and cut to lie within a frame."""
        wide, high = (min(int(1.25 * region.size) + 32, length) for length in (width, height))
        left = int(np.clip(region.x - wide / 2, 0, width - wide))
        top = int(np.clip(region.y - high / 2, 0, height - high))
        return cls(left, top, wide, high)


def tiles(width: int, height: int, *, fine: bool) -> list[SearchWindow]:
    """Return overlapping squares that cover a frame: of its shorter side or, if `fine`, smaller ones.

    The detector shrinks what it sees to 224 pixels and misses people much smaller than that:
    a line of five is found in squares of the frame's height, a far group in smaller ones.
    """
    short = min(width, height)
    if not fine and max(width, height) <= 1.25 * short:
        return []  # one such square would be the whole frame
    side = int(0.6 * short) if fine else short
    return [
        SearchWindow(left, top, side, side) for top in _starts(height, side) for left in _starts(width, side)
    ]


def _starts(length: int, side: int) -> list[int]:
    """Return even starts of pieces that cover a length, each overlapping the next by a quarter or more."""
    count = 1 + int(np.ceil((length - side) / (0.75 * side)))
    return [int(start) for start in np.linspace(0, length - side, count)]
