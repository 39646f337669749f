"""Batches of paired crops: the same moments in two versions, and which patches match.

A crop is a fixed number of frames; patches of a crop are numbered through the whole batch.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.motion import FPS
from dancematch.training.data.pairs import AlignedPair, mirror_joints, pair_dancers, pair_views
from dancematch.training.data.tracks import TrainingTrack
from dancematch.training.recipe import TrainingRecipe
from dancematch.types import FloatArray


class Batch(NamedTuple):
    """Two crops per pair, and which of their patches show the same moment."""

    first: FloatArray  # [pairs, frames, joints, 3]
    second: FloatArray
    matches: NDArray[np.int64]  # [matches, 2]: patch numbers in `first` and in `second`
    dances: NDArray[np.int64]  # [matches]: equal for the same dance


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Tracks, and the aligned pairs among them by source; tracks alone are enough."""

    tracks: Sequence[TrainingTrack]
    pairs: Mapping[str, Sequence[AlignedPair]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)  # of sources; 1 where it is not given

    @classmethod
    def from_tracks(
        cls,
        tracks: Sequence[TrainingTrack],
        weights: Mapping[str, float] | None = None,
        on_pair: Callable[[float], None] = lambda _: None,
    ) -> "TrainingSet":
        """The tracks with every pair found among them; `on_pair` receives the share done.

        A pair is of the source of its first track: of the view, not of what is viewed.
        """
        pairs: dict[str, list[AlignedPair]] = {}
        for pair in [*pair_dancers(tracks, on_pair), *pair_views(tracks)]:
            pairs.setdefault(pair.first.source, []).append(pair)
        return cls(tracks, pairs, weights or {})


def pair_with_itself(track: TrainingTrack) -> AlignedPair:
    """A track paired with itself."""
    last = len(track.joints) - 1
    return AlignedPair(track, track, np.array([[0, 0], [last, last]], dtype=np.int32))


def select_long_tracks(tracks: Sequence[TrainingTrack], recipe: TrainingRecipe) -> list[TrainingTrack]:
    """The tracks that fill a crop."""
    long = [track for track in tracks if len(track.joints) >= recipe.crop_frames]
    if not long:
        raise InputError(
            f"no motion lasts as long as a crop, {recipe.crop_frames / FPS:.1f} s; "
            f"give longer motions or a smaller crop_frames"
        )
    return long


class BatchSampler:
    """Draws batches in the shares of a recipe; all randomness comes from the generator passed in."""

    def __init__(self, training_set: TrainingSet, recipe: TrainingRecipe, patch_frames: int) -> None:
        self.tracks = select_long_tracks(training_set.tracks, recipe)
        self.training_set = training_set
        self.recipe = recipe
        self.patch_frames = patch_frames

    @property
    def epoch_steps(self) -> int:
        """How many batches show about as many frames as there are."""
        frames = sum(len(track.joints) for track in self.tracks)
        return max(1, round(frames / (self.recipe.batch * self.recipe.crop_frames)))

    def draw(self, rng: np.random.Generator) -> Batch:
        """The next batch."""
        steps = self.recipe.crop_frames // self.patch_frames
        first, second, matches, dances = [], [], [], []
        numbers: dict[str, int] = {}
        for place in range(self.recipe.batch):
            pair = self.draw_pair(rng)
            one, other, matched = self._crop_pair(pair, rng)
            first.append(one)
            second.append(other)
            matches.append(matched + place * steps)
            dances.append(np.full(len(matched), numbers.setdefault(pair.first.dance, len(numbers))))
        total = sum(map(len, matches))
        chosen = rng.choice(total, min(self.recipe.contrast_patches, total), replace=False)
        return Batch(
            np.stack(first), np.stack(second), np.concatenate(matches)[chosen], np.concatenate(dances)[chosen]
        )

    def draw_pair(self, rng: np.random.Generator) -> AlignedPair:
        """A track with itself, or a pair of a source by the sources' weights."""
        pairs = self.training_set.pairs
        if not pairs or rng.random() < self.recipe.share_itself:
            return pair_with_itself(self.tracks[int(rng.integers(len(self.tracks)))])
        weights = np.array([self.training_set.weights.get(source, 1.0) for source in pairs])
        source = list(pairs)[int(rng.choice(len(weights), p=weights / weights.sum()))]
        return pairs[source][int(rng.integers(len(pairs[source])))]

    def _crop_pair(
        self, pair: AlignedPair, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
        """Both sides of a pair around one moment, and the patches [matches, 2] that show the same."""
        reflected, swapped = rng.random(2) < 0.5
        sides = [(pair.first.joints, pair.mirrored != reflected), (pair.second.joints, reflected)]
        path = pair.frames.T.astype(np.float64)
        if swapped:
            sides, path = sides[::-1], path[::-1]
        frames = self.recipe.crop_frames
        clock = np.arange(frames, dtype=np.float64)
        start = rng.uniform(path[0, 0], max(path[0, 0], path[0, -1] - frames + 1))
        tempo, phase = self._draw_tempo(pair, rng), rng.uniform(-0.5, 0.5) * self.patch_frames
        middle = float(np.interp(start + frames / 2, *path))
        second_start = middle - tempo * (frames / 2 + phase)
        times = (start + clock, second_start + tempo * clock)
        crops = [_crop(joints, at, mirrored) for (joints, mirrored), at in zip(sides, times, strict=True)]
        centre = (self.patch_frames - 1) / 2
        patches = np.arange(frames // self.patch_frames)
        shown = start + patches * self.patch_frames + centre
        matched_at = (np.interp(shown, *path) - second_start) / tempo
        matched = np.round((matched_at - centre) / self.patch_frames).astype(np.int64)
        inside = (matched >= 0) & (matched < len(patches)) & (shown <= path[0, -1])
        return crops[0], crops[1], np.stack([patches, matched], axis=1)[inside]

    def _draw_tempo(self, pair: AlignedPair, rng: np.random.Generator) -> float:
        """Tempo of the second crop; 1 for two dancers, who differ in tempo already."""
        widest = math.log(self.recipe.max_tempo)
        tempo = math.exp(rng.uniform(-widest, widest))
        return tempo if pair.first is pair.second else 1.0


def _crop(joints: FloatArray, frames: NDArray[np.float64], mirrored: bool) -> FloatArray:
    """The joints at these fractional frames, interpolated linearly; held at both ends."""
    at = np.clip(frames, 0, len(joints) - 1)
    low = at.astype(int)
    share = (at - low)[:, None, None].astype(np.float32)
    crop: FloatArray = joints[low] * (1 - share) + joints[np.minimum(low + 1, len(joints) - 1)] * share
    return mirror_joints(crop) if mirrored else crop
