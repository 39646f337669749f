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
from dancematch.formats import limits
from dancematch.formats.archive import Archive
from dancematch.formats.clock import DEFAULT_RATE
from dancematch.formats.files import agree_on_rate, as_coordinates, as_rate, freeze, iterate_pieces
from dancematch.formats.motion_capture.kinematics import Z_UP_TO_Y_UP, axis_angle_matrices, forward_kinematics
from dancematch.skeletons import SMPL24
from dancematch.types import FloatArray, Motion

Array = NDArray[np.float64]

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


def compute_joints(
    poses: ArrayLike, translations: ArrayLike, scale: float = 1.0, axes: Array | None = None
) -> FloatArray:
    """Return joint positions [frames, 24, 3] of axis-angle `poses`, on their axes or turned by `axes`.

    `translations` are metres; `scale` is the body's size relative to the neutral one. Frames are converted
    piece by piece, for their rotations take ten times as much memory as their positions.
    """
    angles, moves = _require_numbers(poses), _require_numbers(translations)
    if angles.ndim != 2 or angles.shape[1] not in _WIDTHS:
        raise InputError(
            f"poses must be [frames, {' or '.join(map(str, _WIDTHS))}], got {list(angles.shape)}"
        )
    if moves.shape != (len(angles), 3):
        raise InputError(f"translations must be [{len(angles)}, 3], got {list(moves.shape)}")
    limits.require_positions(len(angles) * len(_REST))
    if len(angles) == 0:
        raise InputError("the poses are empty")
    joints = np.empty((len(angles), len(_REST), 3), dtype=np.float32)
    for piece in iterate_pieces(len(angles), len(_REST)):
        places = _place_joints(angles[piece].astype(np.float64), as_coordinates(moves[piece]), scale)
        joints[piece] = places if axes is None else places @ axes
    return freeze(joints)


def _place_joints(angles: Array, moves: Array, scale: float) -> Array:
    if not np.isfinite(angles).all():
        raise InputError("the poses hold numbers that are not finite")
    turns = np.zeros((len(angles), len(_REST), 3))
    turns[:, :_BODY] = angles[:, : 3 * _BODY].reshape(len(angles), _BODY, 3)
    places = forward_kinematics(SMPL24.parents, _REST[None] * scale, axis_angle_matrices(turns))
    return as_coordinates(places + moves[:, None])


def _require_numbers(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise InputError(f"poses and translations must be numbers, got {array.dtype}")
    return array


def recognises(archive: Archive) -> bool:
    """Whether an archive holds SMPL poses."""
    return {"poses", "trans"} <= archive.names


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return the one dancer of an AMASS file; without a rate inside, `fps` or 30."""
    with Archive(path) as archive:
        if not recognises(archive):
            raise FormatError(f"{path} lacks the arrays 'poses' and 'trans' of an SMPL or AMASS file")
        return [_read_dancer(archive, fps)]


def _read_dancer(archive: Archive, fps: float | None) -> Motion:
    limits.require_positions(sum(archive.header("poses").shape[:1]) * len(_REST))
    places = compute_joints(archive.array("poses"), archive.array("trans"), axes=Z_UP_TO_Y_UP.T)
    carried = next((name for name in _RATES if name in archive.names), None)
    rate = fps or DEFAULT_RATE
    if carried is not None:
        rate = agree_on_rate(_read_rate(archive.array(carried)), fps)
    return Motion(places, rate, SMPL24)


def _read_rate(value: NDArray[Any]) -> float:
    if value.size != 1:
        raise InputError(f"one frame rate was expected, got {value.size}")
    return as_rate(value.reshape(())[()])
