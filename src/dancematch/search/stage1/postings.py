"""Trigram postings: three words in a row vote for the tracks that have them, and for a place in each.

The second way onto the shortlist beside histograms: it uses the order of words, finds seconds in a long dance
without cutting that into windows, and where they are. Three times the same word (a dancer holding still) is
not posted: such runs are most of the occurrences and the least telling.

Occurrences lie in runs (`trigram_kernels.py`): append makes a new run, and runs of like size are
merged, so that a posting is copied a logarithm of times and a query looks into few runs. A posting
takes six bytes, and a distinct trigram of a run eight.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.search.stage1 import trigram_kernels as trigrams
from dancematch.search.stage1.blocks import freeze
from dancematch.tracks import PackedWords, pack_words
from dancematch.types import Fingerprint, FloatArray

CHANNELS = 2  # that are entered: more find little more (bench/shortlisted.py) and cost memory in proportion
TOLERANCE = 8  # words that votes for one place may lie apart: five seconds a fifth faster shift by 7
MOST_VOTES = 500_000  # a query casts: the rarest of its trigrams first
LONGEST = 1 << 16  # words of one entry

# By how often the trigrams of a channel are the same again after a change of view, estimator and tempo.
_MOST_STABLE = (
    "body", "arms", "left_side", "right_side", "right_arm_left_leg", "left_arm_right_leg", "lower_body",
    "legs", "feet", "left_arm", "right_arm", "left_leg", "right_leg", "torso",
)  # fmt: skip

# Weights are whole numbers of this part: a sum then does not depend on its order. All votes there can be,
# each as heavy as can be, stay within 32 bits.
_UNIT = 64
_ENTERED = 1 << 22  # words entered at once
_POOL = 32  # entries per wanted one whose votes are counted by place, at first

IntArray = NDArray[np.int64]


def choose_channels(names: Sequence[str], count: int = CHANNELS) -> tuple[int, ...]:
    """Return the channels whose trigrams are the most stable, as numbers; those of unknown name come last."""
    known = {name: place for place, name in enumerate(_MOST_STABLE)}
    order = sorted(range(len(names)), key=lambda number: (known.get(names[number], len(known)), number))
    return tuple(order[:count])


@dataclass(frozen=True)
class Votes:
    """Entries that share trigrams with a query, best first."""

    entries: IntArray
    scores: FloatArray  # summed idf of the trigrams that agree on one place
    offsets: IntArray  # the entry's word at which the query begins, about; negative if before it


class Tally(NamedTuple):
    """How often a query's trigrams occur: what a vote weighs depends on it."""

    counts: IntArray  # [trigrams of the query]
    occurrences: int  # of all trigrams


def add_tallies(parts: Sequence[Tally]) -> Tally:
    """Return the tally of one query in all shards together, at least one."""
    counts, occurrences = zip(*parts, strict=True)
    return Tally(np.sum(counts, axis=0), sum(occurrences))


class PostingRun(NamedTuple):
    """Occurrences by key; the arrays may lie in files."""

    keys: NDArray[Any]  # distinct, rising
    starts: NDArray[np.uint32]  # [keys + 1]
    entries: NDArray[np.uint32]
    times: NDArray[np.uint16]


@dataclass(frozen=True)
class _QueryTrigrams:
    """A query's trigrams, and where in each run they occur."""

    runs: Sequence[PostingRun]
    bounds: IntArray  # [runs, 2, trigrams]: first occurrence, and one after the last
    times: IntArray
    weights: NDArray[np.int32]


