"""MediaPipe pose landmarks as a CSV table: a row per frame, columns for 33 landmarks, one dancer.

Cells with several numbers are x, y, z and visibility in this order; see `landmarks` for
tables that have fewer.
"""

from pathlib import Path

import numpy as np

from dancematch.formats.keypoints.landmarks import Landmarks, to_motions
from dancematch.formats.keypoints.table import find_columns, read_table
from dancematch.skeletons import BLAZEPOSE33
from dancematch.types import Motion


def recognises(header: list[str]) -> bool:
    """Whether a table's columns are MediaPipe's landmarks."""
    columns = find_columns(header)
    return columns is not None and columns.skeleton is BLAZEPOSE33


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return the one dancer of the table."""
    table = read_table(path, fps)
    points = table.points
    if table.numbers is None and np.isnan(points[..., 3]).all():
        points[..., 3] = 1  # a table without a column for the visibility
    return to_motions(Landmarks(points[:, None], numbers=table.numbers or 4), table.clock)
