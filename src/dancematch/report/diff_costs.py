"""How well each passage of a reference goes with each place of a clip, as danced and mirrored.

A passage is found by its movement: the directions of bones less their mean over a few seconds, correlated as
in synchrony. How far the limbs are apart there is then measured in degrees. The clip is sampled at its own
tempo, so that both dancers' samples run side by side: a place is a diagonal.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import mirror
from dancematch.report.compare import BONES, LIMBS, bone_directions
from dancematch.report.poses import Poses
from dancematch.types import FloatArray, Motion, Span

PARTS = tuple(limb.replace("_", " ") for limb in LIMBS)
MEAN_SECONDS = 4.0  # window of the mean that is subtracted, as in synchrony
_TREMBLE = 0.02  # energy per sample of an estimator that trembles, as in synchrony
_RATE = 10.0  # samples per second
_MOST_SAMPLES = 1200  # of the longer dance; of one of minutes there are fewer per second
_EDGE_SECONDS = 1.0  # by which a passage may lie beyond an end of the clip
_LEAST_SEEN = 0.25  # share of a passage, over which a limb is seen in both, that its degrees need
_BONE_NUMBERS = {bone: number for number, bone in enumerate(BONES)}
_NUMBERS = {limb: [_BONE_NUMBERS[bone] for bone in bones] for limb, bones in LIMBS.items()}
ARM_PARTS, LEG_PARTS = ([n for n, part in enumerate(PARTS) if part.endswith(one)] for one in ("arm", "leg"))
_ARMS, _LEGS = ([*_NUMBERS[f"left_{limb}"], *_NUMBERS[f"right_{limb}"]] for limb in ("arm", "leg"))

Costs = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CostTable:
    """Both dances sample by sample; the clip's are counted from a little before its start."""

    products: tuple[Costs, Costs]  # as danced, mirrored: [reference samples, clip samples] of movements
    energies: tuple[Costs, Costs]  # of the reference's and the clip's movements, per sample
    # Of the reference, the clip and the mirrored clip, [samples, bones, 3]:
    movements: tuple[Costs, Costs, Costs]
    directions: tuple[FloatArray, FloatArray, FloatArray]  # NaN where a bone was guessed
    starts: tuple[float, float]  # seconds of the first sample of reference and clip
    steps: tuple[float, float]  # seconds per sample of each
    edge: int  # samples before and after the clip

    @classmethod
    def of(cls, clip: Motion, reference: Motion, tempo: float) -> Self:
        """The table of two canonical motions; `tempo` is the clip's over the reference's."""
        longest = max(reference.seconds, clip.seconds * tempo)
        step = max(1 / _RATE, longest / _MOST_SAMPLES)
        edge, window = round(_EDGE_SECONDS / step), round(MEAN_SECONDS / step)
        poses = [Poses.of(one) for one in (reference, clip, mirror(clip))]
        frames = [_choose_frames(reference, step), *[_choose_frames(clip, step / tempo)] * 2]
        theirs, ours, mirrored = (
            _movement(bone_directions(one.joints[chosen]), window)
            for one, chosen in zip(poses, frames, strict=True)
        )
        ours, mirrored = (np.pad(one, ((edge, edge), (0, 0), (0, 0))) for one in (ours, mirrored))
        known, own, turned = (one.reshape(len(one), -1) for one in (theirs, ours, mirrored))
        first, second, third = (
            bone_directions(one.measured[chosen]) for one, chosen in zip(poses, frames, strict=True)
        )
        return cls(
            (known @ own.T, known @ turned.T), ((known**2).sum(axis=1), (own**2).sum(axis=1)),
            (theirs, ours, mirrored), (first, second, third),
            (reference.start, clip.start), (step, step / tempo), edge,
        )  # fmt: skip

    @property
    def width(self) -> int:
        """Samples of the clip, with those before and after it."""
        return len(self.energies[1])

    def samples(self, span: Span) -> tuple[int, int]:
        """The first sample of the reference within a span, and the one after the last."""
        length = len(self.energies[0])
        first, end = (round((time - self.starts[0]) / self.steps[0]) for time in (span.start, span.end))
        return min(first, length - 1), min(max(end, first + 1), length)

    def seconds(self, first: int, end: int) -> Span:
        """The time of samples of the clip from `first` until before `end`, as far as the clip lasts."""
        last = self.width - 2 * self.edge
        bounds = [min(max(place - self.edge, 0), last) for place in (first, end)]
        start, stop = (self.starts[1] + self.steps[1] * place for place in bounds)
        return Span(start, max(stop, start + self.steps[1] / 2))

    def line_costs(self, first: int, end: int, *, mirrored: bool) -> Costs:
        """1 - correlation of a passage with each place of the clip at which it may begin."""
        length, places = end - first, max(1, self.width - (end - first) + 1)
        rows = np.pad(self.products[mirrored][first:end], ((0, 0), (0, length)))
        sums = np.sum([rows[row, row : row + places] for row in range(length)], axis=0)
        running = np.concatenate([[0.0], np.cumsum(self.energies[1])])
        ends = np.minimum(np.arange(places) + length, self.width)
        noise = _TREMBLE * length
        own = running[ends] - running[np.arange(places)] + noise
        return np.asarray(1 - sums / np.sqrt(own * (self.energies[0][first:end].sum() + noise)))

    def exchange_gains(self, first: int, end: int, start: int) -> tuple[float, float]:
        """By how much arms, and legs, correlate better if left and right change places, at a place."""
        theirs = self.movements[0][first:end]
        places = np.arange(start, min(start + end - first, self.width))
        gains = []
        for bones in (_ARMS, _LEGS):
            known = theirs[: len(places), bones]
            plain, turned = (movement[places][:, bones] for movement in self.movements[1:])
            noise = _TREMBLE * len(places)
            energy = np.sqrt(((known**2).sum() + noise) * ((plain**2).sum() + noise))
            gains.append(float((known * (turned - plain)).sum() / energy))
        return gains[0], gains[1]

    def limb_degrees(self, first: int, end: int, start: int, *, mirrored: bool) -> FloatArray:
        """Degrees of each limb over a passage that begins at the clip's sample `start`; NaN where unseen.

        Each moment of the reference is compared with the clip's nearest of three.
        """
        theirs, ours = self.directions[0][first:end], self.directions[1 + mirrored]
        places = start - self.edge + np.arange(end - first)
        inside = (places >= 0) & (places < len(ours))
        if not inside.any():
            return np.full(len(PARTS), np.nan, np.float32)
        near = np.clip(places[inside] + np.array([[-1], [0], [1]]), 0, len(ours) - 1)
        cosines = np.clip((ours[near] * theirs[inside]).sum(axis=-1), -1, 1)  # [3, samples, bones]
        angles = np.degrees(np.arccos(cosines))
        best = np.nan_to_num(_means(angles), nan=180.0).argmin(axis=0)
        chosen = angles[best, np.arange(angles.shape[1])]
        limbs = [chosen[:, bones].ravel() for bones in _NUMBERS.values()]
        seen = np.array([np.isfinite(limb).mean() for limb in limbs]) >= _LEAST_SEEN
        return np.where(seen, [_means(limb) for limb in limbs], np.nan).astype(np.float32)

    def seen_shares(self, first: int, end: int, start: int) -> tuple[float, float]:
        """The shares of arms and legs seen in a passage of the reference, and at a place of the clip.

        What lies beyond an end of the clip does not count.
        """
        places = start - self.edge + np.arange(end - first)
        own = self.directions[1]
        inside = places[(places >= 0) & (places < len(own))]
        theirs, ours = (
            np.isfinite(rows[:, [*_ARMS, *_LEGS], 0]) for rows in (self.directions[0][first:end], own[inside])
        )
        return float(theirs.mean()), float(ours.mean()) if len(inside) else 0.0

    def inside_share(self, start: int, length: int) -> float:
        """The share of a place that lies within the clip."""
        first, last = max(start, self.edge), min(start + length, self.width - self.edge)
        return max(0, last - first) / length

    def seconds_outside(self, start: int, length: int) -> tuple[float, float]:
        """How much of a place lies before the clip and after it, in seconds of the reference."""
        before, after = self.edge - start, start + length - (self.width - self.edge)
        step = self.steps[0]
        return step * min(max(0, before), length), step * min(max(0, after), length)

    def speeds(self, first: int, end: int, start: int) -> tuple[float, float]:
        """How fast bones turn in a passage of the reference, and at a place of the clip; NaN if unseen."""
        begin = max(start - self.edge, 0)
        own = self.directions[1][begin : max(start - self.edge + end - first, begin)]
        theirs, ours = (
            np.linalg.norm(np.diff(rows, axis=0), axis=2) for rows in (self.directions[0][first:end], own)
        )
        return float(_means(theirs.ravel())), float(_means(ours.ravel()))


def _choose_frames(motion: Motion, step: float) -> NDArray[np.int64]:
    """One frame per step."""
    count = max(1, int(motion.seconds / step))
    frames = ((np.arange(count) + 0.5) * step * motion.fps).astype(np.int64)
    return np.minimum(frames, len(motion.joints) - 1)


def _movement(directions: FloatArray, window: int) -> Costs:
    """Directions less their mean over a window around each sample; 0 where a bone is not seen."""
    seen, half = np.isfinite(directions), window // 2
    values = np.where(seen, directions, 0).astype(np.float64)
    nothing = np.zeros((1, *values.shape[1:]))
    sums, counts = (np.concatenate([nothing, np.cumsum(one, axis=0)]) for one in (values, seen))
    first = np.maximum(np.arange(len(values)) - half, 0)
    end = np.minimum(np.arange(len(values)) + half + 1, len(values))
    means = (sums[end] - sums[first]) / np.maximum(counts[end] - counts[first], 1)
    return np.where(seen, values - means, 0.0)


def _means(values: FloatArray) -> FloatArray:
    """The mean over the last axis of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    count, total = known.sum(axis=-1), np.where(known, values, 0).sum(axis=-1)
    return np.asarray(total / np.where(count > 0, count, np.nan), np.float32)
