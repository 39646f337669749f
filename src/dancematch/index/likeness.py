"""What both stages say of a few stretches: the cosine of their histograms, and how well they lie in order.

Stage one (`columns.py`) finds the best of a million entries; what it cannot say cheaply, such as the
cosine by channel or that of the same entry with the mirrored clip, is computed here from the words
themselves. The kernels take all stretches at once.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.index.align import LEAST_SHARED, TEMPI, full_evidence
from dancematch.index.histogram import Weighting, channels_seen, combine_channels, damped, word_counts
from dancematch.index.localise import Profile, add_evidence, align, best_offsets
from dancematch.index.shelf import Stretches
from dancematch.types import Codebook, Fingerprint, FloatArray, Passage, Span

_TEMPI = np.array(TEMPI)
# A hair in favour of the tempo nearest 1: among equals the plain explanation wins.
_HAIR = 1e-6 * np.abs(np.log(_TEMPI))


@dataclass(frozen=True, eq=False)
class Rarity:
    """What words are worth in a catalogue: for histograms, and as evidence when they are met again."""

    weighting: Weighting
    words: FloatArray  # [channels, words]
    usual: FloatArray  # [channels, words], `align.usual_similarity`


class Lines(NamedTuple):
    """For each stretch the straight line along which its words and the clip's agree best."""

    agreements: FloatArray  # 1 = word for word the same, 0 = as unrelated words are
    offsets: NDArray[np.int64]  # the stretch's word at which the clip begins; negative if before it
    tempi: NDArray[np.int64]  # of `TEMPI`


class Reading:
    """One way to read the clip that is searched for, made ready to be compared with many."""

    def __init__(self, fingerprint: Fingerprint, codebook: Codebook, rarity: Rarity) -> None:
        self.fingerprint = fingerprint
        self.counts = word_counts(fingerprint)
        self.seen = channels_seen(fingerprint)
        self.codebook, self._rarity = codebook, rarity
        weights = damped(self.counts, rarity.weighting) * rarity.words
        norms = np.linalg.norm(weights, axis=1, keepdims=True)
        self._weights = (weights / np.maximum(norms, 1e-9)).astype(np.float32)
        full = full_evidence(fingerprint, rarity.usual)
        self._full = np.concatenate([[0], np.cumsum(full, dtype=np.float64)])
        # How far a reference has gone at each of the clip's words, a row a tempo.
        self._ways = np.round(np.arange(len(fingerprint)) * _TEMPI[:, None]).astype(np.int64)

    def cosines(self, stretches: Stretches) -> FloatArray:
        """The cosine with each stretch's histogram, by channel: [channels, stretches]; -1 = not shown."""
        values = damped(np.arange(256), self._rarity.weighting)
        return np.asarray(_cosines(*stretches, self._weights, self._rarity.words, values))

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

    def lines(self, stretches: Stretches) -> Lines:
        """Where in each stretch the clip lies, and at what tempo."""
        return Lines(*_lines(self._profile.table, *stretches, self._ways, self._full, _HAIR, LEAST_SHARED))

    def spans(self, reference: Fingerprint, offset: int, tempo: int) -> tuple[Span, Span]:
        """When a line runs: in the clip, and in the reference."""
        places = offset + self._ways[tempo]
        shared = np.flatnonzero((places >= 0) & (places < len(reference)))
        first, last = int(shared[0]), int(shared[-1])
        return self.fingerprint.span(first, last), reference.span(int(places[first]), int(places[last]))

    def passages(self, reference: Fingerprint, limit: int) -> tuple[Passage, ...]:
        """The stretches of clip and reference that go together, best first."""
        found = align(self._profile.evidence(reference), limit=limit)
        return tuple(
            Passage(self.fingerprint.span(*one.query), reference.span(*one.reference), one.tempo)
            for one in found
        )


@njit(cache=True, nogil=True)
def _cosines(words, seen, offsets, query, rarity, values):  # type: ignore[no-untyped-def]
    channels, vocabulary = query.shape
    result = np.full((channels, len(offsets) - 1), -1, np.float32)
    counts, met = np.zeros(vocabulary, np.int64), np.empty(vocabulary, np.int64)
    for stretch in range(len(offsets) - 1):
        for channel in range(channels):
            kinds = 0
            for step in range(offsets[stretch], offsets[stretch + 1]):
                if seen[step, channel]:
                    word = words[step, channel]
                    if counts[word] == 0:
                        met[kinds] = word
                        kinds += 1
                    counts[word] += 1
            shared, power = np.float32(0), np.float32(0)
            for number in range(kinds):
                word = met[number]
                weight = values[min(counts[word], 255)] * rarity[channel, word]
                shared += query[channel, word] * weight
                power += weight * weight
                counts[word] = 0
            if kinds:
                result[channel, stretch] = min(np.float32(1), shared / max(np.sqrt(power), np.float32(1e-9)))
    return result


@njit(cache=True, nogil=True)
def _lines(table, words, seen, offsets, ways, full, hair, least_shared):  # type: ignore[no-untyped-def]
    """`align.place` for every stretch; `full` sums what copies of the clip's words would say."""
    count, query = len(offsets) - 1, table.shape[2]
    agreements = np.empty(count, np.float32)
    places, tempi = np.empty(count, np.int64), np.empty(count, np.int64)
    for stretch in range(count):
        first, end = offsets[stretch], offsets[stretch + 1]
        shorter = min(query, end - first)
        evidence = add_evidence(table, words[first:end], seen[first:end], 1)  # [stretch's words, query's]
        sums, found = best_offsets(evidence, ways, least_shared * shorter)
        best = 0
        for tempo in range(1, len(sums)):
            if sums[tempo] - hair[tempo] > sums[best] - hair[best]:
                best = tempo
        offset, way = found[best], ways[best]
        begin, stop = 0, query
        while begin < query and way[begin] + offset < 0:
            begin += 1
        while stop > begin and way[stop - 1] + offset >= end - first:
            stop -= 1
        # An overlap shorter than the shorter clip counts as if the rest of it had said nothing.
        longer = max(1.0, shorter / max(stop - begin, 1))
        possible = max((full[stop] - full[begin]) * longer, 1e-6)
        agreements[stretch] = min(1.0, (sums[best] - hair[best]) / possible)
        places[stretch], tempi[stretch] = offset, best
    return agreements, places, tempi
