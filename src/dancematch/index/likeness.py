"""What both stages say of a few stretches: the cosine of their histograms, and how well they lie in order.

Stage one (`columns.py`) finds the best of a million entries; what it cannot say cheaply, such as the
cosine by channel or that of the same entry with the mirrored clip, is computed here from the words
themselves. The kernels take all stretches at once.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.index.align import LEAST_SHARED, TEMPI, full_evidence
from dancematch.index.histogram import Weighting, channels_seen, combine_channels, damped, word_counts
from dancematch.index.localise import Profile, align, largest
from dancematch.index.shelf import Stretches
from dancematch.types import Codebook, Fingerprint, FloatArray, Passage, Span

_TEMPI = np.array(TEMPI)
# A hair in favour of the tempo nearest 1: among equals the plain explanation wins.
_HAIR = 1e-6 * np.abs(np.log(_TEMPI))
_MARGIN = 8  # words: further than three steps go at any tempo
_CHUNK = 16  # numbers that the kernels' inner loops take at once: full chunks leave no slow rest


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
        shares = weights / np.maximum(norms, 1e-9) * rarity.words
        # What each word adds to the product with the clip's histogram, and to the square of its own norm.
        self._shares = np.stack([shares, rarity.words**2], axis=2).astype(np.float32)
        full = full_evidence(fingerprint, rarity.usual)
        self._full = np.concatenate([[0], np.cumsum(full, dtype=np.float64)])
        # How far a reference has gone at each of the clip's words, a row a tempo.
        self._ways = np.round(np.arange(len(fingerprint)) * _TEMPI[:, None]).astype(np.int64)

    def cosines(self, stretches: Stretches) -> FloatArray:
        """The cosine with each stretch's histogram, by channel: [channels, stretches]; -1 = not shown."""
        values = damped(np.arange(257).clip(max=255), self._rarity.weighting)
        more = np.stack([np.diff(values), np.diff(values**2)], axis=1)
        return np.asarray(_cosines(*stretches, self._shares, more))

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
        """Of the clip and as many unseen words, which say nothing, as make it full chunks for the kernels."""
        clip = self.fingerprint
        more = ((0, -len(clip) % _CHUNK), (0, 0))
        padded = replace(clip, words=np.pad(clip.words, more), visibility=np.pad(clip.visibility, more))
        return Profile(padded, self.codebook, self._rarity.usual)

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
        found = align(self._profile.evidence(reference)[: len(self.fingerprint)], limit=limit)
        return tuple(
            Passage(self.fingerprint.span(*one.query), reference.span(*one.reference), one.tempo)
            for one in found
        )


