"""Keypoints in picture coordinates -> metres, and people linked from frame to frame.

A flat picture has no metres. The torso (mid-shoulder to mid-hip) is taken to be half a
metre in the median frame, y is turned up, and depth is zero: enough to compare the movement
as the camera saw it, and no more. A person of whom no frame shows both shoulders has no
measure and is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats.clock import Clock
from dancematch.formats.files import as_coordinates, require_plausible_frames, require_plausible_people
from dancematch.motion import GAP_SECONDS
from dancematch.types import Motion, Skeleton

Array = NDArray[np.float64]

TORSO = 0.5
_SHOULDERS = 0.36  # metres; the measure where no frame shows shoulders and hips together
_REACH = 1.0  # torsos that a centre may move between two frames and still be the same person
_SHAPES = (9 / 16, 1.0, 16 / 9)  # width over height of the usual pictures
_SHOULDERS_TO_TORSO = 0.65  # across the picture, in frames that show the dancer from the front
_WITHIN_PICTURE = 2.0  # fractions of the picture are below, pixels above; a joint may lie outside


@dataclass
class KeypointTrack:
    """One person's keypoints by frame number: [joints, 4] of x, y, z and confidence, unseen = NaN, 0."""

    frames: dict[int, Array] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The latest frame that shows the person."""
        return max(self.frames)


def link_people(frames: Sequence[Sequence[Array]], skeleton: Skeleton, fps: float) -> list[KeypointTrack]:
    """Return one track per person: each continues the nearest track of the frames just before.

    Greedy on the distance of centres in torsos, the closest pair first. `frames` holds,
    for each frame, the people in it. A person unseen for longer than `GAP_SECONDS` is a new one.
    """
    tracks: list[KeypointTrack] = []
    live: list[KeypointTrack] = []
    require_plausible_people(max(map(len, frames), default=0))
    for number, people in enumerate(frames):
        live = [track for track in live if number - track.last <= max(1, GAP_SECONDS * fps)]
        seen = [person for person in people if np.isfinite(person[:, 0]).any()]
        for place, track in _pair_nearest(seen, live, skeleton):
            track.frames[number] = seen[place]
            seen[place] = np.empty(0)
        fresh = [KeypointTrack({number: person}) for person in seen if person.size]
        tracks += fresh
        live += fresh
    return tracks


def _pair_nearest(
    people: list[Array], live: list[KeypointTrack], skeleton: Skeleton
) -> list[tuple[int, KeypointTrack]]:
    """Return which person continues which track, each once."""
    if not people or not live:
        return []
    before = [track.frames[track.last] for track in live]
    centres, old = (np.array([_centre(p, skeleton) for p in group]) for group in (people, before))
    sizes = np.array([_size(person) for person in before])
    distance = np.linalg.norm(centres[:, None] - old[None], axis=-1) / sizes
    pairs = []
    for flat in np.argsort(distance, axis=None, kind="stable"):
        place, track = np.unravel_index(flat, distance.shape)
        if distance[place, track] <= _REACH:
            pairs.append((int(place), live[track]))
            distance[place, :], distance[:, track] = np.inf, np.inf
    return pairs


def _centre(person: Array, skeleton: Skeleton) -> Array:
    """Return the middle of the torso, or of all that is seen."""
    torso = person[find_sides(skeleton, "shoulder", "hip"), :2]
    seen = torso if np.isfinite(torso).any() else person[:, :2]
    centre: Array = seen[np.isfinite(seen[:, 0])].mean(axis=0)
    return centre


def _size(person: Array) -> float:
    """Return about a torso in the picture's unit: a third of the person's extent."""
    seen = person[np.isfinite(person[:, 0]), :2]
    return max(float(np.ptp(seen, axis=0).max()) / 3, 1e-6)


def find_sides(skeleton: Skeleton, *parts: str) -> list[int]:
    """Return the joints of both sides of body parts, left before right."""
    return [skeleton.index(f"{side}_{part}") for part in parts for side in ("left", "right")]


def to_motions(tracks: Sequence[KeypointTrack], skeleton: Skeleton, clock: Clock) -> list[Motion]:
    """Return each track as a motion in metres, the one seen in most frames first."""
    if not tracks:
        raise InputError("no person is seen in any frame")
    ordered = sorted(tracks, key=lambda track: (-len(track.frames), min(track.frames)))
    motions = [motion for track in ordered if (motion := _to_motion(track, skeleton, clock)) is not None]
    if not motions:
        raise InputError("no frame shows both shoulders of a dancer, so there is no measure of size")
    return motions


def _to_motion(track: KeypointTrack, skeleton: Skeleton, clock: Clock) -> Motion | None:
    """Return the track in metres, or None where it has no measure."""
    first, last = min(track.frames), track.last
    require_plausible_frames(last - first + 1, len(track.frames))
    points = np.full((last - first + 1, len(skeleton.joints), 4), np.nan)
    for number, person in track.frames.items():
        points[number - first] = person
    as_coordinates(points[..., :3])  # before anything is computed from damaged numbers
    scale = _metres_per_unit(points, skeleton)
    if scale is None:
        return None
    even, start = clock.resample(points, first)
    joints = even[..., :3] * scale * (1, -1, -1)
    seen = np.isfinite(joints).all(axis=2)
    visibility = np.where(seen, np.nan_to_num(np.clip(even[..., 3], 0, 1)), 0)
    return Motion(as_coordinates(joints).astype(np.float32), clock.rate, skeleton, visibility, start)


def _metres_per_unit(points: Array, skeleton: Skeleton) -> float | None:
    shoulders, hips = (points[:, find_sides(skeleton, part), :3] for part in ("shoulder", "hip"))
    torso = np.linalg.norm(shoulders.mean(axis=1) - hips.mean(axis=1), axis=-1)
    if (torso > 1e-6).any():
        return TORSO / float(np.median(torso[torso > 1e-6]))
    width = np.linalg.norm(shoulders[:, 0] - shoulders[:, 1], axis=-1)
    if (width > 1e-6).any():
        # Seen from the side the shoulders look narrow, so the widest frame is the measure.
        return _SHOULDERS / float(np.nanmax(width))
    return None


def are_fractions(points: Array) -> bool:
    """Whether places [..., 2 or more] are fractions of the picture's width and height, not pixels."""
    flat = np.abs(points[..., :2])
    return bool(np.isfinite(flat).any() and np.nanpercentile(flat, 99) <= _WITHIN_PICTURE)


def infer_picture_shape(points: Array, skeleton: Skeleton) -> float:
    """Return width over height of a picture, of which `points` [frames, joints, 2 or more] are fractions.

    The usual shape that gives the dancer natural proportions: shoulders as wide as they are in
    the frames that show the dancer from the front, against the height of the torso.
    """
    shoulders, hips = (points[:, find_sides(skeleton, part), :2] for part in ("shoulder", "hip"))
    widths = np.abs(shoulders[:, 0, 0] - shoulders[:, 1, 0])
    heights = np.abs(shoulders[..., 1].mean(axis=1) - hips[..., 1].mean(axis=1))
    seen = np.isfinite(widths) & np.isfinite(heights)
    if not seen.any():
        return 1.0
    width, height = float(np.percentile(widths[seen], 90)), float(np.percentile(heights[seen], 75))
    if not (width > 1e-6 and height > 1e-6):
        return 1.0
    fitting = _SHOULDERS_TO_TORSO * height / width
    return min(_SHAPES, key=lambda shape: abs(np.log(shape / fitting)))
