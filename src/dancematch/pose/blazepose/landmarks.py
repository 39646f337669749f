"""BlazePose's landmark network: a region of a picture -> one person's pose."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.pose.blazepose.interpreter import Network
from dancematch.pose.blazepose.regions import Points, Region
from dancematch.pose.picture import Image

SIDE = 256
JOINTS = 33
SILHOUETTE = (1, SIDE, SIDE, 1)  # shape of the output that is not used
_HEATMAP = 64
_WINDOW = 7  # heatmap cells per side that refine a landmark
_MIN_HEAT = 0.5
_SHOULDERS_AND_HIPS = [11, 12, 23, 24]

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Pose:
    """One person in one frame."""

    score: float  # 0..1, confidence that there is a person
    image: Points  # [33, 2] pixels of the frame
    world: Floats  # [33, 3] metres, y up, origin between the hips
    visibility: Floats  # [33] 0..1
    region: Region  # where to search for the same person in the next frame
    colours: Floats  # histogram of the torso, sums to 1


class Landmarker:
    """Estimates the pose of the person in a region."""

    def __init__(self, weights: Path, *, threads: int = 1) -> None:
        # The silhouette takes two fifths of the network's time and is not used.
        self._network = Network(weights, threads=threads, unwanted=SILHOUETTE)

    def __call__(self, image: Image, region: Region) -> Pose:
        """Return one pose; a low `score` means that there is no person."""
        crop = cut_out(image, region)
        unit_range = np.multiply(crop[None], np.float32(1 / 255), dtype=np.float32)
        outputs = {array.shape[1:]: array[0] for array in self._network(unit_range)}
        raw = outputs[(195,)].reshape(39, 5)
        points = refine(raw[:, :2] / SIDE, outputs[(_HEATMAP, _HEATMAP, 39)])
        placed = region.to_frame(points)
        return Pose(
            score=float(outputs[(1,)][0]),
            image=placed[:JOINTS],
            world=_upright(outputs[(117,)].reshape(39, 3)[:JOINTS], region.angle),
            visibility=_sigmoid(raw[:JOINTS, 3]),
            region=Region.around(placed[33], placed[34]),
            colours=torso_colours(crop, points[_SHOULDERS_AND_HIPS] * SIDE),
        )


def cut_out(image: Image, region: Region) -> Image:
    """Return a region of the frame as an upright 256 x 256 picture; black beyond the border."""
    import cv2

    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(image, region.matrix(SIDE), (SIDE, SIDE), flags=flags)  # type: ignore[return-value]


def refine(points: Floats, heat: Floats) -> Floats:
    """Return landmarks [n, 2] of the unit square moved to the centre of the heat around them.

    `heat` [64, 64, n] holds logits. A landmark without clear heat nearby stays where it is.
    """
    reach = _WINDOW // 2
    steps = np.arange(-reach, reach + 1)
    cells = np.floor(points * _HEATMAP).astype(np.intp)
    inside = ((cells >= 0) & (cells < _HEATMAP)).all(axis=1)
    columns, rows = cells[:, :1] + steps, cells[:, 1:] + steps  # [n, 7]
    known = _within(rows)[:, :, None] & _within(columns)[:, None, :]
    logits = heat[
        np.clip(rows, 0, _HEATMAP - 1)[:, :, None],
        np.clip(columns, 0, _HEATMAP - 1)[:, None, :],
        np.arange(len(points))[:, None, None],
    ]  # [n, 7, 7]
    warmth = np.where(known, _sigmoid(logits), 0)
    total = np.maximum(warmth.sum(axis=(1, 2)), 1e-9)
    x = (warmth.sum(axis=1) * columns).sum(axis=1) / total
    y = (warmth.sum(axis=2) * rows).sum(axis=1) / total
    clear = inside & (warmth.max(axis=(1, 2)) >= _MIN_HEAT)
    refined = np.stack([x, y], axis=1) / _HEATMAP
    return np.where(clear[:, None], refined, points).astype(np.float32)


def _within(cells: NDArray[np.intp]) -> NDArray[np.bool_]:
    return (cells >= 0) & (cells < _HEATMAP)


def _sigmoid(logits: Floats) -> Floats:
    return (1 / (1 + np.exp(-np.clip(logits, -80, 80)))).astype(np.float32)


def _upright(world: Floats, angle: float) -> Floats:
    """Undo the region's rotation; x right, y down, z away become x right, y up, z towards the camera."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y, z = world.T
    return np.stack([cos * x - sin * y, -(sin * x + cos * y), -z], axis=1).astype(np.float32)


def torso_colours(crop: Image, corners: Points) -> Floats:
    """Return the histogram of the torso in 64 colours: clothes tell crossing dancers apart."""
    low = np.clip(corners.min(axis=0).astype(int), 0, SIDE - 8)
    high = np.maximum(np.clip(corners.max(axis=0).astype(int), 0, SIDE), low + 8)
    patch = crop[low[1] : high[1] : 2, low[0] : high[0] : 2] >> 6
    bins = (patch[..., 0] << 4 | patch[..., 1] << 2 | patch[..., 2]).ravel()
    counts = np.bincount(bins, minlength=64).astype(np.float32)
    return np.asarray(counts / counts.sum(), dtype=np.float32)
