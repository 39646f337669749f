"""DanceMatch motion (.npz): any number of dancers, any joint layout, nothing lost and nothing pickled.

Members: `metadata`, a JSON text with the format number, each dancer's rate, start and
skeleton in full, and a free `source` dictionary; and `joints_N` and `visibility_N` as
float32 for dancer N, counted from 0.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.control_characters import has_controls
from dancematch.errors import FormatError, InputError
from dancematch.formats import limits
from dancematch.formats.archive import Archive, write_archive
from dancematch.formats.files import agree_on_rate, as_rate, require_near_origin
from dancematch.types import Motion, Skeleton

FORMAT = "dancematch-motion"
VERSION = 1

Source = Mapping[str, str | int | float]


def write(
    path: str | Path,
    motions: Sequence[Motion],
    *,
    source: Source | None = None,
    overwrite: bool = False,
) -> None:
    """Write `motions` and a few texts or numbers on where they come from to one file."""
    if not motions:
        raise InputError(f"{path} was not written: there is no motion to write")
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "dancers": [_describe(motion) for motion in motions],
        "source": dict(source or {}),
    }
    arrays: dict[str, NDArray[Any]] = {}
    for number, motion in enumerate(motions):
        arrays |= {f"joints_{number}": motion.joints, f"visibility_{number}": motion.visibility}
    write_archive(Path(path), {"metadata": metadata}, arrays, compress=False, overwrite=overwrite)


def _describe(motion: Motion) -> dict[str, Any]:
    skeleton = motion.skeleton
    return {
        "fps": motion.fps,
        "start": motion.start,
        "skeleton": {
            "name": skeleton.name,
            "joints": skeleton.joints,
            "parents": skeleton.parents,
            "mirror": skeleton.mirror,
        },
    }


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return every dancer of the file, as written."""
    with Archive(path) as archive:
        dancers = _read_metadata(path, archive)["dancers"]
        if not isinstance(dancers, list) or not dancers:
            raise FormatError(f"{path} holds no dancer")
        _require_within_limits(archive, len(dancers))
        return [_read_dancer(archive, number, dancer, fps) for number, dancer in enumerate(dancers)]


def read_source(path: str | Path) -> dict[str, str | int | float]:
    """Return the free `source` dictionary that was given when the file was written."""
    path = Path(path)
    with Archive(path) as archive:
        return dict(_read_metadata(path, archive)["source"])


def _require_within_limits(archive: Archive, dancers: int) -> None:
    """Refuse too many dancers, joints, frames or positions before any is read."""
    limits.require_tracks(dancers)
    positions = 0
    for number in range(dancers):
        joints, visibility = (archive.header(f"{name}_{number}") for name in ("joints", "visibility"))
        if joints.dtype != np.float32 or visibility.dtype != np.float32:
            raise InputError(f"the arrays of dancer {number} must be float32")
        if len(joints.shape) != 3 or joints.shape[2] != 3 or visibility.shape != joints.shape[:2]:
            raise InputError(f"the joints of dancer {number} must be [frames, joints, 3], with visibilities")
        limits.require_frames(joints.shape[0])
        positions += joints.shape[0] * joints.shape[1]
    if not archive.is_stored:  # as written here, it is as large as what it holds: hours of many dancers
        limits.require_positions(positions)


def _read_dancer(archive: Archive, number: int, dancer: dict[str, Any], fps: float | None) -> Motion:
    try:
        skeleton = _read_skeleton(dancer["skeleton"])
        rate, start = as_rate(dancer["fps"]), float(dancer["start"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(f"the description of dancer {number} is damaged") from None
    joints, visibility = archive.arrays([f"joints_{number}", f"visibility_{number}"]).values()
    require_near_origin(joints)
    return Motion(joints, agree_on_rate(rate, fps), skeleton, visibility, start)


def _read_skeleton(layout: dict[str, Any]) -> Skeleton:
    limits.require_joints(len(layout["joints"]))
    joints, parents = tuple(map(str, layout["joints"])), tuple(map(int, layout["parents"]))
    name = str(layout["name"])
    if has_controls(name):
        raise InputError("the skeleton's name holds control characters")
    limits.require_names([name, *joints])
    limits.require_depth(parents)
    return Skeleton(name, joints, parents, tuple(map(int, layout["mirror"])))


def recognises(archive: Archive) -> bool:
    """Whether an archive is of this format, in any version."""
    return "metadata" in archive.names


def _read_metadata(path: Path, archive: Archive) -> dict[str, Any]:
    """Return the metadata, if its format number is known."""
    try:
        found = archive.json("metadata")
        ours, version = found["format"] == FORMAT, int(found["version"])
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise FormatError(f"{path}: the metadata are damaged") from None
    if not ours:
        raise FormatError(f"{path} is not a DanceMatch motion file")
    if version > VERSION:
        raise FormatError(
            f"{path} has format number {version}, this version reads up to {VERSION}: update dancematch"
        )
    if not isinstance(found.get("source"), dict) or "dancers" not in found:
        raise FormatError(f"{path}: the metadata are damaged")
    return dict(found)
