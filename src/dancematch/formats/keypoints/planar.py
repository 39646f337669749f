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
from dancematch.formats import limits
from dancematch.formats.clock import Clock
from dancematch.formats.files import as_coordinates, freeze, iterate_pieces, require_near_origin
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
    def span(self) -> tuple[int, int]:
        """The first and the last frame that show the person."""
        return min(self.frames), max(self.frames)


def link_people(frames: Sequence[Sequence[Array]], skeleton: Skeleton, fps: float) -> list[KeypointTrack]:
    """Return one track per person: each continues the nearest track of the frames just before.

    Greedy on the distance of centres in torsos, the closest pair first. `frames` holds,
    for each frame, the people in it. A person unseen for longer than `GAP_SECONDS` is a new one.
    """
    tracks: list[KeypointTrack] = []
    live: list[KeypointTrack] = []
    for number, people in enumerate(frames):
        limits.require_people(len(people))
        live = [track for track in live if number - _latest(track) <= max(1, GAP_SECONDS * fps)]
        seen = [person for person in people if np.isfinite(person[:, 0]).any()]
        for place, track in _pair_nearest(seen, live, skeleton):
            track.frames[number] = seen[place]
            seen[place] = np.empty(0)
        fresh = [KeypointTrack({number: person}) for person in seen if person.size]
        tracks += fresh
        live += fresh
        limits.require_tracks(len(tracks))
    return tracks


def _latest(track: KeypointTrack) -> int:
    """Return the frame that was added last, without looking at all of them."""
    return next(reversed(track.frames))


def _pair_nearest(
    people: list[Array], live: list[KeypointTrack], skeleton: Skeleton
) -> list[tuple[int, KeypointTrack]]:
    """Return which person continues which track, each once."""
    if not people or not live:
        return []
    before = [track.frames[_latest(track)] for track in live]
    centres, old = (np.array([_centre(p, skeleton) for p in group]) for group in (people, before))
    sizes = np.array([_size(person) for person in before])
    distance = np.linalg.norm(centres[:, None] - old[None], axis=-1) / sizes
    near = np.flatnonzero(distance <= _REACH)
    order = near[np.argsort(distance.ravel()[near], kind="stable")]
    pairs = []
    # In each round, all pairs that are nearest to each other: the same pairs as one by one, in few steps.
    while order.size:
        places, tracks = np.unravel_index(order, distance.shape)
        mutual = np.intersect1d(_first_places(places), _first_places(tracks), assume_unique=True)
        pairs += [(int(places[at]), live[tracks[at]]) for at in mutual]
        order = order[~np.isin(places, places[mutual]) & ~np.isin(tracks, tracks[mutual])]
    return pairs


def _first_places(values: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where each value occurs for the first time."""
    first: NDArray[np.intp] = np.unique(values, return_index=True)[1]
    return first


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
    _require_within_limits(tracks, skeleton, clock)
    ordered = sorted(tracks, key=lambda track: (-len(track.frames), min(track.frames)))
    motions = [motion for track in ordered if (motion := _to_motion(track, skeleton, clock)) is not None]
    if not motions:
        raise InputError("no frame shows both shoulders of a dancer, so there is no measure of size")
    return motions


def _require_within_limits(tracks: Sequence[KeypointTrack], skeleton: Skeleton, clock: Clock) -> None:
    """Refuse too many tracks, or tracks over too many frames, before memory is taken for any."""
    limits.require_tracks(len(tracks))
    total = 0
    for track in tracks:
        first, last = track.span
        limits.require_plausible_frames(last - first + 1, len(track.frames))
        total += max(last - first + 1, clock.count(last - first + 1, first))
    limits.require_keypoints(total * len(skeleton.joints))


def _to_motion(track: KeypointTrack, skeleton: Skeleton, clock: Clock) -> Motion | None:
    """Return the track in metres, or None where it has no measure."""
    first, last = track.span
    points = np.full((last - first + 1, len(skeleton.joints), 4), np.nan)
    for number, person in track.frames.items():
        points[number - first] = person
    require_near_origin(points[..., :3])  # before anything is computed from damaged numbers
    scale = _metres_per_unit(points, skeleton)
    if scale is None:
        return None
    even, start = clock.resample(points, first)
    joints, visibility = np.empty(even[..., :3].shape, np.float32), np.empty(even.shape[:2], np.float32)
    for piece in iterate_pieces(*even.shape[:2]):
        metres = as_coordinates(even[piece, :, :3] * scale * (1, -1, -1))
        seen = np.isfinite(metres).all(axis=2)
        joints[piece] = metres
        visibility[piece] = np.where(seen, np.nan_to_num(np.clip(even[piece, :, 3], 0, 1)), 0)
    return Motion(freeze(joints), clock.rate, skeleton, visibility, start)


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
    known = flat[~np.isnan(flat)]
    return bool(
        np.isfinite(known).any() and np.percentile(known, 99, overwrite_input=True) <= _WITHIN_PICTURE
    )


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
