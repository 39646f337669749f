"""BVH motion capture: any hierarchy whose joint names can be recognised.

Three things a BVH file does not say are inferred. Unit: the one of metres, CMU's 5.6 cm,
inches, centimetres and millimetres that makes the body between 1.1 and 2.3 m tall, otherwise the
scale that makes it 1.7 m. Up: y, unless the body stands along z in the mean. A first frame
that is a calibration pose (arms out or nothing rotated, and a leap away from the second frame)
is dropped, and the motion starts one frame later. A body that lacks legs is measured by what it has.

Position channels replace a joint's offset, as in every common reader; where a joint below the
root has them all zero they are taken as unused. Several ROOTs are several dancers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import FormatError, InputError
from dancematch.formats import limits
from dancematch.formats.files import (
    agree_on_rate,
    as_coordinates,
    as_rate,
    freeze,
    iterate_pieces,
    read_bytes,
)
from dancematch.formats.joint_names import has_upper_body
from dancematch.formats.motion_capture.bvh_names import known_layout, recognise_skeleton
from dancematch.formats.motion_capture.kinematics import Z_UP_TO_Y_UP, euler_matrices, forward_kinematics
from dancematch.types import FloatArray, Motion, Skeleton

Array = NDArray[np.float64]

_UNITS = (1.0, 0.0254 / 0.45, 0.0254, 0.01, 0.001)  # metres each; 0.0564 is what CMU's files use
_SHORTEST, _TALLEST = 1.1, 2.3
_HEIGHT = 1.7
# Shares of the height. Arms are measured only where a leg is missing.
_TORSO = 0.29  # mid-hip to mid-shoulder
_LEG_BONES = (("hip", "knee", 0.245), ("knee", "ankle", 0.245))
_ARM_BONES = (("shoulder", "elbow", 0.165), ("elbow", "wrist", 0.145))
_CHANNELS = {f"{axis}{kind}" for axis in "XYZ" for kind in ("position", "rotation", "scale")}
_MOTION = re.compile(rb"(?:\A|[\r\n])[ \t]*MOTION[ \t]*(?=[\r\n]|\Z)")
_FRAMES = re.compile(rb"\s*Frames:\s*(\d{1,12})\s+Frame Time:\s*(\S{1,100})", re.IGNORECASE)
_BLANK = re.compile(rb"\s")
_PIECE_BYTES = 1 << 20  # of the numbers, parsed at a time
_MAX_DIGITS = 100  # of one number


@dataclass
class _BvhJoint:
    name: str
    parent: int
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)
    channels: list[str] = field(default_factory=list)
    first: int = 0  # column of its first channel
    is_fixed: bool = False  # its position channels are not used


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return every dancer of the file."""
    joints, rate, values = _parse(path, read_bytes(path))
    rate = agree_on_rate(rate, fps)
    roots = [place for place, joint in enumerate(joints) if joint.parent < 0]
    return [
        _make_motion(joints[first:last], first, values, rate)
        for first, last in zip(roots, [*roots[1:], len(joints)], strict=True)
    ]


def _parse(path: Path, content: bytes) -> tuple[list[_BvhJoint], float, Array]:
    """Return joints, frame rate and channel values [frames, channels]."""
    motion = _MOTION.search(content)
    if motion is None or content.find(b"HIERARCHY", 0, motion.start()) < 0:
        raise FormatError(f"{path} is not a BVH file: it lacks a HIERARCHY or a MOTION section")
    if motion.start() > limits.MAX_HIERARCHY_BYTES:
        raise FormatError(f"{path} has a HIERARCHY of more than {limits.MAX_HIERARCHY_BYTES} bytes")
    header = content[: motion.start()].decode("utf-8-sig", errors="replace")
    joints = _parse_hierarchy(header.replace("\r\n", "\n").replace("\r", "\n"))
    limits.require_names([joint.name for joint in joints])
    rate, values = _parse_motion(content, motion.end(), joints)
    return joints, rate, values


