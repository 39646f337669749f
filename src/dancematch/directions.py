"""The directions of ten bones in the picture, step by step: what synchrony is measured on.

A pose estimator sees the picture plane well and depth badly, so a bone's direction is its (x, y) part in
the camera's own frame: the dancer is not turned to face forward in every frame. Known dances are mostly
filmed from the front: a dancer who is filmed from behind is turned round as a whole, and a query from a side
is compared as filmed and turned. The mean over a few seconds is posture and is subtracted; what remains is
movement and its timing.
"""

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import camera_angle, clean, face_camera, to_body15
from dancematch.skeletons import BODY15
from dancematch.types import BONE_SCALE, BONES_UNSEEN, BoneArray, FloatArray, Motion

_SIDES = [(f"{side}_{part}", f"{side}_{end}") for side in ("left", "right") for part, end in
          (("shoulder", "elbow"), ("elbow", "wrist"), ("hip", "knee"), ("knee", "ankle"))]  # fmt: skip
BONES = (("pelvis", "neck"), ("neck", "head"), *_SIDES)
MEAN_SECONDS = 4.0  # window of the mean that is subtracted
SIDE_DEGREES = 30.0  # from which a dancer is not filmed from the front
BEHIND_DEGREES = 120.0
BONE_SEEN_FROM = 0.5  # visibility of both ends from which a bone is seen

_MIRROR = [0, 1, *range(6, 10), *range(2, 6)]
_FROM, _TO = np.array([[BODY15.index(joint) for joint in bone] for bone in BONES]).T


def bone_directions(motion: Motion, frames: int) -> BoneArray:
    """Return the directions of `BONES` minus their moving mean, one row per step of `frames`: [steps, 20].

    In units of 1 / `BONE_SCALE`; both numbers of an unseen bone are `BONES_UNSEEN`. The motion is
    first brought to 30 frames per second, as for words.
    """
    body = clean(to_body15(motion))
    directions, seen = _average_steps(body, frames)
    moving = directions - _moving_mean(directions, seen, MEAN_SECONDS * body.fps / frames)
    scaled = np.clip(np.round(BONE_SCALE * moving), -127, 127)
    steps = len(scaled)
    return np.where(seen[:, :, None], scaled, BONES_UNSEEN).astype(np.int8).reshape(steps, 2 * len(BONES))


def fingerprint_bones(motion: Motion, frames: int) -> BoneArray:
    """Return `bone_directions`, of a dancer who is filmed from behind as if it were from the front.

    The picture is then seen from its other side, which needs no depth.
    """
    angle = camera_angle(motion)
    behind = angle is not None and angle > BEHIND_DEGREES
    return bone_directions(face_camera(motion) if behind else motion, frames)


def turned_bones(motion: Motion, frames: int) -> BoneArray | None:
    """Return the other of as filmed and as if from the front; None for a dancer filmed from the front."""
    angle = camera_angle(motion)
    if angle is None or angle < SIDE_DEGREES:
        return None
    return bone_directions(motion if angle > BEHIND_DEGREES else face_camera(motion), frames)


def mirror_bones(bones: BoneArray) -> BoneArray:
    """Return the directions of the mirrored dancer: sides swap, and x changes its sign."""
    pairs = bones.reshape(len(bones), len(BONES), 2)[:, _MIRROR]
    mirrored = np.where(pairs[:, :, :1] == BONES_UNSEEN, pairs, pairs * np.array([-1, 1], np.int8))
    return mirrored.reshape(bones.shape)


def _average_steps(body: Motion, frames: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the mean direction of each bone per step, and whether it is seen in half of the step."""
    bones = body.joints[:, _TO] - body.joints[:, _FROM]
    lengths = np.linalg.norm(bones, axis=2)
    visible = np.minimum(body.visibility[:, _FROM], body.visibility[:, _TO]) >= BONE_SEEN_FROM
    visible &= lengths > 1e-6  # not so for NaN either
    flat = np.where(visible[:, :, None], bones / np.where(visible, lengths, 1)[:, :, None], 0)[:, :, :2]
    steps = len(flat) // frames
    shown = visible[: steps * frames].reshape(steps, frames, len(BONES)).sum(axis=1)
    summed = flat[: steps * frames].reshape(steps, frames, len(BONES), 2).sum(axis=1)
    return summed / np.maximum(shown, 1)[:, :, None], 2 * shown >= frames


def _moving_mean(directions: FloatArray, seen: NDArray[np.bool_], window: float) -> FloatArray:
    """Return the mean over the steps around each one in which the bone is seen."""
    steps, half = len(directions), int(window / 2)
    counts = np.concatenate([np.zeros((1, len(BONES))), np.cumsum(seen, axis=0)])
    sums = np.concatenate([np.zeros((1, len(BONES), 2)), np.cumsum(directions * seen[:, :, None], axis=0)])
    first = np.maximum(np.arange(steps) - half, 0)
    end = np.minimum(np.arange(steps) + half + 1, steps)
    around = np.maximum(counts[end] - counts[first], 1)
    return np.asarray((sums[end] - sums[first]) / around[:, :, None], dtype=np.float32)
