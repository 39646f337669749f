"""The `.pt` file that the CoMotion estimator writes: SMPL poses of every person it tracked.

The file is loaded with `weights_only`, so nothing in it can run. Places are metres in the
camera's axes (x right, y down, z away), which are turned y up. It carries no frame rate.
"""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import FormatError, InputError, MissingExtraError
from dancematch.formats.clock import DEFAULT_RATE
from dancematch.formats.files import MAX_BYTES, read_bytes, require_plausible_frames
from dancematch.formats.motion_capture.kinematics import Y_DOWN_TO_UP
from dancematch.formats.motion_capture.smpl import compute_joints
from dancematch.skeletons import SMPL24
from dancematch.types import Motion


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return every tracked person, the longest track first; `fps` is the video's rate, 30 if not given."""
    tracks = _load_tensors(path)
    padding = ~tracks["betas"].any(axis=1)
    keep = np.ones_like(padding) if padding.all() else ~padding
    rows = {name: values[keep] for name, values in tracks.items()}
    people = [_read_person(rows, number, fps or DEFAULT_RATE) for number in np.unique(rows["id"])]
    return sorted(people, key=lambda motion: -len(motion.joints))


def _read_person(rows: dict[str, NDArray[Any]], number: int, fps: float) -> Motion:
    mine = rows["id"] == number
    frames = rows["frame_idx"][mine].astype(np.int64)
    first, last = int(frames.min()), int(frames.max())
    if first < 0:
        raise InputError(f"a frame number must be 0 or more, got {first}")
    require_plausible_frames(last - first + 1, len(frames))
    places = compute_joints(rows["pose"][mine], rows["trans"][mine]) @ Y_DOWN_TO_UP
    joints = np.full((last - first + 1, len(SMPL24.joints), 3), np.nan, np.float32)
    joints[frames - first] = places
    return Motion(joints, fps, SMPL24, start=first / fps)


def _load_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the five tensors as arrays, checked for kind and size."""
    content = _torch_load(path)
    expected = {"id": (), "frame_idx": (), "pose": (72,), "trans": (3,), "betas": (10,)}
    if not isinstance(content, dict) or not expected.keys() <= content.keys():
        raise FormatError(f"{path} lacks the tensors {', '.join(expected)} of a CoMotion file")
    count = len(content["id"]) if hasattr(content["id"], "__len__") else -1
    for name, tail in expected.items():
        shape = getattr(content[name], "shape", None)
        if count < 1 or shape is None or tuple(shape) != (count, *tail):
            raise FormatError(f"{path}: {name} must be [rows{''.join(f', {size}' for size in tail)}]")
    if count * 72 * 8 > MAX_BYTES:
        raise FormatError(f"{path} claims {count} rows, more than any video has")
    return {name: np.asarray(content[name].to("cpu").numpy(force=True)) for name in expected}


def _torch_load(path: Path) -> Any:
    content = read_bytes(path)
    try:
        import torch
    except ImportError:
        raise MissingExtraError(f"reading {path} needs torch: pip install 'dancematch[train]'") from None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked <= MAX_BYTES:
            return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception:  # torch documents no exceptions for damaged files and raises many kinds
        raise FormatError(f"{path} is not a CoMotion file: it may be damaged or cut short") from None
    raise FormatError(f"{path} would unpack to more than {MAX_BYTES} bytes and is not read")
