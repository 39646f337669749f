"""The 33 landmarks of MediaPipe, from any file format, as motions.

World landmarks are metres around the mid-hip (x right, y down, z away) and are turned y up.
Picture landmarks are fractions of the picture, or pixels; they are scaled as `planar` says.
Where a file does not say which it has, landmarks whose mid-hip is the origin are world ones.

Exporters lose information, which shows in the numbers: z that is a copy of y is no
depth; three numbers of which the third is never negative are x, y and visibility, for z is
counted from the mid-hip; hips that are one unit apart in every frame mean that each frame was
divided by their distance, so that size and place of the frames are made equal again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats import limits
from dancematch.formats.clock import Clock
from dancematch.formats.files import freeze, iterate_pieces, require_near_origin
from dancematch.formats.keypoints.planar import KeypointTrack, are_fractions, find_sides, infer_picture_shape
from dancematch.formats.keypoints.planar import to_motions as picture_to_motions
from dancematch.skeletons import BLAZEPOSE33
from dancematch.types import Motion

Array = NDArray[np.float64]

COUNT = len(BLAZEPOSE33.joints)
_HIPS = find_sides(BLAZEPOSE33, "hip")
_BONES = [
    [BLAZEPOSE33.index(f"{side}_{joint}") for joint in bone]
    for side in ("left", "right")
    for bone in (
        ("shoulder", "hip"),
        ("hip", "knee"),
        ("knee", "ankle"),
        ("shoulder", "elbow"),
        ("elbow", "wrist"),
    )
]
# Picture landmarks exaggerate depth: against the world landmarks of the same frames z is 2.7 to 3.7
# times as large as x and y.
_DEPTH = 1 / 3
_AT_ORIGIN = 0.01  # how near the mid-hip of world landmarks is to the origin


@dataclass(frozen=True)
class Landmarks:
    """All people's landmarks in every frame, as a file has them."""

    points: Array  # [frames, people, 33, 4] of x, y, z and visibility; NaN = unseen
    world: bool | None = None  # None: the file does not say
    size: tuple[float, float] | None = None  # width and height of the picture
    numbers: int = 4  # how many the file has per landmark without naming them


def allocate_points(frames: int, people: int) -> Array:
    """Return points of which none is seen yet, if so many people can be."""
    limits.require_people(people)
    limits.require_keypoints(frames * people * COUNT)
    return np.full((frames, people, COUNT, 4), np.nan)


def to_motions(landmarks: Landmarks, clock: Clock) -> list[Motion]:
    """Return one motion per person who is ever seen. The landmarks' points are changed on the way."""
    points = landmarks.points
    _fill_visibility(points, landmarks.numbers)
    require_near_origin(points[..., :3])
    seen = np.asarray(np.isfinite(points[..., :2]).all(axis=-1).any(axis=-1))  # [frames, people]
    people = np.flatnonzero(seen.any(axis=0))
    if not len(people):
        raise InputError("no person is seen in any frame")
    world = landmarks.world if landmarks.world is not None else _is_around_hips(points)
    if not world:
        return _picture_motions(landmarks, seen, clock)
    limits.require_keypoints(clock.count(len(points)) * len(people) * COUNT)
    return [_world_motion(points[:, person], clock) for person in people]


def _fill_visibility(points: Array, numbers: int) -> None:
    """Take a third number that is never negative for the visibility, and none for depth or visibility."""
    third = points[..., 2]
    lowest, highest = (choose.reduce(third, axis=None, initial=np.nan) for choose in (np.fmin, np.fmax))
    if numbers == 3 and lowest >= 0 and 0 < highest <= 1:
        points[..., 3] = third
        points[..., 2] = 0
    elif numbers < 4:
        points[..., 3] = np.where(np.isfinite(points[..., 0]), 1, np.nan)
    points[np.isfinite(points[..., :2]).all(axis=-1) & np.isnan(points[..., 2]), 2] = 0
    points[np.isnan(points[..., :3]).any(axis=-1)] = np.nan


