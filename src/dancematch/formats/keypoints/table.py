"""CSV tables with a row per frame and columns of keypoints.

A column is a joint (`left_hip`, `Landmark_23`) whose cells hold several numbers, or one number of
a joint (`left_hip_x`, `x23`, `landmark_23_visibility`). A table without both shoulders and an
elbow among its columns is no motion: labels and indexes lie beside recordings too.
"""

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import FormatError, InputError
from dancematch.formats.clock import Clock, choose_clock, count_from_first_frame
from dancematch.formats.files import (
    as_coordinates,
    read_bytes,
    require_plausible_frames,
    require_readable_frames,
)
from dancematch.formats.joint_names import has_upper_body, to_snake_case
from dancematch.skeletons import BLAZEPOSE33, COCO17
from dancematch.types import Skeleton

Array = NDArray[np.float64]

_HEAD_BYTES = 1 << 16  # a header with four columns per landmark is a tenth of this
_MAX_COLUMNS = 5000
_DELIMITERS = (",", ";", "\t")
_AXES = {"x": 0, "y": 1, "z": 2} | dict.fromkeys(("v", "vis", "visibility", "score", "confidence", "conf"), 3)
_NUMBERED = re.compile(r"(?:pose_)?(?:landmark|keypoint|kp|point)?_?(\d{1,3})")
_AXIS_FIRST = re.compile(rf"({'|'.join(_AXES)})_?(\d{{1,3}})")
_FRAMES = ("frame", "frame_number", "frame_id", "frame_index", "frame_no", "frame_num", "")
_TIMES = ("timestamp", "time", "t", "time_s", "seconds", "timestamp_ms", "time_ms")

Cell = tuple[int, int | None]  # joint, and which of its numbers; None: all of them in one cell


@dataclass(frozen=True)
class TableColumns:
    """What the columns of a table hold."""

    skeleton: Skeleton
    cells: dict[int, Cell]  # by column
    frame: int | None
    time: int | None


def read_header(path: Path) -> list[str]:
    """Return the names of a table's columns; none where the file is no table."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        return next(_iterate_rows(head.decode("utf-8-sig", errors="replace")), [])
    except (OSError, ValueError, csv.Error):
        return []


def find_columns(header: list[str]) -> TableColumns | None:
    """Return which columns are keypoints, of which layout, or None where they are not a dancer's."""
    if len(header) > _MAX_COLUMNS:
        return None
    keys = [to_snake_case(name) for name in header]
    named = {column: found for column, key in enumerate(keys) if (found := _parse_name(key)) is not None}
    numbered = {column: cell for column, key in enumerate(keys) if (cell := _parse_number(key)) is not None}
    if has_upper_body(joint for joint, _ in named.values()):
        skeleton = COCO17 if all(joint in COCO17.joints for joint, _ in named.values()) else BLAZEPOSE33
        cells = {column: (skeleton.index(joint), axis) for column, (joint, axis) in named.items()}
    else:
        numbers = {number for number, _ in numbered.values()}
        skeleton = next((s for s in (BLAZEPOSE33, COCO17) if len(s.joints) == len(numbers)), COCO17)
        first = min(numbers, default=0)
        if first > 1 or numbers != set(range(first, first + len(skeleton.joints))):
            return None
        cells = {column: (number - first, axis) for column, (number, axis) in numbered.items()}
    if len(set(cells.values())) < len(cells):  # a joint twice: it is unknown which is meant
        return None
    frame, time = (next((keys.index(n) for n in names if n in keys), None) for names in (_FRAMES, _TIMES))
    return TableColumns(skeleton, cells, frame, time)


def _parse_name(key: str) -> tuple[str, int | None] | None:
    joint, _, axis = key.rpartition("_")
    if key in BLAZEPOSE33.joints:
        return key, None
    return (joint, _AXES[axis]) if joint in BLAZEPOSE33.joints and axis in _AXES else None


def _parse_number(key: str) -> tuple[int, int | None] | None:
    if found := _AXIS_FIRST.fullmatch(key):
        return int(found[2]), _AXES[found[1]]
    joint, _, axis = key.rpartition("_")
    if axis in _AXES and (found := _NUMBERED.fullmatch(joint)):
        return int(found[1]), _AXES[axis]
    return (int(found[1]), None) if (found := _NUMBERED.fullmatch(key)) and not key.isdecimal() else None


