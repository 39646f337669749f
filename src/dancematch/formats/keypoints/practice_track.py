"""The track of a learner who practises a dance in front of a camera (`*.track.json`).

A web application records, frame by frame, 33 landmarks of the learner (`user3dPoses`) and of
the video that the learner follows (`ref3dPoses`), in metres around the hips, with the time of
day (`actualTimesInMs`) and the time in the video (`videoFrameTimesInSecs`). The learner is the
dancer of this recording and is read, by the time of day; the video's dancer is read, by the
video's clock, only where the file shows no learner. The learner's y points down, the
video's up: the head says which.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats.clock import choose_clock, count_from_first_frame
from dancematch.formats.files import read_json
from dancematch.formats.keypoints.landmarks import COUNT, Landmarks, allocate_points, to_motions
from dancematch.formats.keypoints.planar import find_sides
from dancematch.skeletons import BLAZEPOSE33
from dancematch.types import Motion

Array = NDArray[np.float64]

_DANCERS = (("user3dPoses", "actualTimesInMs"), ("ref3dPoses", "videoFrameTimesInSecs"))
_HIPS, _SHOULDERS = (find_sides(BLAZEPOSE33, part) for part in ("hip", "shoulder"))


def recognises(content: Any) -> bool:
    """Whether a JSON content has a learner's or a video's poses with their times."""
    return isinstance(content, dict) and any({poses, times} <= content.keys() for poses, times in _DANCERS)


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return the learner, or the video's dancer where the learner is never seen."""
    content = read_json(path)
    for poses, clock in _DANCERS:
        points = _read_points(content.get(poses) or [], poses)
        if np.isfinite(points).any():
            return _make_motions(points, content.get(clock), clock, fps)
    raise InputError("neither the learner nor the dancer of the video is seen in any frame")


def _make_motions(points: Array, stamps: Any, name: str, fps: float | None) -> list[Motion]:
    if not isinstance(stamps, list) or len(stamps) != len(points):
        raise InputError(f"{len(points)} poses need as many {name!r}")
    # The video stands still until it plays, and again where the application could not follow.
    rises = np.concatenate([np.diff(np.array(stamps, dtype=np.float64)) > 0, [True]])
    playing = np.flatnonzero(rises) if name == _DANCERS[1][1] else np.arange(len(points))
    times = count_from_first_frame([stamps[place] for place in playing], name)
    upright = points[playing] if _is_y_down(points) else points[playing] * (1, -1, -1, 1)
    return to_motions(Landmarks(upright[:, None], world=True), choose_clock(times, None, fps))


def _is_y_down(points: Array) -> bool:
    """Whether shoulders have smaller y than hips in most frames."""
    rise = points[:, _SHOULDERS, 1].mean(axis=1) - points[:, _HIPS, 1].mean(axis=1)
    known = rise[np.isfinite(rise)]
    return not len(known) or float(np.median(known)) < 0


def _read_points(poses: Any, name: str) -> Array:
    """Return [frames, 33, 4] of x, y, z and visibility."""
    if not isinstance(poses, list):
        raise InputError(f"{name!r} must be a list of poses")
    points = allocate_points(len(poses), 1)[:, 0]
    for number, pose in enumerate(poses):
        if not pose:
            continue
        if not isinstance(pose, list) or len(pose) != COUNT or not all(isinstance(m, dict) for m in pose):
            raise InputError(f"a pose of {name!r} has {COUNT} landmarks with x, y and z")
        marks = [[m.get("x"), m.get("y"), m.get("z"), m.get("vis", m.get("visibility", 1))] for m in pose]
        points[number] = np.array(marks, dtype=np.float64)  # null is NaN
    return points
