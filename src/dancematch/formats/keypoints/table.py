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
from dancematch.formats import limits
from dancematch.formats.clock import Clock, choose_clock, count_from_first_frame
from dancematch.formats.files import open_file, open_regular, require_near_origin
from dancematch.formats.joint_names import has_upper_body, to_snake_case
from dancematch.formats.keypoints.table_rows import count_lines, iterate_rows
from dancematch.skeletons import BLAZEPOSE33, COCO17
from dancematch.types import Skeleton

Array = NDArray[np.float64]

_HEAD_BYTES = 1 << 16  # a header with four columns per landmark is a tenth of this
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
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
        return next(iterate_rows(io.BytesIO(head)), [])
    except (OSError, ValueError, csv.Error, InputError):
        return []


def find_columns(header: list[str]) -> TableColumns | None:
    """Return which columns are keypoints, of which layout, or None where they are not a dancer's."""
    if len(header) > limits.MAX_COLUMNS:
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


@dataclass(frozen=True)
class KeypointTable:
    """The keypoints of a table, not converted."""

    points: Array  # [frames, joints, 4]: the numbers of one cell in their order, or x, y, z and confidence
    numbers: int | None  # how many are in one cell; None where each has a column of its own
    clock: Clock


def read_table(path: Path, fps: float | None) -> KeypointTable:
    """Return a table's keypoints by frame; frames that the numbers leave out are unseen."""
    with open_file(path) as file:
        lines = count_lines(file)
        try:
            return _read_rows(path, iterate_rows(file), lines, fps)
        except csv.Error:
            raise FormatError(f"{path} is not a readable CSV table: it may be damaged or cut short") from None


def _read_rows(path: Path, rows: Iterator[list[str]], most: int, fps: float | None) -> KeypointTable:
    """Return the keypoints of the rows, of which there are at most `most`; each is converted as it comes."""
    header = next(rows, [])
    columns = find_columns(header)
    if columns is None:
        raise FormatError(f"{path} is CSV, but its columns are not the joints of a dancer")
    limits.require_frames(most)
    limits.require_keypoints(most * len(columns.skeleton.joints))
    points = np.empty((most, len(columns.skeleton.joints), 4))  # takes memory only as it is filled
    widths: set[int] = set()
    frames, times = (_NumberColumn(header, column) for column in (columns.frame, columns.time))
    for number, row in enumerate(rows):
        if len(row) != len(header):
            raise InputError(f"row {number + 2} has {len(row)} cells, but the header names {len(header)}")
        points[number] = math.nan
        for column, (joint, axis) in columns.cells.items():
            values = _parse_cell(row[column], number + 2, header[column])
            if axis is not None:
                points[number, joint, axis] = values[0] if len(values) == 1 else math.nan
            elif values:
                points[number, joint, : len(values)] = values
                widths.add(len(values))
        frames.add(row)
        times.add(row)
    if not frames.rows:
        raise InputError("there is a header, but no frame below it")
    if len(widths) > 1 or widths - {2, 3, 4}:
        raise InputError(f"every keypoint has two, three or four numbers, got {sorted(widths)[:5]}")
    points = points[: frames.rows]
    require_near_origin(points)
    return _with_clock(points, widths.pop() if widths else None, frames, times, fps)


class _NumberColumn:
    """A column of one number per row, such as the time, if the table has it."""

    def __init__(self, header: list[str], column: int | None) -> None:
        self.name = header[column] if column is not None else ""
        self.rows = 0
        self._column = column
        self._numbers: list[float] = []
        self._lacking: int | None = None  # the first row without a number

    def add(self, row: list[str]) -> None:
        """Take the number of the next row."""
        self.rows += 1
        if self._column is None:
            return
        values = _parse_cell(row[self._column], self.rows + 1, self.name)
        if len(values) == 1:
            self._numbers.append(values[0])
        elif self._lacking is None:
            self._lacking = self.rows + 1

    def numbers(self) -> list[float] | None:
        """The numbers of all rows; None where the table has none."""
        if self._numbers and self._lacking is not None:
            raise InputError(f"row {self._lacking} lacks the number of column {self.name[:40]!r}")
        return self._numbers or None


def _with_clock(
    points: Array, numbers: int | None, frames: _NumberColumn, times: _NumberColumn, fps: float | None
) -> KeypointTable:
    """Return the table by its times or, where it has none, with a row per frame number."""
    if (stamps := times.numbers()) is not None:
        clock = choose_clock(count_from_first_frame(stamps, times.name[:40]), None, fps)
        return KeypointTable(points, numbers, clock)
    return KeypointTable(_spread_frames(points, frames.numbers()), numbers, choose_clock(None, None, fps))


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


def _spread_frames(points: Array, numbers: list[float] | None) -> Array:
    """Return the points with a row per frame number from the first on."""
    if numbers is None:
        return points
    frames = np.array(numbers) - numbers[0]
    if not (np.isfinite(frames).all() and (frames == np.round(frames)).all() and (np.diff(frames) > 0).all()):
        raise InputError("the frame numbers do not rise from row to row; one row per frame was expected")
    count = int(min(frames[-1], 1e9)) + 1
    limits.require_plausible_frames(count, len(frames))
    limits.require_keypoints(count * points.shape[1])
    spread = np.full((count, *points.shape[1:]), np.nan)
    spread[frames.astype(np.int64)] = points
    return spread
