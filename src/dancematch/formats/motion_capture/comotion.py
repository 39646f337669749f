"""The `.pt` file that the CoMotion estimator writes: SMPL poses of every person it tracked.

The file is loaded with `weights_only`, so nothing in it can run. Places are metres in the
camera's axes (x right, y down, z away), which are turned y up. It carries no frame rate.
"""

import pickletools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import FormatError, InputError, MissingExtraError
from dancematch.formats import limits
from dancematch.formats.archive import open_zip
from dancematch.formats.clock import DEFAULT_RATE
from dancematch.formats.files import freeze, open_file
from dancematch.formats.motion_capture.kinematics import Y_DOWN_TO_UP
from dancematch.formats.motion_capture.smpl import compute_joints
from dancematch.skeletons import SMPL24
from dancematch.types import Motion

_TENSORS = {"id": (), "frame_idx": (), "pose": (72,), "trans": (3,), "betas": (10,)}
_PROGRAM = "data.pkl"  # the pickle of an archive of tensors, under the archive's own name
_PROGRAM_BYTES = 1 << 16  # five tensors take a thousand
# What a dictionary of tensors is made of. `weights_only` allows more, such as to make any amount of zeros.
_HARMLESS = ("torch._utils _rebuild_tensor_v2", "collections OrderedDict")


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return every tracked person, the longest track first; `fps` is the video's rate, 30 if not given."""
    tracks = _load_tensors(path)
    padding = ~tracks["betas"].any(axis=1)
    keep = np.ones_like(padding) if padding.all() else ~padding
    rows = {name: values[keep] for name, values in tracks.items()}
    spans = [_span_of(rows, number) for number in _list_people(rows["id"])]
    limits.require_positions(sum(last - first + 1 for _, first, last in spans) * len(SMPL24.joints))
    people = [_read_person(rows, *span, fps or DEFAULT_RATE) for span in spans]
    return sorted(people, key=lambda motion: -len(motion.joints))


def _list_people(ids: NDArray[Any]) -> NDArray[Any]:
    people = np.unique(ids)
    limits.require_tracks(len(people))
    return people


def _span_of(rows: dict[str, NDArray[Any]], number: Any) -> tuple[Any, int, int]:
    """Return a person's number, first and last frame."""
    frames = rows["frame_idx"][rows["id"] == number]
    first, last = int(frames.min()), int(frames.max())
    if first < 0:
        raise InputError(f"a frame number must be 0 or more, got {first}")
    limits.require_plausible_frames(last - first + 1, len(frames))
    return number, first, last


def _read_person(rows: dict[str, NDArray[Any]], number: Any, first: int, last: int, fps: float) -> Motion:
    mine = rows["id"] == number
    frames = rows["frame_idx"][mine].astype(np.int64)
    places = compute_joints(rows["pose"][mine], rows["trans"][mine], axes=Y_DOWN_TO_UP)
    joints = np.full((last - first + 1, len(SMPL24.joints), 3), np.nan, np.float32)
    joints[frames - first] = places
    return Motion(freeze(joints), fps, SMPL24, start=first / fps)


def _load_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the five tensors as arrays, checked for kind and size."""
    content = _torch_load(path)
    if not isinstance(content, dict) or not _TENSORS.keys() <= content.keys():
        raise FormatError(f"{path} lacks the tensors {', '.join(_TENSORS)} of a CoMotion file")
    count = len(content["id"]) if hasattr(content["id"], "__len__") else -1
    for name, tail in _TENSORS.items():
        shape = getattr(content[name], "shape", None)
        if count < 1 or shape is None or tuple(shape) != (count, *tail):
            raise FormatError(f"{path}: {name} must be [rows{''.join(f', {size}' for size in tail)}]")
    limits.require_positions(count * len(SMPL24.joints))
    return {name: np.asarray(content[name].to("cpu").numpy(force=True)) for name in _TENSORS}


def _torch_load(path: Path) -> Any:
    open_file(path).close()  # a missing or empty file, or a folder, has its own message
    try:
        import torch
    except ImportError:
        raise MissingExtraError(f"reading {path} needs torch: pip install 'dancematch[train]'") from None
    try:
        _require_plain_tensors(path)
        with open_file(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # damage makes torch tell of its own insides
            return torch.load(file, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except Exception:  # torch documents no exceptions for damaged files and raises many kinds
        raise FormatError(f"{path} is not a CoMotion file: it may be damaged or cut short") from None


def _require_plain_tensors(path: Path) -> None:
    """Refuse a pickle that does more than a dictionary of tensors needs."""
    with open_zip(path) as archive:
        (program,) = (one for one in archive.infolist() if one.filename.rpartition("/")[2] == _PROGRAM)
        if program.file_size > _PROGRAM_BYTES:
            raise FormatError(f"{path} is not a CoMotion file: its list of tensors is too long")
        content = archive.read(program)
    for opcode, argument, _ in pickletools.genops(content):
        named = opcode.name in ("GLOBAL", "STACK_GLOBAL", "INST")
        if named and not _is_harmless(str(argument)):
            raise FormatError(f"{path} is not a CoMotion file: it names {str(argument)[:40]!r}")


def _is_harmless(name: str) -> bool:
    return name in _HARMLESS or (name.startswith("torch ") and name.endswith("Storage"))
