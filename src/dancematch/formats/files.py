"""Bytes read and written, and the checks that all readers share.

What is wrong with a file itself (absent, a folder, empty, too large, unreadable) is reported here, in
one sentence that names it.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dancematch.errors import FormatError, InputError
from dancematch.formats import json_size, limits
from dancematch.types import FloatArray

Numbers = TypeVar("Numbers", bound=NDArray[Any])

MAX_NAME_BYTES = 255  # of a file's name without its folder, on all usual file systems

_CHUNK = 1 << 16  # positions that are converted at a time


def open_regular(path: Path) -> BinaryIO:
    """Return a file, opened; what is neither a file nor a link to one is refused without waiting for it.

    A pipe would wait for a writer, and a device may never end. The open file itself is asked what it is, too,
    for the path may have become another.
    """
    try:
        _require_regular(path, path.stat())
        file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115  (closed by the caller)
        try:
            _require_regular(path, os.fstat(file.fileno()))
        except BaseException:
            file.close()
            raise
        return file
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise unreadable(path, error) from None


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _require_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path} is a folder; a motion file was expected")
    if not stat.S_ISREG(status.st_mode):
        raise no_file(path)


def no_file(path: Path) -> InputError:
    """Return what is said of a path that is there, but is neither a file nor a folder."""
    return InputError(f"{path} is no file: a pipe, a device or a socket; a video or motion file was expected")


def unreadable(path: Path, error: Exception) -> InputError:
    """Return what is said of a file that the system does not let us read."""
    return InputError(f"{path} cannot be read: {_reason(error)}")


def changed(path: Path) -> InputError:
    """Return what is said of a file that became longer or shorter while it was read."""
    return InputError(f"{path} changed while it was read; wait until it is complete")


def open_file(path: Path, most: int = limits.MAX_BYTES) -> BinaryIO:
    """Return a file, opened, that is there, not empty and not of more than `most` bytes."""
    file = open_regular(path)
    size = os.fstat(file.fileno()).st_size
    if 0 < size <= most:
        return file
    file.close()
    if size:
        raise FormatError(f"{path} has {size} bytes; files of more than {most} are not read")
    raise FormatError(f"{path} is empty; a motion file was expected")


def read_bytes(path: Path, most: int = limits.MAX_READ_BYTES) -> bytes:
    """Return the whole content of a file that is there, not empty and not absurdly large."""
    with open_file(path, most) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            content = file.read(size + 1)  # not to the end: another program may go on writing
        except OSError as error:
            raise unreadable(path, error) from None
    if len(content) != size:
        raise changed(path)
    return content


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, unless it would take more memory than a motion file should."""
    try:
        return json.loads(_decode_json(path))
    except (ValueError, RecursionError):
        raise FormatError(f"{path} is not valid JSON: it may be damaged or cut short") from None


def _decode_json(path: Path) -> str:
    content = read_bytes(path, limits.MAX_BYTES)
    wide = not content.isascii()
    if len(content) * (5 if wide else 1) > limits.MAX_PARSED_BYTES:
        raise _too_large_json(path)
    text = content.decode(json.detect_encoding(content), "surrogatepass")
    size = json_size.measure(text)
    if size.has_too_many_keys:
        raise FormatError(f"{path} has more than {limits.MAX_KEYS} different keys and is not read")
    if json_size.estimate_parsed_bytes(text, size) > limits.MAX_PARSED_BYTES:
        raise _too_large_json(path)
    return text


def _too_large_json(path: Path) -> FormatError:
    most = limits.MAX_PARSED_BYTES >> 20
    return FormatError(
        f"{path} would take more than {most} MB of memory as JSON and is not read; split the recording"
    )


def write_bytes(path: Path, content: bytes, *, overwrite: bool = False) -> None:
    """Write `content` to `path` entirely or not at all.

    Until it is complete it stands beside `path` under another name, a short one, for a file system takes
    `MAX_NAME_BYTES` only; `clear_parts` knows it by that name.
    """
    temporary = path.with_name(f".dancematch-{secrets.token_hex(8)}.{os.getpid()}.part")
    try:
        if path.exists() and not overwrite:
            raise InputError(f"{path} exists already; choose another name or ask for overwriting")
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        advice = "; choose a shorter name" if getattr(error, "errno", 0) == errno.ENAMETOOLONG else ""
        raise InputError(f"{path} cannot be written: {_reason(error)}{advice}") from None
    finally:  # after Ctrl-C too
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


_PART = re.compile(r"\.dancematch-[0-9a-f]{16}\.(\d+)\.part")  # as `write_bytes` names it: who wrote it


def clear_parts(folder: Path) -> None:
    """Remove the files that `write_bytes` of killed processes left unfinished in a folder."""
    for path in folder.glob(".dancematch-*.part"):
        left = _PART.fullmatch(path.name)
        if left and not _is_another_process(int(left[1])):
            path.unlink(missing_ok=True)


def _is_another_process(number: int) -> bool:
    """Whether a process of this number runs, and is not this one."""
    if number == os.getpid() or os.name != "posix":  # elsewhere, asking might end it
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


def fit_file_name(name: str) -> str:
    """Return a file's name if file systems take it, else a shorter one with the same suffix and a digest."""
    raw, suffix = os.fsencode(name), Path(name).suffix
    if len(raw) <= MAX_NAME_BYTES:
        return name
    end = f"-{hashlib.sha256(raw).hexdigest()[:8]}{suffix}"
    return raw[: MAX_NAME_BYTES - len(os.fsencode(end))].decode(errors="ignore") + end


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def require_near_origin(metres: NDArray[np.floating]) -> None:
    """Refuse infinite numbers, or ones beyond any stage; NaN means unseen."""
    if metres.size and not (
        np.fmax.reduce(metres, axis=None, initial=0) <= limits.MAX_METRES
        and np.fmin.reduce(metres, axis=None, initial=0) >= -limits.MAX_METRES
    ):
        raise InputError(f"a coordinate lies more than {limits.MAX_METRES:.0f} m from the origin")


def as_coordinates(values: ArrayLike, metres_per_unit: float = 1.0) -> NDArray[np.float64]:
    """Return `values` in metres; infinite ones, or ones beyond any stage, are refused."""
    metres = np.asarray(values, dtype=np.float64) * metres_per_unit
    require_near_origin(metres)
    return metres


def as_joints(values: NDArray[Any], metres_per_unit: float = 1.0) -> FloatArray:
    """Return `values` [frames, joints, 3] in metres as a `Motion` keeps them, converted piece by piece."""
    joints = np.empty(values.shape, dtype=np.float32)
    for piece in iterate_pieces(len(values), values.shape[1]):
        joints[piece] = as_coordinates(values[piece], metres_per_unit)
    return freeze(joints)


def iterate_pieces(frames: int, joints: int) -> Iterator[slice]:
    """Yield the frames in pieces, so that intermediate results take some megabytes however long it is."""
    size = max(1, _CHUNK // joints)
    return (slice(first, first + size) for first in range(0, frames, size))


def freeze(array: Numbers) -> Numbers:
    """Return a new array, made read-only, so that a noun takes it without a copy."""
    array.flags.writeable = False
    return array


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
