"""BlazePose's person detector: a picture -> the regions of the people in it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.pose.blazepose.interpreter import Network
from dancematch.pose.blazepose.regions import Region, SearchWindow
from dancematch.pose.picture import Image

SIDE = 224
_STRIDES = ((8, 2), (16, 2), (32, 6))  # stride in pixels, anchors per cell
_MIN_SCORE = 0.5
_MAX_OVERLAP = 0.3

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Detection:
    """A person found by the detector."""

    region: Region
    score: float


class Detector:
    """Finds people; those much smaller than the window are easily missed, so search tiles too."""

    def __init__(self, weights: Path, *, threads: int = 1) -> None:
        self._network = Network(weights, threads=threads)

    def __call__(self, image: Image, window: SearchWindow) -> list[Detection]:
        """Return the people in one window of the frame, best first, in the frame's pixels."""
        scale = max(window.width, window.height)
        boxes, scores = self._network(_letterbox(image, window))
        boxes, scores = decode(boxes[0], scores[0, :, 0])
        found = []
        for box, score in zip(*merge_overlapping(boxes, scores), strict=True):
            points = (box.reshape(-1, 2)[2:] - 0.5) * scale  # hips, top of the circle, then upper body's
            points += (window.left + window.width / 2, window.top + window.height / 2)
            found.append(Detection(Region.around(points[0], points[1]), float(score)))
        return found


def _letterbox(image: Image, window: SearchWindow) -> Floats:
    """Return a window shrunk into the middle of a black square, in the range -1..1."""
    import cv2

    part = image[window.top : window.top + window.height, window.left : window.left + window.width]
    factor = SIDE / max(window.width, window.height)
    width, height = max(1, round(window.width * factor)), max(1, round(window.height * factor))
    square = np.zeros((SIDE, SIDE, 3), np.uint8)
    left, top = (SIDE - width) // 2, (SIDE - height) // 2
    square[top : top + height, left : left + width] = cv2.resize(
        part, (width, height), interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
    )
    return square[None].astype(np.float32) / np.float32(127.5) - np.float32(1)


@cache
def anchors() -> Floats:
    """Return the centres [2254, 2] that the detector's boxes are relative to, in the unit square."""
    layers = []
    for stride, repeats in _STRIDES:
        cells = SIDE // stride
        centres = (np.arange(cells, dtype=np.float32) + 0.5) / cells
        y, x = np.meshgrid(centres, centres, indexing="ij")
        layers.append(np.repeat(np.stack([x.ravel(), y.ravel()], axis=1), repeats, axis=0))
    return np.concatenate(layers)


def decode(raw_boxes: Floats, raw_scores: Floats) -> tuple[Floats, Floats]:
    """Return likely people: boxes [n, 12] and scores [n] in the unit square.

    A box is left, top, right, bottom, then four points.
    """
    scores = (1 / (1 + np.exp(-np.clip(raw_scores, -80, 80)))).astype(np.float32)
    likely = np.flatnonzero(scores >= _MIN_SCORE)
    pairs = raw_boxes[likely].reshape(-1, 6, 2) / SIDE
    centre = anchors()[likely]
    middle, half = pairs[:, 0] + centre, pairs[:, 1] / 2
    points = pairs[:, 2:] + centre[:, None]
    boxes = np.concatenate([middle - half, middle + half, points.reshape(-1, 8)], axis=1)
    return boxes, scores[likely]


def merge_overlapping(boxes: Floats, scores: Floats) -> tuple[list[Floats], list[float]]:
    """Weighted non-maximum suppression: boxes that overlap the best one are averaged with it by score."""
    merged: list[Floats] = []
    best: list[float] = []
    order = np.argsort(-scores, kind="stable")
    while len(order):
        overlap = intersection_over_union(boxes[order[0]], boxes[order])
        same = overlap > _MAX_OVERLAP
        same[0] = True  # an empty box overlaps nothing, not even itself
        group = order[same]
        merged.append(np.average(boxes[group], axis=0, weights=scores[group]))
        best.append(float(scores[order[0]]))
        order = order[~same]
    return merged, best


def intersection_over_union(box: Floats, boxes: Floats) -> Floats:
    """Return the overlap of one box with many: shared area over the area of both together."""
    inner = np.minimum(box[2:4], boxes[:, 2:4]) - np.maximum(box[:2], boxes[:, :2])
    shared = np.prod(np.clip(inner, 0, None), axis=1)
    area = np.prod(boxes[:, 2:4] - boxes[:, :2], axis=1) + np.prod(box[2:4] - box[:2]) - shared
    return np.asarray(shared / np.maximum(area, 1e-12), dtype=np.float32)