def _is_around_hips(points: Array) -> bool:
    middle = points[..., _HIPS, :3].mean(axis=-2)
    known = middle[np.isfinite(middle).all(axis=-1)]
    return bool(len(known) and (np.median(np.abs(known), axis=0) < _AT_ORIGIN).all())


def _world_motion(points: Array, clock: Clock) -> Motion:
    """Return one person's motion, from the first frame that shows a joint to the last."""
    even, start = clock.resample(points)
    seen = np.flatnonzero(np.isfinite(even[..., :3]).all(axis=-1).any(axis=-1))
    first, last = (int(seen[0]), int(seen[-1])) if len(seen) else (0, 0)
    cut = even[first : last + 1]
    joints, visibility = np.empty(cut[..., :3].shape, np.float32), np.empty(cut.shape[:2], np.float32)
    for piece in iterate_pieces(*cut.shape[:2]):
        joints[piece] = cut[piece, :, :3] * (1, -1, -1)
        visibility[piece] = np.nan_to_num(np.clip(cut[piece, :, 3], 0, 1))
    return Motion(freeze(joints), clock.rate, BLAZEPOSE33, visibility, start + first / clock.rate)


def _picture_motions(landmarks: Landmarks, seen: NDArray[np.bool_], clock: Clock) -> list[Motion]:
    tracks = []
    for person in np.flatnonzero(seen.any(axis=0)):
        points = landmarks.points[:, person]
        _restore_proportions(points, landmarks.size)
        tracks.append(
            KeypointTrack({int(number): points[number] for number in np.flatnonzero(seen[:, person])})
        )
    return picture_to_motions(tracks, BLAZEPOSE33, clock)


def _restore_proportions(points: Array, size: tuple[float, float] | None) -> None:
    """Give the points [frames, 33, 4] one unit for x, y and z, the same in every frame."""
    if np.array_equal(points[..., 2], points[..., 1], equal_nan=True):
        points[..., 2] *= 0
    divided = _is_divided_by_hips(points)
    shape = 1.0  # pixels
    if divided:
        shape = _infer_shape_of_divided(points)
    elif are_fractions(points):
        shape = size[0] / size[1] if size is not None else infer_picture_shape(points, BLAZEPOSE33)
    points[..., :3] *= (shape, 1, shape * _DEPTH)
    if divided:
        for piece in iterate_pieces(*points.shape[:2]):
            points[piece] = _equalise_size(points[piece])


def _infer_shape_of_divided(points: Array) -> float:
    """As `infer_picture_shape` once all frames have one size; only the joints that it looks at are kept."""
    joints = find_sides(BLAZEPOSE33, "shoulder", "hip")
    torso = np.full((*points.shape[:2], 2), np.nan)
    for piece in iterate_pieces(*points.shape[:2]):
        torso[piece, joints] = _equalise_size(points[piece])[:, joints, :2]
    return infer_picture_shape(torso, BLAZEPOSE33)


def _is_divided_by_hips(points: Array) -> bool:
    """Whether the hips are one unit apart in the picture of every frame, which no dancer's are."""
    apart = np.linalg.norm(points[:, _HIPS[0], :2] - points[:, _HIPS[1], :2], axis=-1)
    apart = apart[np.isfinite(apart)]
    return len(apart) > 1 and bool(np.abs(apart - 1).max() < 1e-4)


def _equalise_size(points: Array) -> Array:
    """Return the points with every mid-hip at the origin and all bones together equally long."""
    places = points[..., :3] - points[:, _HIPS, :3].mean(axis=1, keepdims=True)
    bones = np.stack([places[:, a] - places[:, b] for a, b in _BONES], axis=1)
    lengths = np.linalg.norm(bones, axis=-1).sum(axis=1)[:, None, None]
    return np.concatenate([places / np.where(lengths > 1e-9, lengths, np.nan), points[..., 3:]], axis=-1)
