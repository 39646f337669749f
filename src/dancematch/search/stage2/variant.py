"""What both stages say of a few stretches: the cosine of their histograms, and how well they lie in order.

Stage one (`columns.py`) finds the best of a million entries; what it cannot say cheaply, such as the
cosine by channel or that of the same entry with the mirrored clip, is computed here from the words
themselves. The kernels take all stretches at once.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.search.stage1.histogram import Weighting, channels_seen, combine_channels, damped, word_counts
from dancematch.search.stage2.line_search import best_lines
from dancematch.search.stage2.local_alignment import Profile, align
from dancematch.search.stage2.word_alignment import LEAST_SHARED, TEMPI, full_evidence
from dancematch.search.words.word_store import Segments
from dancematch.types import Codebook, Fingerprint, FloatArray, Passage, Span

_TEMPI = np.array(TEMPI)
# A hair in favour of the tempo nearest 1: among equals the plain explanation wins.
_HAIR = 1e-6 * np.abs(np.log(_TEMPI))


@dataclass(frozen=True, eq=False)
class WordStatistics:
    """What words are worth in a catalogue: for histograms, and as evidence when they are met again."""

    weighting: Weighting
    words: FloatArray  # [channels, words]
    usual: FloatArray  # [channels, words], `word_alignment.usual_similarity`


class Lines(NamedTuple):
    """For each stretch the straight line along which its words and the clip's agree best."""

    agreements: FloatArray  # 1 = word for word the same, 0 = as unrelated words are
    offsets: NDArray[np.int64]  # the stretch's word at which the clip begins; negative if before it
    tempi: NDArray[np.int64]  # of `TEMPI`


class Variant:
    """One way to read the clip that is searched for, made ready to be compared with many."""

    def __init__(self, fingerprint: Fingerprint, codebook: Codebook, rarity: WordStatistics) -> None:
        self.fingerprint = fingerprint
        self.counts = word_counts(fingerprint)
        self.seen = channels_seen(fingerprint)
        self.codebook, self._rarity = codebook, rarity
        weights = damped(self.counts, rarity.weighting) * rarity.words
        norms = np.linalg.norm(weights, axis=1, keepdims=True)
        shares = weights / np.maximum(norms, 1e-9) * rarity.words
        # What each word adds to the product with the clip's histogram, and to the square of its own norm.
        self._shares = np.stack([shares, rarity.words**2], axis=2).astype(np.float32)
        full = full_evidence(fingerprint, rarity.usual)
        self._full = np.concatenate([[0], np.cumsum(full, dtype=np.float64)])
        # How far a reference has gone at each of the clip's words, a row a tempo.
        self._ways = np.round(np.arange(len(fingerprint)) * _TEMPI[:, None]).astype(np.int64)

    def cosines(self, stretches: Segments) -> FloatArray:
        """The cosine with each stretch's histogram, by channel: [channels, stretches]; -1 = not shown."""
        return np.asarray(_cosines(*stretches, self._shares, _next_ones(self._rarity.weighting)))

    def histogram(self, cosines: FloatArray) -> FloatArray:
        """The channels together: [stretches]."""
        shown = (cosines >= 0).astype(np.float32)
        return combine_channels(np.maximum(cosines, 0), self.seen, shown)

    def together(self, by_channel: FloatArray) -> FloatArray:
        """Any metric's values [channels, stretches] as one, each channel for what the clip shows of it."""
        known = ~np.isnan(by_channel)
        shares = self.seen[:, None] * known
        total = shares.sum(axis=0)
        mean = (shares * np.where(known, by_channel, 0)).sum(axis=0) / np.where(total > 0, total, np.nan)
        return np.asarray(mean, dtype=np.float32)

    @cached_property
    def _profile(self) -> Profile:
        return Profile(self.fingerprint, self.codebook, self._rarity.usual)

    def lines(self, stretches: Segments) -> Lines:
        """Where in each stretch the clip lies, and at what tempo."""
        table = self._profile.table
        return Lines(*best_lines(table, *stretches, self._ways, self._full, _HAIR, LEAST_SHARED))

    def spans(self, reference: Fingerprint, offset: int, tempo: int) -> tuple[Span, Span]:
        """When a line runs: in the clip, and in the reference."""
        way = self._ways[tempo]
        first, end = way.searchsorted((-offset, len(reference) - offset)).tolist()
        places = offset + int(way[first]), offset + int(way[end - 1])
        return self.fingerprint.span(first, end - 1), reference.span(*places)

    def passages(self, reference: Fingerprint, limit: int) -> tuple[Passage, ...]:
        """The stretches of clip and reference that go together, best first."""
        found = align(self._profile.evidence(reference), limit=limit)
        return tuple(
            Passage(self.fingerprint.span(*one.query), reference.span(*one.reference), one.tempo)
            for one in found
        )


@cache
def _next_ones(weighting: Weighting) -> FloatArray:
    """What a word's next occurrence is worth beyond those before it, as it is and in squares: [256, 2]."""
    values = damped(np.arange(257).clip(max=255), weighting)
    return np.stack([np.diff(values), np.diff(values**2)], axis=1)


@njit(cache=True, nogil=True)
def _cosines(words, seen, offsets, shares, more):  # type: ignore[no-untyped-def]
    """`more` is of `_next_ones`.

    Unsigned numbers throughout, since numba would ask of every signed one whether it counts from the end.
    """
    channels, vocabulary = np.uint64(shares.shape[0]), np.uint64(shares.shape[1])
    result = np.full((shares.shape[0], len(offsets) - 1), -1, np.float32)
    counts = np.zeros(shares.shape[1], np.uint8)
    flat = shares.reshape(shares.shape[0] * shares.shape[1], 2)
    for stretch in range(len(offsets) - 1):
        first, end = np.uint64(offsets[stretch]), np.uint64(offsets[stretch + 1])
        for channel in range(channels):
            shared, power, shown = np.float32(0), np.float32(0), False
            begin = channel * vocabulary
            for step in range(first, end):
                if seen[step, channel]:
                    word, shown = np.uint64(words[step, channel]), True
                    count = counts[word]
                    shared += flat[begin + word, 0] * more[count, 0]
                    power += flat[begin + word, 1] * more[count, 1]
                    counts[word] = count + np.uint8(count < 255)
            if vocabulary < np.uint64(16) * (end - first):  # then it is quicker to forget all words
                counts[:] = 0
            else:
                for step in range(first, end):
                    counts[np.uint64(words[step, channel])] = 0
            if shown:
                result[channel, stretch] = min(np.float32(1), shared / max(np.sqrt(power), np.float32(1e-9)))
    return result
