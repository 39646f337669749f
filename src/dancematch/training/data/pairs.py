"""What shows the same moment of a dance: stretches of two clips, matched frame by frame.

Two dancers of one choreography are matched by dynamic time warping, a pose estimator's view
and its source by sliding one along the other. Clips without such kin pair with themselves:
those pairs need no search (`batches.py`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dancematch.motion import CANONICAL, FPS, mirror
from dancematch.training.data.files import TrainingTrack
from dancematch.types import FloatArray, Motion

EVERY = 3  # frames between two compared ones: dancers are not alike to the thirtieth of a second
SPEED = 4.0  # how much a metre a frame counts against a metre
PREFERENCE = 0.97  # a mirrored match must be that much cheaper: most dancers are not mirrored
SEEN_SHARE = 0.5  # of an estimator's view that must be seen to be placed
FARTHEST = 0.25  # metres a joint on average; a view farther from its source was read wrongly

_BODY = slice(CANONICAL.index("pelvis") + 1, None)  # joints that move in the canonical frame


@dataclass(frozen=True, eq=False)
class AlignedPair:
    """Frames of two clips that show the same moment of the same dance."""

    first: TrainingTrack
    second: TrainingTrack
    frames: NDArray[np.int32]  # [matches, 2], neither column falling
    mirrored: bool = False  # the first clip matches as a looking glass shows it


def mirror_joints(joints: FloatArray) -> FloatArray:
    """Canonical joints as a looking glass shows them."""
    return mirror(Motion(joints, FPS, CANONICAL)).joints


def pair_dancers(
    clips: Sequence[TrainingTrack], on_pair: Callable[[float], None] = lambda _: None
) -> list[AlignedPair]:
    """Every two clips of one choreography by different dancers, aligned; plain or mirrored, as fits better.

    `on_pair` is told the share done.
    """
    wanted = list(_by_other_dancers(clips))
    involved = {id(clip): clip for pair in wanted for clip in pair}
    plain = {key: _movement(clip.joints) for key, clip in involved.items()}
    turned = {key: _movement(mirror_joints(clip.joints)) for key, clip in involved.items()}
    pairs = []
    for number, (first, second) in enumerate(wanted, start=1):
        straight = _warp(plain[id(first)], plain[id(second)])
        reflected = _warp(turned[id(first)], plain[id(second)])
        mirrored = bool(reflected[-1, -1] < PREFERENCE * straight[-1, -1])
        path = _path(reflected if mirrored else straight)
        pairs.append(AlignedPair(first, second, path * EVERY, mirrored))
        on_pair(number / len(wanted))
    return pairs


def _by_other_dancers(clips: Sequence[TrainingTrack]) -> Iterator[tuple[TrainingTrack, TrainingTrack]]:
    known = [clip for clip in clips if clip.dancer is not None and clip.view_of is None]
    groups: dict[str, list[TrainingTrack]] = {}
    for clip in known:
        groups.setdefault(clip.group, []).append(clip)
    for group in groups.values():
        yield from ((a, b) for a, b in combinations(group, 2) if a.dancer != b.dancer)


def _movement(joints: FloatArray) -> FloatArray:
    """Pose and speed of every third frame: [frames / 3, numbers]."""
    places = np.nan_to_num(joints[:, _BODY]).reshape(len(joints), -1)
    speed = np.diff(places, axis=0, prepend=places[:1])
    movement: FloatArray = np.concatenate([places, SPEED * speed], axis=1)[::EVERY].astype(np.float32)
    return movement


def _warp(first: FloatArray, second: FloatArray) -> NDArray[np.float64]:
    """The cost of the cheapest way to each pair of rows: [first + 1, second + 1], with a border.

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


def _path(table: NDArray[np.float64]) -> NDArray[np.int32]:
    """The cheapest way through a table, from its first cell to its last."""
    i, j = table.shape[0] - 1, table.shape[1] - 1
    path = []
    while i > 0 and j > 0:
        path.append((i - 1, j - 1))
        steps = ((i - 1, j - 1), (i - 1, j), (i, j - 1))
        i, j = min(steps, key=lambda step: table[step])
    return np.array(path[::-1], dtype=np.int32)


def pair_views(clips: Sequence[TrainingTrack]) -> list[AlignedPair]:
    """Each estimator's view with the stretch of the clip that it shows, frame by frame.

    Views whose source is not among the clips, and views that are nowhere like it, are passed over.
    """
    by_name = {clip.name: clip for clip in clips}
    pairs = []
    for view in clips:
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
    """The frame of `source` at which `view` begins, by the least mean distance of joints; None if far off."""
    length = min(len(view), len(source))
    seen = view[:length, _BODY]
    known = np.isfinite(seen).all(axis=2)
    if known.mean() < SEEN_SHARE:
        return None
    windows = sliding_window_view(source[:, _BODY], length, axis=0)  # [offsets, joints, 3, length]
    distances = [
        float(np.nanmean(np.linalg.norm(window.transpose(2, 0, 1) - seen, axis=2))) for window in windows
    ]
    best = int(np.argmin(distances))
    return best if distances[best] < FARTHEST else None
