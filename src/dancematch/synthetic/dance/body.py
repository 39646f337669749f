"""A dancer's body: from pose channels to the joints of `body15`, with bones of fixed length.

Arms and torso follow their directions; legs are solved from the feet, so that feet stay where
the steps put them and knees always bend forward.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.skeletons import BODY15

Array = NDArray[np.float64]

_ANKLE = 0.052  # height of an ankle above the floor, of the body's height
_STRETCH = 0.985  # a standing leg is never quite straight


@dataclass(frozen=True)
class Body:
    """Bone lengths, each as a share of `height` in metres."""

    height: float = 1.70
    leg: float = 0.49  # hip to ankle
    arm: float = 0.315  # shoulder to wrist
    torso: float = 0.285
    shoulders: float = 0.215
    hips: float = 0.115
    head: float = 0.118  # middle of the shoulders to middle of the ears

    @property
    def leg_metres(self) -> float:
        """Leg length in metres, the unit of every step."""
        return self.leg * self.height


@dataclass(frozen=True)
class PoseChannels:
    """Pose channels of every frame; angles in radians, legs in leg lengths."""

    arms: Array  # [frames, 2 sides, upper arm and forearm, 3]: out, up, forward in the chest's frame
    legs: Array  # [frames, pelvis and left and right foot, 3]: left, up, forward
    torso: dict[str, Array]  # by channel: [frames]
    heading: Array  # [frames]; 0 faces +z, a quarter turn to the left +x


def pose_joints(pose: PoseChannels, body: Body) -> Array:
    """The joints of `body15` in metres, [frames, 15, 3], floor at 0."""
    torso = pose.torso
    facing = _turn(pose.heading)
    hips = facing @ _turn(torso["hip_yaw"]) @ _roll(torso["hip_roll"])
    chest = facing @ _turn(torso["twist"]) @ _pitch(torso["lean"]) @ _roll(-torso["side"])
    feet = _place_feet(pose, body, facing)  # [frames, 2, 3]
    joints: dict[str, Array] = {"pelvis": _place_pelvis(pose, body, facing, feet)}
    joints["neck"] = joints["pelvis"] + _along(chest, (0, body.torso * body.height, 0))
    skull = chest @ _pitch(torso["nod"]) @ _roll(-torso["tilt"])
    joints["head"] = joints["neck"] + _along(skull, (0, body.head * body.height, 0.01 * body.height))
    girdle = chest @ _roll(torso["shrug"])
    for number, (side, sign) in enumerate((("left", 1), ("right", -1))):
        shoulder = joints["neck"] + _along(girdle, (sign * body.shoulders / 2 * body.height, 0, 0))
        hip = joints["pelvis"] + _along(hips, (sign * body.hips / 2 * body.height, 0, 0))
        directions = pose.arms[:, number] * (sign, 1, 1)
        joints |= {f"{side}_shoulder": shoulder, f"{side}_hip": hip}
        joints |= _place_arm(side, shoulder, np.einsum("fij,fkj->fki", chest, directions), body)
        joints |= _solve_leg(side, hip, feet[:, number], _along(hips, (0.22 * sign, 0, 1)), body)
    return np.stack([joints[name] for name in BODY15.joints], axis=1)


def _place_feet(pose: PoseChannels, body: Body, facing: Array) -> Array:
    feet: Array = np.einsum("fij,fkj->fki", facing, pose.legs[:, 1:]) * body.leg_metres
    feet[..., 1] = np.maximum(feet[..., 1], 0) + _ANKLE * body.height
    return feet


def _place_pelvis(pose: PoseChannels, body: Body, facing: Array, feet: Array) -> Array:
    """The pelvis where the step puts it, or as high as both legs still reach the feet."""
    shift = pose.legs[:, 0] + np.stack(
        [pose.torso["hip_x"], np.zeros(len(facing)), pose.torso["hip_z"]], axis=-1
    )
    pelvis: Array = np.einsum("fij,fj->fi", facing, shift) * body.leg_metres
    pelvis[:, 1] += _STRETCH * body.leg_metres + _ANKLE * body.height
    across = np.linalg.norm((feet - pelvis[:, None])[..., [0, 2]], axis=-1) - body.hips / 2 * body.height
    reach = np.sqrt(np.maximum((_STRETCH * body.leg_metres) ** 2 - np.maximum(across, 0) ** 2, 0.04))
    pelvis[:, 1] = np.minimum(pelvis[:, 1], (feet[..., 1] + reach).min(axis=1))
    return pelvis


def _place_arm(side: str, shoulder: Array, directions: Array, body: Body) -> dict[str, Array]:
    upper, fore = 0.54 * body.arm * body.height, 0.46 * body.arm * body.height
    elbow = shoulder + upper * unit_vectors(directions[:, 0])
    return {f"{side}_elbow": elbow, f"{side}_wrist": elbow + fore * unit_vectors(directions[:, 1])}


def _solve_leg(side: str, hip: Array, foot: Array, ahead: Array, body: Body) -> dict[str, Array]:
    """Two bones from the hip towards the foot, the knee bent `ahead`."""
    bone = body.leg_metres / 2
    span = foot - hip
    length = np.linalg.norm(span, axis=-1, keepdims=True)
    axis = span / length
    length = np.clip(length, 0.5 * bone, 1.998 * bone)
    bend = unit_vectors(ahead - (ahead * axis).sum(-1, keepdims=True) * axis)
    knee = hip + axis * length / 2 + bend * np.sqrt(bone**2 - (length / 2) ** 2)
    return {f"{side}_knee": knee, f"{side}_ankle": hip + axis * length}


def _along(frames: Array, vector: tuple[float, float, float]) -> Array:
    return np.asarray(frames @ np.asarray(vector, dtype=float))


def unit_vectors(vectors: Array) -> Array:
    """The vectors [..., 3] scaled to length 1; zero stays zero."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9))


def _turn(angle: Array) -> Array:
    """Rotations about the upright axis; positive to the dancer's left."""
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, o, s, o, i, o, -s, o, c], axis=-1).reshape(-1, 3, 3)


def _pitch(angle: Array) -> Array:
    """Rotations forward."""
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([i, o, o, o, c, -s, o, s, c], axis=-1).reshape(-1, 3, 3)


def _roll(angle: Array) -> Array:
    """Rotations that raise the left side."""
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, -s, o, s, c, o, o, o, i], axis=-1).reshape(-1, 3, 3)
