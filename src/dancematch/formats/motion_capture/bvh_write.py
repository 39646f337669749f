"""Motion -> BVH, in centimetres, for Blender, Maya and the like.

Bones are rotated towards the joints, and each joint has position channels as well, so positions are
exact even where a bone's length changes from frame to frame, as in estimated motion. A joint that is
unseen for a while is interpolated: BVH cannot say so.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats.files import write_bytes
from dancematch.formats.motion_capture.kinematics import rotate, zyx_angles
from dancematch.types import Motion, Skeleton

Array = NDArray[np.float64]

_UNITS_PER_METRE = 100.0
_CHANNELS = "CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation"


def write(path: str | Path, motion: Motion, *, overwrite: bool = False) -> None:
    """Write one dancer; what is read back lies within a millimetre."""
    parents = motion.skeleton.parents
    if parents.count(-1) != 1:
        raise InputError(
            f"{path} was not written: BVH needs one root, {motion.skeleton.name!r} has another number"
        )
    places = _fill_gaps(motion) * _UNITS_PER_METRE
    rest = _rest_offsets(places, parents)
    world = _world_rotations(places, parents, rest)
    channels = _channel_values(places, parents, world)
    header = "\n".join(_hierarchy(motion.skeleton, rest, 0, 0))
    rows = "\n".join(" ".join(f"{value:.5f}" for value in row) for row in channels.tolist())
    text = (
        f"HIERARCHY\n{header}\nMOTION\nFrames: {len(channels)}\nFrame Time: {1 / motion.fps:.10f}\n{rows}\n"
    )
    write_bytes(Path(path), text.encode(), overwrite=overwrite)


def _fill_gaps(motion: Motion) -> Array:
    """Return the joints with their gaps interpolated."""
    joints = motion.joints.astype(np.float64)
    frames = np.arange(len(joints))
    for place, name in enumerate(motion.skeleton.joints):
        seen = np.isfinite(joints[:, place]).all(axis=1)
        if not seen.any():
            raise InputError(f"BVH needs every joint, but {name!r} is never seen; write .npz instead")
        if not seen.all():
            for axis in range(3):
                joints[:, place, axis] = np.interp(frames, frames[seen], joints[seen, place, axis])
    return joints


def _rest_offsets(places: Array, parents: tuple[int, ...]) -> Array:
    """Return each bone as in the middle frame, with its median length."""
    bones = places - places[:, list(parents)]
    lengths = np.median(np.linalg.norm(bones, axis=-1), axis=0)[:, None]
    middle = bones[len(bones) // 2]
    rest: Array = middle / np.maximum(np.linalg.norm(middle, axis=-1, keepdims=True), 1e-9) * lengths
    rest[parents.index(-1)] = 0
    return rest


def _world_rotations(places: Array, parents: tuple[int, ...], rest: Array) -> Array:
    """Return each joint's rotation [frames, joints, 3, 3] from the rest pose, as its children show it."""
    world = np.tile(np.eye(3), (*places.shape[:2], 1, 1))
    for joint, parent in enumerate(parents):
        inherited = world[:, parent] if parent >= 0 else world[:, joint]
        children = [child for child, above in enumerate(parents) if above == joint]
        bones = places[:, children] - places[:, [joint]]
        if len(children) == 1:
            carried = rotate(inherited, np.broadcast_to(rest[children[0]], bones[:, 0].shape))
            world[:, joint] = _shortest_rotation(carried, bones[:, 0]) @ inherited
        elif children:
            world[:, joint] = _best_rotation(rest[children], bones)
        else:
            world[:, joint] = inherited
    return world


def _shortest_rotation(start: Array, end: Array) -> Array:
    """Return the smallest rotation that takes the direction of `start` to that of `end`."""
    a = _unit(start, np.array([1.0, 0, 0]))
    b = _unit(end, a)  # a bone without length is not rotated
    aside = np.eye(3)[np.abs(a).argmin(axis=-1)]
    bisector = _unit(a + b, _unit(np.cross(a, aside), a))  # opposite directions: any axis across will do
    # Half a turn about a and then about the bisector is the rotation, without dividing by a sine.
    return _half_turn(bisector) @ _half_turn(a)


def _unit(vectors: Array, instead: Array) -> Array:
    """Return each vector with length 1, or `instead` where it has none."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(lengths > 1e-6, vectors / np.maximum(lengths, 1e-6), instead)


def _half_turn(axis: Array) -> Array:
    matrices: Array = 2 * axis[..., :, None] * axis[..., None, :] - np.eye(3)
    return matrices


def _best_rotation(rest: Array, bones: Array) -> Array:
    """Return the rotation that brings several rest bones closest to where they are (Kabsch)."""
    u, _, v = np.linalg.svd(np.einsum("fki,kj->fij", bones, rest))
    u[..., -1] *= np.sign(np.linalg.det(u @ v))[:, None]  # a mirror image is no rotation
    best: Array = u @ v
    return best


def _channel_values(places: Array, parents: tuple[int, ...], world: Array) -> Array:
    """Return channel values [frames, 6 per joint] in the order of the hierarchy."""
    columns = []
    for joint in _depth_first(parents, parents.index(-1)):
        above = world[:, parents[joint]].swapaxes(-1, -2) if parents[joint] >= 0 else np.eye(3)[None]
        moved = places[:, joint] - (places[:, parents[joint]] if parents[joint] >= 0 else 0)
        columns += [rotate(above, moved), np.degrees(zyx_angles(above @ world[:, joint]))]
    return np.concatenate(columns, axis=1)


def _depth_first(parents: tuple[int, ...], joint: int) -> list[int]:
    children = [child for child, above in enumerate(parents) if above == joint]
    return [joint] + [place for child in children for place in _depth_first(parents, child)]


def _hierarchy(skeleton: Skeleton, rest: Array, joint: int, depth: int) -> list[str]:
    """Return the lines of one joint and all below it."""
    children = [child for child, above in enumerate(skeleton.parents) if above == joint]
    indent = "  " * depth
    inner = [
        f"{indent}  OFFSET {' '.join(f'{value:.5f}' for value in rest[joint])}",
        f"{indent}  {_CHANNELS}",
    ]
    for child in children:
        inner += _hierarchy(skeleton, rest, child, depth + 1)
    if not children:
        inner += [f"{indent}  End Site", f"{indent}  {{", f"{indent}    OFFSET 0 0 0", f"{indent}  }}"]
    name = "_".join(skeleton.joints[joint].replace("{", "(").replace("}", ")").split()) or f"joint{joint}"
    return [f"{indent}{'JOINT' if depth else 'ROOT'} {name}", f"{indent}{{", *inner, f"{indent}}}"]
