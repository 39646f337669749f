"""How much each moment of a reference differs from each moment of a clip, as danced and mirrored.

Costs are shares: 0 is the same directions of bones, 1 what moments have that do not belong together. The clip
is sampled at its own tempo, so that both dancers' samples run side by side: a place is a diagonal.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import mirror
from dancematch.report.compare import BONES, LIMBS, bone_directions
from dancematch.types import FloatArray, Motion, Span

PARTS = tuple(limb.replace("_", " ") for limb in LIMBS)
_LEAST_UNRELATED = 15.0  # degrees: a limb that hardly moves says little
_RATE = 10.0  # samples per second
_MOST_SAMPLES = 1200  # of the longer dance; of one of minutes there are fewer per second
_BONE_NUMBERS = {bone: number for number, bone in enumerate(BONES)}

Costs = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CostTable:
    """Costs of moments [reference samples, clip samples], and the degrees behind them."""

    plain: Costs
    mirrored: Costs
    degrees: tuple[FloatArray, FloatArray]  # plain, mirrored: [limbs, reference samples, clip samples]
    starts: tuple[float, float]  # seconds of the first sample of reference and clip
    steps: tuple[float, float]  # seconds per sample of each

    @classmethod
    def of(cls, clip: Motion, reference: Motion, tempo: float) -> Self:
        """The table of two canonical motions; `tempo` is the clip's over the reference's."""
        longest = max(reference.seconds, clip.seconds * tempo)
        step = max(1 / _RATE, longest / _MOST_SAMPLES)
        theirs = _sample(reference, step)
        as_danced, mirrored = (
            _limb_degrees(theirs, _sample(one, step / tempo)) for one in (clip, mirror(clip))
        )
        known = [limb[np.isfinite(limb)] for limb in as_danced]
        usual = [max(float(np.median(limb)), _LEAST_UNRELATED) if len(limb) else 180.0 for limb in known]
        shares = _share(as_danced, np.array(usual)), _share(mirrored, np.array(usual))
        return cls(*shares, (as_danced, mirrored), (reference.start, clip.start), (step, step / tempo))

    def samples(self, span: Span) -> tuple[int, int]:
        """The first sample of the reference within a span, and the one after the last."""
        first, end = (round((time - self.starts[0]) / self.steps[0]) for time in (span.start, span.end))
        return min(first, len(self.plain) - 1), min(max(end, first + 1), len(self.plain))

    def seconds(self, first: int, end: int) -> Span:
        """The time of samples of the clip from `first` until before `end`."""
        bounds = [min(max(place, 0), self.plain.shape[1]) for place in (first, end)]
        start, stop = (self.starts[1] + self.steps[1] * place for place in bounds)
        return Span(start, max(stop, start + self.steps[1] / 2))

    def line_costs(self, first: int, end: int, *, mirrored: bool) -> Costs:
        """The mean cost of a unit at each place of the clip; what lies beyond the clip costs 1."""
        costs = (self.mirrored if mirrored else self.plain)[first:end]
        length, width = costs.shape
        padded = np.ones((length, width + length))
        padded[:, :width] = costs
        return np.asarray(np.mean([padded[row, row : row + width] for row in range(length)], axis=0))

    def limb_degrees(self, first: int, end: int, start: int, *, mirrored: bool) -> FloatArray:
        """The degrees of each limb over a unit that begins at the clip's sample `start`: [limbs], NaN unseen.

        Each moment of the reference is compared with the clip's nearest of three.
        """
        table, costs = self.degrees[mirrored], self.mirrored if mirrored else self.plain
        rows = np.arange(first, end)
        columns = start + np.arange(end - first)
        inside = columns < costs.shape[1]
        rows, columns = rows[inside], columns[inside]
        near = np.clip(columns + np.array([[-1], [0], [1]]), 0, costs.shape[1] - 1)
        chosen = near[self._exact(rows, near, mirrored).argmin(axis=0), np.arange(len(rows))]
        return _means(table[:, rows, chosen])

    def _exact(self, rows: NDArray[np.int64], columns: NDArray[np.int64], mirrored: bool) -> FloatArray:
        return np.nan_to_num(_means(np.moveaxis(self.degrees[mirrored][:, rows, columns], 0, -1)), nan=180.0)


def _sample(motion: Motion, step: float) -> FloatArray:
    """The directions of the bones, one row per step: [samples, bones, 3]."""
    count = max(1, int(motion.seconds / step))
    frames = np.minimum(
        ((np.arange(count) + 0.5) * step * motion.fps).astype(np.int64), len(motion.joints) - 1
    )
    return bone_directions(motion.joints[frames, 1:])


def _limb_degrees(reference: FloatArray, clip: FloatArray) -> FloatArray:
    """The mean angle between the bones of each limb: [limbs, reference samples, clip samples]."""
    found = np.full((len(PARTS), len(reference), len(clip)), np.nan, np.float32)
    for number, bones in enumerate(LIMBS.values()):
        each = [_BONE_NUMBERS[bone] for bone in bones]
        angles = [
            np.degrees(np.arccos(np.clip(reference[:, bone] @ clip[:, bone].T, -1, 1))) for bone in each
        ]
        found[number] = _means(np.stack(angles, axis=-1))
    return found


def _share(degrees: FloatArray, usual: Costs) -> Costs:
    """The mean over limbs of their degrees as a share of the usual, 1 at most; 1 where none is seen.

    Each moment of the reference may be a sample early or late.
    """
    shares = np.minimum(degrees / usual[:, None, None], 1)
    costs = np.nan_to_num(_means(np.moveaxis(shares, 0, -1)), nan=1.0).astype(np.float64)
    padded = np.pad(costs, ((0, 0), (1, 1)), mode="edge")
    return np.asarray(np.min([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], axis=0))


def _means(values: FloatArray) -> FloatArray:
    """The mean over the last axis of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    count = known.sum(axis=-1)
    return np.asarray(
        np.where(known, values, 0).sum(axis=-1) / np.where(count > 0, count, np.nan), np.float32
    )
