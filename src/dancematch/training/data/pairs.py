"""Pairs of tracks that show the same dance, matched frame by frame.

Two dancers of one choreography are matched by dynamic time warping, a pose estimator's view
and its source by sliding one along the other. Every other track is paired with itself, which
needs no search (`batches.py`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dancematch.motion import CANONICAL, FPS, mirror
from dancematch.training.data.tracks import TrainingTrack
from dancematch.types import FloatArray, Motion

WARP_EVERY = 3  # frames between two compared ones: dancers agree to a tenth of a second at best
SPEED_WEIGHT = 4.0  # of a metre per frame against a metre
MIRROR_MARGIN = 0.97  # a mirrored match must cost this share or less: most dancers are not mirrored
MIN_SEEN_SHARE = 0.5  # of a view's joints
MAX_VIEW_METRES = 0.25  # mean distance per joint; a view farther from its source was estimated wrongly

_BODY = slice(CANONICAL.index("pelvis") + 1, None)  # joints that move in the canonical frame


@dataclass(frozen=True, eq=False)
class AlignedPair:
    """Frames of two tracks that show the same moment of the same dance."""

    first: TrainingTrack
    second: TrainingTrack
    frames: NDArray[np.int32]  # [matches, 2], both columns non-decreasing
    mirrored: bool = False  # the first track matches as its mirror image


def mirror_joints(joints: FloatArray) -> FloatArray:
    """The mirror image of canonical joints."""
    return mirror(Motion(joints, FPS, CANONICAL)).joints


def pair_dancers(
    tracks: Sequence[TrainingTrack], on_pair: Callable[[float], None] = lambda _: None
) -> list[AlignedPair]:
    """Every two tracks of one choreography by different dancers, aligned; mirrored where that fits better.

    `on_pair` receives the share done.
    """
    wanted = list(_list_dancer_pairs(tracks))
    involved = {id(track): track for pair in wanted for track in pair}
    plain = {key: _describe_movement(track.joints) for key, track in involved.items()}
    mirrored = {key: _describe_movement(mirror_joints(track.joints)) for key, track in involved.items()}
    pairs = []
    for number, (first, second) in enumerate(wanted, start=1):
        plain_costs = _warp(plain[id(first)], plain[id(second)])
        mirrored_costs = _warp(mirrored[id(first)], plain[id(second)])
        reflect = bool(mirrored_costs[-1, -1] < MIRROR_MARGIN * plain_costs[-1, -1])
        path = _trace_path(mirrored_costs if reflect else plain_costs)
        pairs.append(AlignedPair(first, second, path * WARP_EVERY, reflect))
        on_pair(number / len(wanted))
    return pairs


def _list_dancer_pairs(tracks: Sequence[TrainingTrack]) -> Iterator[tuple[TrainingTrack, TrainingTrack]]:
    by_dance: dict[str, list[TrainingTrack]] = {}
    for track in tracks:
        if track.dancer is not None and track.view_of is None:
            by_dance.setdefault(track.dance, []).append(track)
    for same_dance in by_dance.values():
        yield from ((a, b) for a, b in combinations(same_dance, 2) if a.dancer != b.dancer)


def _describe_movement(joints: FloatArray) -> FloatArray:
    """Pose and speed of every third frame: [frames / 3, numbers]."""
    positions = np.nan_to_num(joints[:, _BODY]).reshape(len(joints), -1)
    speed = np.diff(positions, axis=0, prepend=positions[:1])
    return np.asarray(np.concatenate([positions, SPEED_WEIGHT * speed], axis=1)[::WARP_EVERY], np.float32)


def _warp(first: FloatArray, second: FloatArray) -> NDArray[np.float64]:
    """Cost of the cheapest path to each pair of rows: [first + 1, second + 1], with a border.

    Filled along antidiagonals, whose cells do not depend on one another.
    """
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * first @ second.T
    cost = np.sqrt(np.maximum(squares, 0))
    rows, columns = cost.shape
    table = np.full((rows + 1, columns + 1), np.inf)
    table[0, 0] = 0
    for diagonal in range(2, rows + columns + 1):
        i = np.arange(max(1, diagonal - columns), min(rows, diagonal - 1) + 1)
        j = diagonal - i
        before = np.minimum(np.minimum(table[i - 1, j], table[i, j - 1]), table[i - 1, j - 1])
        table[i, j] = cost[i - 1, j - 1] + before
    return table


def _trace_path(table: NDArray[np.float64]) -> NDArray[np.int32]:
    """The cheapest path through a table of costs, from its first cell to its last."""
    i, j = table.shape[0] - 1, table.shape[1] - 1
    path = []
    while i > 0 and j > 0:
        path.append((i - 1, j - 1))
        steps = ((i - 1, j - 1), (i - 1, j), (i, j - 1))
        i, j = min(steps, key=lambda step: table[step])
    return np.array(path[::-1], dtype=np.int32)


def pair_views(tracks: Sequence[TrainingTrack]) -> list[AlignedPair]:
    """Each estimator's view with the segment of its source that it shows, frame by frame.

    Views whose source is missing, or that are nowhere near it, are skipped.
    """
    by_name = {track.name: track for track in tracks}
    pairs = []
    for view in tracks:
        source = by_name.get(view.view_of or "")
        if source is None:
            continue
        offset = find_segment(view.joints, source.joints)
        if offset is not None:
            count = min(len(view.joints), len(source.joints) - offset)
            frames = np.arange(count, dtype=np.int32)
            pairs.append(AlignedPair(view, source, np.stack([frames, frames + offset], axis=1)))
    return pairs


def find_segment(view: FloatArray, source: FloatArray) -> int | None:
    """The frame of `source` where `view` begins, by the least mean joint distance; None if far everywhere."""
    length = min(len(view), len(source))
    body = view[:length, _BODY]
    if np.isfinite(body).all(axis=2).mean() < MIN_SEEN_SHARE:
        return None
    windows = sliding_window_view(source[:, _BODY], length, axis=0)  # [offsets, joints, 3, length]
    distances = [
        float(np.nanmean(np.linalg.norm(window.transpose(2, 0, 1) - body, axis=2))) for window in windows
    ]
    best = int(np.argmin(distances))
    return best if distances[best] < MAX_VIEW_METRES else None
