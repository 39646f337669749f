"""Body-part words without a network: the baseline that every trained model must beat.

A patch of a few frames becomes, for each body part, the mean of its joints' canonical
coordinates and the difference between the patch's second half and its first; a PCA
rotation and the nearest of K centres give the word.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import ModelError, ModelMismatchError
from dancematch.model.names import describe_model
from dancematch.model.parts import LAYOUTS, joint_places
from dancematch.model.patches import PatchTokeniser
from dancematch.motion import CANONICAL, CANONICAL_VERSION, FPS, on_standard_body
from dancematch.types import Codebook, Fingerprint, FloatArray, Motion, WordArray

PATCH_FRAMES = 4
CLOCK_ROUNDING = 1e-6  # of the seconds per word, which files keep as decimals


@dataclass(frozen=True, eq=False)
class PartWords:
    """One body part's vocabulary: a PCA projection and its centres."""

    mean: FloatArray  # [features]
    basis: FloatArray  # [features, dimensions]
    centres: FloatArray  # [words, dimensions]

    def project(self, features: FloatArray) -> FloatArray:
        """Project rows to the space of the centres; unseen features count as the mean."""
        projected: FloatArray = np.nan_to_num(features - self.mean) @ self.basis
        return projected

    def words(self, features: FloatArray) -> NDArray[np.intp]:
        """Return the nearest centre of each row."""
        projected = self.project(features)
        distances = (self.centres**2).sum(axis=1) - 2 * projected @ self.centres.T
        return np.asarray(distances.argmin(axis=1))

    @cached_property
    def features(self) -> FloatArray:
        """The features that each word stands for, as of `patch_features`: [words, features]."""
        features: FloatArray = self.mean + self.centres @ np.linalg.pinv(self.basis)
        return features


def patch_features(canonical: Motion, joints: tuple[str, ...]) -> FloatArray:
    """Return mean and difference of a part's coordinates per patch: [patches, joints * 3 * 2]."""
    count = len(canonical.joints) // PATCH_FRAMES
    half = PATCH_FRAMES // 2
    selected = canonical.joints[: count * PATCH_FRAMES, joint_places(joints)]
    patches = selected.reshape(count, PATCH_FRAMES, len(joints) * 3)
    first, second = patches[:, :half].mean(axis=1), patches[:, half:].mean(axis=1)
    features: FloatArray = np.concatenate([(first + second) / 2, second - first], axis=1)
    return features


def straight_frames(features: FloatArray) -> FloatArray:
    """Return straight motion with these features: [patches, features] -> [frames, joints, 3]."""
    mean, difference = np.split(features, 2, axis=1)
    ramp = (np.arange(PATCH_FRAMES) - (PATCH_FRAMES - 1) / 2) * 2 / PATCH_FRAMES
    frames = mean[:, None] + ramp[:, None] * difference[:, None]  # [patches, frames, joints * 3]
    return frames.reshape(len(features) * PATCH_FRAMES, -1, 3).astype(np.float32)


class WordMeanings(Protocol):
    """What identifies a model's words, of every kind of tokeniser."""

    @property
    def model_id(self) -> str:
        """A name that changes with everything that can change a word."""

    @property
    def vocabulary(self) -> int:
        """Words per channel."""

    @property
    def seconds_per_word(self) -> float:
        """How much time a word covers."""

    @property
    def codebook(self) -> Codebook:
        """What the words mean."""


def require_words_of(tokeniser: WordMeanings, fingerprint: Fingerprint) -> None:
    """Refuse words of another model, to this one they mean something else, or of a kind it does not make.

    A file of words says itself which model made it: one such track in a catalogue would stop every search.
    """
    model_id = tokeniser.model_id
    if fingerprint.model_id != model_id:
        raise ModelMismatchError(
            f"these are words of the model {describe_model(fingerprint.model_id)}, not of "
            f"{describe_model(model_id)}; name that model (--model), or make them anew: "
            f"'dancematch extract --words' for a clip, 'dancematch retokenise' for a catalogue"
        )
    channels, clock = len(tokeniser.codebook.channels), tokeniser.seconds_per_word
    kind = (fingerprint.words.shape[1], fingerprint.vocabulary)
    is_timed = math.isclose(fingerprint.seconds_per_word, clock, rel_tol=CLOCK_ROUNDING)
    if kind != (channels, tokeniser.vocabulary) or not is_timed:
        raise ModelMismatchError(
            f"words of the model {describe_model(model_id)} have {channels} channels of "
            f"{tokeniser.vocabulary} words, each of {clock:.6g} s, but these have {kind[0]} of {kind[1]}, "
            f"each of {fingerprint.seconds_per_word:.6g} s; make them anew: 'dancematch extract --words'"
        )


