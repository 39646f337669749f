"""BatchSampler of paired crops: the same moments read twice, with what matches what.

A crop is a fixed number of frames; a step of it is a patch, counted through the whole batch.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.motion import FPS
from dancematch.training.data.files import TrainingTrack
from dancematch.training.data.pairs import AlignedPair, mirror_joints, pair_dancers, pair_views
from dancematch.training.recipe import TrainingRecipe
from dancematch.types import FloatArray


class Batch(NamedTuple):
    """Two readings of each pair, and which patches of them show the same moment."""

    first: FloatArray  # [pairs, frames, joints, 3]
    second: FloatArray
    matches: NDArray[np.int64]  # [matches, 2]: patches of all first and of all second readings
    groups: NDArray[np.int64]  # [matches]: equal where the same is danced


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Clips and what is known of their kinship; clips alone are enough."""

    clips: Sequence[TrainingTrack]
    dancers: Sequence[AlignedPair] = ()
    estimator: Sequence[AlignedPair] = ()

    @classmethod
    def of(
        cls, clips: Sequence[TrainingTrack], on_pair: Callable[[float], None] = lambda _: None
    ) -> "TrainingSet":
        """The clips with every pair that can be found among them; `on_pair` is told the share done."""
        return cls(clips, pair_dancers(clips, on_pair), pair_views(clips))


def pair_with_itself(clip: TrainingTrack) -> AlignedPair:
    """A clip and itself."""
    last = len(clip.joints) - 1
    return AlignedPair(clip, clip, np.array([[0, 0], [last, last]], dtype=np.int32))


def select_long_tracks(clips: Sequence[TrainingTrack], recipe: TrainingRecipe) -> list[TrainingTrack]:
    """The clips that fill a crop."""
    kept = [clip for clip in clips if len(clip.joints) >= recipe.crop_frames]
    if not kept:
        raise InputError(
            f"no motion lasts as long as a crop, {recipe.crop_frames / FPS:.1f} s; "
            f"give longer motions or a smaller crop_frames"
        )
    return kept


class BatchSampler:
    """Draws batches from material in the shares of a recipe; all chance comes from the generator given."""

    def __init__(self, material: TrainingSet, recipe: TrainingRecipe, patch_frames: int) -> None:
        self.clips = select_long_tracks(material.clips, recipe)
        self.dancers = material.dancers
        self.estimator = material.estimator
        self.recipe = recipe
        self.patch_frames = patch_frames

    @property
    def epoch_steps(self) -> int:
        """How many batches show about as many frames as there are."""
        frames = sum(len(clip.joints) for clip in self.clips)
        return max(1, round(frames / (self.recipe.batch * self.recipe.crop_frames)))

    def draw(self, rng: np.random.Generator) -> Batch:
        """The next batch."""
        steps = self.recipe.crop_frames // self.patch_frames
        first, second, matches, groups = [], [], [], []
        numbers: dict[str, int] = {}
        for place in range(self.recipe.batch):
            pair = self._choose(rng)
            one, other, matched = self._read(pair, rng)
            first.append(one)
            second.append(other)
            matches.append(matched + place * steps)
            groups.append(np.full(len(matched), numbers.setdefault(pair.first.group, len(numbers))))
        total = sum(map(len, matches))
        kept = rng.choice(total, min(self.recipe.contrasted, total), replace=False)
        return Batch(
            np.stack(first), np.stack(second), np.concatenate(matches)[kept], np.concatenate(groups)[kept]
        )

    def _choose(self, rng: np.random.Generator) -> AlignedPair:
        """A pair of a random kind; a kind that the material lacks leaves its share to self pairs."""
        kind = rng.random()
        for share, pairs in (
            (self.recipe.share_dancers, self.dancers),
            (self.recipe.share_estimator, self.estimator),
        ):
            if pairs and kind < share:
                return pairs[int(rng.integers(len(pairs)))]
            kind -= share
        return pair_with_itself(self.clips[int(rng.integers(len(self.clips)))])

    def _read(
        self, pair: AlignedPair, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
        """Both sides of a pair about the same moment, and the patches [matches, 2] that show the same."""
        reflected, swapped = rng.random(2) < 0.5
        sides = [(pair.first.joints, pair.mirrored != reflected), (pair.second.joints, reflected)]
        path = pair.frames.T.astype(np.float64)
        if swapped:
            sides, path = sides[::-1], path[::-1]
        frames = self.recipe.crop_frames
        clock = np.arange(frames, dtype=np.float64)
        start = rng.uniform(path[0, 0], max(path[0, 0], path[0, -1] - frames + 1))
        tempo, phase = self._tempo(pair, rng), rng.uniform(-0.5, 0.5) * self.patch_frames
        middle = float(np.interp(start + frames / 2, *path))
        second_start = middle - tempo * (frames / 2 + phase)
        readings = (start + clock, second_start + tempo * clock)
        crops = [_crop(joints, at, turned) for (joints, turned), at in zip(sides, readings, strict=True)]
        return crops[0], crops[1], _matches(path, start, second_start, tempo, frames, self.patch_frames)

    def _tempo(self, pair: AlignedPair, rng: np.random.Generator) -> float:
        """How fast the second reading is; two dancers differ in tempo already."""
        widest = math.log(self.recipe.fastest)
        drawn = math.exp(rng.uniform(-widest, widest))
        return drawn if pair.first is pair.second else 1.0


def _crop(joints: FloatArray, frames: NDArray[np.float64], mirrored: bool) -> FloatArray:
    """The joints at these times, in frames, between the two frames on either side; held at both ends."""
    at = np.clip(frames, 0, len(joints) - 1)
    low = at.astype(int)
    share = (at - low)[:, None, None].astype(np.float32)
    crop: FloatArray = joints[low] * (1 - share) + joints[np.minimum(low + 1, len(joints) - 1)] * share
    return mirror_joints(crop) if mirrored else crop


def _matches(
    path: NDArray[np.float64], start: float, second_start: float, tempo: float, frames: int, patch_frames: int
) -> NDArray[np.int64]:
    """Which patch of the second reading shows what each patch of the first shows, where one does."""
    steps = np.arange(frames // patch_frames)
    centre = (patch_frames - 1) / 2
    shown = start + steps * patch_frames + centre
    there = (np.interp(shown, *path) - second_start) / tempo
    matched = np.round((there - centre) / patch_frames).astype(np.int64)
    inside = (matched >= 0) & (matched < len(steps)) & (shown <= path[0, -1])
    return np.stack([steps, matched], axis=1)[inside]
