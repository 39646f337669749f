"""Stage one: word histograms and their cosine, exact over every entry.

Counts are kept a row a word, so that a query reads only the rows of its own words.
Letters: N entries, C channels, K words a channel.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.types import Fingerprint, FloatArray

Weighting = Literal["cosine", "sqrt-idf"]
DEFAULT_WEIGHTING: Weighting = "sqrt-idf"
SEEN = 0.4  # a word below this visibility is a guess of the pose estimator and is not counted


def word_counts(fingerprint: Fingerprint) -> NDArray[np.uint8]:
    """How often each word is seen: [channels, words], at most 255."""
    channels = fingerprint.words.shape[1]
    counts = np.zeros((channels, fingerprint.vocabulary), dtype=np.int64)
    for channel in range(channels):
        seen = fingerprint.visibility[:, channel] >= SEEN
        words = fingerprint.words[seen, channel]
        counts[channel] = np.bincount(words, minlength=fingerprint.vocabulary)
    return np.minimum(counts, 255).astype(np.uint8)


class Histograms:
    """The histograms of N entries, ready to be compared with a query's."""

    def __init__(self, counts: Sequence[NDArray[np.uint8]], weighting: Weighting = DEFAULT_WEIGHTING) -> None:
        if weighting not in get_args(Weighting):
            raise InputError(f"weighting must be one of {', '.join(get_args(Weighting))}, got {weighting!r}")
        self.weighting = weighting
        self._counts = np.ascontiguousarray(np.stack(counts, axis=2))  # [C, K, N]
        self._rarity = self._word_rarity()  # [C, K]
        self._norms = np.stack(  # [C, N]; a channel at a time, for memory's sake
            [np.linalg.norm(self._damped(rows) * rarity[:, None], axis=0)
             for rows, rarity in zip(self._counts, self._rarity, strict=True)]
        )  # fmt: skip

    def __len__(self) -> int:
        return int(self._counts.shape[2])

    def _word_rarity(self) -> FloatArray:
        if self.weighting == "cosine":
            return np.ones(self._counts.shape[:2], dtype=np.float32)
        occurrences = (self._counts > 0).sum(axis=2)
        # The constant keeps a word that every entry has from vanishing altogether.
        rarity = 0.1 + np.log((1 + len(self)) / (1 + occurrences))
        return np.asarray(rarity, dtype=np.float32)

    def _damped(self, counts: NDArray[np.uint8] | FloatArray) -> FloatArray:
        values = counts.astype(np.float32)
        return np.sqrt(values) if self.weighting == "sqrt-idf" else values

    def cosines(self, counts: NDArray[np.uint8] | FloatArray) -> FloatArray:
        """The cosine of one histogram with every entry's, by channel: [channels, entries].

        A query may count in parts, where a moment is said to be more than one word.
        """
        weights = self._damped(counts) * self._rarity
        norms = np.linalg.norm(weights, axis=1)
        result = np.zeros(self._norms.shape, dtype=np.float32)
        for channel, word in np.argwhere(counts):
            row = self._damped(self._counts[channel, word])
            result[channel] += weights[channel, word] * self._rarity[channel, word] * row
        return np.asarray(np.minimum(result / np.maximum(norms[:, None] * self._norms, 1e-9), 1))


def combine_channels(cosines: FloatArray, query_seen: FloatArray, entry_seen: FloatArray) -> FloatArray:
    """One score an entry from its channels' cosines.

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
    """The share of its words that each channel shows: [channels]."""
    return np.asarray((fingerprint.visibility >= SEEN).mean(axis=0), dtype=np.float32)
