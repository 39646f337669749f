"""Short clips: three words in a row, looked up where they occur, vote for a dance and a place in it.

The second way onto the shortlist beside histograms: it sees the order of words, finds seconds
in a long dance without cutting that into windows, and says where. Three times the same word
(somebody holds still) is no entry: such runs are most of the occurrences and say least.

Occurrences lie in runs, each sorted by key: append makes a new run, and runs of like size are
merged, so that a posting is copied a logarithm of times and a query looks into few runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.index.histogram import SEEN
from dancematch.types import Fingerprint, FloatArray

CHANNELS = 4  # that are entered: more find little more and cost memory and time in proportion
TOLERANCE = 8  # words that votes for one place may lie apart: five seconds a fifth faster shift by 7
MOST_VOTES = 500_000  # a query casts: the rarest of its trigrams first
LONGEST = 1 << 16  # words of one entry

# By how often the trigrams of a part are the same again after a change of view, estimator and tempo.
_BEST_KEPT = (
    "body", "arms", "left_side", "right_side", "right_arm_left_leg", "left_arm_right_leg", "lower_body",
    "legs", "feet", "left_arm", "right_arm", "left_leg", "right_leg", "torso",
)  # fmt: skip

# Weights are whole numbers of this part: a sum then does not depend on its order. All votes there can be,
# each as heavy as can be, stay within 32 bits.
_UNIT = 64
_POOL = 8  # entries looked at by place, at first, for each that is wanted

IntArray = NDArray[np.int64]


def choose_channels(names: Sequence[str], count: int = CHANNELS) -> tuple[int, ...]:
    """The channels whose trigrams keep best, as their numbers; parts of unknown name come last."""
    known = {name: place for place, name in enumerate(_BEST_KEPT)}
    order = sorted(range(len(names)), key=lambda number: (known.get(names[number], len(known)), number))
    return tuple(order[:count])


@dataclass(frozen=True)
class Votes:
    """Entries that share trigrams with a query, best first."""

    entries: IntArray
    scores: FloatArray  # rarity of the trigrams that agree on one place
    offsets: IntArray  # the entry's word at which the query begins, about; negative if before it


@dataclass(frozen=True)
class _Run:
    keys: NDArray[Any]  # sorted
    entries: NDArray[np.uint32]
    times: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class _Asked:
    """A query's trigrams, and where in each run they occur."""

    runs: Sequence[_Run]
    bounds: IntArray  # [runs, 2, trigrams]: first occurrence, and one after the last
    times: IntArray
    weights: NDArray[np.int32]


