"""Word histograms: counts, damping, inverse document frequency, and the cosine that they are compared by.

The one definition that everything else follows: `HistogramColumns` computes the same cosine for millions of
entries with whole numbers, `Variant` per channel for a shortlist.
Letters: N entries, C channels, K words per channel.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.types import SEEN_FROM, Fingerprint, FloatArray

Weighting = Literal["cosine", "sqrt-idf"]
DEFAULT_WEIGHTING: Weighting = "sqrt-idf"
UNITS: Mapping[Weighting, float] = {"cosine": 1.0, "sqrt-idf": 0.25}  # that damped counts are multiples of
IDF_STEPS = 64  # an idf is a multiple of 1 / 64


def word_counts(fingerprint: Fingerprint) -> NDArray[np.uint8]:
    """Count how often each word is seen: [C, K], at most 255."""
    shape = fingerprint.words.shape[1], fingerprint.vocabulary
    cells = fingerprint.words + fingerprint.vocabulary * np.arange(shape[0])
    counts = np.bincount(cells[fingerprint.visibility >= SEEN_FROM], minlength=shape[0] * shape[1])
    return np.minimum(counts, 255).astype(np.uint8).reshape(shape)


def require_weighting(weighting: str) -> Weighting:
    """Return the weighting if it is one."""
    if weighting not in get_args(Weighting):
        raise InputError(f"weighting must be one of {', '.join(get_args(Weighting))}, got {weighting!r}")
    return cast(Weighting, weighting)


def damp_counts(counts: NDArray[Any], weighting: Weighting) -> FloatArray:
    """Return the weight of each count before the idf: itself, or about its square root."""
    values = counts.astype(np.float32)
    if weighting == "cosine":
        return values
    # In quarters, and no more than a word that comes fourteen times: four bits hold it (`blocks.py`).
    return np.asarray(np.minimum(np.rint(values**0.5 / UNITS[weighting]), 15) * UNITS[weighting], np.float32)


def count_codes(weighting: Weighting) -> NDArray[np.uint8]:
    """Return the damped weight of each count as a multiple of the unit: [256]."""
    return np.asarray(np.rint(damp_counts(np.arange(256), weighting) / UNITS[weighting]), dtype=np.uint8)


def inverse_document_frequency(documents: NDArray[Any], entries: int, weighting: Weighting) -> FloatArray:
    """Return the idf of words that `documents` of the entries have.

    In steps far smaller than any search could tell: one entry more or less then changes hardly any word's
    idf, and the norms that depend on it can be kept (`norms.py`).
    """
    if weighting == "cosine":
        return np.ones(documents.shape, dtype=np.float32)
    # The constant keeps a word that every entry has from vanishing altogether.
    idf = 0.1 + np.log((1 + entries) / (1 + documents))
    return np.asarray(np.rint(IDF_STEPS * idf) / IDF_STEPS, dtype=np.float32)


def weigh_histogram(counts: NDArray[Any], idf: NDArray[Any], weighting: Weighting) -> NDArray[Any]:
    """Return the weighted histogram of counts [..., C, K], in the precision of `idf` [C, K]."""
    return np.asarray(damp_counts(counts, weighting) * idf)


def unit_histogram(counts: NDArray[Any], idf: NDArray[Any], weighting: Weighting) -> NDArray[Any]:
    """Return the weighted histogram of counts [..., C, K], each channel divided by its norm."""
    weights = weigh_histogram(counts, idf, weighting)
    return np.asarray(weights / np.maximum(np.linalg.norm(weights, axis=-1, keepdims=True), 1e-9))


def query_weights(counts: NDArray[Any], idf: NDArray[Any], weighting: Weighting) -> NDArray[Any]:
    """Return what a damped count of 1 of each word adds to the cosine, before the entry's norm: [C, K].

    The unit histogram of the query times the idf of the entry's word.
    """
    return np.asarray(unit_histogram(counts, idf, weighting) * idf)


class Histograms:
    """The histograms of some thousand entries; one row per word, so that a query reads its own words only."""

    def __init__(self, counts: Sequence[NDArray[np.uint8]], weighting: Weighting = DEFAULT_WEIGHTING) -> None:
        self.weighting = require_weighting(weighting)
        self._counts = np.ascontiguousarray(np.stack(counts, axis=2))  # [C, K, N]
        documents = (self._counts > 0).sum(axis=2)
        self.idf = inverse_document_frequency(documents, len(self), self.weighting)  # [C, K]
        self._norms = np.stack(  # [C, N]; one channel at a time, to save memory
            [np.linalg.norm(weigh_histogram(rows, idf[:, None], self.weighting), axis=0)
             for rows, idf in zip(self._counts, self.idf, strict=True)]
        )  # fmt: skip

    def __len__(self) -> int:
        return int(self._counts.shape[2])

    def cosines(self, counts: NDArray[np.uint8] | FloatArray) -> FloatArray:
        """Return the cosine of one histogram with every entry's: [C, N].

        Counts may be fractions, where a moment is more than one word.
        """
        weights = weigh_histogram(counts, self.idf, self.weighting)
        norms = np.linalg.norm(weights, axis=1)
        result = np.zeros(self._norms.shape, dtype=np.float32)
        for channel, word in np.argwhere(counts):
            row = damp_counts(self._counts[channel, word], self.weighting)
            result[channel] += weights[channel, word] * self.idf[channel, word] * row
        return np.asarray(np.minimum(result / np.maximum(norms[:, None] * self._norms, 1e-9), 1))


def combine_channels(cosines: FloatArray, query_seen: FloatArray, entry_seen: FloatArray) -> FloatArray:
    """Return one score per entry from its channels' cosines.

    A channel counts as much as the query shows of it. What the query shows and the entry
    does not is no evidence against it, but less evidence for it: the mean over the shared
    channels is lowered by the square root of their share.
    """
    weights = query_seen[:, None] * (entry_seen > 0)  # [C, N]
    shared = weights.sum(axis=0)
    mean = (weights * cosines).sum(axis=0) / np.maximum(shared, 1e-9)
    share = shared / max(float(query_seen.sum()), 1e-9)
    return np.asarray(mean * np.sqrt(share), dtype=np.float32)


def channels_seen(fingerprint: Fingerprint) -> FloatArray:
    """Return the share of words that each channel shows: [C]."""
    return np.asarray((fingerprint.visibility >= SEEN_FROM).mean(axis=0), dtype=np.float32)
