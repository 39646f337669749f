"""Dances as points in the plane: the two directions in which their word histograms differ most."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dancematch.search.stage1.histogram import (
    DEFAULT_WEIGHTING,
    damped,
    inverse_document_frequency,
    word_counts,
)
from dancematch.types import Fingerprint

_ROUNDS = 8  # of the iteration; more change nothing that is seen
_SPARE = 8  # directions beyond the two, that the iteration is surer with

Doubles = NDArray[np.float64]


def positions(said: Sequence[Fingerprint]) -> tuple[Doubles, Doubles]:
    """Where each lies, [n, 2] within -1 to 1, and the share of all variation that each way shows: [2].

    Principal components of the histograms as a search weighs them. The same dances give the same
    picture: the start of the iteration is fixed, and each way points to where its largest value is.
    """
    if len(said) < 2:
        return np.zeros((len(said), 2)), np.zeros(2)
    points = _histograms(said)
    points -= points.mean(axis=0)
    total = float((points**2).sum())
    basis = np.random.default_rng(0).normal(size=(points.shape[1], 2 + _SPARE))
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(points.T @ (points @ basis))
    _, lengths, ways = np.linalg.svd(points @ basis, full_matrices=False)
    places = (points @ basis) @ ways.T[:, :2]
    places = np.pad(places, ((0, 0), (0, 2 - places.shape[1])))
    lengths = np.pad(lengths, (0, 2))[:2]
    turned = np.take_along_axis(places, np.abs(places).argmax(axis=0)[None], axis=0)
    places = np.where(turned < 0, -places, places) / max(float(np.abs(places).max()), 1e-12)
    return places, lengths**2 / max(total, 1e-12)


def _histograms(said: Sequence[Fingerprint]) -> Doubles:
    """What each dance says, weighed as in a search, every channel of length one: [n, channels * words]."""
    counts = np.stack([word_counts(words) for words in said])  # [n, C, K]
    rarity = inverse_document_frequency((counts > 0).sum(axis=0), len(said), DEFAULT_WEIGHTING)
    weighed = damped(counts, DEFAULT_WEIGHTING) * rarity
    weighed /= np.maximum(np.linalg.norm(weighed, axis=2, keepdims=True), 1e-9)
    return weighed.reshape(len(said), -1).astype(np.float64)