class Postings:
    """Where each trigram of words occurs: entries are numbered in the order of their coming, from 0.

    A search reads what stood when it began: it may run in other threads than the one that writes.
    """

    def __init__(self, vocabulary: int, channels: Sequence[int]) -> None:
        """`channels`: which of a fingerprint's channels are entered (`choose_channels`)."""
        if not channels:
            raise InputError("postings need at least one channel, got none")
        self.channels = np.array(channels, dtype=np.int64)
        self.vocabulary = vocabulary
        narrow = len(channels) * vocabulary**3 <= 1 << 32
        self._key_type = np.dtype(np.uint32 if narrow else np.uint64)
        self._runs: tuple[_Run, ...] = ()
        self._alive = np.zeros(0, dtype=np.bool_)

    def __len__(self) -> int:
        """Entries that have not been deleted."""
        return int(self._alive.sum())

    @property
    def occurrences(self) -> int:
        """Postings held, those of deleted entries included until their run is merged."""
        return sum(map(len, self._runs))

    @property
    def nbytes(self) -> int:
        """Memory that the postings take."""
        return sum(run.keys.nbytes + run.entries.nbytes + run.times.nbytes for run in self._runs)

    def append(self, fingerprints: Iterable[Fingerprint]) -> range:
        """Enter fingerprints; the numbers they got."""
        first = len(self._alive)
        grams = [self._trigrams(fingerprint) for fingerprint in fingerprints]
        if not grams:
            return range(first, first)
        lengths = [len(keys) for keys, _ in grams]
        entries = np.repeat(np.arange(first, first + len(grams), dtype=np.uint32), lengths)
        keys, times = (np.concatenate(column) for column in zip(*grams, strict=True))
        fresh = _Run(*_sorted_by_key(keys, entries, times.astype(np.uint16)))
        self._alive = np.concatenate([self._alive, np.ones(len(grams), dtype=np.bool_)])
        self._runs = self._merged((*self._runs, fresh))
        return range(first, first + len(grams))

    def delete(self, entries: Iterable[int]) -> None:
        """Forget entries: they are found no more, and their memory is freed as runs are merged.

        The other entries keep their numbers.
        """
        gone = np.array(list(entries), dtype=np.int64)
        if gone.size and not (gone.min() >= 0 and gone.max() < len(self._alive)):
            raise InputError(f"entries are numbered 0 to {len(self._alive) - 1}, got {gone.tolist()}")
        alive = self._alive.copy()
        alive[gone] = False
        self._alive = alive
        if 2 * len(self) < len(alive):
            self._runs = tuple(run for run in (_without(run, alive) for run in self._runs) if len(run))

    def search(self, query: Fingerprint, limit: int) -> Votes:
        """The `limit` entries with the heaviest vote for one place in them.

        Exact, but for the commonest trigrams of a query that would cast over `MOST_VOTES`.
        """
        if limit < 1:
            raise InputError(f"a search needs a limit of 1 or more, got {limit}")
        keys, times = self._trigrams(query)
        runs, alive = self._runs, self._alive  # as they stand now
        if not runs:
            return Votes(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int64))
        bounds = np.zeros((len(runs), 2, len(keys)), dtype=np.int64)
        for run, found in zip(runs, bounds, strict=True):
            found[0], found[1] = _bounds(run.keys, keys)
        counts = (bounds[:, 1] - bounds[:, 0]).sum(axis=0)
        rarest = np.argsort(counts, kind="stable")
        kept = rarest[(counts[rarest] > 0) & (np.cumsum(counts[rarest]) <= MOST_VOTES)]
        rarity = 0.1 + np.log(sum(map(len, runs)) / counts[kept])
        weights = np.rint(_UNIT * rarity).astype(np.int32)
        return _elect(_Asked(runs, bounds[:, :, kept], times[kept], weights), alive, limit)

    def _trigrams(self, fingerprint: Fingerprint) -> tuple[NDArray[Any], IntArray]:
        """Keys and times of a fingerprint's trigrams."""
        steps, channels = fingerprint.words.shape
        if fingerprint.vocabulary != self.vocabulary or channels <= self.channels.max() or steps > LONGEST:
            raise InputError(
                f"these postings take fingerprints of {self.vocabulary} words, "
                f"{self.channels.max() + 1} channels or more and at most {LONGEST} steps, "
                f"got {fingerprint.vocabulary}, {channels} and {steps}; "
                "use one model's fingerprints, and cut longer ones"
            )
        keys, times = _trigrams(
            fingerprint.words, fingerprint.visibility >= SEEN, self.channels, self.vocabulary
        )
        return keys.astype(self._key_type), times

    def _merged(self, runs: tuple[_Run, ...]) -> tuple[_Run, ...]:
        """The runs, the last merged while it is not much shorter than the one before."""
        while len(runs) > 1 and 2 * len(runs[-1]) >= len(runs[-2]):
            *rest, one, two = runs
            columns = (one.keys, one.entries, one.times, two.keys, two.entries, two.times)
            runs = (*rest, _Run(*_merge(*columns, self._alive)))
        return runs


def _without(run: _Run, alive: NDArray[np.bool_]) -> _Run:
    kept = alive[run.entries]
    return _Run(run.keys[kept], run.entries[kept], run.times[kept])