class Postings:
    """Where each trigram of words occurs: entries are numbered in the order of their adding, from 0.

    A search reads the runs there were when it began: it may run in other threads than the one that writes.
    """

    def __init__(self, vocabulary: int, channels: Sequence[int]) -> None:
        """`channels`: which of a fingerprint's channels are entered (`choose_channels`)."""
        if not channels:
            raise InputError("postings need at least one channel, got none")
        self.channels = np.array(channels, dtype=np.int64)
        self.vocabulary = vocabulary
        narrow = len(channels) * vocabulary**3 <= 1 << 32
        self.key_type = np.dtype(np.uint32 if narrow else np.uint64)
        self._runs: tuple[PostingRun, ...] = ()
        self._alive = np.zeros(0, dtype=np.bool_)
        self._counted: tuple[tuple[PostingRun, ...], NDArray[np.bool_], int] | None = (
            None  # living occurrences
        )
        self._scratch = _Scratch()

    def __len__(self) -> int:
        """Entries that have not been deleted."""
        return int(self._alive.sum())

    @property
    def occurrences(self) -> int:
        """Postings held, those of deleted entries included until their run is merged."""
        return sum(len(run.entries) for run in self._runs)

    @property
    def nbytes(self) -> int:
        """Memory that the postings take."""
        return sum(array.nbytes for run in self._runs for array in run)

    @property
    def runs(self) -> tuple[PostingRun, ...]:
        """What is held now."""
        return self._runs

    def restore(self, runs: Iterable[PostingRun], alive: NDArray[np.bool_]) -> None:
        """Replace all runs by these; some of their entries may be deleted."""
        self._runs, self._alive = tuple(runs), alive

    def append(self, fingerprints: Iterable[Fingerprint]) -> range:
        """Add fingerprints; returns their numbers."""
        checked = [self._checked(fingerprint) for fingerprint in fingerprints]
        return self.enter(pack_words(checked)) if checked else range(len(self._alive), len(self._alive))

    def enter(self, packed: PackedWords) -> range:
        """Add packed tracks; returns their numbers."""
        first, count = len(self._alive), len(packed)
        if np.diff(packed.offsets).max(initial=0) > LONGEST:
            raise InputError(f"these postings take at most {LONGEST} steps a track; cut longer ones")
        self._alive = np.concatenate([self._alive, np.ones(count, dtype=np.bool_)])
        cuts = np.arange(0, packed.offsets[-1] + _ENTERED, _ENTERED)
        cuts = np.unique(np.append(np.searchsorted(packed.offsets, cuts), count).clip(0, count))
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            part = packed.offsets[begin : end + 1]
            keys, times, tracks = trigrams.extract_trigrams(
                packed.words, packed.seen, part, self.channels, self.vocabulary
            )
            tracks += np.uint32(first + begin)
            self._runs = self._merge_runs((*self._runs, self._run(keys, tracks, times)))
        return range(first, first + count)

    def _run(self, keys: NDArray[Any], entries: NDArray[np.uint32], times: NDArray[np.uint16]) -> PostingRun:
        keys, entries, times = trigrams.sort_by_key(keys.astype(self.key_type), entries, times)
        return PostingRun(*map(freeze, (*trigrams.distinct_keys(keys), entries, times)))

    def delete(self, entries: Iterable[int]) -> None:
        """Remove entries: they are found no more, and their memory is freed as runs are merged.

        The other entries keep their numbers.
        """
        gone = np.array(list(entries), dtype=np.int64)
        if gone.size and not (gone.min() >= 0 and gone.max() < len(self._alive)):
            raise InputError(f"entries are numbered 0 to {len(self._alive) - 1}, got {gone.tolist()}")
        alive = self._alive.copy()
        alive[gone] = False
        self._alive = alive
        if 2 * len(self) < len(alive):
            nothing = self._run(np.zeros(0, np.uint64), np.zeros(0, np.uint32), np.zeros(0, np.uint16))
            thinned = (
                PostingRun(*map(freeze, trigrams.merge(tuple(run), tuple(nothing), alive)))
                for run in self._runs
            )
            self._runs = tuple(run for run in thinned if len(run.keys))

    def tally(self, query: Fingerprint) -> Tally:
        """Return how often the query's trigrams occur here."""
        runs, alive = self._runs, self._alive
        return self._count_trigrams(runs, alive, self._find_trigrams(query, runs)[0])

    def search(self, query: Fingerprint, limit: int, tally: Tally | None = None) -> Votes:
        """Return the `limit` entries with the heaviest votes for one place in them.

        Exact, but for the commonest trigrams of a query that would cast over `MOST_VOTES`. Where
        this is one of several shards, the `tally` of all says what is rare.
        """
        if limit < 1:
            raise InputError(f"a search needs a limit of 1 or more, got {limit}")
        runs, alive = self._runs, self._alive  # as they are now
        if not runs:
            return Votes(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int64))
        bounds, times = self._find_trigrams(query, runs)
        counts, occurrences = tally or self._count_trigrams(runs, alive, bounds)
        rarest = np.argsort(counts, kind="stable")
        kept = rarest[(counts[rarest] > 0) & (np.cumsum(counts[rarest]) <= MOST_VOTES)]
        idf = 0.1 + np.log(occurrences / counts[kept])
        weights = np.rint(_UNIT * idf).astype(np.int32)
        found = np.ascontiguousarray(bounds[:, :, kept])  # the only layout that kernels are compiled for
        return _rank_votes(_QueryTrigrams(runs, found, times[kept], weights), alive, limit, self._scratch)

    def _count_trigrams(
        self, runs: tuple[PostingRun, ...], alive: NDArray[np.bool_], bounds: IntArray
    ) -> Tally:
        """Without deleted entries: how rare a trigram is must not depend on them."""
        if alive.all():
            return Tally((bounds[:, 1] - bounds[:, 0]).sum(axis=0), sum(len(run.entries) for run in runs))
        counts = np.zeros(bounds.shape[2], np.int64)
        for run, (first, end) in zip(runs, bounds, strict=True):
            counts += trigrams.count_living(run.entries, first, end, alive)
        if self._counted is None or self._counted[0] is not runs or self._counted[1] is not alive:
            everywhere = np.zeros(1, np.int64)
            total = sum(
                int(trigrams.count_living(run.entries, everywhere, everywhere + len(run.entries), alive)[0])
                for run in runs
            )
            self._counted = runs, alive, total
        return Tally(counts, self._counted[2])

    def _find_trigrams(self, query: Fingerprint, runs: Sequence[PostingRun]) -> tuple[IntArray, IntArray]:
        """Where the query's trigrams lie in each run, [runs, 2, trigrams], and when in the query."""
        packed = pack_words([self._checked(query)])
        keys, times, _ = trigrams.extract_trigrams(
            packed.words, packed.seen, packed.offsets, self.channels, self.vocabulary
        )
        keys = keys.astype(self.key_type)
        bounds = np.zeros((len(runs), 2, len(keys)), dtype=np.int64)
        for run, found in zip(runs, bounds, strict=True):
            found[0], found[1] = trigrams.bounds(run.keys, run.starts, len(run.entries), keys)
        return bounds, times.astype(np.int64)

    def _checked(self, fingerprint: Fingerprint) -> Fingerprint:
        steps, channels = fingerprint.words.shape
        if fingerprint.vocabulary != self.vocabulary or channels <= self.channels.max() or steps > LONGEST:
            raise InputError(
                f"these postings take fingerprints of {self.vocabulary} words, "
                f"{self.channels.max() + 1} channels or more and at most {LONGEST} steps, "
                f"got {fingerprint.vocabulary}, {channels} and {steps}; "
                "use one model's fingerprints, and cut longer ones"
            )
        return fingerprint

    def _merge_runs(self, runs: tuple[PostingRun, ...]) -> tuple[PostingRun, ...]:
        """The runs, the last merged while it is not much shorter than the one before."""
        while len(runs) > 1 and 2 * len(runs[-1].entries) >= len(runs[-2].entries):
            if len(runs[-1].entries) + len(runs[-2].entries) >= 1 << 32:  # more than `starts` can count
                break
            *rest, one, two = runs
            runs = (*rest, PostingRun(*map(freeze, trigrams.merge(tuple(one), tuple(two), self._alive))))
        return runs


