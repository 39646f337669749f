"""Initial weights of the heads: the linear map that keeps what two dancers of one moment share.

Patches that show the same moment differ by dancer, tempo, camera and estimator: that is the
scatter within. Fisher's discriminant finds the directions in which all patches differ most
relative to it, and scales them so that every direction has the same scatter within.
"""

import numpy as np
from numpy.typing import NDArray

from dancematch.model.network import FEATURES
from dancematch.types import FloatArray

RIDGE = 0.02  # share of the mean scatter within that is added to each direction, against few pairs
COEFFICIENTS = 2  # of a patch's cosines: position and direction of movement; the rest is mostly noise


def fit_part_discriminant(
    first: FloatArray, second: FloatArray, dimensions: int
) -> tuple[FloatArray, FloatArray]:
    """Weight [dimensions, joints * frames * 4] and bias of a part's latent.

    `first` and `second` are matched patches, [pairs, joints, frames * 4]. A part with fewer
    directions than `dimensions` leaves the last ones at zero.
    """
    _, joints, width = first.shape
    cosines = _cosine_basis(width // FEATURES)  # [coefficients, frames]
    rows = (_project(first, cosines), _project(second, cosines))
    mean, basis = fit_discriminant(*rows, dimensions)
    directions = basis.reshape(len(cosines), joints, 3, -1)  # [coefficients, joints, axes, directions]
    weight = np.zeros((dimensions, joints, width // FEATURES, FEATURES), dtype=np.float32)
    weight[: basis.shape[1], ..., :3] = np.einsum("kf,kjad->djfa", cosines, directions)
    bias = np.zeros(dimensions, dtype=np.float32)
    bias[: basis.shape[1]] = -mean @ basis
    return weight.reshape(dimensions, -1), bias


def fit_discriminant(first: FloatArray, second: FloatArray, dimensions: int) -> tuple[FloatArray, FloatArray]:
    """Mean [n] and basis [n, at most `dimensions`] of Fisher's discriminant for matched rows."""
    rows = np.concatenate([first, second]).astype(np.float64)
    difference = (first - second).astype(np.float64)
    within = difference.T @ difference / (2 * len(difference))
    within += (RIDGE * np.trace(within) / len(within) + 1e-9) * np.eye(len(within))
    half = np.linalg.inv(np.linalg.cholesky(within))  # half @ within @ half.T = identity
    variances, axes = np.linalg.eigh(half @ np.cov(rows, rowvar=False) @ half.T)
    strongest = np.argsort(-variances)[:dimensions]
    basis = half.T @ axes[:, strongest]
    return rows.mean(axis=0).astype(np.float32), basis.astype(np.float32)


def _cosine_basis(frames: int) -> NDArray[np.float32]:
    """The first orthonormal cosines over a patch, divided so that a constant stays itself."""
    order = np.arange(min(COEFFICIENTS, frames))[:, None]
    table = np.cos(np.pi * order * (np.arange(frames) + 0.5) / frames) * np.where(order, np.sqrt(2), 1)
    return np.asarray(table / frames, dtype=np.float32)


def _project(patches: FloatArray, cosines: NDArray[np.float32]) -> FloatArray:
    """Every cosine of every coordinate, one row per patch: [pairs, coefficients * joints * 3]."""
    pairs, joints, _ = patches.shape
    frames = patches.reshape(pairs, joints, -1, FEATURES)[..., :3]
    return np.asarray(np.einsum("kf,njfa->nkja", cosines, frames).reshape(pairs, -1))
