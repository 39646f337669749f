"""Bytes read and written, and the checks that all readers share.

What is wrong with a file itself (absent, a folder, empty, too large, unreadable) is reported here, in
one sentence that names it.
"""

import contextlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dancematch.errors import FormatError, InputError

MAX_BYTES = 2 << 30
"""No motion file is larger: hours of many people fit. More is a mistake or an attack."""

_MAX_FRAMES = 1_000_000  # nine hours at 30 a second
_MAX_PEOPLE = 500  # in one frame; pose estimators find far fewer
_MAX_METRES = 1e6  # from the origin; a larger number is damaged, and would overflow float32 in later sums


def read_bytes(path: Path) -> bytes:
    """Return the whole content of a file that is there, not empty and not absurdly large."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; a motion file was expected")
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise FormatError(f"{path} has {size} bytes; motion files of more than {MAX_BYTES} are not read")
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise InputError(f"{path} cannot be read: {_reason(error)}") from None
    if not content:
        raise FormatError(f"{path} is empty; a motion file was expected")
    return content


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        raise FormatError(f"{path} is not valid JSON: it may be damaged or cut short") from None


def write_bytes(path: Path, content: bytes, *, overwrite: bool = False) -> None:
    """Write `content` to `path` entirely or not at all."""
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already; choose another name or ask for overwriting")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {_reason(error)}") from None
    finally:  # after Ctrl-C too
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def as_coordinates(values: ArrayLike, metres_per_unit: float = 1.0) -> NDArray[np.float64]:
    """Return `values` in metres; infinite ones, or ones beyond any stage, are refused."""
    metres = np.asarray(values, dtype=np.float64) * metres_per_unit
    if (np.abs(metres) > _MAX_METRES).any():  # NaN compares false: it means unseen
        raise InputError(f"a coordinate lies more than {_MAX_METRES:.0f} m from the origin")
    return metres


def require_plausible_frames(frames: int, shown: int) -> None:
    """Refuse implausible gaps: memory is needed for `frames`, but only `shown` are in the file."""
    if frames > min(_MAX_FRAMES, 100 * shown + 1000):
        raise InputError(f"the frame numbers or times span {frames} frames, but only {shown} are there")


def require_readable_frames(frames: int) -> None:
    """Refuse more frames than any clip has, before memory is taken for them."""
    if frames > _MAX_FRAMES:
        raise InputError(f"there are {frames} frames; more than {_MAX_FRAMES} are not read")


def require_plausible_people(most: int) -> None:
    """Refuse more people in one frame than any picture shows, before they are compared with each other."""
    if most > _MAX_PEOPLE:
        raise InputError(f"a frame shows {most} people; more than {_MAX_PEOPLE} are not read")


def as_rate(value: Any) -> float:
    """Return a frame rate out of a file's number, whatever type it has there."""
    try:
        rate = float(value)
    except (TypeError, ValueError, OverflowError):
        rate = math.nan
    if not 1 <= rate <= 1000:  # slower, and a few frames would last for years
        raise InputError(f"a frame rate of 1 to 1000 per second was expected, got {str(value)[:40]}")
    return rate


def agree_on_rate(carried: float, wanted: float | None) -> float:
    """Return the file's own rate; a differing `wanted` one is refused rather than ignored."""
    if wanted is not None and abs(wanted - carried) > 0.01 * carried:
        raise InputError(f"the file says {carried:g} frames per second, but {wanted:g} were asked for")
    return carried
