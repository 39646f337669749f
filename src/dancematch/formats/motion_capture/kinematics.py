"""Joint rotations to joint positions and back, for all frames at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Y_DOWN_TO_UP = np.diag([1.0, -1.0, -1.0])
"""Camera axes (x right, y down, z away) to ours: half a turn about x, so left stays left."""

Z_UP_TO_Y_UP = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
"""A quarter turn about x."""


def axis_angle_matrices(vectors: Array) -> Array:
    """Return rotation matrices [..., 3, 3] of axis-angle vectors [..., 3] in radians (Rodrigues)."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors / np.maximum(angle[..., 0], 1e-12), -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    matrices: Array = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return matrices


def euler_matrices(angles: Array, axes: str) -> Array:
    """Return rotation matrices [frames, 3, 3] of angles [frames, len(axes)] in radians, in `axes` order.

    "ZYX" rotates about z, then about the new y, then about the new x: the order in
    which a BVH file lists its channels.
    """
    result = np.broadcast_to(np.eye(3), (len(angles), 3, 3))
    for column, axis in enumerate(axes):
        unit = np.eye(3)["XYZ".index(axis)]
        result = result @ axis_angle_matrices(angles[:, column, None] * unit)
    return result


def zyx_angles(matrices: Array) -> Array:
    """Return angles [..., 3] about z, y, x in radians: the inverse of `euler_matrices(..., "ZYX")`."""
    sine = np.clip(-matrices[..., 2, 0], -1, 1)
    locked = np.abs(sine) > 1 - 1e-9  # looking straight up or down, only z - x is determined
    z = np.arctan2(
        np.where(locked, -matrices[..., 0, 1], matrices[..., 1, 0]),
        np.where(locked, matrices[..., 1, 1], matrices[..., 0, 0]),
    )
    x = np.where(locked, 0.0, np.arctan2(matrices[..., 2, 1], matrices[..., 2, 2]))
    return np.stack([z, np.arcsin(sine), x], axis=-1)


def forward_kinematics(parents: Sequence[int], offsets: Array, rotations: Array) -> Array:
    """Return positions [frames, joints, 3] of joints at `offsets` in their parents' rotated frames.

    `offsets` is [frames or 1, joints, 3], `rotations` [frames, joints, 3, 3]; parents come
    before their children.
    """
    places = np.empty(rotations.shape[:-1])
    world = np.empty_like(rotations)
    for joint, parent in enumerate(parents):
        if parent < 0:
            places[:, joint] = offsets[:, joint]
            world[:, joint] = rotations[:, joint]
        else:
            places[:, joint] = places[:, parent] + rotate(world[:, parent], offsets[:, joint])
            world[:, joint] = world[:, parent] @ rotations[:, joint]
    return places


def rotate(matrices: Array, vectors: Array) -> Array:
    """Return each vector [..., 3] rotated by its matrix [..., 3, 3]."""
    rotated: Array = (matrices @ vectors[..., None])[..., 0]
    return rotated
