"""Files <-> Motion: one file of this room per format.

`read` and `describe` find the format by the file's suffix and, where that is not enough, by
its content. Everything that can be wrong with a file is a `FormatError` or `InputError` that
names it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from dancematch.errors import FormatError, InputError
from dancematch.types import Motion

__all__ = ["SUFFIXES", "Description", "describe", "is_motion_file", "read", "write"]

SUFFIXES = (".npz", ".bvh", ".pkl", ".json", ".pt")
"""The suffixes that are read; a folder of OpenPose frames is read as well."""


class _Format(Protocol):
    """What each format's module offers."""

    LABEL: str
    EXPLANATION: str

    def read(self, path: Path, fps: float | None = None) -> list[Motion]: ...


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
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError, RecursionError):
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


def _format_of(path: Path) -> _Format:
    simple = {".bvh": "bvh", ".pkl": "aist", ".pt": "comotion"}
    suffix = path.suffix.lower()
    if path.is_dir():
        name = "openpose"
    elif suffix in simple:
        name = simple[suffix]
    elif suffix == ".npz":
        name = _npz_format(path)
    elif suffix == ".json":
        name = _json_format(path)
    else:
        raise FormatError(f"{path} is not a motion file: {', '.join(SUFFIXES)} are read")
    return cast(_Format, import_module(f"dancematch.formats.{name}"))


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


def _json_format(path: Path) -> str:
    from dancematch.formats.coco import is_coco
    from dancematch.formats.files import read_json
    from dancematch.formats.mediapipe import frames_of
    from dancematch.formats.openpose import is_openpose

    content = read_json(path)
    if is_openpose(content):
        return "openpose"
    if is_coco(content):
        return "coco"
    if frames_of(content):
        return "mediapipe"
    raise FormatError(f"{path} is JSON, but neither of OpenPose, COCO keypoints nor MediaPipe landmarks")