@njit(cache=True, nogil=True)
def _cosines(words, seen, offsets, shares, more):  # type: ignore[no-untyped-def]
    """`more` is what a word's next occurrence is worth beyond those before it: [256, 2].

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
            for step in range(first, end):
                counts[words[step, channel]] = 0
            if shown:
                result[channel, stretch] = min(np.float32(1), shared / max(np.sqrt(power), np.float32(1e-9)))
    return result


@njit(cache=True, nogil=True)
def _lines(table, words, seen, offsets, ways, full, hair, least_shared):  # type: ignore[no-untyped-def]
    """`align.place` for every stretch; `full` sums what copies of the clip's words would say.

    Long because its tables serve one stretch after the other.
    """
    count, query = len(offsets) - 1, ways.shape[1]
    lengths, furthest = offsets[1:] - offsets[:-1], ways[:, -1].max()
    longest = lengths.max() if count else 0
    agreements = np.empty(count, np.float32)
    places, tempi = np.empty(count, np.int64), np.empty(count, np.int64)
    evidence = np.empty((longest, table.shape[2]), np.float32)
    # [query, stretch], nothing said before and behind the stretch, nor in rows that make them a multiple of 4
    said = np.zeros((query + 3, longest + 2 * _MARGIN + _CHUNK), np.float32)
    sums = np.empty(longest + furthest + 2 * _CHUNK, np.float32)
    barred = np.full((len(ways), len(sums)), -np.inf, np.float32)
    length = -1
    for stretch in np.argsort(lengths):  # those of one length share what is barred
        first, end = offsets[stretch], offsets[stretch + 1]
        if end - first != length:
            length = end - first
            shorter = min(query, length)
            for tempo in range(len(ways)):
                _bar(ways[tempo], length, least_shared * shorter, barred[tempo])
            said[:query, _MARGIN + length :] = 0
        _add_up(table, words[first:end], seen[first:end], evidence)
        for i in range(query):
            row = said[i, _MARGIN:]
            for j in range(length):
                row[j] = evidence[j, i]
        best, offset, value = 0, 0, -np.inf
        for tempo in range(len(ways)):
            top = _along(said, ways[tempo], length, sums, barred[tempo])
            if top - hair[tempo] > value:
                place = 0
                while sums[place] != top:
                    place += 1
                best, offset, value = tempo, place - ways[tempo, -1], top - hair[tempo]
        way = ways[best]
        begin, stop = 0, query
        while begin < query and way[begin] + offset < 0:
            begin += 1
        while stop > begin and way[stop - 1] + offset >= length:
            stop -= 1
        # An overlap shorter than the shorter clip counts as if the rest of it had said nothing.
        longer = max(1.0, shorter / max(stop - begin, 1))
        possible = max((full[stop] - full[begin]) * longer, 1e-6)
        agreements[stretch] = min(1.0, value / possible)
        places[stretch], tempi[stretch] = offset, best
    return agreements, places, tempi


@njit(cache=True, nogil=True)
def _bar(way, length, least, barred):  # type: ignore[no-untyped-def]
    """0 at offsets at which the clip and a stretch share at least so many words, -inf at others."""
    query, furthest = len(way), way[-1]
    first, end = query, query  # the clip's words that lie within the stretch at this offset
    for place in range(length + furthest):
        while first > 0 and way[first - 1] >= furthest - place:
            first -= 1
        while end > 0 and way[end - 1] >= furthest - place + length:
            end -= 1
        barred[place] = 0 if end - first >= least else -np.inf
    barred[length + furthest :] = -np.inf


@njit(cache=True, nogil=True)
def _add_up(table, words, seen, evidence):  # type: ignore[no-untyped-def]
    """`localise.add_evidence` into a table that is there."""
    query, channels = table.shape[2], words.shape[1]
    shown = np.empty(channels, np.int64)
    for place in range(len(words)):
        count = 0
        for channel in range(channels):
            if seen[place, channel]:
                shown[count] = channel
                count += 1
        row = evidence[place]
        row[:] = 0
        for number in range(count % 4):
            one = table[shown[number], words[place, shown[number]]]
            for i in range(query):
                row[i] += one[i]
        for number in range(count % 4, count, 4):  # four at a time: the row is read and written less often
            one = table[shown[number], words[place, shown[number]]]
            two = table[shown[number + 1], words[place, shown[number + 1]]]
            three = table[shown[number + 2], words[place, shown[number + 2]]]
            four = table[shown[number + 3], words[place, shown[number + 3]]]
            for i in range(query):
                row[i] += (one[i] + two[i]) + (three[i] + four[i])


@njit(cache=True, nogil=True)
def _along(said, way, length, sums, barred):  # type: ignore[no-untyped-def]
    """The evidence along every line of one tempo into `sums`; the largest."""
    query, furthest = len(way), way[-1]
    size = -(-(length + furthest) // _CHUNK) * _CHUNK
    sums[: size + _CHUNK] = 0
    for i in range(
        0, query, 4
    ):  # four of the clip's words at a time: the sums are read and written less often
        last = min(i + 3, query - 1)
        width = -(-(length + way[last] - way[i]) // _CHUNK) * _CHUNK
        target = sums[furthest - way[last] :]
        one, two = (
            said[i, _MARGIN + way[i] - way[last] :],
            said[i + 1, _MARGIN + way[min(i + 1, last)] - way[last] :],
        )
        three, four = said[i + 2, _MARGIN + way[min(i + 2, last)] - way[last] :], said[i + 3, _MARGIN:]
        for j in range(width):
            target[j] += (one[j] + two[j]) + (three[j] + four[j])
    for j in range(size):
        sums[j] += barred[j]
    return largest(sums[:size])