def _parse_hierarchy(header: str) -> list[_BvhJoint]:
    """Return the joints in file order. By lines, not words: 3ds Max puts spaces into names."""
    joints: list[_BvhJoint] = []
    open_blocks: list[int | None] = []  # the joint of each open brace; None for an end site
    open_joints = [-1]  # those of them that are joints
    upcoming: int | None = None
    columns = 0
    for line in header.replace("{", "\n{\n").replace("}", "\n}\n").splitlines():
        word, _, rest = line.strip().replace("\t", " ").partition(" ")
        match word.upper():
            case "ROOT" | "JOINT":
                upcoming = len(joints)
                joints.append(_BvhJoint(rest.strip() or f"joint{upcoming}", open_joints[-1]))
                limits.require_joints(len(joints))
            case "END":
                upcoming = None
            case "{":
                _open_block(open_blocks, open_joints, upcoming)
            case "}" if open_blocks:
                if open_blocks.pop() is not None:
                    open_joints.pop()
            case "OFFSET" if open_blocks and open_blocks[-1] is not None:
                joints[open_blocks[-1]].offset = _parse_offset(rest)
            case "CHANNELS" if open_blocks and open_blocks[-1] is not None:
                joint = joints[open_blocks[-1]]
                joint.channels, joint.first = _parse_channels(rest), columns
                columns += len(joint.channels)
            case "" | "HIERARCHY" | "OFFSET":
                pass
            case _:
                raise InputError(f"the BVH hierarchy has an unexpected line {line.strip()[:40]!r}")
    if open_blocks or not joints:
        raise InputError(
            f"the BVH hierarchy is damaged: {len(joints)} joints, {len(open_blocks)} open braces"
        )
    return joints


def _open_block(open_blocks: list[int | None], open_joints: list[int], joint: int | None) -> None:
    open_blocks.append(joint)
    if joint is not None:
        open_joints.append(joint)
    if len(open_blocks) > limits.MAX_NESTING:
        raise InputError(f"braces are nested more than {limits.MAX_NESTING} deep")


def _parse_offset(text: str) -> tuple[float, ...]:
    values = _parse_numbers(text)
    if len(values) != 3:
        raise InputError(f"a BVH offset has three numbers, got {text.strip()[:40]!r}")
    return tuple(as_coordinates(values))


def _parse_channels(text: str) -> list[str]:
    count, *names = text.split() or [""]
    known = {name.lower(): name for name in _CHANNELS}
    if count != str(len(names)) or not all(name.lower() in known for name in names):
        raise InputError(f"the BVH channels {text.strip()[:60]!r} cannot be understood")
    return [known[name.lower()] for name in names]


def _parse_numbers(text: str) -> Array:
    try:
        values = np.array(text.split(), dtype=np.float64)
    except ValueError:
        raise InputError("a number was expected where the BVH file has something else") from None
    if not np.isfinite(values).all():
        raise InputError("the BVH file holds numbers that are not finite")
    return values


def _parse_motion(content: bytes, start: int, joints: list[_BvhJoint]) -> tuple[float, Array]:
    """Return frame rate and channel values [frames, channels]; `content` goes on with them at `start`."""
    announced = _FRAMES.match(content, start)
    if announced is None or int(announced[1]) == 0:
        raise InputError("after MOTION, 'Frames:' of 1 or more and 'Frame Time:' were expected")
    frames, width = int(announced[1]), sum(len(joint.channels) for joint in joints)
    needed, period = frames * width, announced[2].decode(errors="replace")
    possible = (len(content) - announced.end()) // 2  # a digit and a blank each
    if needed == 0 or needed > possible + 1:
        raise InputError(f"{frames} frames of {width} numbers were announced, but at most {possible} follow")
    limits.require_frames(frames)
    limits.require_positions(frames * len(joints))
    if needed > limits.MAX_CHANNEL_VALUES:
        raise InputError(f"there are {needed} numbers; more than {limits.MAX_CHANNEL_VALUES} are not read")
    values = np.empty(needed)
    count = 0
    for numbers in _iterate_numbers(content, announced.end()):
        values[count : count + len(numbers)] = numbers[: max(0, needed - count)]
        count += len(numbers)
    if count < needed:
        raise InputError(f"{frames} frames of {width} numbers were announced, but {count} numbers follow")
    return _parse_rate(period), values.reshape(frames, width)


def _iterate_numbers(content: bytes, start: int) -> Iterator[Array]:
    """Yield the numbers piece by piece: as Python's texts, all at once, they take eight times the file."""
    while start < len(content):
        end = start + _PIECE_BYTES
        if end < len(content):
            blank = _BLANK.search(content, end, end + _MAX_DIGITS)
            if blank is None:
                raise InputError("a number was expected where the BVH file has something else")
            end = blank.start()
        yield _parse_numbers(content[start:end].decode("utf-8-sig", errors="replace"))
        start = end


