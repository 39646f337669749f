"""AIST++ pickles: 3-D keypoints (COCO-17) or SMPL motion, in centimetres, y up, 60 frames per second."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import FormatError, InputError
from dancematch.formats import limits
from dancematch.formats.files import as_coordinates, as_joints, open_file
from dancematch.formats.motion_capture.smpl import compute_joints
from dancematch.formats.pickles import read_arrays
from dancematch.skeletons import COCO17, SMPL24
from dancematch.types import Motion

FPS = 60.0
_METRES_PER_UNIT = 0.01
_KEYPOINTS = ("keypoints3d_optim", "keypoints3d")  # the optimised ones are the smoother
_SMPL = ("smpl_poses", "smpl_trans", "smpl_scaling")


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return the one dancer of the file; the pickle carries no rate, so `fps` or AIST's own 60."""
    with open_file(path) as file:
        arrays = read_arrays(file, os.fstat(file.fileno()).st_size, (*_KEYPOINTS, *_SMPL))
    found = next((arrays[name] for name in _KEYPOINTS if name in arrays), None)
    if found is not None:
        return [_from_keypoints(found, fps or FPS)]
    if {"smpl_poses", "smpl_trans"} <= arrays.keys():
        return [_from_smpl(arrays, fps or FPS)]
    raise FormatError(f"{path} holds neither 'keypoints3d_optim', 'keypoints3d' nor 'smpl_poses' of AIST++")


def _from_keypoints(keypoints: NDArray[Any], fps: float) -> Motion:
    if keypoints.ndim != 3 or keypoints.shape[1:] != (17, 3) or keypoints.dtype.kind != "f":
        raise InputError(f"keypoints must be [frames, 17, 3] decimal numbers, got {list(keypoints.shape)}")
    limits.require_positions(keypoints.shape[0] * keypoints.shape[1])
    if not np.isfinite(keypoints).any():
        raise InputError("no keypoint is seen in any frame")
    return Motion(as_joints(keypoints, _METRES_PER_UNIT), fps, COCO17)


def _from_smpl(arrays: dict[str, NDArray[Any]], fps: float) -> Motion:
    scaling = arrays.get("smpl_scaling", np.array([100.0]))
    if scaling.size != 1:
        raise InputError(f"one smpl_scaling was expected, got {scaling.size}")
    size = float(scaling.reshape(())) * _METRES_PER_UNIT
    if not 0.1 < size < 10:
        raise InputError(
            f"smpl_scaling must be centimetres per SMPL metre, near 100, got {size / _METRES_PER_UNIT:g}"
        )
    places = compute_joints(
        arrays["smpl_poses"], as_coordinates(arrays["smpl_trans"], _METRES_PER_UNIT), size
    )
    return Motion(places, fps, SMPL24)
