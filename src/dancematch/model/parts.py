"""Body parts: which joints of the canonical skeleton have a word of their own.

Parts recombine, so that a new dance consists of known words; one codebook for the whole
body would need every combination.
"""

from collections.abc import Mapping

from dancematch.motion import CANONICAL

Parts = Mapping[str, tuple[str, ...]]

_LEFT_ARM = ("left_elbow", "left_wrist")
_RIGHT_ARM = ("right_elbow", "right_wrist")
_LEFT_LEG = ("left_knee", "left_ankle")
_RIGHT_LEG = ("right_knee", "right_ankle")
_TORSO = ("neck", "head", "left_shoulder", "right_shoulder", "left_hip", "right_hip")

PARTS7: Parts = {
    "left_arm": _LEFT_ARM,
    "right_arm": _RIGHT_ARM,
    "left_leg": _LEFT_LEG,
    "right_leg": _RIGHT_LEG,
    "torso": _TORSO,
    "arms": _LEFT_ARM + _RIGHT_ARM,
    "legs": _LEFT_LEG + _RIGHT_LEG,
}

# Combined limbs have words too: which arm goes with which leg distinguishes dances that share each alone.
PARTS14: Parts = {
    **PARTS7,
    "left_side": _LEFT_ARM + _LEFT_LEG,
    "right_side": _RIGHT_ARM + _RIGHT_LEG,
    "left_arm_right_leg": _LEFT_ARM + _RIGHT_LEG,
    "right_arm_left_leg": _RIGHT_ARM + _LEFT_LEG,
    "lower_body": _TORSO + _LEFT_LEG + _RIGHT_LEG,
    "feet": ("left_ankle", "right_ankle"),
    "body": _TORSO + _LEFT_ARM + _RIGHT_ARM + _LEFT_LEG + _RIGHT_LEG,
}

WHOLE: Parts = {"body": _TORSO + _LEFT_ARM + _RIGHT_ARM + _LEFT_LEG + _RIGHT_LEG}

LAYOUTS: Mapping[str, Parts] = {"parts7": PARTS7, "parts14": PARTS14, "whole": WHOLE}

# Where each limb hangs: a wrist relative to its shoulder says more about a dance than relative to the pelvis.
HANGS_FROM: Mapping[str, str] = {
    "head": "neck",
    **{f"{side}_{joint}": f"{side}_shoulder" for side in ("left", "right") for joint in ("elbow", "wrist")},
    **{f"{side}_{joint}": f"{side}_hip" for side in ("left", "right") for joint in ("knee", "ankle")},
}
LIMBS = (_LEFT_ARM, _RIGHT_ARM, _LEFT_LEG, _RIGHT_LEG)  # the rest is the trunk


def limb_of(joint: str) -> int:
    """Return the number of a joint's limb; all of the trunk is one more."""
    return next((number for number, limb in enumerate(LIMBS) if joint in limb), len(LIMBS))


def joint_places(joints: tuple[str, ...]) -> list[int]:
    """Return the indices of joints in the canonical skeleton."""
    return [CANONICAL.index(joint) for joint in joints]
