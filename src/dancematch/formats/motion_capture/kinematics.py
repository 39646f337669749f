"""From joint rotations to joint places and back, for all frames at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Y_DOWN_TO_UP = np.diag([1.0, -1.0, -1.0])
"""Camera axes (x right, y down, z away) to ours: half a turn about x, so left stays left."""

Z_UP_TO_Y_UP = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
"""A quarter turn about x."""


def axis_angle_matrices(vectors: Array) -> Array:
    """Rotation matrices [..., 3, 3] of axis-angle vectors [..., 3] in radians (Rodrigues)."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors / np.maximum(angle[..., 0], 1e-12), -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    turned: Array = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return turned


def euler_matrices(angles: Array, axes: str) -> Array:
    """Rotation matrices [frames, 3, 3] of angles [frames, len(axes)] in radians, applied in `axes` order.

    "ZYX" turns about z, then about the turned y, then about the turned x: the order in
    which a BVH file lists its channels.
    """
    result = np.broadcast_to(np.eye(3), (len(angles), 3, 3))
    for column, axis in enumerate(axes):
        unit = np.eye(3)["XYZ".index(axis)]
        result = result @ axis_angle_matrices(angles[:, column, None] * unit)
    return result


def zyx_angles(matrices: Array) -> Array:
    """Angles [..., 3] about z, y, x in radians: the inverse of `euler_matrices(..., "ZYX")`."""
    sine = np.clip(-matrices[..., 2, 0], -1, 1)
    locked = np.abs(sine) > 1 - 1e-9  # looking straight up or down, only z - x is determined
    z = np.arctan2(
        np.where(locked, -matrices[..., 0, 1], matrices[..., 1, 0]),
        np.where(locked, matrices[..., 1, 1], matrices[..., 0, 0]),
    )
    x = np.where(locked, 0.0, np.arctan2(matrices[..., 2, 1], matrices[..., 2, 2]))
    return np.stack([z, np.arcsin(sine), x], axis=-1)


def forward(parents: Sequence[int], offsets: Array, rotations: Array) -> Array:
    """Places [frames, joints, 3] of joints that hang at `offsets` in their parents' turned frames.

    `offsets` is [frames or 1, joints, 3], `rotations` [frames, joints, 3, 3]; parents stand
    before their children.
    """
    places = np.empty(rotations.shape[:-1])
    world = np.empty_like(rotations)
    for joint, parent in enumerate(parents):
        if parent < 0:
            places[:, joint] = offsets[:, joint]
            world[:, joint] = rotations[:, joint]
        else:
            places[:, joint] = places[:, parent] + turn(world[:, parent], offsets[:, joint])
            world[:, joint] = world[:, parent] @ rotations[:, joint]
    return places


def turn(matrices: Array, vectors: Array) -> Array:
    """Each matrix [..., 3, 3] applied to its vector [..., 3]."""
    turned: Array = (matrices @ vectors[..., None])[..., 0]
    return turned
