"""Files <-> Motion: one file of this room per format.

`read` and `describe` find the format by the file's suffix and, where that is not enough, by
its content. Everything that can be wrong with a file is a `FormatError` or `InputError` that
names it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from dancematch.errors import FormatError, InputError
from dancematch.types import Motion

__all__ = ["SUFFIXES", "Description", "describe", "holds_motion", "is_motion_file", "read", "write"]

# The formats by suffix, each a module of this room. Where a suffix has several, the content decides.
_FORMATS: Mapping[str, tuple[str, ...]] = {
    ".npz": ("npz", "smpl"),
    ".bvh": ("bvh",),
    ".pkl": ("aist",),
    ".json": ("openpose", "coco", "posenet", "mediapipe", "practice_track"),
    ".csv": ("mediapipe_csv", "movenet_csv"),
    ".pt": ("comotion",),
}

SUFFIXES = tuple(_FORMATS)
"""The suffixes that are read; a folder of OpenPose frames is read as well."""


class _Format(Protocol):
    """What each format's module offers."""

    LABEL: str
    EXPLANATION: str

    def read(self, path: Path, fps: float | None = None) -> list[Motion]: ...

    def recognises(self, content: Any) -> bool:
        """Whether a JSON content, or a table's columns, is of the format; not asked of the others."""
        ...


@dataclass(frozen=True)
class Description:
    """What a motion file is and holds."""

    format: str
    explanation: str  # what was converted or assumed on reading
    skeleton: str
    motions: tuple[Motion, ...]


def read(path: str | Path, *, fps: float | None = None) -> list[Motion]:
    """One motion for each dancer in the file.

    `fps` is for formats without a rate of their own (30 if not given, 60 for AIST++); where
    the file says another rate, it is refused.
    """
    return list(describe(path, fps=fps).motions)


def describe(path: str | Path, *, fps: float | None = None) -> Description:
    """Return the motions of a file, and what was understood of it."""
    path = Path(path)
    if fps is not None and not 0 < fps <= 1000:
        raise InputError(f"fps must be above 0 and at most 1000, got {fps}")
    format_ = _format_of(path)
    try:
        with np.errstate(all="ignore"):  # damaged numbers are refused by their value
            motions = format_.read(path, fps)
    except InputError as error:
        named = str(path) in str(error)
        raise (error if named else FormatError(f"{path}: {error}")) from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError, RecursionError):
        raise FormatError(f"{path} is not a readable file of {format_.LABEL}: it may be damaged") from None
    return Description(format_.LABEL, format_.EXPLANATION, motions[0].skeleton.name, tuple(motions))


def write(path: str | Path, motions: Sequence[Motion], *, overwrite: bool = False) -> None:
    """Write `.npz` (everything, any number of dancers) or `.bvh` (one dancer, for animation software).

    The file appears whole or not at all, and replaces another only where `overwrite` says so.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        from dancematch.formats import npz

        npz.write(path, motions, overwrite=overwrite)
    elif suffix == ".bvh":
        from dancematch.formats import bvh_write

        if len(motions) != 1:
            raise InputError(f"{path} was not written: .bvh holds one dancer, got {len(motions)}; use .npz")
        bvh_write.write(path, motions[0], overwrite=overwrite)
    else:
        raise InputError(f"{path} was not written: motions are written as .npz or .bvh, not {suffix!r}")


def is_motion_file(path: str | Path) -> bool:
    """Whether `path` looks like something that `read` reads, judged by its name alone."""
    path = Path(path)
    if path.is_dir():
        from dancematch.formats.openpose import is_folder

        return is_folder(path)
    return path.suffix.lower() in SUFFIXES


def holds_motion(path: str | Path) -> bool:
    """Whether `path`, met in a folder, is to be read: a table (.csv) only if its columns are joints.

    Labels and indexes lie beside clips as tables too; one that is named is read, or refused with the reason.
    """
    path = Path(path)
    if path.suffix.lower() != ".csv" or path.is_dir():
        return is_motion_file(path)
    from dancematch.formats.table import read_columns

    return read_columns(path) is not None


def _format_of(path: Path) -> _Format:
    suffix = path.suffix.lower()
    if path.is_dir():
        return _module("openpose")
    if suffix not in _FORMATS:
        raise FormatError(f"{path} is not a motion file: {', '.join(SUFFIXES)} are read")
    if suffix == ".npz":
        return _module(_npz_format(path))
    candidates = [_module(name) for name in _FORMATS[suffix]]
    return candidates[0] if len(candidates) == 1 else _choose_format(path, candidates)


def _module(name: str) -> _Format:
    return cast(_Format, import_module(f"dancematch.formats.{name}"))


def _choose_format(path: Path, candidates: Sequence[_Format]) -> _Format:
    """Return the one candidate that the content of a JSON or CSV file fits."""
    from dancematch.formats.files import read_bytes, read_json
    from dancematch.formats.table import read_columns

    is_table = path.suffix.lower() == ".csv"
    if is_table:
        read_bytes(path)  # absent, empty or a folder is said so
    content = read_columns(path) if is_table else read_json(path)
    fitting = [format_ for format_ in candidates if format_.recognises(content)]
    if len(fitting) == 1:
        return fitting[0]
    kind = "a CSV table" if is_table else "JSON"
    if fitting:
        labels = " and of ".join(format_.LABEL for format_ in fitting)
        raise FormatError(f"{path} is {kind} that has the shape of {labels}: leave only one of them in it")
    labels = ", ".join(format_.LABEL for format_ in candidates)
    raise FormatError(f"{path} is {kind}, but of none of these: {labels}")


def _npz_format(path: Path) -> str:
    from dancematch.formats.archive import Archive
    from dancematch.formats.fingerprint import is_words
    from dancematch.formats.npz import is_own
    from dancematch.formats.smpl import is_poses

    archive = Archive(path)
    if is_words(archive):
        raise FormatError(f"{path} holds motion words, not motion; 'dancematch decode' makes motion of them")
    if is_own(archive):
        return "npz"
    if is_poses(archive):
        return "smpl"
    raise FormatError(f"{path} holds neither our motions nor SMPL poses, but {sorted(archive.names)[:5]}")
