"""Skeletons as a release holds them: fifteen joints, 30 frames per second, smooth, facing the viewer."""

import numpy as np

from dancematch.motion import clean, heading, to_body15
from dancematch.skeletons import BODY15
from dancematch.types import Motion

_ANKLES = [BODY15.index("left_ankle"), BODY15.index("right_ankle")]


def align_skeleton(motion: Motion) -> Motion:
    """The motion moved so that it starts at the origin, faces +z on average and stands on y = 0.

    One rigid transform per clip: turns and travel stay as they were danced. The joints of
    the face are left out; ears and neck alone make up `head`.
    """
    body = clean(to_body15(motion))
    joints = body.joints.astype(np.float64)
    sideways = heading(body.joints).mean(axis=0)  # (x, z) of the dancer's left
    length = float(np.linalg.norm(sideways))
    if length > 1e-6:
        x, z = sideways / length
        joints = joints @ np.array([[x, 0, z], [0, 1, 0], [-z, 0, x]]).T
    start = joints[:, 0][np.isfinite(joints[:, 0]).all(axis=1)][:1]
    ankles = joints[:, _ANKLES, 1]
    seen = ankles[np.isfinite(ankles)]
    origin = np.array(
        [*(start[0, [0, 2]] if len(start) else (0, 0)), np.percentile(seen, 1) if len(seen) else 0]
    )
    joints -= origin[[0, 2, 1]]
    return Motion(joints.astype(np.float32), body.fps, BODY15, body.visibility, start=body.start)
