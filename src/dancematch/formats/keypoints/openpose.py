"""OpenPose: one JSON file per frame (`name_000000000000_keypoints.json`), read as a sequence.

BODY_25 and COCO-18 keypoints, in the picture (`pose_keypoints_2d`) or in space
(`pose_keypoints_3d`). Either way the unit is not metres: see `planar`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import FormatError, InputError
from dancematch.formats import limits
from dancematch.formats.clock import DEFAULT_RATE, Clock
from dancematch.formats.files import read_json
from dancematch.formats.keypoints.planar import link_people, to_motions
from dancematch.skeletons import OPENPOSE25
from dancematch.types import Motion

_FRAME_FILE = re.compile(r"(.*?)_?(\d{1,18})_keypoints\.json")
_COCO18 = """nose neck right_shoulder right_elbow right_wrist left_shoulder left_elbow left_wrist
    right_hip right_knee right_ankle left_hip left_knee left_ankle right_eye left_eye right_ear left_ear"""
_LAYOUTS = {25: list(range(25)), 18: [OPENPOSE25.index(joint) for joint in _COCO18.split()]}


def is_folder(path: Path) -> bool:
    """Whether a folder holds OpenPose frames: other tools call a whole clip `dance_1_keypoints.json`."""
    if not path.is_dir():
        return False
    first_frames: dict[str, Path] = {}
    for file, named in _list_frames(path):
        first_frames.setdefault(named[1], file)
    return any(map(_may_be_frame, first_frames.values()))


def _list_frames(folder: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    """Yield the files of a folder that are called as frames are, in order, with what their names say."""
    for file in sorted(folder.glob("*_keypoints.json")):
        named = _FRAME_FILE.fullmatch(file.name)
        if named is not None and file.is_file():
            yield file, named


def _may_be_frame(file: Path) -> bool:
    """Whether a file is a frame of OpenPose, perhaps a damaged one."""
    try:
        return recognises(read_json(file))
    except InputError:
        return True


def recognises(content: Any) -> bool:
    """Whether a JSON content is a frame of OpenPose, or a list of frames."""
    first = content[0] if isinstance(content, list) and content else content
    return isinstance(first, dict) and "people" in first


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return all people of the sequence that `path` (its folder, or any one file of it) belongs to."""
    rate = fps or DEFAULT_RATE
    frames: list[list[NDArray[np.float64]]] = []
    people = 0
    for frame in _read_frames(path):
        frames.append(_read_people(frame))
        people += len(frames[-1])
        limits.require_keypoints(people * len(OPENPOSE25.joints))
    return to_motions(link_people(frames, OPENPOSE25, rate), OPENPOSE25, Clock(rate))


def _read_frames(path: Path) -> Iterator[Any]:
    """Yield the content of each frame in order; missing frames are empty."""
    named = _FRAME_FILE.fullmatch(path.name)
    if path.is_dir():
        yield from _read_sequence(path, _require_one_name(path))
    elif named is not None and path.exists():
        yield from _read_sequence(path.parent, named[1])
    else:
        content = read_json(path)
        limits.require_frames(len(content) if isinstance(content, list) else 1)
        yield from content if isinstance(content, list) else [content]


def _require_one_name(folder: Path) -> str:
    names = {found[1] for _, found in _list_frames(folder)}
    if len(names) == 1:
        return names.pop()
    if not names:
        raise FormatError(f"{folder} is a folder without OpenPose frames (*_keypoints.json)")
    raise InputError(
        f"{folder} holds several sequences ({', '.join(sorted(names)[:3])}, ...): name a file of one"
    )


def _read_sequence(folder: Path, name: str) -> Iterator[Any]:
    files: dict[int, Path] = {}
    for file, found in _list_frames(folder):
        if found[1] == name:
            files[int(found[2])] = file
    first, last = min(files), max(files)
    limits.require_plausible_frames(last - first + 1, len(files))
    return (read_json(files[n]) if n in files else {"people": []} for n in range(first, last + 1))


def _read_people(frame: Any) -> list[NDArray[np.float64]]:
    people = frame.get("people") if isinstance(frame, dict) else None
    if not isinstance(people, list):
        raise InputError("a frame of OpenPose has a list of 'people'")
    limits.require_people(len(people))
    return [_read_points(person) for person in people]


def _read_points(person: Any) -> NDArray[np.float64]:
    """Return [25, 4] of x, y, z and confidence; NaN where OpenPose is not confident at all."""
    if not isinstance(person, dict):
        raise InputError("a person of OpenPose is an object with 'pose_keypoints_2d'")
    flat, deep = person.get("pose_keypoints_2d") or [], person.get("pose_keypoints_3d") or []
    width, numbers = (4, deep) if deep else (3, flat)
    values = np.array(numbers, dtype=np.float64)
    points = np.full((25, 4), np.nan)
    if values.size == 0:
        return points
    order = _LAYOUTS.get(values.size // width)
    if order is None or values.ndim != 1 or values.size % width:
        raise InputError(f"25 or 18 keypoints of {width} numbers were expected, got {values.size} numbers")
    rows = values.reshape(-1, width)
    points[order, : width - 1], points[order, 3] = rows[:, :-1], rows[:, -1]
    points[order, 2] = points[order, 2] if width == 4 else 0
    points[~(points[:, 3] > 0)] = np.nan
    return points
