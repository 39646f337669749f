"""Files <-> Motion: one module per format, one registry of them.

`read` and `describe` find the format by the file's suffix and, where that is not enough, by
its content. Everything that can be wrong with a file is a `FormatError` or `InputError` that
names it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dancematch.control_characters import escape_controls
from dancematch.errors import FormatError, InputError
from dancematch.formats.detection import detect_suffix, find_format, holds_motion, is_motion_file
from dancematch.formats.registry import list_suffixes
from dancematch.types import Motion

__all__ = [
    "Description",
    "describe",
    "detect_suffix",
    "holds_motion",
    "is_motion_file",
    "list_suffixes",
    "read",
    "write",
]


@dataclass(frozen=True)
class Description:
    """What a motion file is and holds."""

    format: str
    explanation: str  # what reading converted or assumed
    skeleton: str
    motions: tuple[Motion, ...]


def read(path: str | Path, *, fps: float | None = None, suffix: str | None = None) -> list[Motion]:
    """Return one motion per dancer in the file.

    `fps` is for formats without a rate of their own (30 if not given, 60 for AIST++); where
    the file says another rate, it is refused. `suffix` is the one to go by in place of the
    path's own, for an upload whose name says nothing.
    """
    return list(describe(path, fps=fps, suffix=suffix).motions)


def describe(path: str | Path, *, fps: float | None = None, suffix: str | None = None) -> Description:
    """Return the motions of a file, and what was understood of it; arguments are those of `read`."""
    path = Path(path)
    if fps is not None and not 0 < fps <= 1000:
        raise InputError(f"fps must be above 0 and at most 1000, got {fps}")
    name = "motion"
    try:
        format_ = find_format(path, suffix)
        name = format_.name
        with np.errstate(all="ignore"):  # damaged numbers are refused by their value
            motions = format_.read(path, fps)
        _require_duration(motions)
    except InputError as error:
        raise _tell_briefly(path, error) from None
    except OSError as error:  # the file is gone, or its disk is
        raise _tell_briefly(path, InputError(f"{path} cannot be read: {error.strerror or error}")) from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError, RecursionError):
        damage = FormatError(f"{path} is not a readable file of {name}: it may be damaged")
        raise _tell_briefly(path, damage) from None
    return Description(format_.name, format_.explanation, motions[0].skeleton.name, tuple(motions))


def _require_duration(motions: Sequence[Motion]) -> None:
    from dancematch.formats.limits import require_seconds

    for motion in motions:
        require_seconds(motion.seconds, motion.start)


def _tell_briefly(path: Path, error: InputError) -> InputError:
    """Return an error that names the file, in one line that is short whatever the file holds."""
    from dancematch.formats.limits import MAX_MESSAGE

    whole = str(error)
    kind, whole = (type(error), whole) if str(path) in whole else (FormatError, f"{path}: {whole}")
    before, named, after = whole.partition(str(path))
    most = MAX_MESSAGE - len(before)
    if len(after) > most:  # what to do stands at the end
        after = f"{after[: most // 2]} ... {after[-most // 3 :]}"
    return kind(escape_controls(before + named + after))


def write(path: str | Path, motions: Sequence[Motion], *, overwrite: bool = False) -> None:
    """Write `.npz` (everything), `.glb` (moving figures, for 3D viewers) or `.bvh` (one dancer, to animate).

    The file appears whole or not at all, and replaces another only where `overwrite` says so.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        from dancematch.formats import npz

        npz.write(path, motions, overwrite=overwrite)
    elif suffix == ".bvh":
        from dancematch.formats.motion_capture import bvh_write

        if len(motions) != 1:
            raise InputError(f"{path} was not written: .bvh holds one dancer, got {len(motions)}; use .npz")
        bvh_write.write(path, motions[0], overwrite=overwrite)
    elif suffix == ".glb":
        from dancematch.formats.motion_capture import gltf_write

        gltf_write.write(path, motions, overwrite=overwrite)
    else:
        raise InputError(f"{path} was not written: motions are written as .npz, .bvh or .glb, not {suffix!r}")
