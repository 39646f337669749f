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
        stacked = np.stack(counts)  # [N, C, K]
        self._counts = np.ascontiguousarray(stacked.transpose(1, 2, 0))  # [C, K, N]
        self._rarity = self._word_rarity(stacked)  # [C, K]
        self._norms = np.linalg.norm(self._weigh(stacked), axis=2).T  # [C, N]

    def __len__(self) -> int:
        return int(self._counts.shape[2])

    def _word_rarity(self, counts: NDArray[np.uint8]) -> FloatArray:
        if self.weighting == "cosine":
            return np.ones(counts.shape[1:], dtype=np.float32)
        occurrences = (counts > 0).sum(axis=0)
        # The constant keeps a word that every entry has from vanishing altogether.
        rarity = 0.1 + np.log((1 + len(counts)) / (1 + occurrences))
        return np.asarray(rarity, dtype=np.float32)

    def _weigh(self, counts: NDArray[np.uint8]) -> FloatArray:
        """A histogram's weights, before it is brought to length 1."""
        values = counts.astype(np.float32)
        damped = np.sqrt(values) if self.weighting == "sqrt-idf" else values
        return np.asarray(self._rarity * damped)

    def cosines(self, counts: NDArray[np.uint8]) -> FloatArray:
        """The cosine of one histogram with every entry's, by channel: [channels, entries]."""
        weights = self._weigh(counts)
        norms = np.linalg.norm(weights, axis=1)
        result = np.zeros(self._norms.shape, dtype=np.float32)
        for channel, word in np.argwhere(counts):
            row = self._counts[channel, word].astype(np.float32)
            if self.weighting == "sqrt-idf":
                row = np.sqrt(row)
            result[channel] += weights[channel, word] * self._rarity[channel, word] * row
        return np.asarray(result / np.maximum(norms[:, None] * self._norms, 1e-9))


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
