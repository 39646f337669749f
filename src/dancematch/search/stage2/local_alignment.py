"""Which segments of two clips are the same dance: local alignment of their words.

Here word numbers count, not seconds; "tempo" is the reference's words a word of the query,
so above 1 where the query is danced faster. Letters: Q query words, R reference words.
Tables are kept [R, Q]: all that happens at one reference word lies together in memory, so
that the kernels' inner loops run over the query, several words at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.search.kernels.kernel import kernel
from dancematch.types import SEEN_FROM, Codebook, Fingerprint, FloatArray

LIMIT = 8  # segments
SAME_SEGMENT = 0.5  # of the shorter of two query segments, that both must cover to be one passage

_TRIES = 8  # paths per wanted segment: one beyond the tempo limits is passed over
_BARRED = np.float32(-1e9)
CHUNK = 16  # numbers that the kernels' inner loops take at once

_U = np.uint64  # mixed with a signed number it would become a float, so every constant has it
_0, _1, _2, _3, _4, _5, _6, _7 = (_U(number) for number in range(8))

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Rules:
    """What a path gains and pays, and which paths count."""

    expected: float = (
        0.2  # evidence that unrelated words reach for a while: only what lies above it is a gain
    )
    gap_open: float = 0.02  # for a word skipped: little, since a change of tempo skips one every few words
    gap_extend: float = 0.02  # for each further word of the same gap
    longest_gap: int = 2  # words skipped at once: a path cannot leap from one chorus to the next
    deepest_drop: float = 1.5  # loss on the way that parts a path in two: a second or so of unrelated words
    least_score: float = 1.0  # one in a hundred reaches it by chance, two seconds against a short dance
    least_length: int = 6  # pairs of words: a shorter run agrees with anything
    slowest: float = 0.6  # tempo
    fastest: float = 1.7

    def __post_init__(self) -> None:
        costs = (self.gap_open, self.gap_extend, self.longest_gap, self.deepest_drop, self.least_score)
        if not (min(costs) >= 0 and 0 <= self.slowest <= self.fastest):
            raise InputError(f"gaps, scores and tempi must be 0 or more, slowest before fastest; got {self}")

    @cached_property
    def gaps(self) -> FloatArray:
        """What it costs to skip one word, two words, ... at once."""
        return (self.gap_open + self.gap_extend * np.arange(self.longest_gap)).astype(np.float32)

    @cached_property
    def limits(self) -> NDArray[np.float64]:
        """Which paths count, as numbers for the kernel."""
        return np.array(
            [self.deepest_drop, self.least_score, self.least_length, self.slowest, self.fastest], np.float64
        )


DEFAULT_RULES = Rules()


@dataclass(frozen=True, eq=False)
class AlignedSegment:
    """Two segments that match, of query and reference, as word numbers."""

    path: IntArray  # [k, 2]: query word, reference word of every pair that was matched; both increase
    score: float  # summed evidence beyond the expected, less the gaps
    tempo: float

    @property
    def query(self) -> tuple[int, int]:
        """First and last word in the query."""
        return int(self.path[0, 0]), int(self.path[-1, 0])

    @property
    def reference(self) -> tuple[int, int]:
        """First and last word in the reference."""
        return int(self.path[0, 1]), int(self.path[-1, 1])


class Profile:
    """A query as the table that references are compared with.

    The evidence of each word of the vocabulary at each word of the query is computed once; the
    evidence of a reference word is then a sum of one row per channel.
    """

    def __init__(self, query: Fingerprint, codebook: Codebook, usual: FloatArray) -> None:
        self._length = len(query)
        words, seen = np.ascontiguousarray(query.words), query.visibility >= SEEN_FROM
        self.table = profile_table(words, seen, codebook.similarity, np.asarray(usual, dtype=np.float32))

    def evidence(self, reference: Fingerprint) -> FloatArray:
        """Return the evidence of every pair of words, as `word_alignment.word_evidence`: [Q, R]."""
        total = np.empty((len(reference), self.table.shape[1]), np.float32)
        add_evidence(
            self.table, reference.words, reference.visibility >= SEEN_FROM, 0, len(reference), 0, total
        )
        return np.asarray(total[:, : self._length].T)


@kernel
def profile_table(words, seen, similarity, usual):  # type: ignore[no-untyped-def]
    """Evidence of each word at each place of the query: [channels * vocabulary + 1, Q], the last row 0.

    With as many unseen words, which say nothing, as make the query full chunks: no loop has a slow rest.
    """
    length, channels = words.shape
    vocabulary, size = similarity.shape[1], -(-length // CHUNK) * CHUNK
    table = np.zeros((channels * vocabulary + 1, size), np.float32)
    shares, usually = np.zeros(size, np.float32), np.zeros(size, np.float32)
    rows = np.zeros(size, np.uint64)
    for channel in range(channels):
        known = similarity[channel]
        for place in range(length):
            word = words[place, channel]
            shares[place] = seen[place, channel] / max(1, seen[place].sum())
            rows[place], usually[place] = word, usual[channel, word]
        for other in range(np.uint64(vocabulary)):
            row = table[channel * vocabulary + other]
            for place in range(size):
                row[place] = (known[rows[place], other] - usually[place]) * shares[place]
    return table


@kernel
def add_evidence(table, words, seen, first, end, begin, evidence):  # type: ignore[no-untyped-def]
    """The evidence of a reference's words from `first` to `end`, a row each; how many rows.

    `table` is a query's `profile_table`; as many of its columns from `begin` on are added up as `evidence`
    has or there are. Seven channels at a time: the sum is read and written less often.
    """
    flat, wide, begin = table.reshape(-1), _U(table.shape[1]), _U(begin)
    total, line = evidence.reshape(-1), _U(evidence.shape[1])
    size, nothing = min(line, wide - begin), _U(len(table) - 1) * wide + begin
    channels = _U(words.shape[1])
    block, at = _U(len(table) - 1) // channels * wide, _U(0)
    rows = np.empty(words.shape[1] + 7, np.uint64)
    for step in range(_U(first), _U(max(first, end))):
        count = _U(0)
        for channel in range(channels):
            if seen[step, channel]:
                rows[count] = channel * block + _U(words[step, channel]) * wide + begin
                count += _1
        rows[count : count + _7] = nothing
        if count == _1:
            a = rows[_0]
            for i in range(size):
                total[at + i] = flat[a + i]
        else:
            a, b, c, d, e, f, g = rows[_0], rows[_1], rows[_2], rows[_3], rows[_4], rows[_5], rows[_6]
            for i in range(size):
                four = (flat[a + i] + flat[b + i]) + (flat[c + i] + flat[d + i])
                total[at + i] = four + ((flat[e + i] + flat[f + i]) + flat[g + i])
        for n in range(_7, count, _7):
            a, b, c, d = rows[n], rows[n + _1], rows[n + _2], rows[n + _3]
            e, f, g = rows[n + _4], rows[n + _5], rows[n + _6]
            for i in range(size):
                four = (flat[a + i] + flat[b + i]) + (flat[c + i] + flat[d + i])
                total[at + i] += four + ((flat[e + i] + flat[f + i]) + flat[g + i])
        at += line
    return max(0, end - first)


def align_segments(
    evidence: FloatArray, rules: Rules = DEFAULT_RULES, *, limit: int = LIMIT
) -> list[AlignedSegment]:
    """Return the segments of two clips that match, best first, from the evidence of their words [Q, R].

    Smith-Waterman with affine gaps: a path gains what its pairs of words say beyond the expected
    and pays for words that it skips, on one side at a time; it is parted where it loses too much
    on the way. After each path, every pair of its two segments is barred (Waterman and Eggert
    bar the path alone): two segments may share a segment of one clip, but hardly of both, so
    that a match does not bring its own echoes.
    """
    if evidence.ndim != 2 or not evidence.size or limit < 1:
        raise InputError(
            "alignment needs evidence [query words, reference words] and a limit of 1 or more, "
            f"got {list(evidence.shape)} and {limit}"
        )
    beyond = np.ascontiguousarray(evidence.T, dtype=np.float32) - np.float32(rules.expected)
    paths, lengths, scores, tempi = _segments(beyond, rules.gaps, rules.limits, limit)
    ends = np.cumsum(lengths)
    found = [
        AlignedSegment(paths[end - length : end], float(score), float(tempo))
        for end, length, score, tempo in zip(ends, lengths, scores, tempi, strict=True)
    ]
    return sorted(found, key=lambda segment: -segment.score)  # parts of a path come in no order


def group_repeats(segments: Sequence[AlignedSegment]) -> list[list[AlignedSegment]]:
    """Return segments grouped by the passage of the query that they are of.

    A reference that repeats an eight-count has one passage in several places. Groups and
    members come best first; a group's first member says what the passage is.
    """
    groups: list[list[AlignedSegment]] = []
    for segment in sorted(segments, key=lambda one: -one.score):
        for group in groups:
            if _same_segment(segment.query, group[0].query):
                group.append(segment)
                break
        else:
            groups.append([segment])
    return groups


def _same_segment(one: tuple[int, int], other: tuple[int, int]) -> bool:
    shared = min(one[1], other[1]) - max(one[0], other[0]) + 1
    shorter = min(one[1] - one[0], other[1] - other[0]) + 1
    return shared >= SAME_SEGMENT * shorter


@kernel
def _segments(beyond, costs, counts, limit):  # type: ignore[no-untyped-def]
    """Paths one after the other, their lengths, scores and tempi. Changes `beyond`.

    Long because the tables of one pair are kept from path to path.
    """
    drop, least_score, least_length, slowest, fastest = counts
    reference, query = beyond.shape
    longest, margin = min(query, reference), len(costs) + 1
    paths = np.empty((limit * longest, 2), np.int64)
    lengths = np.zeros(limit, np.int64)
    scores, tempi = np.zeros(limit), np.zeros(limit)
    # Nothing is gained before either clip begins: a margin of zeros spares the borders a rule of their own.
    table = np.zeros((reference + margin, query + margin), np.float32)
    tops = np.empty(reference, np.float32)
    path = np.empty((longest, 2), np.int64)
    found, used = 0, 0
    first, end = 0, reference  # of the rows to fill
    for _ in range(_TRIES * limit):
        _fill(beyond, costs, table, tops, first, end)
        column = np.argmax(tops)
        if tops[column] < least_score or tops[column] <= 0:
            break
        whole = path[_trace(costs, table, column, np.argmax(table[column + margin, margin:]), path) :]
        steps, score = _best_part(whole, table[margin:, margin:], beyond, drop)
        first, end = steps[0, 1], steps[-1, 1] + 1
        tempo = _tempo(steps)
        enough = score >= least_score and len(steps) >= min(least_length, longest)
        if enough and slowest <= tempo <= fastest:
            for step in steps:
                paths[used, 0], paths[used, 1] = step[0], step[1]
                used += 1
            lengths[found], scores[found], tempi[found] = len(steps), score, tempo
            found += 1
            for place in range(first, end):
                for i in range(steps[0, 0], steps[-1, 0] + 1):
                    beyond[place, i] = _BARRED
            if found == limit:
                break
        else:
            for step in steps:
                beyond[step[1], step[0]] = _BARRED
    return paths[:used], lengths[:found], scores[:found], tempi[:found]


@kernel
def _fill(beyond, costs, table, tops, first, end):  # type: ignore[no-untyped-def]
    """Best score of a path that ends with each pair, for the reference words from `first` on.

    Every step advances both clips, so a reference word's row depends on earlier rows alone.
    From `end` on, the work is done when as many rows as a step can reach are as they were.
    """
    reference, query = beyond.shape
    margin = len(costs) + 1
    row = np.empty(query, np.float32)
    same = 0
    for place in range(first, reference):
        at = place + margin
        _follow(row, table[at - 1, margin - 1 :])
        for number, cost in enumerate(costs):
            skip = number + 2
            _skip(row, table[at - 1, margin - skip :], table[at - skip, margin - 1 :], cost)
        gain, target = beyond[place], table[at, margin:]
        for i in range(query):
            row[i] += gain[i]
        same = same + 1 if place >= end else 0
        for i in range(query):
            if row[i] != target[i]:
                same = 0
            target[i] = row[i]
        tops[place] = largest(row)
        if same == margin:
            return


# Promises that let a comparison become one machine instruction; they change no value.
_EXACT = {"nnan", "nsz"}


@kernel(fastmath=_EXACT)
def _follow(row, before):  # type: ignore[no-untyped-def]
    """Each pair may begin a path or come after the pair before it."""
    for i in range(len(row)):
        row[i] = before[i] if before[i] > 0 else np.float32(0)


@kernel(fastmath=_EXACT)
def _skip(row, aside, further, cost):  # type: ignore[no-untyped-def]
    """Each pair may come after a gap in the query (`aside`) or in the reference (`further`)."""
    for i in range(len(row)):
        value = (aside[i] if aside[i] > further[i] else further[i]) - cost
        row[i] = value if value > row[i] else row[i]


@kernel(fastmath={"reassoc", "nnan", "nsz"})
def largest(row):  # type: ignore[no-untyped-def]
    """The maximum; the order of comparison is free, so that several go at once."""
    best = row[0]
    for i in range(1, len(row)):
        best = row[i] if row[i] > best else best
    return best


@kernel
def _trace(costs, table, column, place, path):  # type: ignore[no-untyped-def]
    """Write the path that ends there to the end of `path`; where it begins in it."""
    margin, at = len(costs) + 1, len(path)
    while True:
        at -= 1
        path[at, 0], path[at, 1] = place, column
        x, y = column + margin, place + margin
        best, back, aside = table[x - 1, y - 1], 1, 1
        for number, cost in enumerate(costs):
            skip = number + 2
            if table[x - 1, y - skip] - cost > best:
                best, back, aside = table[x - 1, y - skip] - cost, skip, 1
            if table[x - skip, y - 1] - cost > best:
                best, back, aside = table[x - skip, y - 1] - cost, 1, skip
        if best <= 0:
            return at
        place, column = place - back, column - aside


@kernel
def _best_part(path, table, beyond, drop):  # type: ignore[no-untyped-def]
    """The part of a path that gains most without a loss above `drop` on its way, and its gain.

    Along a path, the table holds what has been gained so far.
    """
    best, best_first, best_last = np.float32(-1), 0, 0
    first, top = 0, np.float32(-1e30)
    base = np.float32(0)  # gained before the part began
    for step in range(len(path)):
        value = table[path[step, 1], path[step, 0]]
        if top - value > drop or value <= base:  # a part ends; the next begins where the loss ends
            first, base, top = step + 1, value, np.float32(-1e30)
        elif value > top:
            top = value
            gain = beyond[path[first, 1], path[first, 0]]
            score = value - table[path[first, 1], path[first, 0]] + gain
            if score > best:
                best, best_first, best_last = score, first, step
    return path[best_first : best_last + 1], best


@kernel
def _tempo(steps):  # type: ignore[no-untyped-def]
    """Median slope between pairs half the path apart: a stray end does not turn the line.

    Of logarithms, so that swapping the clips gives exactly the inverse.
    """
    half = len(steps) // 2
    if half == 0:
        return 1.0
    slopes = np.empty(len(steps) - half)
    for i in range(len(slopes)):
        there = steps[i + half]
        slopes[i] = np.log((there[1] - steps[i, 1]) / (there[0] - steps[i, 0]))
    slopes.sort()
    return np.exp((slopes[len(slopes) // 2] + slopes[(len(slopes) - 1) // 2]) / 2)
