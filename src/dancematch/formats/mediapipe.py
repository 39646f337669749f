"""MediaPipe pose landmarks as JSON: a list of frames with 33 landmarks a person.

Exporters agree on little but the landmarks, so the common spellings are all accepted. World
landmarks are metres around the mid-hip (x right, y down, z away) and are turned y up; where
there are only picture landmarks, they are scaled as `planar` says. People are told apart by
their place in the list: MediaPipe gives no ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats.files import agreed_rate, as_coordinates, as_rate, read_json, require_plausible_frames
from dancematch.formats.planar import Track, to_motions
from dancematch.skeletons import BLAZEPOSE33
from dancematch.types import Motion

LABEL = "MediaPipe landmarks"
EXPLANATION = "world landmarks in metres around the hips; picture landmarks are scaled to a torso of 0.5 m"

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
_GAP_SECONDS = 0.5  # nothing is interpolated across a longer pause between frames


@dataclass(frozen=True)
class _Frames:
    points: Array  # [frames, people, 33, 4] of x, y, z, visibility; NaN = unseen
    times: Array | None
    world: bool


def frames_of(content: Any) -> list[Any] | None:
    """Return the list of frames in a JSON content, or None where it has another shape."""
    frames = content.get("frames") if isinstance(content, dict) else content
    if not isinstance(frames, list) or not frames:
        return None
    known = {*_WORLD, *_PICTURE}
    return frames if any(isinstance(frame, dict) and known & frame.keys() for frame in frames) else None


def read(path: Path, fps: float | None = None) -> list[Motion]:
    """Everybody in the file; the rate is the time stamps', else the file's `fps`, else yours, else 30."""
    content = read_json(path)
    listed = frames_of(content)
    if listed is None:
        raise InputError("no frame has pose landmarks of MediaPipe")
    header = content if isinstance(content, dict) else {}
    frames = _parse(listed, header)
    carried = as_rate(header["fps"]) if header.get("fps") is not None else None
    points, rate, start = _evenly_timed(frames, carried, fps)
    motions = [
        motion
        for person in range(points.shape[1])
        for motion in _person(points[:, person], rate, start, frames.world)
    ]
    if not motions:
        raise InputError("nobody is seen in any frame")
    return motions


def _parse(listed: list[Any], header: dict[str, Any]) -> _Frames:
    kinds = _WORLD if any(_landmarks(frame, _WORLD) for frame in listed) else _PICTURE
    people = [_landmarks(frame, kinds) for frame in listed]
    points = np.full((len(listed), max(map(len, people)), 33, 4), np.nan)
    for number, persons in enumerate(people):
        for place, landmarks in enumerate(persons):
            points[number, place] = _points(landmarks)
    if kinds is _PICTURE:
        # Picture landmarks are fractions of the width and the height; z goes with the width.
        width, height = (_size(header.get(side)) for side in ("width", "height"))
        points[..., :3] *= (width, height, width)
    return _Frames(points, _times(listed), kinds is _WORLD)


def _landmarks(frame: Any, names: Sequence[str]) -> list[list[Any]]:
    """Return the people of a frame: exporters write one person bare, several as a list of lists."""
    entries = frame if isinstance(frame, dict) else {}
    found: Any = next((entries[name] for name in names if entries.get(name)), [])
    if not isinstance(found, list):
        raise InputError("pose landmarks must be a list")
    people = found if found and isinstance(found[0], list) and not _is_landmark(found[0]) else [found]
    return [person for person in people if isinstance(person, list) and person]


def _is_landmark(entry: Any) -> bool:
    return isinstance(entry, dict) or (
        isinstance(entry, list) and bool(entry) and not isinstance(entry[0], list | dict)
    )


def _points(landmarks: list[Any]) -> Array:
    """[33, 4] of x, y, z and visibility."""
    if len(landmarks) != 33:
        raise InputError(f"33 landmarks were expected, got {len(landmarks)}")
    rows = [
        [mark.get("x"), mark.get("y"), mark.get("z", 0), mark.get("visibility", 1)]
        if isinstance(mark, dict)
        else [*mark, 1][:4]
        for mark in landmarks
    ]
    points = np.array(rows, dtype=np.float64)
    if points.shape != (33, 4):
        raise InputError("a landmark has x, y, z and perhaps a visibility")
    as_coordinates(points[:, :3])
    return points


def _size(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e5 else 1.0


def _times(listed: list[Any]) -> Array | None:
    """Seconds of each frame where all carry a rising time stamp."""
    name = next((n for n in _CLOCKS if all(isinstance(f, dict) and n in f for f in listed)), None)
    if name is None:
        return None
    times = np.array([frame[name] for frame in listed], dtype=np.float64) * _CLOCKS[name]
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any() or times[0] < 0:
        raise InputError(f"the time stamps {name!r} do not rise from frame to frame")
    return times


def _evenly_timed(frames: _Frames, carried: float | None, wanted: float | None) -> tuple[Array, float, float]:
    """Points at an even rate, that rate, and when the first is."""
    times, points = frames.times, frames.points
    if times is None or len(times) < 2:
        rate = agreed_rate(carried, wanted) if carried else wanted or 30.0
        return points, rate, 0.0 if times is None else float(times[0])
    step = float(times[-1] - times[0]) / (len(times) - 1)
    even = times[0] + step * np.arange(len(times))
    # A millisecond is what rounding does to an even clock.
    if np.abs(times - even).max() <= max(0.0011, 0.05 * step):
        return points, agreed_rate(as_rate(1 / step), wanted), float(times[0])
    return _resampled(points, times, wanted or as_rate(1 / float(np.median(np.diff(times)))))


def _resampled(points: Array, times: Array, rate: float) -> tuple[Array, float, float]:
    """Points interpolated to an even clock; unseen stays unseen, and so do long pauses."""
    count = int((times[-1] - times[0]) * rate + 1e-6) + 1
    require_plausible_frames(count, len(times))
    clock = times[0] + np.arange(count) / rate
    flat = points.reshape(len(points), -1)
    even = np.stack([np.interp(clock, times, column) for column in flat.T], axis=1)
    after = np.clip(np.searchsorted(times, clock), 1, len(times) - 1)
    before, next_ = times[after - 1], times[after]
    even[(next_ - before > _GAP_SECONDS) & (clock - before > 1e-3) & (next_ - clock > 1e-3)] = np.nan
    return even.reshape(count, *points.shape[1:]), rate, float(times[0])


def _person(points: Array, rate: float, start: float, world: bool) -> list[Motion]:
    """One person's motion, or none if never seen."""
    seen = np.isfinite(points[..., :3]).all(axis=(1, 2))
    if not seen.any():
        return []
    if not world:
        track = Track({int(number): points[number] for number in np.flatnonzero(seen)})
        return [_shifted(motion, start) for motion in to_motions([track], BLAZEPOSE33, rate)]
    first, last = np.flatnonzero(seen)[[0, -1]]
    joints = (points[first : last + 1, :, :3] * (1, -1, -1)).astype(np.float32)
    visibility = np.nan_to_num(np.clip(points[first : last + 1, :, 3], 0, 1)).astype(np.float32)
    return [Motion(joints, rate, BLAZEPOSE33, visibility, start + first / rate)]


def _shifted(motion: Motion, start: float) -> Motion:
    return Motion(motion.joints, motion.fps, motion.skeleton, motion.visibility, motion.start + start)