def _elect(asked: _Asked, alive: NDArray[np.bool_], limit: int) -> Votes:
    """Count all votes of an entry first; by place only where the total leaves a chance."""
    totals = np.zeros(len(alive), dtype=np.int32)
    votes = int((asked.bounds[:, 1] - asked.bounds[:, 0]).sum())
    touched = np.empty(min(len(alive), votes), dtype=np.int64)
    count = 0
    for run, (first, end) in zip(asked.runs, asked.bounds, strict=True):
        count = _count_totals(run.entries, first, end, asked.weights, alive, totals, touched, count)
    touched = touched[:count]
    pool = _POOL * limit
    while True:
        least = _threshold(totals, touched, pool)
        chosen = np.sort(touched[totals[touched] >= least])
        cast = _votes_of(asked, chosen, len(alive))
        scores, offsets = _best_places(*cast, len(chosen), TOLERANCE)
        order = np.lexsort((chosen, -scores))[:limit]
        # Nobody who was left out can have more votes for one place than votes at all.
        if len(chosen) == count or (len(order) == limit and scores[order[-1]] >= least):
            best = (scores[order] / _UNIT).astype(np.float32)
            return Votes(chosen[order], best, offsets[order])
        pool *= _POOL


def _votes_of(asked: _Asked, chosen: IntArray, entries: int) -> tuple[IntArray, IntArray, NDArray[np.int32]]:
    """Who of the chosen is voted for, with which offset and weight."""
    seats = np.zeros(entries, dtype=np.int32)
    seats[chosen] = np.arange(1, len(chosen) + 1)
    parts = [
        _collect(run.entries, run.times, first, end, asked.times, asked.weights, seats)
        for run, (first, end) in zip(asked.runs, asked.bounds, strict=True)
    ]
    who, offsets, heavy = (np.concatenate(column) for column in zip(*parts, strict=True))
    return who, offsets, heavy


@njit(cache=True, nogil=True)
def _trigrams(words, seen, channels, vocabulary):  # type: ignore[no-untyped-def]
    steps, base = len(words), np.uint64(vocabulary)
    size = max(0, steps - 2) * len(channels)
    keys, times = np.empty(size, np.uint64), np.empty(size, np.int64)
    count = 0
    for number, channel in enumerate(channels):
        for step in range(steps - 2):
            one, two, three = words[step, channel], words[step + 1, channel], words[step + 2, channel]
            shown = seen[step, channel] and seen[step + 1, channel] and seen[step + 2, channel]
            if shown and not (one == two and two == three):
                keys[count] = ((np.uint64(number) * base + one) * base + two) * base + three
                times[count] = step
                count += 1
    return keys[:count], times[:count]


@njit(cache=True, nogil=True)
def _sorted_by_key(keys, entries, times):  # type: ignore[no-untyped-def]
    """Counting sort, eleven bits of the key at a time; equal keys stay in their order."""
    other = np.empty_like(keys), np.empty_like(entries), np.empty_like(times)
    largest = keys.max() if len(keys) else keys.dtype.type(0)
    shift = np.uint64(0)
    while shift == 0 or np.uint64(largest) >> shift:
        ends = np.zeros(2049, np.int64)
        for key in keys:
            ends[((np.uint64(key) >> shift) & np.uint64(2047)) + np.uint64(1)] += 1
        ends = np.cumsum(ends)
        for i in range(len(keys)):
            digit = (np.uint64(keys[i]) >> shift) & np.uint64(2047)
            place = ends[digit]
            ends[digit] += 1
            other[0][place], other[1][place], other[2][place] = keys[i], entries[i], times[i]
        (keys, entries, times), other = other, (keys, entries, times)
        shift += np.uint64(11)
    return keys, entries, times


@njit(cache=True, nogil=True)
def _merge(keys, entries, times, more_keys, more_entries, more_times, alive):  # type: ignore[no-untyped-def]
    """Two runs as one, without the entries that are gone."""
    size = len(keys) + len(more_keys)
    out_keys, out_entries = np.empty(size, keys.dtype), np.empty(size, entries.dtype)
    out_times = np.empty(size, times.dtype)
    i, j, count = 0, 0, 0
    while i < len(keys) or j < len(more_keys):
        if j == len(more_keys) or (i < len(keys) and keys[i] <= more_keys[j]):
            out_keys[count], out_entries[count], out_times[count] = keys[i], entries[i], times[i]
            i += 1
        else:
            out_keys[count], out_entries[count], out_times[count] = (
                more_keys[j],
                more_entries[j],
                more_times[j],
            )
            j += 1
        count += alive[out_entries[count]]
    return out_keys[:count].copy(), out_entries[:count].copy(), out_times[:count].copy()


