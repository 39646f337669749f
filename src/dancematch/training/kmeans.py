"""K-means: fits the floor tokeniser, and the initial codebook of a network."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dancematch.errors import InputError
from dancematch.model.kmeans import KMeansTokeniser, PartWords, patch_features
from dancematch.model.parts import LAYOUTS
from dancematch.motion import canonicalise
from dancematch.types import FloatArray, Motion

VARIANCE_SHARE = 0.995
ITERATIONS = 30


def fit_kmeans(
    motions: Sequence[Motion],
    *,
    layout: str = "parts7",
    vocabulary: int = 256,
    seed: int = 0,
    trained_on: Mapping[str, object] | None = None,
    on_part: Callable[[str], None] = lambda _: None,
) -> KMeansTokeniser:
    """A tokeniser with one vocabulary per body part of `layout`, fitted on all patches of `motions`."""
    if layout not in LAYOUTS:
        raise InputError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    if seed < 0:
        raise InputError(f"seed must be 0 or more, got {seed}")
    if not motions:
        raise InputError("a tokeniser is fitted on motions, got none")
    canonical = [canonicalise(motion) for motion in motions]
    parts = {}
    for name, joints in LAYOUTS[layout].items():
        features = np.concatenate([patch_features(motion, joints) for motion in canonical])
        seen = features[np.isfinite(features).all(axis=1)]
        if len(seen) < vocabulary:
            raise InputError(
                f"{vocabulary} words need at least as many patches of {name}, the motions have {len(seen)}; "
                f"give more motions or a smaller vocabulary"
            )
        parts[name] = _fit_part(seen, vocabulary, np.random.default_rng(seed))
        on_part(name)
    return KMeansTokeniser(layout, parts, trained_on={**(trained_on or {}), "seed": seed})


def _fit_part(features: FloatArray, vocabulary: int, rng: np.random.Generator) -> PartWords:
    mean = features.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(features - mean, rowvar=False))
    share = np.cumsum(variances[::-1]) / max(float(variances.sum()), 1e-12)  # 0 if nothing moves
    dimensions = int(np.searchsorted(share, VARIANCE_SHARE)) + 1
    basis = axes[:, ::-1][:, :dimensions].astype(np.float32)
    centres = fit_centres((features - mean) @ basis, vocabulary, rng)
    return PartWords(mean.astype(np.float32), basis, centres)


def fit_channel_centres(latents: FloatArray, words: int, rng: np.random.Generator) -> FloatArray:
    """The centres of each channel's latents: [patches, C, D] -> [C, words, D].

    With fewer patches than words, several words start at the same patch.
    """
    enough = np.tile(latents, (-(-words // len(latents)), 1, 1))
    return np.stack([fit_centres(points, words, rng) for points in enough.transpose(1, 0, 2)])


def fit_centres(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Lloyd's algorithm from random points; a centre that loses all its points moves to a random one."""
    centres = points[rng.choice(len(points), count, replace=False)]
    for _ in range(ITERATIONS):
        nearest = ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)
        sizes = np.bincount(nearest, minlength=count)[:, None]
        sums = np.stack(
            [np.bincount(nearest, weights=column, minlength=count) for column in points.T], axis=1
        )
        fresh = points[rng.choice(len(points), count)]
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), fresh).astype(np.float32)
    return centres
