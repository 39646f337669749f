"""Stage one: word histograms and their cosine, exact over every entry.

Counts are kept a row a word, so that a query reads only the rows of its own words. This is the
plain way, for some thousands of entries; `columns.py` does the same for millions.
Letters: N entries, C channels, K words a channel.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.types import SEEN_FROM, Fingerprint, FloatArray

Weighting = Literal["cosine", "sqrt-idf"]
DEFAULT_WEIGHTING: Weighting = "sqrt-idf"
UNITS: Mapping[Weighting, float] = {"cosine": 1.0, "sqrt-idf": 0.25}  # that a count's worth comes in
RARITY_STEPS = 64  # a word's rarity is a whole number of these to 1


def word_counts(fingerprint: Fingerprint) -> NDArray[np.uint8]:
    """How often each word is seen: [channels, words], at most 255."""
    shape = fingerprint.words.shape[1], fingerprint.vocabulary
    cells = fingerprint.words + fingerprint.vocabulary * np.arange(shape[0])
    counts = np.bincount(cells[fingerprint.visibility >= SEEN_FROM], minlength=shape[0] * shape[1])
    return np.minimum(counts, 255).astype(np.uint8).reshape(shape)


def checked_weighting(weighting: str) -> Weighting:
    """The same, if there is such a weighting."""
    if weighting not in get_args(Weighting):
        raise InputError(f"weighting must be one of {', '.join(get_args(Weighting))}, got {weighting!r}")
    return cast(Weighting, weighting)


def damped(counts: NDArray[Any], weighting: Weighting) -> FloatArray:
    """What a count is worth before the word's rarity."""
    values = counts.astype(np.float32)
    if weighting == "cosine":
        return values
    # In quarters, and no more than a word that comes fourteen times: four bits hold it (`blocks.py`).
    return np.asarray(np.minimum(np.rint(values**0.5 / UNITS[weighting]), 15) * UNITS[weighting], np.float32)


def codes_of(weighting: Weighting) -> NDArray[np.uint8]:
    """What each count is worth, in units: [256]."""
    return np.asarray(np.rint(damped(np.arange(256), weighting) / UNITS[weighting]), dtype=np.uint8)


def inverse_document_frequency(documents: NDArray[Any], entries: int, weighting: Weighting) -> FloatArray:
    """What a word is worth that `documents` of the entries have.

    In steps, far smaller than any search could tell: an entry more or less then changes the worth of
    hardly any word, and norms that depend on it can be kept (`norms.py`).
    """
    if weighting == "cosine":
        return np.ones(documents.shape, dtype=np.float32)
    # The constant keeps a word that every entry has from vanishing altogether.
    rarity = 0.1 + np.log((1 + entries) / (1 + documents))
    return np.asarray(np.rint(RARITY_STEPS * rarity) / RARITY_STEPS, dtype=np.float32)


class Histograms:
    """The histograms of N entries, ready to be compared with a query's."""

    def __init__(self, counts: Sequence[NDArray[np.uint8]], weighting: Weighting = DEFAULT_WEIGHTING) -> None:
        self.weighting = checked_weighting(weighting)
        self._counts = np.ascontiguousarray(np.stack(counts, axis=2))  # [C, K, N]
        documents = (self._counts > 0).sum(axis=2)
        self.rarity = inverse_document_frequency(documents, len(self), self.weighting)  # [C, K]
        self._norms = np.stack(  # [C, N]; a channel at a time, for memory's sake
            [np.linalg.norm(damped(rows, self.weighting) * rarity[:, None], axis=0)
             for rows, rarity in zip(self._counts, self.rarity, strict=True)]
        )  # fmt: skip

    def __len__(self) -> int:
        return int(self._counts.shape[2])

    def cosines(self, counts: NDArray[np.uint8] | FloatArray) -> FloatArray:
        """The cosine of one histogram with every entry's, by channel: [channels, entries].

        A query may count in parts, where a moment is said to be more than one word.
        """
        weights = damped(counts, self.weighting) * self.rarity
        norms = np.linalg.norm(weights, axis=1)
        result = np.zeros(self._norms.shape, dtype=np.float32)
        for channel, word in np.argwhere(counts):
            row = damped(self._counts[channel, word], self.weighting)
            result[channel] += weights[channel, word] * self.rarity[channel, word] * row
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
    return np.asarray((fingerprint.visibility >= SEEN_FROM).mean(axis=0), dtype=np.float32)