@njit(cache=True, nogil=True)
def _bounds(keys, asked):  # type: ignore[no-untyped-def]
    """Where each asked key's occurrences begin and end."""
    first, end = np.empty(len(asked), np.int64), np.empty(len(asked), np.int64)
    for number, key in enumerate(asked):
        low, high = 0, len(keys)
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        first[number] = low
        reach = 1
        while low + reach < len(keys) and keys[low + reach] == key:  # most keys are rare: the end is near
            reach *= 2
        high = min(low + reach, len(keys))
        while low < high:
            middle = (low + high) // 2
            if keys[middle] == key:
                low = middle + 1
            else:
                high = middle
        end[number] = low
    return first, end


@njit(cache=True, nogil=True)
def _count_totals(entries, first, end, weights, alive, totals, touched, count):  # type: ignore[no-untyped-def]
    """Add each vote to its entry; list the entries that got their first; how many are listed."""
    for number, weight in enumerate(weights):
        for i in range(first[number], end[number]):
            entry = entries[i]
            if totals[entry] == 0:
                if not alive[entry]:
                    continue
                touched[count] = entry
                count += 1
            totals[entry] += weight
    return count


@njit(cache=True, nogil=True)
def _threshold(totals, touched, wanted):  # type: ignore[no-untyped-def]
    """A total that `wanted` of the touched entries reach and not many more; 0 if there are fewer."""
    bins = np.zeros(4097, np.int64)
    largest = 1
    for entry in touched:
        largest = max(largest, totals[entry])
    width = largest // 4096 + 1
    for entry in touched:
        bins[totals[entry] // width] += 1
    count = 0
    for place in range(len(bins) - 1, -1, -1):
        count += bins[place]
        if count >= wanted:
            return place * width
    return 0


@njit(cache=True, nogil=True)
def _collect(entries, at, first, end, times, weights, seats):  # type: ignore[no-untyped-def]
    """The votes for entries that have a seat (from 1): seat from 0, offset, weight."""
    size = (end - first).sum()
    who, offsets, heavy = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int32)
    count = 0
    for number, weight in enumerate(weights):
        for i in range(first[number], end[number]):
            seat = seats[entries[i]]
            if seat > 0:
                who[count], heavy[count] = seat - 1, weight
                offsets[count] = np.int64(at[i]) - times[number]
                count += 1
    return who[:count], offsets[:count], heavy[:count]


@njit(cache=True, nogil=True)
def _best_places(who, offsets, weights, seats, tolerance):  # type: ignore[no-untyped-def]
    """For each seat the heaviest votes within `tolerance`, and the mean of their offsets."""
    scores, places = np.zeros(seats, np.int64), np.zeros(seats, np.int64)
    if len(who) == 0:
        return scores, places
    lowest = offsets.min()
    by_offset, _ = _grouped(offsets - lowest, np.arange(len(who)), offsets.max() - lowest + 1)
    order, begins = _grouped(who, by_offset, seats)
    for seat in range(seats):
        left, total, moment = begins[seat], 0, 0
        for place in range(begins[seat], begins[seat + 1]):
            vote = order[place]
            total += weights[vote]
            moment += weights[vote] * offsets[vote]
            while offsets[vote] - offsets[order[left]] > tolerance:
                total -= weights[order[left]]
                moment -= weights[order[left]] * offsets[order[left]]
                left += 1
            if total > scores[seat]:
                scores[seat] = total
                places[seat] = np.int64(np.round(moment / total))
    return scores, places


@njit(cache=True, nogil=True)
def _grouped(groups, order, count):  # type: ignore[no-untyped-def]
    """`order` brought into the order of groups (each vote's, 0..count-1), and where each group begins."""
    begins = np.zeros(count + 1, np.int64)
    for vote in order:
        begins[groups[vote] + 1] += 1
    for group in range(count):
        begins[group + 1] += begins[group]
    free = begins.copy()
    grouped = np.empty_like(order)
    for vote in order:
        grouped[free[groups[vote]]] = vote
        free[groups[vote]] += 1
    return grouped, begins
