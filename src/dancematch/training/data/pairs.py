"""Pairs of tracks that show the same dance, matched frame by frame.

- Two dancers of one choreography: by the time lag between them where it is known, such as two dancers of
  one file, if they move alike at that lag (`_align_by_lag`); else by dynamic time warping.
- A pose estimator's view and its source: by sliding one along the other.
- Every other track is paired with itself, which needs no search (`batches.py`).
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
LAG_SLACK = 4  # frames to either side of a known lag: sound tells it to a tenth of a second
MIN_CORRELATION = 0.4  # of two dancers' movement at a known lag; below, one of them does something else
MIN_OVERLAP = 60  # frames
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
    pairs = []
    for number, (first, second) in enumerate(wanted, start=1):
        lag = _known_lag(first, second)
        pair = _align_by_warping(first, second) if lag is None else _align_by_lag(first, second, lag)
        pairs += [] if pair is None else [pair]
        on_pair(number / len(wanted))
    _both_descriptions.cache_clear()
    return pairs


def _list_dancer_pairs(tracks: Sequence[TrainingTrack]) -> Iterator[tuple[TrainingTrack, TrainingTrack]]:
    by_dance: dict[tuple[str, str], list[TrainingTrack]] = {}
    for track in tracks:
        if track.view_of is None:
            by_dance.setdefault((track.source, track.dance), []).append(track)
    for same_dance in by_dance.values():
        yield from ((a, b) for a, b in combinations(same_dance, 2) if _are_two_dancers(a, b))


def _are_two_dancers(first: TrainingTrack, second: TrainingTrack) -> bool:
    if first.file and first.file == second.file:
        return True
    return first.dancer != second.dancer and None not in (first.dancer, second.dancer)


def _known_lag(first: TrainingTrack, second: TrainingTrack) -> int | None:
    """How many frames later the second track shows what the first shows; None where nothing says it."""
    if first.file and first.file == second.file:
        seconds = first.start - second.start
    elif first.lag_seconds is not None and second.lag_seconds is not None:
        seconds = first.start - first.lag_seconds - second.start + second.lag_seconds
    else:
        return None
    return round(seconds * FPS)


def _align_by_lag(first: TrainingTrack, second: TrainingTrack, lag: int) -> AlignedPair | None:
    """The pair at the best of the lags near the known one; None if both do not move alike there."""
    best, found = MIN_CORRELATION, None
    for mirrored in (False, True):
        own = mirror_joints(first.joints) if mirrored else first.joints
        for shift in range(lag - LAG_SLACK, lag + LAG_SLACK + 1):
            frames = np.arange(max(0, -shift), min(len(own), len(second.joints) - shift), dtype=np.int32)
            if len(frames) < MIN_OVERLAP:
                continue
            correlation = _correlate(own[frames], second.joints[frames + shift])
            if correlation > best:
                matched = np.stack([frames, frames + shift], axis=1)
                best, found = correlation, AlignedPair(first, second, matched, mirrored)
    return found


def _correlate(first: FloatArray, second: FloatArray) -> float:
    """The correlation of all joints' movement about their means, in the picture plane."""
    one, other = (joints[:, _BODY, :2] for joints in (first, second))
    seen = np.isfinite(one) & np.isfinite(other)
    if not seen.any():
        return 0.0
    one, other = (np.where(seen, values, np.nan) for values in (one, other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a joint that is never seen
        one, other = (np.nan_to_num(values - np.nanmean(values, axis=0)) for values in (one, other))
    return float((one * other).sum() / max(1e-12, np.sqrt((one**2).sum() * (other**2).sum())))


def _align_by_warping(first: TrainingTrack, second: TrainingTrack) -> AlignedPair:
    (plain, mirrored), (other, _) = _both_descriptions(first), _both_descriptions(second)
    plain_costs, mirrored_costs = _warp(plain, other), _warp(mirrored, other)
    reflect = bool(mirrored_costs[-1, -1] < MIRROR_MARGIN * plain_costs[-1, -1])
    path = _trace_path(mirrored_costs if reflect else plain_costs)
    return AlignedPair(first, second, path * WARP_EVERY, reflect)


@lru_cache(maxsize=1024)
def _both_descriptions(track: TrainingTrack) -> tuple[FloatArray, FloatArray]:
    """The track as it is and mirrored."""
    return _describe_movement(track.joints), _describe_movement(mirror_joints(track.joints))


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
