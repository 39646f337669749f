"""Whether skeletons are a body that moves: what is none, or stands like a photograph, is no dance.

Both limits are far from any recording. Among 103 motion captures, some of somebody who only stands, and
250 dances of AIST++, the stillest one moves a joint by 29 mm, the stillest second of any by 8 mm, and the
smallest body is 0.8 of ours; a file read in the wrong unit may make it a hundred times smaller. A photograph
that is filmed is another matter: on it, a pose estimator's joints tremble as far as somebody who stands.
"""

import numpy as np

from dancematch.motion import BONE_LENGTHS, to_body15
from dancematch.skeletons import BODY15
from dancematch.types import FloatArray, Motion

STILL_METRES = 0.001  # that every joint stays within, on a body of our size
COLLAPSED, GIANT = 0.001, 1000  # times the length that bones have on a body of our size


def absence(motion: Motion) -> str | None:
    """What is wrong with a body that cannot dance, and what was expected; None if nothing is.

    Only what is seen is judged, in all of its frames: a single joint that moves is enough.
    """
    joints = to_body15(motion).joints
    seen = np.isfinite(joints).all(axis=2).any(axis=0)
    if not seen.any():
        return None  # nobody at all, which others say
    bones = np.linalg.norm(joints - joints[:, list(BODY15.parents)], axis=2)[:, 1:]
    size = _size(bones)
    if size is not None and size < COLLAPSED:
        return "all joints lie on one point; a body whose bones have a length was expected"
    if size is not None and (usual := np.nanmedian(bones) / np.median(BONE_LENGTHS[1:])) > GIANT:
        return f"the body is some {usual:,.0f} times as large as anybody's; joints in metres were expected"
    if _reach(joints[:, seen]) < STILL_METRES * (size or 1.0):
        limit = f"{1000 * STILL_METRES:.0f} mm"
        return f"no joint moves by {limit} in {motion.seconds:.1f} s; somebody who moves was expected"
    return None


def _size(bones: FloatArray) -> float | None:
    """How large the body is beside ours, by the longest that each bone ever is; None if no bone is seen."""
    longest = np.nan_to_num(bones, nan=-1.0).max(axis=0)
    seen = longest >= 0
    return float(longest[seen].sum() / BONE_LENGTHS[1:][seen].sum()) if seen.any() else None


def _reach(joints: FloatArray) -> float:
    """The way between the farthest places of the joint that moves most, along one axis."""
    return float((np.nanmax(joints, axis=0) - np.nanmin(joints, axis=0)).max())
