"""One variant of the query compared with segments: the cosine of their histograms, and the best line.

Stage one (`columns.py`) finds the best of a million entries; what it cannot say cheaply, such as the cosine
per channel or that of the same entry with the mirrored query, is computed here from the words themselves.
The kernels take all segments at once.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.search.stage1.histogram import (
    Weighting,
    channels_seen,
    combine_channels,
    damp_counts,
    query_weights,
    word_counts,
)
from dancematch.search.stage2.line_search import best_lines
from dancematch.search.stage2.local_alignment import Profile, align_segments
from dancematch.search.stage2.word_alignment import LEAST_SHARED, TEMPI, full_evidence
from dancematch.search.words.word_store import Segments
from dancematch.types import Codebook, Fingerprint, FloatArray, Passage, Span

_TEMPI = np.array(TEMPI)
_TEMPO_PENALTY = 1e-6 * np.abs(np.log(_TEMPI))  # among equals the tempo nearest 1 wins


@dataclass(frozen=True, eq=False)
class WordStatistics:
    """How rare words are in a catalogue, and how similar to others: [channels, words] each."""

    weighting: Weighting
    idf: FloatArray  # `histogram.inverse_document_frequency`
    usual: FloatArray  # `word_alignment.expected_similarity`


class Lines(NamedTuple):
    """The straight line along which the words of query and segment agree best: [segments] each."""

    agreements: FloatArray  # 1 = word for word the same, 0 = as unrelated words are
    offsets: NDArray[np.int64]  # the segment's word at which the query begins; negative if before it
    tempi: NDArray[np.int64]  # of `TEMPI`


class Variant:
    """The query as seen or mirrored, with the tables that comparisons read."""

    def __init__(self, fingerprint: Fingerprint, codebook: Codebook, statistics: WordStatistics) -> None:
        self.fingerprint = fingerprint
        self.counts = word_counts(fingerprint)
        self.seen = channels_seen(fingerprint)
        self.codebook, self._statistics = codebook, statistics
        idf = statistics.idf
        # Per word: what it adds to the product with the query's histogram, and to the square of its own norm.
        shares = query_weights(self.counts, idf, statistics.weighting)
        self._shares = np.stack([shares, idf**2], axis=2).astype(np.float32)
        full = full_evidence(fingerprint, statistics.usual)
        self._full = np.concatenate([[0], np.cumsum(full, dtype=np.float64)])
        # How far a reference has advanced at each of the query's words: [tempi, words].
        self._ways = np.round(np.arange(len(fingerprint)) * _TEMPI[:, None]).astype(np.int64)

    def cosines(self, segments: Segments) -> FloatArray:
        """Return the cosine with each segment's histogram: [channels, segments]; -1 = not shown."""
        return np.asarray(_cosines(*segments, self._shares, _count_increments(self._statistics.weighting)))

    def combine_cosines(self, cosines: FloatArray) -> FloatArray:
        """Return the histogram's score from the cosines of `cosines`: [segments]."""
        shown = (cosines >= 0).astype(np.float32)
        return combine_channels(np.maximum(cosines, 0), self.seen, shown)

    def average_channels(self, by_channel: FloatArray) -> FloatArray:
        """Return the mean of a metric's values [channels, segments], weighted by how much the query shows."""
        known = ~np.isnan(by_channel)
        shares = self.seen[:, None] * known
        total = shares.sum(axis=0)
        mean = (shares * np.where(known, by_channel, 0)).sum(axis=0) / np.where(total > 0, total, np.nan)
        return np.asarray(mean, dtype=np.float32)

    @cached_property
    def _profile(self) -> Profile:
        return Profile(self.fingerprint, self.codebook, self._statistics.usual)

    def best_lines(self, segments: Segments) -> Lines:
        """Return where in each segment the query lies, and at what tempo."""
        table = self._profile.table
        return Lines(*best_lines(table, *segments, self._ways, self._full, _TEMPO_PENALTY, LEAST_SHARED))

    def line_spans(self, reference: Fingerprint, offset: int, tempo: int) -> tuple[Span, Span]:
        """Return when a line runs: in the query, and in the reference."""
        way = self._ways[tempo]
        first, end = way.searchsorted((-offset, len(reference) - offset)).tolist()
        places = offset + int(way[first]), offset + int(way[end - 1])
        return self.fingerprint.span(first, end - 1), reference.span(*places)

    def find_passages(self, reference: Fingerprint, limit: int) -> tuple[Passage, ...]:
        """Return the segments of query and reference that match, best first."""
        found = align_segments(self._profile.evidence(reference), limit=limit)
        return tuple(
            Passage(self.fingerprint.span(*one.query), reference.span(*one.reference), one.tempo)
            for one in found
        )


@cache
def _count_increments(weighting: Weighting) -> FloatArray:
    """What a word's next occurrence adds to its damped count, and to the square of it: [256, 2]."""
    values = damp_counts(np.arange(257).clip(max=255), weighting)
    return np.stack([np.diff(values), np.diff(values**2)], axis=1)


@kernel
def _cosines(words, seen, offsets, shares, more):  # type: ignore[no-untyped-def]
    """`more` is `_count_increments`.

    Unsigned numbers throughout: numba checks every signed index for counting from the end.
    """
    channels, vocabulary = np.uint64(shares.shape[0]), np.uint64(shares.shape[1])
    result = np.full((shares.shape[0], len(offsets) - 1), -1, np.float32)
    counts = np.zeros(shares.shape[1], np.uint8)
    flat = shares.reshape(shares.shape[0] * shares.shape[1], 2)
    for segment in range(len(offsets) - 1):
        first, end = np.uint64(offsets[segment]), np.uint64(offsets[segment + 1])
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
            if vocabulary < np.uint64(16) * (end - first):  # then clearing all words is quicker
                counts[:] = 0
            else:
                for step in range(first, end):
                    counts[np.uint64(words[step, channel])] = 0
            if shown:
                result[channel, segment] = min(np.float32(1), shared / max(np.sqrt(power), np.float32(1e-9)))
    return result
