"""Body-part words without a network: the honest floor every trained model must beat.

A patch of a few frames becomes, for each body part, the mean of its joints' canonical
coordinates and the difference between the patch's second half and its first; a PCA
rotation and the nearest of K centres give the word.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import ModelError, ModelMismatchError
from dancematch.model.names import called
from dancematch.model.parts import LAYOUTS, joint_places
from dancematch.model.patches import PatchTokeniser
from dancematch.motion import CANONICAL, CANONICAL_VERSION, FPS, on_standard_body
from dancematch.types import Fingerprint, FloatArray, Motion, WordArray

PATCH_FRAMES = 4


@dataclass(frozen=True, eq=False)
class PartWords:
    """One body part's vocabulary: a PCA projection and its centres."""

    mean: FloatArray  # [features]
    basis: FloatArray  # [features, dimensions]
    centres: FloatArray  # [words, dimensions]

    def project(self, features: FloatArray) -> FloatArray:
        """Each row where the centres are; what is not seen of it counts as the mean."""
        projected: FloatArray = np.nan_to_num(features - self.mean) @ self.basis
        return projected

    def words(self, features: FloatArray) -> NDArray[np.intp]:
        """The nearest centre of each row."""
        projected = self.project(features)
        distances = (self.centres**2).sum(axis=1) - 2 * projected @ self.centres.T
        return np.asarray(distances.argmin(axis=1))

    @cached_property
    def features(self) -> FloatArray:
        """What each word stands for, as `patch_features` would give it: [words, features]."""
        features: FloatArray = self.mean + self.centres @ np.linalg.pinv(self.basis)
        return features


def patch_features(canonical: Motion, joints: tuple[str, ...]) -> FloatArray:
    """Mean and difference of a part's coordinates, a row a patch: [patches, joints * 3 * 2]."""
    count = len(canonical.joints) // PATCH_FRAMES
    half = PATCH_FRAMES // 2
    selected = canonical.joints[: count * PATCH_FRAMES, joint_places(joints)]
    patches = selected.reshape(count, PATCH_FRAMES, len(joints) * 3)
    first, second = patches[:, :half].mean(axis=1), patches[:, half:].mean(axis=1)
    features: FloatArray = np.concatenate([(first + second) / 2, second - first], axis=1)
    return features


def straight_frames(features: FloatArray) -> FloatArray:
    """The straightest frames that have these features: [patches, features] -> [frames, joints, 3]."""
    mean, difference = np.split(features, 2, axis=1)
    ramp = (np.arange(PATCH_FRAMES) - (PATCH_FRAMES - 1) / 2) * 2 / PATCH_FRAMES
    frames = mean[:, None] + ramp[:, None] * difference[:, None]  # [patches, frames, joints * 3]
    return frames.reshape(len(features) * PATCH_FRAMES, -1, 3).astype(np.float32)


def require_words_of(model_id: str, fingerprint: Fingerprint) -> None:
    """Refuse words of another model: to this one they mean something else, or nothing."""
    if fingerprint.model_id != model_id:
        raise ModelMismatchError(
            f"these are words of the model {called(fingerprint.model_id)}, not of {called(model_id)}; name "
            f"that model (--model), or make them anew: 'dancematch extract --words' for a clip, 'dancematch "
            f"retokenise' for a catalogue"
        )


class KMeansTokeniser(PatchTokeniser):
    """Motion -> Fingerprint by nearest centres, one vocabulary a body part."""

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

    @cached_property
    def vectors(self) -> FloatArray:
        """The centres, those of fewer dimensions filled up with zeros."""
        return np.stack([self._filled(part.centres) for part in self.parts.values()])

    def latents(self, canonical: Motion) -> FloatArray:
        """Each patch's projected features, filled up with zeros."""
        joints = LAYOUTS[self.layout]
        projected = [
            part.project(patch_features(canonical, joints[name])) for name, part in self.parts.items()
        ]
        return np.stack([self._filled(rows) for rows in projected], axis=1)

    def _filled(self, rows: FloatArray) -> FloatArray:
        widest = max(part.basis.shape[1] for part in self.parts.values())
        return np.pad(rows, ((0, 0), (0, widest - rows.shape[1]))).astype(np.float32)

    def words(self, canonical: Motion) -> WordArray:
        """The nearest centre of each patch."""
        joints = LAYOUTS[self.layout]
        words = [part.words(patch_features(canonical, joints[name])) for name, part in self.parts.items()]
        return np.stack(words, axis=1).astype(np.uint16)

    def decode(self, fingerprint: Fingerprint) -> Motion:
        """The motion that the words tell of, on the canonical skeleton; the dancer stays in place.

        A joint that several channels speak of is where they put it on average; it is unseen where
        no word of it was seen.
        """
        require_words_of(self.model_id, fingerprint)
        frames = len(fingerprint) * PATCH_FRAMES
        sums = np.zeros((frames, len(CANONICAL.joints), 3), dtype=np.float32)
        voices = np.zeros(sums.shape[:2], dtype=np.float32)
        visibility = np.zeros_like(voices)
        for channel, (name, part) in enumerate(self.parts.items()):
            places = joint_places(LAYOUTS[self.layout][name])
            seen = np.repeat(fingerprint.visibility[:, channel], PATCH_FRAMES)[:, None]
            told = straight_frames(part.features[fingerprint.words[:, channel]])
            sums[:, places] += told * (seen > 0)[:, :, None]
            voices[:, places] += seen > 0
            visibility[:, places] = np.maximum(visibility[:, places], seen)
        root = [CANONICAL.index("root"), CANONICAL.index("pelvis")]  # of which no word speaks
        voices[:, root] = visibility[:, root] = 1
        joints = np.where(voices[:, :, None] > 0, sums / np.maximum(voices, 1)[:, :, None], np.nan)
        joints[:, 1:] = on_standard_body(joints[:, 1:])
        return Motion(joints, FPS, CANONICAL, visibility, start=fingerprint.start)