class _Scratch(threading.local):
    """Counters of one thread: all 0 between searches, so that a million need not be cleared."""

    def __init__(self) -> None:
        self._counters = np.zeros((2, 0), np.int32)

    def counters(self, entries: int) -> NDArray[np.int32]:
        """[2, entries or more], all 0."""
        if self._counters.shape[1] < entries:
            self._counters = np.zeros((2, 2 * entries), np.int32)
        return self._counters


def _rank_votes(asked: _QueryTrigrams, alive: NDArray[np.bool_], limit: int, scratch: _Scratch) -> Votes:
    """Count all votes of an entry first; by place only where the total may suffice."""
    totals, slots = scratch.counters(len(alive))[:, : len(alive)]
    votes = int((asked.bounds[:, 1] - asked.bounds[:, 0]).sum())
    touched, count = np.empty(votes + 1, dtype=np.int64), 0
    for run, (first, end) in zip(asked.runs, asked.bounds, strict=True):
        count = trigrams.count_totals(run.entries, first, end, asked.weights, totals, touched, count)
    known, reached = trigrams.take_totals(totals, touched[:count], alive)
    least = trigrams.threshold(reached, _POOL * limit)
    while True:
        chosen = np.sort(known[reached >= least])
        slots[chosen] = np.arange(1, len(chosen) + 1)
        cast = _collect_votes(asked, slots)
        slots[chosen] = 0
        scores, offsets = trigrams.best_places(*cast, len(chosen), TOLERANCE)
        order = np.lexsort((chosen, -scores))[:limit]
        # An entry that was left out cannot have more votes for one place than votes in all.
        if len(chosen) == len(known) or scores[order[-1]] >= least:
            best = (scores[order] / _UNIT).astype(np.float32)
            return Votes(chosen[order], best, offsets[order])
        least = scores[order[-1]]  # what must be reached: the last of the best can only get better


def _collect_votes(
    asked: _QueryTrigrams, slots: NDArray[np.int32]
) -> tuple[IntArray, IntArray, NDArray[np.int32]]:
    """The votes for entries with a slot: slot, offset, weight."""
    parts = [
        trigrams.collect(run.entries, run.times, first, end, asked.times, asked.weights, slots)
        for run, (first, end) in zip(asked.runs, asked.bounds, strict=True)
    ]
    hits, offsets, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return hits, offsets, weights
