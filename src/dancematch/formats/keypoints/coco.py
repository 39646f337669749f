"""COCO keypoint JSON: annotations (images + annotations) or a detector's list of results.

Seventeen keypoints per person in picture coordinates: see `planar` for what that means in
metres. People are told apart by `track_id` (or AlphaPose's `idx`), otherwise by nearness.
"""

import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats import limits
from dancematch.formats.clock import DEFAULT_RATE, Clock
from dancematch.formats.files import read_json
from dancematch.formats.keypoints.planar import KeypointTrack, link_people, to_motions
from dancematch.skeletons import COCO17
from dancematch.types import Motion

Array = NDArray[np.float64]
PlacedPerson = tuple[int, Any, Array]  # frame, label and keypoints

_PERSON = ("track_id", "idx")


def recognises(content: Any) -> bool:
    """Whether a JSON content has the shape of annotations or of results."""
    if isinstance(content, dict):
        return "annotations" in content
    return isinstance(content, list) and bool(content) and _is_result(content[0])


def _is_result(entry: Any) -> bool:
    return isinstance(entry, dict) and "image_id" in entry and "keypoints" in entry


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Return all people of the pictures, which are taken as the frames of one clip in order."""
    rate = fps or DEFAULT_RATE
    return to_motions(_read_tracks(path, rate), COCO17, Clock(rate))


def _read_tracks(path: Path, fps: float) -> list[KeypointTrack]:
    content = read_json(path)
    annotated = isinstance(content, dict)
    entries = content.get("annotations") if annotated else content
    if not isinstance(entries, list):
        raise InputError("COCO annotations must be a list")
    people = [entry for entry in entries if _is_result(entry)]
    if not people:
        raise InputError("no annotation has an image_id and keypoints")
    limits.require_keypoints(len(people) * len(COCO17.joints))
    numbers = _number_frames([_require_key(p["image_id"]) for p in people], content if annotated else {})
    _require_few_people([numbers[p["image_id"]] for p in people])
    label = next((name for name in _PERSON if all(name in person for person in people)), None)
    placed = [(numbers[p["image_id"]], p.get(label), _read_points(p["keypoints"], annotated)) for p in people]
    return _link_people(placed, fps) if label is None else _group_people(placed)


def _require_few_people(frames: list[int]) -> None:
    limits.require_frames(max(frames) + 1)
    limits.require_people(max(Counter(frames).values()))


def _require_key(image_id: Any) -> int | str:
    if isinstance(image_id, int | str):
        limits.require_names([image_id] if isinstance(image_id, str) else [])
        return image_id
    raise InputError(f"an image_id must be a number or a name, got {str(image_id)[:40]}")


def _natural_key(name: int | str) -> list[Any]:
    """Return a sorting key that puts frame 9 before frame 10."""
    return [
        (int(part[:18]), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", str(name))
    ]


def _number_frames(used: list[int | str], content: dict[str, Any]) -> dict[int | str, int]:
    """Return the frame of each picture: by file name where pictures are listed, otherwise by number."""
    listed = content.get("images")
    if isinstance(listed, list) and listed:
        images = [image for image in listed if isinstance(image, dict) and "id" in image]
        images.sort(key=lambda image: _natural_key(_require_key(image.get("file_name", image["id"]))))
        found = {_require_key(image["id"]): number for number, image in enumerate(images)}
        if not set(used) <= found.keys():
            raise InputError("an annotation belongs to an image that is not listed")
        return found
    names = sorted(set(used), key=_natural_key)
    numbers = [_last_number(name) for name in names]
    if None in numbers or len(set(numbers)) < len(numbers):
        return {name: place for place, name in enumerate(names)}
    return _number_evenly(dict(zip(names, numbers, strict=True)))  # type: ignore[arg-type]


def _last_number(name: int | str) -> int | None:
    digits = re.findall(r"\d{1,18}", str(name))
    return int(digits[-1]) if digits else None


def _number_evenly(numbers: dict[int | str, int]) -> dict[int | str, int]:
    """Return frame numbers from 0 in steps of one, with gaps where pictures without people are left out."""
    first = min(numbers.values())
    step = math.gcd(*(number - first for number in numbers.values())) or 1
    frames = {name: (number - first) // step for name, number in numbers.items()}
    limits.require_plausible_frames(max(frames.values()) + 1, len(frames))
    return frames


def _link_people(placed: list[PlacedPerson], fps: float) -> list[KeypointTrack]:
    frames: list[list[Array]] = [[] for _ in range(max(number for number, _, _ in placed) + 1)]
    for number, _, points in placed:
        frames[number].append(points)
    return link_people(frames, COCO17, fps)


def _group_people(placed: list[PlacedPerson]) -> list[KeypointTrack]:
    tracks: dict[str, KeypointTrack] = defaultdict(KeypointTrack)
    for number, label, points in placed:
        if np.isfinite(points[:, 0]).any():
            tracks[str(label)].frames[number] = points
    return list(tracks.values())


def _read_points(keypoints: Any, annotated: bool) -> Array:
    """Return [17, 4] of x, y, 0 and confidence; NaN where nothing is marked.

    Annotators mark a point 0 absent, 1 hidden, 2 visible; detectors give a score.
    """
    values = np.array(keypoints, dtype=np.float64)
    if values.shape != (51,):
        raise InputError(f"17 keypoints of 3 numbers were expected, got {values.size} numbers")
    rows = values.reshape(17, 3)
    confidence = rows[:, 2] / 2 if annotated and set(rows[:, 2]) <= {0.0, 1.0, 2.0} else rows[:, 2]
    points = np.column_stack([rows[:, :2], np.zeros(17), confidence])
    points[~(confidence > 0)] = np.nan
    return points
