"""SMPL poses, as AMASS keeps them: axis-angle rotations over 24 joints.

Joints come from forward kinematics over a neutral body that stands here; body shape (`betas`)
is not applied and no licensed model file is needed. The first 22 joints of SMPL, SMPL-H
and SMPL-X are the same; hands follow their wrists. AMASS is z up, which is turned y up.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dancematch.errors import FormatError, InputError
from dancematch.formats.archive import Archive
from dancematch.formats.clock import DEFAULT_RATE
from dancematch.formats.files import agree_on_rate, as_coordinates, as_rate
from dancematch.formats.motion_capture.kinematics import Z_UP_TO_Y_UP, axis_angle_matrices, forward_kinematics
from dancematch.skeletons import SMPL24
from dancematch.types import Motion

_RATES = ("mocap_framerate", "mocap_frame_rate", "fps")
_WIDTHS = (66, 72, 156, 165)  # SMPL body only, SMPL, SMPL-H, SMPL-X; times three angles
_BODY = 22

# Metres from the parent in the rest pose (arms out, facing +z), joints in SMPL's order; the
# root's own entry is where SMPL has the pelvis when the translation is zero.
_REST = np.array(
    [
        (0.00, -0.23, 0.03), (0.06, -0.09, -0.01), (-0.06, -0.09, -0.01), (0.00, 0.11, -0.03),
        (0.04, -0.38, 0.00), (-0.04, -0.38, 0.00), (0.00, 0.13, 0.00), (-0.01, -0.41, -0.04),
        (0.01, -0.41, -0.04), (0.00, 0.05, 0.02), (0.03, -0.06, 0.12), (-0.03, -0.06, 0.12),
        (0.00, 0.21, -0.04), (0.08, 0.12, -0.03), (-0.08, 0.12, -0.03), (0.00, 0.09, 0.05),
        (0.10, 0.04, -0.01), (-0.10, 0.04, -0.01), (0.26, -0.01, -0.02), (-0.26, -0.01, -0.02),
        (0.25, 0.01, 0.00), (-0.25, 0.01, 0.00), (0.08, -0.01, -0.01), (-0.08, -0.01, -0.01),
    ]
)  # fmt: skip


def compute_joints(poses: ArrayLike, translations: ArrayLike, scale: float = 1.0) -> NDArray[np.float64]:
    """Return joint positions [frames, 24, 3] of axis-angle `poses`, on the axes of the poses.

    `translations` are metres; `scale` is the body's size relative to the neutral one.
    """
    angles = _require_numbers(poses)
    moves = _require_numbers(translations)
    if angles.ndim != 2 or angles.shape[1] not in _WIDTHS:
        raise InputError(
            f"poses must be [frames, {' or '.join(map(str, _WIDTHS))}], got {list(angles.shape)}"
        )
    if moves.shape != (len(angles), 3):
        raise InputError(f"translations must be [{len(angles)}, 3], got {list(moves.shape)}")
    if len(angles) == 0 or not np.isfinite(angles).all():
        raise InputError("the poses are empty or hold numbers that are not finite")
    turns = np.zeros((len(angles), len(_REST), 3))
    turns[:, :_BODY] = angles[:, : 3 * _BODY].reshape(len(angles), _BODY, 3)
    places = forward_kinematics(SMPL24.parents, _REST[None] * scale, axis_angle_matrices(turns))
    return as_coordinates(places + as_coordinates(moves)[:, None])


def _require_numbers(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise InputError(f"poses and translations must be numbers, got {array.dtype}")
    return array.astype(np.float64)


def recognises(archive: Archive) -> bool:
    """Whether an archive holds SMPL poses."""
    return {"poses", "trans"} <= archive.names


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return the one dancer of an AMASS file; without a rate inside, `fps` or 30."""
    archive = Archive(path)
    if not recognises(archive):
        raise FormatError(f"{path} lacks the arrays 'poses' and 'trans' of an SMPL or AMASS file")
    places = compute_joints(archive.array("poses"), archive.array("trans"))
    carried = next((name for name in _RATES if name in archive.names), None)
    rate = fps or DEFAULT_RATE
    if carried is not None:
        rate = agree_on_rate(_read_rate(archive.array(carried)), fps)
    return [Motion((places @ Z_UP_TO_Y_UP.T).astype(np.float32), rate, SMPL24)]


def _read_rate(value: NDArray[Any]) -> float:
    if value.size != 1:
        raise InputError(f"one frame rate was expected, got {value.size}")
    return as_rate(value.reshape(())[()])