class KMeansTokeniser(PatchTokeniser):
    """Motion -> Fingerprint by nearest centres, one vocabulary per body part."""

    kind = "kmeans"
    patch_frames = PATCH_FRAMES

    def __init__(
        self, layout: str, parts: Mapping[str, PartWords], *, trained_on: Mapping[str, object]
    ) -> None:
        if layout not in LAYOUTS or list(parts) != list(LAYOUTS[layout]):
            raise ModelError(
                f"layout must be one of {', '.join(LAYOUTS)} with just its parts, got {layout!r}"
            )
        self.layout = layout
        self.parts = dict(parts)
        self.trained_on = dict(trained_on)

    @property
    def config(self) -> dict[str, object]:
        """Everything but the arrays."""
        return {
            "kind": self.kind,
            "layout": self.layout,
            "channels": list(self.parts),
            "vocabulary": self.vocabulary,
            "patch_frames": PATCH_FRAMES,
            "fps": FPS,
            "canonical": CANONICAL_VERSION,
        }

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """Everything but the config, by name."""
        return {
            f"{name}.{field}": getattr(part, field)
            for name, part in self.parts.items()
            for field in ("mean", "basis", "centres")
        }

    @classmethod
    def from_arrays(
        cls, layout: str, arrays: Mapping[str, FloatArray], *, trained_on: Mapping[str, object]
    ) -> "KMeansTokeniser":
        """Build a tokeniser from what `config` and `arrays` return."""
        try:
            parts = {
                name: PartWords(*(arrays[f"{name}.{field}"] for field in ("mean", "basis", "centres")))
                for name in LAYOUTS[layout]
            }
        except KeyError as missing:
            raise ModelError(f"the tokeniser's weights lack {missing}; train or install it again") from None
        return cls(layout, parts, trained_on=trained_on)

    @property
    def vocabulary(self) -> int:
        """Words per channel."""
        return len(next(iter(self.parts.values())).centres)

    @cached_property
    def vectors(self) -> FloatArray:
        """The centres; those of fewer dimensions are padded with zeros."""
        return np.stack([self._pad_columns(part.centres) for part in self.parts.values()])

    def latents(self, canonical: Motion) -> FloatArray:
        """Return each patch's projected features, padded with zeros."""
        joints = LAYOUTS[self.layout]
        projected = [
            part.project(patch_features(canonical, joints[name])) for name, part in self.parts.items()
        ]
        return np.stack([self._pad_columns(rows) for rows in projected], axis=1)

    def _pad_columns(self, rows: FloatArray) -> FloatArray:
        widest = max(part.basis.shape[1] for part in self.parts.values())
        return np.pad(rows, ((0, 0), (0, widest - rows.shape[1]))).astype(np.float32)

    def words(self, canonical: Motion) -> WordArray:
        """Return the nearest centre of each patch."""
        joints = LAYOUTS[self.layout]
        words = [part.words(patch_features(canonical, joints[name])) for name, part in self.parts.items()]
        return np.stack(words, axis=1).astype(np.uint16)

    def decode(self, fingerprint: Fingerprint) -> Motion:
        """Return the motion that the words describe, on the canonical skeleton; the dancer stays in place.

        A joint of several channels is at their mean; it is unseen where no word of it was seen.
        """
        require_words_of(self, fingerprint)
        frames = len(fingerprint) * PATCH_FRAMES
        sums = np.zeros((frames, len(CANONICAL.joints), 3), dtype=np.float32)
        counts = np.zeros(sums.shape[:2], dtype=np.float32)
        visibility = np.zeros_like(counts)
        for channel, (name, part) in enumerate(self.parts.items()):
            places = joint_places(LAYOUTS[self.layout][name])
            seen = np.repeat(fingerprint.visibility[:, channel], PATCH_FRAMES)[:, None]
            frames_of_part = straight_frames(part.features[fingerprint.words[:, channel]])
            sums[:, places] += frames_of_part * (seen > 0)[:, :, None]
            counts[:, places] += seen > 0
            visibility[:, places] = np.maximum(visibility[:, places], seen)
        root = [CANONICAL.index("root"), CANONICAL.index("pelvis")]  # which no channel describes
        counts[:, root] = visibility[:, root] = 1
        joints = np.where(counts[:, :, None] > 0, sums / np.maximum(counts, 1)[:, :, None], np.nan)
        joints[:, 1:] = on_standard_body(joints[:, 1:])
        return Motion(joints, FPS, CANONICAL, visibility, start=fingerprint.start)
