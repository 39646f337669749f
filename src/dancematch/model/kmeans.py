"""Body-part words without a network: the honest floor every trained model must beat.

A patch of a few frames becomes, for each body part, the mean of its joints' canonical
coordinates and the difference between the patch's second half and its first; a PCA
rotation and the nearest of K centres give the word.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError, ModelError
from dancematch.model.parts import LAYOUTS, joint_places
from dancematch.motion import CANONICAL_VERSION, FPS, canonicalise
from dancematch.types import Codebook, Fingerprint, FloatArray, Motion

PATCH_FRAMES = 4


@dataclass(frozen=True, eq=False)
class PartWords:
    """One body part's vocabulary: a PCA projection and its centres."""

    mean: FloatArray  # [features]
    basis: FloatArray  # [features, dimensions]
    centres: FloatArray  # [words, dimensions]

    def words(self, features: FloatArray) -> NDArray[np.intp]:
        """The nearest centre of each row; what is not seen of it counts as the mean."""
        centred = np.nan_to_num(features - self.mean)
        projected = centred @ self.basis
        distances = (self.centres**2).sum(axis=1) - 2 * projected @ self.centres.T
        return np.asarray(distances.argmin(axis=1))


def patch_features(canonical: Motion, joints: tuple[str, ...]) -> FloatArray:
    """Mean and difference of a part's coordinates, a row a patch: [patches, joints * 3 * 2]."""
    count = len(canonical.joints) // PATCH_FRAMES
    half = PATCH_FRAMES // 2
    selected = canonical.joints[: count * PATCH_FRAMES, joint_places(joints)]
    patches = selected.reshape(count, PATCH_FRAMES, len(joints) * 3)
    first, second = patches[:, :half].mean(axis=1), patches[:, half:].mean(axis=1)
    features: FloatArray = np.concatenate([(first + second) / 2, second - first], axis=1)
    return features


def patch_visibility(canonical: Motion, joints: tuple[str, ...]) -> FloatArray:
    """How well a part is seen in each patch: as well as its worst joint; 0 if any frame lacks it."""
    count = len(canonical.joints) // PATCH_FRAMES
    selected = canonical.visibility[: count * PATCH_FRAMES, joint_places(joints)]
    patches = selected.reshape(count, PATCH_FRAMES, len(joints))
    seen = (patches > 0).all(axis=(1, 2))
    visibility: FloatArray = patches.mean(axis=1).min(axis=1) * seen
    return visibility


class KMeansTokeniser:
    """Motion -> Fingerprint by nearest centres, one vocabulary a body part."""

    kind = "kmeans"

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
        """The inverse of `config` and `arrays`."""
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
        """Words a channel."""
        return len(next(iter(self.parts.values())).centres)

    @property
    def seconds_per_word(self) -> float:
        """How much time a word covers."""
        return PATCH_FRAMES / FPS

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
        return ticks > PATCH_FRAMES - 1 - 1e-6

    def fingerprint(self, motion: Motion) -> Fingerprint:
        """Put a motion into words."""
        if not self.is_long_enough(motion):
            raise InputError(
                f"a word needs {self.seconds_per_word:.2f} s of motion, "
                f"got {len(motion.joints)} frame(s) at {motion.fps:g} a second"
            )
        canonical = canonicalise(motion)
        joints = LAYOUTS[self.layout]
        words = [part.words(patch_features(canonical, joints[name])) for name, part in self.parts.items()]
        visibility = [patch_visibility(canonical, joints[name]) for name in self.parts]
        return Fingerprint(
            words=np.stack(words, axis=1),
            vocabulary=self.vocabulary,
            seconds_per_word=self.seconds_per_word,
            model_id=self.model_id,
            start=motion.start,
            visibility=np.stack(visibility, axis=1),
        )

    @cached_property
    def codebook(self) -> Codebook:
        """What the words mean; similarity falls with the distance of two centres, 1/e at the median."""
        dimensions = max(part.basis.shape[1] for part in self.parts.values())
        vectors = np.zeros((len(self.parts), self.vocabulary, dimensions), dtype=np.float32)
        similarity = np.zeros((len(self.parts), self.vocabulary, self.vocabulary), dtype=np.float32)
        for channel, part in enumerate(self.parts.values()):
            centres = part.centres
            vectors[channel, :, : centres.shape[1]] = centres
            squares = np.square(centres[:, None] - centres[None]).sum(axis=2)
            typical = float(np.median(squares[squares > 0])) if (squares > 0).any() else 1.0
            similarity[channel] = np.exp(-squares / typical)
        return Codebook(self.model_id, tuple(self.parts), vectors, similarity)
