"""Whether two tracks show one performance: their moments agree to a few milliseconds.

Two people, or one person twice, who dance the same thing are early here and late there, by 17 to 93 ms.
Copies of one recording, and one performance seen by two cameras or given to two characters, are not: whatever
the lag and the tempo between them, it stays the same from beginning to end. So the lag is measured in short
windows along the best line of synchrony, a straight line is laid through these lags, and what they deviate
from it is the jitter.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.search.stage2.synchrony import TREMBLE, unpack_bones
from dancematch.types import BONE_NUMBERS, BoneArray

# One performance if all three hold: chosen so that of pairs by one dancer to two pieces of music less than
# 1 % are taken for one (`eval/studies/same_performance.py`, docs/decisions.md).
MOST_JITTER = 0.010  # seconds
LEAST_CORRELATION = 0.94
LEAST_SECONDS = 4.5  # in common, each for the share of bones that both show
LEAST_PEAK = 0.6  # of synchrony, which is coarser; no performance was found below it, so none is measured

_WINDOW, _HOP = 2.0, 2 / 3  # seconds
_SHIFTS = np.arange(-4.0, 4.5, 0.5)  # steps around the line at which a window's lag is measured
_MIDDLE = len(_SHIFTS) // 2
_SHOWN = 0.6  # of what the fullest window shows, that a window must show
_USUAL_DEVIATION = 0.05  # seconds; a window far beyond it hardly bends the line
_ROUNDS = 5

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Timing:
    """How closely two tracks keep time with each other along one line."""

    correlation: float  # of the bones' directions, between steps, after the lag's drift is taken out
    jitter: float  # seconds, the mean deviation of the windows' lags from a straight line
    seconds: float  # in common, each for the share of bones that both show

    @property
    def same_performance(self) -> bool:
        """Whether it is that of one performance, seen twice."""
        return (
            self.correlation >= LEAST_CORRELATION
            and self.jitter <= MOST_JITTER
            and self.seconds >= LEAST_SECONDS
        )


def measure_timing(
    query: BoneArray, reference: BoneArray, offset: float, tempo: float, seconds_per_step: float
) -> Timing | None:
    """The timing of two tracks along a line of synchrony; None where too few windows have enough in common.

    `offset` is the reference's step at which the query begins, `tempo` its steps per step of the query.
    """
    line = offset + tempo * np.arange(len(query))
    compared = _Compared(query, reference)
    sums = compared.sums(line + _SHIFTS[:, None])  # [shifts, 4, steps]
    lags, moments, weights = _window_lags(sums, seconds_per_step)
    if len(lags) < 2:
        return None
    level, drift, deviations = _straight_line(moments, lags, weights)
    steps = level / seconds_per_step + drift * np.arange(len(query))
    whole = compared.sums((line + steps)[None])[0].sum(axis=1)
    jitter = float((weights * np.abs(deviations)).sum() / weights.sum())
    return Timing(float(_correlation(whole)), jitter, float(whole[3] * seconds_per_step))


class _Compared:
    """Two tracks made ready to be compared along any line, the reference interpolated between its steps."""

    def __init__(self, query: BoneArray, reference: BoneArray) -> None:
        self._query, shown = unpack_bones(query)
        self._reference, seen = unpack_bones(reference)
        self._shown, self._seen = np.repeat(shown, 2, axis=1), np.repeat(seen, 2, axis=1)

    def sums(self, lines: Values) -> Values:
        """Product, both energies, and the share of bones that both show, per step: [lines, 4, Q].

        `lines` [lines, Q]: the place in the reference that each step meets.
        """
        last = len(self._reference) - 1
        within = np.clip(lines, 0, last)
        before = within.astype(np.int64)
        after = np.minimum(before + 1, last)
        share = (within - before)[:, :, None]
        there = ((lines >= 0) & (lines <= last))[:, :, None]
        both = self._seen[before] * self._seen[after] * there * self._shown
        values = ((1 - share) * self._reference[before] + share * self._reference[after]) * both
        query = self._query * both
        products = (query * values).sum(axis=2)
        energies = (query * query).sum(axis=2), (values * values).sum(axis=2)
        return np.stack([products, *energies, both.sum(axis=2) / BONE_NUMBERS], axis=1)


def _correlation(sums: Values) -> Values:
    """From sums over steps, of whatever shape: [4, ...]."""
    noise = TREMBLE * sums[3]
    return np.asarray(sums[0] / np.sqrt((sums[1] + noise) * (sums[2] + noise) + 1e-9))


def _window_lags(sums: Values, seconds_per_step: float) -> tuple[Values, Values, Values]:
    """The lag of each window beyond the line, in seconds; the window's middle; what it counts."""
    width, hop = round(_WINDOW / seconds_per_step), round(_HOP / seconds_per_step)
    firsts = np.arange(0, max(0, sums.shape[2] - width) + 1, hop)
    running = np.concatenate([np.zeros((*sums.shape[:2], 1)), np.cumsum(sums, axis=2)], axis=2)
    ends = np.minimum(firsts + width, sums.shape[2])
    windows = running[:, :, ends] - running[:, :, firsts]  # [shifts, 4, windows]
    shown = windows[_MIDDLE, 3]
    kept = np.flatnonzero(shown >= np.maximum(_SHOWN * shown.max(), 0.1 * width))
    heights = _correlation(windows.transpose(1, 0, 2))[:, kept]  # [shifts, kept]
    return (
        seconds_per_step * _peaks(heights),
        seconds_per_step * (firsts + ends)[kept] / 2,
        np.sqrt(windows[_MIDDLE, 1, kept]) + 1e-6,  # more movement gives a sharper lag
    )


def _peaks(heights: Values) -> Values:
    """Where each column is highest, in steps, between the shifts by a parabola."""
    top, columns = heights.argmax(axis=0), np.arange(heights.shape[1])
    inner = np.clip(top, 1, len(heights) - 2)
    before, at, after = (heights[inner + d, columns] for d in (-1, 0, 1))
    bend = before - 2 * at + after
    between = np.where(bend < -1e-9, 0.5 * (before - after) / np.where(bend < -1e-9, bend, 1), 0)
    width = float(_SHIFTS[1] - _SHIFTS[0])
    return np.asarray(_SHIFTS[top] + width * np.where(top == inner, np.clip(between, -0.5, 0.5), 0))


def _straight_line(moments: Values, lags: Values, weights: Values) -> tuple[float, float, Values]:
    """Level, slope and deviations of a line through the lags that single windows cannot bend."""
    columns = np.stack([np.ones_like(moments), moments], axis=1)
    held = np.diag([1e-6, 1e-2])  # two windows have no slope of their own
    counts, deviations = weights, lags
    found: Values = np.zeros(2)
    for _ in range(_ROUNDS):
        weighted = columns * counts[:, None]
        found = np.asarray(np.linalg.solve(weighted.T @ columns + held, weighted.T @ lags), np.float64)
        deviations = lags - columns @ found
        counts = weights / (1 + (deviations / _USUAL_DEVIATION) ** 2)
    return float(found[0]), float(found[1]), deviations