def _iterate_rows(text: str) -> Iterator[list[str]]:
    """Yield each row's cells; blank lines are left out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    require_readable_frames(text.count("\n"))
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    return (row for row in lines if any(cell.strip() for cell in row))


@dataclass(frozen=True)
class KeypointTable:
    """The keypoints of a table, not converted."""

    points: Array  # [frames, joints, 4]: the numbers of one cell in their order, or x, y, z and confidence
    numbers: int | None  # how many are in one cell; None where each has a column of its own
    clock: Clock


def read_table(path: Path, fps: float | None) -> KeypointTable:
    """Return a table's keypoints by frame; frames that the numbers leave out are unseen."""
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    try:
        header, *rows = list(_iterate_rows(text)) or [[]]
    except csv.Error:
        raise FormatError(f"{path} is not a readable CSV table: it may be damaged or cut short") from None
    columns = find_columns(header)
    if columns is None:
        raise FormatError(f"{path} is CSV, but its columns are not the joints of a dancer")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InputError(f"row {number} has {len(row)} cells, but the header names {len(header)}")
    if not rows:
        raise InputError("there is a header, but no frame below it")
    points, numbers = _read_points(header, rows, columns)
    times = _read_column(header, rows, columns.time)
    if times is not None:
        clock = choose_clock(count_from_first_frame(times, header[columns.time or 0]), None, fps)
        return KeypointTable(points, numbers, clock)
    points = _spread_frames(points, _read_column(header, rows, columns.frame))
    return KeypointTable(points, numbers, choose_clock(None, None, fps))


def _read_points(header: list[str], rows: list[list[str]], columns: TableColumns) -> tuple[Array, int | None]:
    points = np.full((len(rows), len(columns.skeleton.joints), 4), np.nan)
    widths: set[int] = set()
    for column, (joint, axis) in columns.cells.items():
        for number, row in enumerate(rows):
            values = _parse_cell(row[column], number + 2, header[column])
            if axis is not None:
                points[number, joint, axis] = values[0] if len(values) == 1 else math.nan
            elif values:
                points[number, joint, : len(values)] = values
                widths.add(len(values))
    if len(widths) > 1 or widths - {2, 3, 4}:
        raise InputError(f"every keypoint has two, three or four numbers, got {sorted(widths)[:5]}")
    as_coordinates(points)
    return points, widths.pop() if widths else None


def _parse_cell(cell: str, row: int, column: str) -> list[float]:
    """Return the numbers of one cell; none where it is empty or says so."""
    words = cell.strip("()[] \t").replace(",", " ").replace(";", " ").split()
    try:
        values = [float(word) for word in words if word.lower() not in ("none", "null")]
    except ValueError:
        raise InputError(
            f"row {row}, column {column[:40]!r}: numbers were expected, got {cell[:40]!r}"
        ) from None
    if len(values) > 4:
        raise InputError(f"row {row}, column {column[:40]!r}: at most four numbers were expected")
    return values if not all(map(math.isnan, values)) else []


def _read_column(header: list[str], rows: list[list[str]], column: int | None) -> list[float] | None:
    """Return one number per row, or None where the table does not have them."""
    if column is None:
        return None
    found = [_parse_cell(row[column], number + 2, header[column]) for number, row in enumerate(rows)]
    single = [len(values) == 1 for values in found]
    if any(single) and not all(single):
        raise InputError(f"row {single.index(False) + 2} lacks the number of column {header[column][:40]!r}")
    return [values[0] for values in found] if all(single) else None


def _spread_frames(points: Array, numbers: list[float] | None) -> Array:
    """Return the points with a row per frame number from the first on."""
    if numbers is None:
        return points
    frames = np.array(numbers) - numbers[0]
    if not (np.isfinite(frames).all() and (frames == np.round(frames)).all() and (np.diff(frames) > 0).all()):
        raise InputError("the frame numbers do not rise from row to row; one row per frame was expected")
    require_plausible_frames(int(min(frames[-1], 1e9)) + 1, len(frames))
    spread = np.full((int(frames[-1]) + 1, *points.shape[1:]), np.nan)
    spread[frames.astype(np.int64)] = points
    return spread