def _parse_rate(period: str) -> float:
    """Return frames per second; a whole number where rounding of the period explains the difference."""
    seconds = _parse_numbers(period)
    if len(seconds) != 1 or seconds[0] <= 0:
        raise InputError(f"the frame time must be one number of seconds above 0, got {period[:40]!r}")
    rate = as_rate(1 / seconds[0])
    precision = 10.0 ** -max(4, len(period.partition(".")[2]))
    whole = round(rate)
    return float(whole) if whole and abs(1 / whole - seconds[0]) <= precision else rate


def _make_motion(joints: list[_BvhJoint], base: int, values: Array, rate: float) -> Motion:
    """Return one dancer: the joints of one root, the first of which is number `base` in the file."""
    parents = [max(joint.parent - base, -1) for joint in joints]
    skeleton = recognise_skeleton([joint.name for joint in joints], parents)
    _require_upper_body(skeleton)
    rig = _Rig(parents, [_with_used_channels(joint, values) for joint in joints])
    some = values[:: max(1, len(values) // 200)]
    scale = _metres_per_unit(forward_kinematics(parents, *rig.pose(some)), skeleton)
    layout = known_layout(skeleton)
    order = [skeleton.joints.index(name) for name in layout.joints]
    places = np.empty((len(values), len(order), 3), dtype=np.float32)
    for piece in iterate_pieces(len(values), len(joints)):
        places[piece] = as_coordinates(forward_kinematics(parents, *rig.pose(values[piece])), scale)[:, order]
    if _stands_along_z(places, layout):
        for piece in iterate_pieces(len(values), len(joints)):
            places[piece] = places[piece] @ Z_UP_TO_Y_UP.T.astype(np.float32)
    skipped = int(_starts_with_calibration(places, layout, rig.pose(values[:1])[1]))
    return Motion(freeze(places)[skipped:], rate, layout, start=skipped / rate)


@dataclass(frozen=True)
class _Rig:
    """The joints of one dancer, posed by channel values."""

    parents: list[int]
    joints: list[_BvhJoint]

    def pose(self, values: Array) -> tuple[Array, Array]:
        """Return positions [frames, joints, 3] and rotations [..., 3, 3] in the parents' frames."""
        offsets = np.stack([_local_positions(joint, values) for joint in self.joints], axis=1)
        rotations = np.stack([_local_rotations(joint, values) for joint in self.joints], axis=1)
        return offsets, rotations


def _with_used_channels(joint: _BvhJoint, values: Array) -> _BvhJoint:
    """Return the joint without its position channels where they are all zero below the root."""
    moves = [joint.first + c for c, name in enumerate(joint.channels) if name.endswith("position")]
    used = joint.parent < 0 or any(values[:, column].any() for column in moves)
    return joint if used else replace(joint, is_fixed=True)


def _local_positions(joint: _BvhJoint, values: Array) -> Array:
    """Return the joint's positions in its parent's frame [frames, 3]."""
    places = np.tile(np.array(joint.offset), (len(values), 1))
    for column, name in enumerate(joint.channels):
        if name.endswith("position") and not joint.is_fixed:
            places[:, "XYZ".index(name[0])] = values[:, joint.first + column]
    return as_coordinates(places)


def _local_rotations(joint: _BvhJoint, values: Array) -> Array:
    columns = [c for c, name in enumerate(joint.channels) if name.endswith("rotation")]
    axes = "".join(joint.channels[column][0] for column in columns)
    angles = np.radians(values[:, [joint.first + column for column in columns]])
    return euler_matrices(angles, axes)


def _find_pair(skeleton: Skeleton, part: str) -> list[int]:
    """Return the places of both sides of a body part; none where the file lacks one."""
    names = (f"left_{part}", f"right_{part}")
    return [skeleton.joints.index(name) for name in names] if set(names) <= set(skeleton.joints) else []


def _find_middle(places: Array, skeleton: Skeleton) -> Array:
    """Return the mid-hip [frames, 3], or the pelvis where the file has no hips."""
    pair = _find_pair(skeleton, "hip") or [skeleton.joints.index("pelvis")]
    middle: Array = places[:, pair].mean(axis=1)
    return middle


def _require_upper_body(skeleton: Skeleton) -> None:
    found = set(skeleton.joints)
    parts = {
        "shoulders": has_upper_body(found | {"left_elbow"}),
        "elbow": has_upper_body(found | {"left_shoulder", "right_shoulder"}),
        "hips": bool(_find_pair(skeleton, "hip")) or "pelvis" in found,
    }
    missing = next((part for part, there in parts.items() if not there), None)
    if missing is not None:
        raise InputError(f"no joint of the BVH file was recognised as the {missing}: {skeleton.joints[:30]}")


def _median_length(bones: Array) -> float:
    return float(np.median(np.linalg.norm(bones, axis=-1)))


def _metres_per_unit(places: Array, skeleton: Skeleton) -> float:
    """Return the unit that makes the body as tall as people are."""
    some = places[:: max(1, len(places) // 200)]
    legs = [bone for bone in _LEG_BONES if _find_pair(skeleton, bone[0]) and _find_pair(skeleton, bone[1])]
    arms = [bone for bone in _ARM_BONES if _find_pair(skeleton, bone[0]) and _find_pair(skeleton, bone[1])]
    torso = some[:, _find_pair(skeleton, "shoulder")].mean(axis=1) - _find_middle(some, skeleton)
    shares, lengths = [_TORSO], [_median_length(torso)]
    for start, end, share in legs if len(legs) == len(_LEG_BONES) else legs + arms:
        shares.append(share)
        upper, lower = (some[:, _find_pair(skeleton, part)] for part in (start, end))
        lengths.append(_median_length(upper - lower))
    height = sum(lengths) / sum(shares)
    if height < 1e-6:
        raise InputError("all joints of the BVH file lie in one place")
    fitting = [unit for unit in _UNITS if _SHORTEST < height * unit < _TALLEST]
    return fitting[0] if fitting else _HEIGHT / height


def _stands_along_z(places: FloatArray, skeleton: Skeleton) -> bool:
    """Whether the body stands along z and not, as ours, along y."""
    low = _find_pair(skeleton, "ankle") or _find_pair(skeleton, "hip") or [skeleton.joints.index("pelvis")]
    high = _find_pair(skeleton, "shoulder")
    body = np.subtract(*(places[:, pair].mean(axis=(0, 1), dtype=np.float64) for pair in (high, low)))
    along = body / max(float(np.linalg.norm(body)), 1e-9)
    return bool(along[2] > 0.9 and abs(along[1]) < 0.3)


def _starts_with_calibration(places: FloatArray, skeleton: Skeleton, rotations: Array) -> bool:
    """Whether frame 0, of which the rotations are given, is a calibration pose and not of the dance."""
    if len(places) < 4:
        return False
    steps = np.concatenate([_steps(places[p.start : p.stop + 1]) for p in iterate_pieces(*places.shape[:2])])
    if steps[0] < 5 * np.median(steps[1:]) + 0.02:
        return False
    unrotated = np.allclose(rotations[0], np.eye(3), atol=1e-4)
    return bool(unrotated or _arms_out(places[0], skeleton))


def _steps(places: FloatArray) -> Array:
    """Return how far the joint that moves farthest moves against the root, from each frame to the next."""
    body = places.astype(np.float64) - places[:, :1]
    steps: Array = np.linalg.norm(np.diff(body, axis=0), axis=-1).max(axis=1)
    return steps


def _arms_out(pose: FloatArray, skeleton: Skeleton) -> bool:
    """Whether both arms are straight, level and opposite."""
    names = [f"{side}_{part}" for side in ("left", "right") for part in ("shoulder", "elbow", "wrist")]
    if not set(names) <= set(skeleton.joints):
        return False
    points = pose[[skeleton.joints.index(name) for name in names]].reshape(2, 3, 3)
    bones = np.diff(points, axis=1)
    bones /= np.maximum(np.linalg.norm(bones, axis=-1, keepdims=True), 1e-9)
    left, right = bones
    straight = min(left[0] @ left[1], right[0] @ right[1]) > 0.85
    level = np.abs(bones[..., 1]).max() < 0.5
    return bool(straight and level and left[0] @ right[0] < -0.8)
