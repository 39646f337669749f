"""MediaPipe pose landmarks as JSON: a list of frames with 33 landmarks per person.

Exporters agree on little but the landmarks, so the common spellings are all accepted: under
any of the usual keys or bare, by name or as a list in MediaPipe's order, as objects or as
numbers. People are told apart by their position in the list: MediaPipe gives no ids.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats import limits
from dancematch.formats.clock import Clock, choose_clock, find_stamps, to_seconds
from dancematch.formats.files import as_coordinates, as_rate, read_json
from dancematch.formats.joint_names import find_joints, has_upper_body, to_snake_case
from dancematch.formats.keypoints.landmarks import COUNT, Landmarks, allocate_points, to_motions
from dancematch.skeletons import BLAZEPOSE33
from dancematch.types import Motion

Array = NDArray[np.float64]

_WORLD = ("poseWorldLandmarks", "worldLandmarks", "world_landmarks", "pose_world_landmarks")
_PICTURE = ("poseLandmarks", "landmarks", "pose_landmarks")
_CLOCKS = {
    "timestamp_ms": 1e-3,
    "timestampMs": 1e-3,
    "time_ms": 1e-3,
    "time": 1.0,
    "timestamp": 1.0,
    "t": 1.0,
}


def recognises(content: Any) -> bool:
    """Whether a JSON content is a list of frames with landmarks."""
    return any(map(_is_frame, _frames(content)))


def _frames(content: Any) -> list[Any]:
    frames = content.get("frames") if isinstance(content, dict) else content
    return frames if isinstance(frames, list) else []


def _is_frame(frame: Any) -> bool:
    if isinstance(frame, dict):
        return bool({*_WORLD, *_PICTURE} & frame.keys()) or _is_by_name(frame)
    return isinstance(frame, list) and bool(frame) and isinstance(frame[0], list | int | float)


def _is_by_name(frame: dict[str, Any]) -> bool:
    return has_upper_body(map(to_snake_case, frame))


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return all people; the rate is the time stamps', else the file's `fps`, else yours, else 30."""
    return to_motions(*_read_landmarks(path, fps))


def _read_landmarks(path: Path, fps: float | None) -> tuple[Landmarks, Clock]:
    content = read_json(path)
    listed = _frames(content)
    limits.require_frames(len(listed))
    header = content if isinstance(content, dict) else {}
    carried = as_rate(header["fps"]) if header.get("fps") is not None else None
    clock = choose_clock(_read_times(listed), carried, fps)
    return _parse(listed, header), clock


def _parse(listed: list[Any], header: dict[str, Any]) -> Landmarks:
    world = any(_list_people(frame, _WORLD) for frame in listed)
    picture = not world and any(_list_people(frame, _PICTURE) for frame in listed)
    people = [_list_people(frame, _WORLD if world else _PICTURE if picture else ()) for frame in listed]
    points = allocate_points(len(listed), max(map(len, people), default=0))
    numbers = {4}
    for number, persons in enumerate(people):
        for place, marks in enumerate(persons):
            points[number, place], count = _read_points(marks)
            numbers.add(count)
    sides = [header.get(side) for side in ("width", "height")]
    size = (float(sides[0]), float(sides[1])) if all(map(_is_size, sides)) else None  # type: ignore[arg-type]
    return Landmarks(points, True if world else False if picture else None, size, min(numbers))


def _list_people(frame: Any, names: Sequence[str]) -> list[Any]:
    """Return the people of a frame: exporters write one person bare, several as a list of lists.

    Without `names`, the frame is itself the landmarks.
    """
    entries = frame if isinstance(frame, dict) else {}
    found: Any = next((entries[name] for name in names if entries.get(name)), []) if names else frame
    if isinstance(found, dict):
        if not _is_by_name(found) and names:
            raise InputError("pose landmarks must be a list, or objects under their names")
        return [found] if _is_by_name(found) else []
    if found is not None and not isinstance(found, list):
        raise InputError("pose landmarks must be a list, or objects under their names")
    if not found:
        return []
    several = isinstance(found[0], dict) and _is_by_name(found[0])
    several = several or (isinstance(found[0], list) and not _is_landmark(found[0]))
    people = found if several else [found]
    return [person for person in people if isinstance(person, list | dict) and person]


def _is_landmark(entry: Any) -> bool:
    return isinstance(entry, dict) or (
        isinstance(entry, list) and 2 <= len(entry) <= 5 and not isinstance(entry[0], list | dict)
    )


def _read_points(landmarks: Any) -> tuple[Array, int]:
    """Return [33, 4] of x, y, z and visibility, and how many numbers a landmark has (4 where named)."""
    if isinstance(landmarks, dict):
        places = find_joints(landmarks, BLAZEPOSE33)
        rows = [_numbers(landmarks[name]) for name in places]
        order = list(places.values())
    else:
        marks = _split_row(landmarks)
        if len(marks) != COUNT:
            raise InputError(f"{COUNT} landmarks were expected, got {len(marks)}")
        rows, order = [_numbers(mark) for mark in marks], list(range(COUNT))
    points = np.full((COUNT, 4), np.nan)
    points[order] = np.array([row + [np.nan] * (4 - len(row)) for row in rows], dtype=np.float64)
    as_coordinates(points[:, :3])
    return points, min(map(len, rows))


def _split_row(landmarks: list[Any]) -> list[Any]:
    """Return lists of numbers that stand in one row as one list per landmark."""
    width, rest = divmod(len(landmarks), COUNT)
    if isinstance(landmarks[0], list | dict) or rest or not 2 <= width <= 4:
        return landmarks
    return [landmarks[start : start + width] for start in range(0, len(landmarks), width)]


def _numbers(mark: Any) -> list[Any]:
    """Return the two to four numbers of a landmark: x, y, z and visibility."""
    if isinstance(mark, dict):
        return [mark.get("x"), mark.get("y"), mark.get("z", 0), mark.get("visibility", 1)]
    if not isinstance(mark, list) or not 2 <= len(mark) <= 5:
        raise InputError("a landmark has x, y, perhaps z and perhaps a visibility")
    return mark[:4]


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and 0 < value < 1e5


def _read_times(listed: list[Any]) -> Array | None:
    """Return the seconds of each frame where all carry a rising time stamp.

    Stamps count from the clip's beginning, so that the first may be above 0; times of day, which no clip
    reaches, are counted from the first frame.
    """
    if (found := find_stamps(listed, _CLOCKS)) is None:
        return None
    name, stamps = found
    times = to_seconds(stamps, _CLOCKS[name], name)
    return times - times[0] if times[0] > limits.MAX_SECONDS else times
