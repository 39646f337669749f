"""What all tokenisers share: one word per patch and body part, the nearest of known vectors.

Tokenisers differ in how a patch becomes a vector; a search need not know which kind it has.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dancematch.directions import fingerprint_bones, turned_bones
from dancematch.errors import InputError
from dancematch.model.parts import LAYOUTS, joint_places
from dancematch.motion import FPS, canonicalise
from dancematch.types import Codebook, Fingerprint, FloatArray, Motion, WordArray


class PatchTokeniser(ABC):
    """Motion -> Fingerprint, given how a patch becomes a vector and a word."""

    kind: ClassVar[str]
    layout: str
    patch_frames: int
    trained_on: dict[str, object]
    files: Mapping[str, bytes] = {}  # stored beside the arrays, and made from them

    @property
    @abstractmethod
    def config(self) -> dict[str, object]:
        """Everything but the arrays."""

    @property
    @abstractmethod
    def arrays(self) -> Mapping[str, FloatArray]:
        """Everything but the config, by name."""

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """Words per channel."""

    @property
    @abstractmethod
    def vectors(self) -> FloatArray:
        """What each word stands for: [channels, words, dimensions]."""

    @abstractmethod
    def latents(self, canonical: Motion) -> FloatArray:
        """Return each patch as a vector, to be compared with `vectors`: [steps, channels, dimensions]."""

    @abstractmethod
    def words(self, canonical: Motion) -> WordArray:
        """Return the nearest word of each patch: [steps, channels]."""

    @abstractmethod
    def decode(self, fingerprint: Fingerprint) -> Motion:
        """Return the motion that the words describe, on the canonical skeleton."""

    @property
    def channels(self) -> tuple[str, ...]:
        """The body parts that have a word of their own."""
        return tuple(LAYOUTS[self.layout])

    @property
    def seconds_per_word(self) -> float:
        """How much time a word covers."""
        return self.patch_frames / FPS

    @cached_property
    def model_id(self) -> str:
        """A name that changes with everything that can change a word."""
        digest = hashlib.sha256(json.dumps(self.config, sort_keys=True).encode())
        for name, array in sorted(self.arrays.items()):
            digest.update(name.encode() + np.ascontiguousarray(array, dtype="<f4").tobytes())
        return f"{self.kind}-{self.layout}-{self.vocabulary}-{digest.hexdigest()[:12]}"

    def is_long_enough(self, motion: Motion) -> bool:
        """Whether the motion gives at least one word: its frames, not its seconds, must reach so far."""
        ticks = (len(motion.joints) - 1) / motion.fps * FPS
        return ticks > self.patch_frames - 1 - 1e-6

    def fingerprint(self, motion: Motion) -> Fingerprint:
        """Put a motion into words, with the directions of its bones at each."""
        words = self._tokenise(self._canonical(motion))
        return replace(words, bones=fingerprint_bones(motion, self.patch_frames)[: len(words)])

    def turned_fingerprint(self, motion: Motion, words: Fingerprint) -> Fingerprint | None:
        """The same words with bones as seen from another side; None for a dancer filmed from the front."""
        bones = turned_bones(motion, self.patch_frames)
        return None if bones is None else replace(words, bones=bones[: len(words)])

    def phases(self, motion: Motion, count: int = 2) -> list[Fingerprint]:
        """Put the motion into words at `count` phases: the first patch begins at different frames.

        Patches of the same dance in another clip begin at other frames; one of the phases lies near.
        """
        self.require_phases(count)
        canonical = self._canonical(motion)
        offsets = [number * self.patch_frames // count for number in range(count)]
        within = [late for late in offsets if len(canonical.joints) - late >= self.patch_frames]
        return [self._tokenise(_from_frame(canonical, late)) for late in within]

    def require_phases(self, count: int) -> None:
        """Refuse more phases than a patch has frames."""
        if not 1 <= count <= self.patch_frames:
            raise InputError(f"a patch has {self.patch_frames} frames to begin at, not {count}")

    @cached_property
    def codebook(self) -> Codebook:
        """What the words mean; similarity falls with the distance of two vectors, 1/e at the median."""
        similarity = np.stack([word_similarity(vectors) for vectors in self.vectors])
        return Codebook(self.model_id, self.channels, self.vectors, similarity)

    def _canonical(self, motion: Motion) -> Motion:
        if not self.is_long_enough(motion):
            raise InputError(
                f"a word needs {self.seconds_per_word:.2f} s of motion, "
                f"got {len(motion.joints)} frame(s) at {motion.fps:g} a second"
            )
        return canonicalise(motion)

    def _tokenise(self, canonical: Motion) -> Fingerprint:
        parts = LAYOUTS[self.layout].values()
        visibility = [patch_visibility(canonical, joints, self.patch_frames) for joints in parts]
        return Fingerprint(
            words=self.words(canonical),
            vocabulary=self.vocabulary,
            seconds_per_word=self.seconds_per_word,
            model_id=self.model_id,
            start=canonical.start,
            visibility=np.stack(visibility, axis=1),
        )


def _from_frame(canonical: Motion, first: int) -> Motion:
    return Motion(
        canonical.joints[first:],
        canonical.fps,
        canonical.skeleton,
        canonical.visibility[first:],
        start=canonical.start + first / canonical.fps,
    )


def patch_visibility(canonical: Motion, joints: tuple[str, ...], patch_frames: int) -> FloatArray:
    """Return the visibility of a part per patch: that of its worst joint; 0 if any frame lacks it."""
    count = len(canonical.joints) // patch_frames
    selected = canonical.visibility[: count * patch_frames, joint_places(joints)]
    patches = selected.reshape(count, patch_frames, len(joints))
    seen = (patches > 0).all(axis=(1, 2))
    visibility: FloatArray = patches.mean(axis=1).min(axis=1) * seen
    return visibility


def word_similarity(vectors: FloatArray) -> FloatArray:
    """Return the similarity of a channel's words: 1 to itself, 1/e at the median distance, [words, words]."""
    exact = vectors.astype(np.float64)
    lengths = (exact**2).sum(axis=1)
    squares = np.maximum(lengths[:, None] + lengths - 2 * exact @ exact.T, 0)
    np.fill_diagonal(squares, 0)
    typical = float(np.median(squares[squares > 0])) if (squares > 0).any() else 1.0
    similarity: FloatArray = np.exp(-squares / typical).astype(np.float32)
    return similarity


def soft_assignment(latents: FloatArray, vectors: FloatArray, count: int) -> tuple[WordArray, FloatArray]:
    """Return the `count` nearest words of each latent, nearest first, and their weights.

    Both are [steps, channels, count]; the weights of a step and channel add up to 1. A weight falls with the
    distance, in units of the channel's median distance to the nearest vector.
    """
    rows = latents.transpose(1, 0, 2).astype(np.float64)  # [channels, steps, dimensions]
    known = vectors.astype(np.float64)
    products = rows @ known.transpose(0, 2, 1)  # [channels, steps, words]
    squares = (rows**2).sum(axis=2)[:, :, None] + (known**2).sum(axis=2)[:, None] - 2 * products
    words = np.argsort(squares, axis=2, kind="stable")[:, :, :count]
    distances = np.sqrt(np.maximum(np.take_along_axis(squares, words, axis=2), 0))
    nearest = distances[:, :, :1]
    usual = np.maximum(np.median(nearest, axis=1, keepdims=True), 1e-6)
    weights = np.exp((nearest - distances) / usual)
    weights /= weights.sum(axis=2, keepdims=True)
    return words.transpose(1, 0, 2).astype(np.uint16), weights.transpose(1, 0, 2).astype(np.float32)
