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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import FormatError, InputError
from dancematch.formats.files import agree_on_rate, as_coordinates, as_rate, read_bytes
from dancematch.formats.joint_names import has_upper_body
from dancematch.formats.motion_capture.bvh_names import known_layout, recognise_skeleton
from dancematch.formats.motion_capture.kinematics import Z_UP_TO_Y_UP, euler_matrices, forward_kinematics
from dancematch.types import Motion, Skeleton

Array = NDArray[np.float64]

_UNITS = (1.0, 0.0254 / 0.45, 0.0254, 0.01, 0.001)  # metres each; 0.0564 is what CMU's files use
_SHORTEST, _TALLEST = 1.1, 2.3
_HEIGHT = 1.7
# Shares of the height. Arms are measured only where a leg is missing.
_TORSO = 0.29  # mid-hip to mid-shoulder
_LEG_BONES = (("hip", "knee", 0.245), ("knee", "ankle", 0.245))
_ARM_BONES = (("shoulder", "elbow", 0.165), ("elbow", "wrist", 0.145))
_CHANNELS = {f"{axis}{kind}" for axis in "XYZ" for kind in ("position", "rotation", "scale")}
_MAX_JOINTS = 5000
_MOTION = re.compile(r"^[ \t]*MOTION[ \t]*$", re.MULTILINE)
_FRAMES = re.compile(r"\s*Frames:\s*(\d{1,12})\s+Frame Time:\s*(\S+)", re.IGNORECASE)


@dataclass
class _BvhJoint:
    name: str
    parent: int
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)
    channels: list[str] = field(default_factory=list)
    first: int = 0  # column of its first channel


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return every dancer of the file."""
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    header, *motion = _MOTION.split(text.replace("\r\n", "\n").replace("\r", "\n"), maxsplit=1)
    if "HIERARCHY" not in header or not motion:
        raise FormatError(f"{path} is not a BVH file: it lacks a HIERARCHY or a MOTION section")
    joints = _parse_hierarchy(header)
    rate, values = _parse_motion(motion[0], sum(len(joint.channels) for joint in joints))
    rate = agree_on_rate(rate, fps)
    roots = [place for place, joint in enumerate(joints) if joint.parent < 0]
    return [
        _make_motion(joints[first:last], first, values, rate)
        for first, last in zip(roots, [*roots[1:], len(joints)], strict=True)
    ]


def _parse_hierarchy(header: str) -> list[_BvhJoint]:
    """Return the joints in file order. By lines, not words: 3ds Max puts spaces into names."""
    joints: list[_BvhJoint] = []
    open_blocks: list[int | None] = []  # the joint of each open brace; None for an end site
    upcoming: int | None = None
    columns = 0
    for line in header.replace("{", "\n{\n").replace("}", "\n}\n").splitlines():
        word, _, rest = line.strip().replace("\t", " ").partition(" ")
        match word.upper():
            case "ROOT" | "JOINT":
                parent = next((b for b in reversed(open_blocks) if b is not None), -1)
                upcoming = len(joints)
                joints.append(_BvhJoint(rest.strip() or f"joint{upcoming}", parent))
            case "END":
                upcoming = None
            case "{":
                open_blocks.append(upcoming)
            case "}" if open_blocks:
                open_blocks.pop()
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
    if open_blocks or not 0 < len(joints) <= _MAX_JOINTS:
        raise InputError(
            f"the BVH hierarchy is damaged: {len(joints)} joints, {len(open_blocks)} open braces"
        )
    return joints


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


def _parse_motion(text: str, width: int) -> tuple[float, Array]:
    """Return frame rate and channel values [frames, channels]."""
    announced = _FRAMES.match(text)
    if announced is None or int(announced[1]) == 0:
        raise InputError("after MOTION, 'Frames:' of 1 or more and 'Frame Time:' were expected")
    frames, period = int(announced[1]), announced[2]
    values = _parse_numbers(text[announced.end() :])
    needed = frames * width
    if needed == 0 or len(values) < needed:
        raise InputError(
            f"{frames} frames of {width} numbers were announced, but {len(values)} numbers follow"
        )
    return _parse_rate(period), values[:needed].reshape(frames, width)


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
    offsets = np.stack([_local_positions(joint, values) for joint in joints], axis=1)
    rotations = np.stack([_local_rotations(joint, values) for joint in joints], axis=1)
    joints_over_time = forward_kinematics(parents, offsets, rotations)
    scale = _metres_per_unit(joints_over_time, skeleton)
    places = _turn_upright(as_coordinates(joints_over_time, scale), skeleton)
    skipped = int(_starts_with_calibration(places, skeleton, rotations))
    layout = known_layout(skeleton)
    order = [skeleton.joints.index(name) for name in layout.joints]
    return Motion(places[skipped:, order].astype(np.float32), rate, layout, start=skipped / rate)


def _local_positions(joint: _BvhJoint, values: Array) -> Array:
    """Return the joint's positions in its parent's frame [frames, 3]."""
    places = np.tile(np.array(joint.offset), (len(values), 1))
    columns = {
        "XYZ".index(name[0]): values[:, joint.first + column]
        for column, name in enumerate(joint.channels)
        if name.endswith("position")
    }
    if joint.parent < 0 or any(moved.any() for moved in columns.values()):
        for axis, moved in columns.items():
            places[:, axis] = moved
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


def _turn_upright(places: Array, skeleton: Skeleton) -> Array:
    """Return a body that stands along z turned so that it stands along y."""
    ankles = _find_pair(skeleton, "ankle")
    low = places[:, ankles].mean(axis=(0, 1)) if ankles else _find_middle(places, skeleton).mean(axis=0)
    body = places[:, _find_pair(skeleton, "shoulder")].mean(axis=(0, 1)) - low
    along = body / max(float(np.linalg.norm(body)), 1e-9)
    return places @ Z_UP_TO_Y_UP.T if along[2] > 0.9 and abs(along[1]) < 0.3 else places


def _starts_with_calibration(places: Array, skeleton: Skeleton, rotations: Array) -> bool:
    """Whether frame 0 is a calibration pose and not of the dance."""
    if len(places) < 4:
        return False
    body = places - places[:, :1]
    steps = np.linalg.norm(np.diff(body, axis=0), axis=-1).max(axis=1)
    if steps[0] < 5 * np.median(steps[1:]) + 0.02:
        return False
    unrotated = np.allclose(rotations[0], np.eye(3), atol=1e-4)
    return bool(unrotated or _arms_out(places[0], skeleton))


def _arms_out(pose: Array, skeleton: Skeleton) -> bool:
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
