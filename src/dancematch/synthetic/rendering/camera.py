"""The camera: where it stands, and where a point of the room is in the picture.

World: metres, y up, z towards a camera at azimuth 0. Camera: x right, y down, z away.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dancematch.errors import InputError

Array = NDArray[np.float64]

_MARGIN_METRES = 0.2  # hair, hands and shoes reach beyond the joints
_MAX_FILL = 0.94  # share of the picture that dancers may take


@dataclass(frozen=True)
class Camera:
    """A camera on a tripod, aimed at the dancers."""

    azimuth: float = 0.0  # degrees around the dancers; 0 sees a dancer who faces +z from the front
    height: float = 1.25  # metres
    distance: float | None = None  # metres; None: as close as all dancers fit
    focal: float = 1.5  # focal length over picture height

    def __post_init__(self) -> None:
        if not self.focal > 0 or not (self.distance is None or self.distance > 0):
            raise InputError(
                f"a camera needs focal and distance above 0, got {self.focal} and {self.distance}"
            )


@dataclass(frozen=True)
class CameraView:
    """An aimed camera: `rotation` turns world axes into camera axes."""

    rotation: Array  # [3, 3]
    position: Array  # [3] metres
    focal: float  # pixels
    size: tuple[int, int]  # width, height

    def to_camera(self, points: ArrayLike) -> Array:
        """The points in the camera's axes, metres."""
        return np.asarray((np.asarray(points, dtype=float) - self.position) @ self.rotation.T)

    def project(self, points: ArrayLike) -> Array:
        """The points in the picture: pixels from the top left corner, [..., 2]."""
        seen = self.to_camera(points)
        return seen[..., :2] / seen[..., 2:] * self.focal + np.array(self.size) / 2

    def rays(self, factor: int = 1) -> Array:
        """Each pixel's direction in the world, [height, width, 3], of a `factor` times finer picture."""
        width, height = self.size
        x = (np.arange(width * factor) + 0.5) / factor - width / 2
        y = (np.arange(height * factor) + 0.5) / factor - height / 2
        across, down = np.meshgrid(x, y)
        return np.stack([across, down, np.full_like(across, self.focal)], axis=-1) @ self.rotation


def aim(camera: Camera, points: Sequence[ArrayLike], size: tuple[int, int]) -> CameraView:
    """The camera aimed at the middle of all points (arrays of [..., 3]; NaN is ignored)."""
    cloud = np.concatenate([np.asarray(array, dtype=float).reshape(-1, 3) for array in points])
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    if not len(cloud):
        raise InputError("nothing to film: no joint is seen in any frame")
    target = (cloud.min(axis=0) + cloud.max(axis=0)) / 2
    focal = camera.focal * size[1]
    distance = camera.distance or 4.0
    for _ in range(1 if camera.distance else 4):  # the tilt depends on the distance a little
        view = _look_at(camera, target, distance, (focal, size))
        if camera.distance is None:
            distance = max(_fitting_distance(view, cloud, distance), 1.5)
    return _look_at(camera, target, distance, (focal, size))


def _look_at(
    camera: Camera, target: Array, distance: float, lens: tuple[float, tuple[int, int]]
) -> CameraView:
    angle = np.radians(camera.azimuth)
    position = target + distance * np.array([np.sin(angle), 0, np.cos(angle)])
    position[1] = camera.height
    ahead = (target - position) / np.linalg.norm(target - position)
    right = np.array([np.cos(angle), 0, -np.sin(angle)])
    return CameraView(np.stack([right, np.cross(ahead, right), ahead]), position, *lens)


def _fitting_distance(view: CameraView, cloud: Array, distance: float) -> float:
    """The nearest distance that keeps every point in the picture."""
    seen = view.to_camera(cloud)
    half = _MAX_FILL * np.array(view.size) / 2
    needed = (np.abs(seen[:, :2]) + _MARGIN_METRES) * view.focal / half - seen[:, 2:]
    return float(distance + needed.max())
