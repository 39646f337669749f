"""MoveNet keypoints as a CSV table: a row per frame, columns for the 17 joints of COCO, one dancer.

Cells with several numbers are y, x and score in this order, as MoveNet itself gives them.
Places are fractions of the picture, or pixels: see `planar`.
"""

from pathlib import Path

import numpy as np

from dancematch.formats.keypoints.planar import KeypointTrack, are_fractions, infer_picture_shape, to_motions
from dancematch.formats.keypoints.table import find_columns, read_table
from dancematch.skeletons import COCO17
from dancematch.types import Motion


def recognises(header: list[str]) -> bool:
    """Whether a table's columns are the joints that MoveNet finds."""
    columns = find_columns(header)
    return columns is not None and columns.skeleton is COCO17


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return the one dancer of the table."""
    table = read_table(path, fps)
    points = table.points
    if table.numbers is not None:
        y, x, score = points[..., 0], points[..., 1], points[..., 2]
        points = np.stack([x, y, np.zeros_like(x), score], axis=-1)
    points[..., 2] = 0
    if np.isnan(points[..., 3]).all():
        points[..., 3] = 1  # a table without scores
    points[~(points[..., 3] > 0) | np.isnan(points[..., :2]).any(axis=-1)] = np.nan
    if are_fractions(points):
        points[..., 0] *= infer_picture_shape(points, COCO17)
    seen = np.flatnonzero(np.isfinite(points[..., 0]).any(axis=1))
    tracks = [KeypointTrack({int(number): points[number] for number in seen})] if len(seen) else []
    return to_motions(tracks, COCO17, table.clock)
