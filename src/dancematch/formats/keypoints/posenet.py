"""PoseNet keypoints as JSON, as TensorFlow.js and ml5.js give them: frames of poses of named keypoints.

A keypoint is `{"part": "leftHip", "position": {"x": ..., "y": ...}, "score": ...}`, or
`{"name": "left_hip", "x": ..., "y": ..., "score": ...}` in later versions; places are pixels: see
`planar`. Time stamps count from the start of the program, not of the clip, so the motion starts at 0.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats import limits
from dancematch.formats.clock import choose_clock, count_from_first_frame, find_stamps
from dancematch.formats.files import read_json
from dancematch.formats.joint_names import to_snake_case
from dancematch.formats.keypoints.planar import link_people, to_motions
from dancematch.skeletons import COCO17
from dancematch.types import Motion

Array = NDArray[np.float64]

_FRAMES = ("poseRecords", "frames", "records", "poses")
_PEOPLE = ("pose", "poses")
_CLOCKS = ("timestamp", "time", "t")
_PLACES = {joint: place for place, joint in enumerate(COCO17.joints)}


def recognises(content: Any) -> bool:
    """Whether a JSON content is a list of frames with named keypoints."""
    return any(_is_pose(person) for frame in _frames(content) for person in _people(frame))


def _frames(content: Any) -> list[Any]:
    if isinstance(content, dict):
        content = next((content[name] for name in _FRAMES if isinstance(content.get(name), list)), None)
    return content if isinstance(content, list) else []


def _people(frame: Any) -> list[Any]:
    """Return the poses of a frame, which may be one bare, a list, or either under a key."""
    if isinstance(frame, dict) and "keypoints" not in frame:
        frame = next((frame[name] for name in _PEOPLE if frame.get(name)), [])
    return frame if isinstance(frame, list) else [frame]


def _is_pose(person: Any) -> bool:
    points = person.get("keypoints") if isinstance(person, dict) else None
    first = points[0] if isinstance(points, list) and points else None
    return isinstance(first, dict) and ("part" in first or "name" in first)


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return all people of the frames, linked by nearness."""
    frames, times = _read_frames(path)
    clock = choose_clock(times, None, fps)
    return to_motions(link_people(frames, COCO17, clock.rate), COCO17, clock)


def _read_frames(path: Path) -> tuple[list[list[Array]], Array | None]:
    """Return the keypoints of the people of each frame, and the time stamps."""
    listed = _frames(read_json(path))
    limits.require_frames(len(listed))
    frames = []
    for frame in listed:
        people = [person for person in _people(frame) if _is_pose(person)]
        limits.require_people(len(people))
        frames.append([_read_points(person) for person in people])
    return frames, _read_times(listed)


def _read_times(listed: list[Any]) -> Array | None:
    """Return the seconds since the first frame where all carry a time stamp."""
    if (found := find_stamps(listed, _CLOCKS)) is None:
        return None
    name, stamps = found
    return count_from_first_frame(stamps, name)


def _read_points(person: dict[str, Any]) -> Array:
    """Return [17, 4] of x, y, 0 and score; NaN where a keypoint is not given or has no score."""
    points = np.full((len(COCO17.joints), 4), np.nan)
    for entry in person["keypoints"]:
        if not isinstance(entry, dict):
            raise InputError("a keypoint of PoseNet is an object with its name, its place and a score")
        joint = _PLACES.get(to_snake_case(str(entry.get("part", entry.get("name")))))
        place = entry.get("position", entry)
        if joint is not None and isinstance(place, dict):
            numbers = [place.get("x"), place.get("y"), 0, entry.get("score", 1)]
            points[joint] = np.array(numbers, dtype=np.float64)  # null is NaN
    points[~(points[:, 3] > 0) | np.isnan(points[:, :2]).any(axis=1)] = np.nan
    return points
