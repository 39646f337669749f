"""Synchrony of a query with every track of a small catalogue: a coarse pass beside the words of stage one.

Words may miss a dance that another person dances at the same moments. Bone directions are averaged over a few
steps, the query is laid over each track at every lag that leaves enough overlap, at the tempo as it is, and
the squared correlation times the overlap is kept. The best go to stage two.

The averages are whole numbers, so that products of them are exact: a track's score is the same whichever
others are scored beside it.
"""

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.search.stage2.synchrony import LEAST_SECONDS, LEAST_SHARE, TREMBLE
from dancematch.search.thread_pool import parallel_map
from dancematch.search.words.word_store import Bones
from dancematch.tracks import PackedWords
from dancematch.types import BONE_SCALE, BONES_UNSEEN, BoneArray, FloatArray

STEPS = 4  # that are averaged: about two rows per second
_ROWS = 8192  # of tracks in one matrix product


class CoarseTracks(NamedTuple):
    """Tracks, or variants of a query, averaged over every `STEPS` steps and laid end to end."""

    values: BoneArray  # [rows, 20], 0 where a bone is unseen
    energies: FloatArray  # [rows]: the squared length of a row, and what an estimator's trembling adds
    offsets: NDArray[np.int64]  # [tracks + 1]


class CoarseScores(NamedTuple):
    """The best lag of one variant of the query in each track: [tracks] each."""

    scores: FloatArray  # squared correlation times the overlapping rows; 0 where nothing correlates
    offsets: NDArray[np.int64]  # steps of the track at which the query begins, may be negative


def average_steps(bones: Bones) -> CoarseTracks:
    """Return tracks averaged; steps that fill no row at the end of a track are left out."""
    lengths = np.diff(bones.offsets) // STEPS
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = np.zeros((offsets[-1], bones.values.shape[1]), np.int8)
    energies = np.zeros(len(values), np.float32)
    _average(np.ascontiguousarray(bones.values), bones.offsets, offsets, values, energies)
    return CoarseTracks(values, energies, offsets)


# Packed words never change.
_coarse_cache: "WeakKeyDictionary[PackedWords, CoarseTracks]" = WeakKeyDictionary()


def _coarse_tracks(packed: PackedWords) -> CoarseTracks:
    if packed not in _coarse_cache:
        _coarse_cache[packed] = average_steps(Bones(packed.bones, packed.offsets))
    return _coarse_cache[packed]


def score_coarsely(
    queries: Sequence[BoneArray], chunks: Sequence[PackedWords], seconds_per_step: float
) -> list[CoarseScores]:
    """Score variants of a query against all tracks of the chunks, end to end."""
    ends = np.cumsum([0, *map(len, queries)])
    query = average_steps(Bones(np.concatenate(queries), ends))
    least = LEAST_SECONDS / (seconds_per_step * STEPS)
    nothing = np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64)
    parts = [nothing, *(_score_tracks(query, _coarse_tracks(one), least) for one in chunks)]
    scores, offsets = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
    return [CoarseScores(*one) for one in zip(scores, STEPS * offsets, strict=True)]


def _score_tracks(
    query: CoarseTracks, tracks: CoarseTracks, least: float
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Score and lag in rows of each variant with each track: [variants, tracks]."""
    variants, count = len(query.offsets) - 1, len(tracks.offsets) - 1
    # A track's numbers together, so that those of some tracks are one piece of memory.
    scores = np.zeros((count, variants), np.float32)
    lags = np.zeros((count, variants), np.int64)
    if not len(query.values):
        return scores.T, lags.T
    rows = query.values.astype(np.float32)

    def score(part: tuple[int, int]) -> None:
        first, end = part
        bounds = tracks.offsets[first : end + 1]
        values = tracks.values[bounds[0] : bounds[-1]].astype(np.float32)
        energies = tracks.energies[bounds[0] : bounds[-1]]
        found = scores[first:end], lags[first:end]
        own = query.energies, query.offsets
        _best_lags(rows @ values.T, *own, energies, bounds - bounds[0], least, *found)

    parallel_map(score, _parts(tracks.offsets))
    return scores.T, lags.T


def _parts(offsets: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Tracks in runs of so many rows that a matrix product stays small."""
    parts, first = [], 0
    while first < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[first] + _ROWS, side="right")) - 1
        end = max(first + 1, end)
        parts.append((first, end))
        first = end
    return parts


@kernel
def _average(bones, bounds, offsets, values, energies):  # type: ignore[no-untyped-def]
    for track in range(len(offsets) - 1):
        for row in range(offsets[track], offsets[track + 1]):
            first = bounds[track] + STEPS * (row - offsets[track])
            energies[row] = TREMBLE * BONE_SCALE**2
            for number in range(bones.shape[1]):
                total, seen = 0, 0
                for step in range(first, first + STEPS):
                    if bones[step, number] != BONES_UNSEEN:
                        total += bones[step, number]
                        seen += 1
                if seen:
                    mean = np.round(total / seen)
                    values[row, number] = np.int8(mean)
                    energies[row] += np.float32(mean * mean)


@kernel
def _best_lags(products, own, variants, energies, bounds, least, scores, lags):  # type: ignore[no-untyped-def]
    longest = 0
    for track in range(len(bounds) - 1):
        longest = max(longest, bounds[track + 1] - bounds[track])
    sums = np.zeros(longest + len(own), np.float32)
    in_query, in_track = np.zeros(len(own) + 1, np.float32), np.zeros(longest + 1, np.float32)
    for variant in range(len(variants) - 1):
        top, length = variants[variant], variants[variant + 1] - variants[variant]
        if length == 0:
            continue
        for row in range(length):
            in_query[row + 1] = in_query[row] + own[top + row]
        for track in range(len(bounds) - 1):
            first, rows = bounds[track], bounds[track + 1] - bounds[track]
            if rows == 0:
                continue
            for row in range(rows):
                in_track[row + 1] = in_track[row] + energies[first + row]
            # Lags from -before to after leave an overlap of at least so many rows.
            needed = int(np.ceil(min(least, LEAST_SHARE * min(length, rows)) - 1e-3))
            before, after = length - needed, rows - needed
            sums[: before + after + 1] = 0
            for row in range(length):
                low, high = max(-before, -row), min(after, rows - 1 - row)
                line = sums[low + before : high + before + 1]
                product = products[top + row, first + row + low : first + row + high + 1]
                for place in range(len(line)):
                    line[place] += product[place]
            best, at = np.float32(0), 0
            for place in range(before + after + 1):
                if sums[place] > 0:
                    lag = place - before
                    begin, end = max(0, -lag), min(length, rows - lag)
                    energy = (in_query[end] - in_query[begin]) * (in_track[end + lag] - in_track[begin + lag])
                    score = sums[place] * sums[place] / energy * np.float32(end - begin)
                    if score > best:
                        best, at = score, lag
            scores[track, variant], lags[track, variant] = best, at
