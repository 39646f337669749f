"""Body parts: which joints of the canonical skeleton speak with a word of their own.

Parts recombine, so a new dance is a new sentence in known words; one codebook for the
whole body would have to know every combination.
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

WHOLE: Parts = {"body": _TORSO + _LEFT_ARM + _RIGHT_ARM + _LEFT_LEG + _RIGHT_LEG}

LAYOUTS: Mapping[str, Parts] = {"parts7": PARTS7, "whole": WHOLE}


def joint_places(joints: tuple[str, ...]) -> list[int]:
    """Where these joints stand in the canonical skeleton."""
    return [CANONICAL.index(joint) for joint in joints]
