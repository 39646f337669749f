"""Word counts of up to 16,384 entries, stored column by column and never changed once made.

A column belongs to a cell, which is one word of one channel. It lists the entries that have
the word, those that have it equally often together: a posting is then two bytes, no count
beside it, and a query adds one number to a run of places. A column of an entry a byte would
be read in full although seven in eight of its entries do not have the word.

Letters: C channels, K words a channel, cells = C * K (channel by channel), N entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.types import FloatArray

Array = TypeVar("Array", bound=NDArray[Any])

ROWS = 1 << 14  # entries a block: their sums stay in the fast caches while a query's columns go by
PLACES = 1 << 16  # sums are this long, so that no 16-bit place can lie outside, whatever a file holds

# Plain tuples, no named ones: numba keeps the class of a named one in its cache on disk, and a later
# version of this file without that class could not read the cache.

# Who has which word how often: cell -> groups of equal count -> places in the block.
Occurrences = tuple[
    NDArray[np.uint32],  # groups [cells + 1]: where each cell's groups begin
    NDArray[np.uint8],  # counts [groups]: what the group's entries share, rising within a cell
    NDArray[np.uint32],  # ends [groups + 1]: where each group's places begin
    NDArray[np.uint16],  # places, rising within a group
]
# Stretches: first and last step of each, and the number of words a channel.
Bounds = tuple[NDArray[np.int64], NDArray[np.int64], int]
# A query's own cells.
Asked = tuple[
    NDArray[np.uint32],  # cells, rising
    FloatArray,  # weights of the cells, already divided by the query's norms
    NDArray[np.uint32],  # cuts [C + 1]: where each channel's cells begin
    FloatArray,  # shown [C]: how much the query shows of the channel
]


@dataclass(frozen=True, eq=False)
class Block:
    """Some entries' counts, of which a few may be deleted, with their lasting numbers and names."""

    occurrences: Occurrences
    ids: NDArray[np.int64]  # [N] rising
    names: tuple[str, ...]  # the numbers, if there are none
    alive: NDArray[np.bool_]  # [N]
    usage: NDArray[np.int64]  # [2, cells] how many living entries have the cell, and how often in all

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def living(self) -> int:
        """How many entries are not deleted."""
        return int(self.alive.sum())

    def name(self, place: int) -> str:
        """What an entry is called."""
        return self.names[place] if self.names else str(self.ids[place])

    def without(self, places: NDArray[np.intp]) -> "Block":
        """The same block with these entries deleted: marked only."""
        alive = self.alive.copy()
        alive[places] = False
        frozen(alive)
        return replace(self, alive=alive, usage=frozen(_usage(self.occurrences, alive)))


def encode(counts: NDArray[np.uint8], ids: NDArray[np.int64], names: Sequence[str]) -> Block:
    """Make a block of counts [N, cells], at most `ROWS` of them."""
    return _fresh(_encode(counts, int(counts.max(initial=0))), ids, names)


def encode_words(
    words: NDArray[Any], seen: NDArray[np.uint8], bounds: Bounds, ids: NDArray[np.int64]
) -> Block:
    """The same of stretches of words, without writing out their counts first."""
    highest = min(255, int((bounds[1] - bounds[0] + 1).max(initial=0)))
    return _fresh(_encode_words(words, seen, *bounds, highest), ids, ())


def join(first: Block, second: Block) -> Block:
    """One block of the living entries of two, which must fit into one; the order stays."""
    parts = (first, second)
    occurrences = _join(first.occurrences, _moved(first, 0), second.occurrences, _moved(second, first.living))
    ids = np.concatenate([part.ids[part.alive] for part in parts])
    names = [
        part.name(place)
        for part in (parts if first.names or second.names else ())
        for place in np.flatnonzero(part.alive).tolist()
    ]
    return _fresh(occurrences, ids, names)


def _fresh(occurrences: Occurrences, ids: NDArray[np.int64], names: Sequence[str]) -> Block:
    for array in occurrences:
        frozen(array)
    alive = frozen(np.ones(len(ids), np.bool_))
    return Block(occurrences, frozen(ids), tuple(names), alive, frozen(_usage(occurrences, alive)))


def compacted(block: Block) -> Block:
    """The block without the entries that were deleted."""
    return join(block, encode(np.zeros((0, block.usage.shape[1]), np.uint8), block.ids[:0], ()))


def inverse_norms(block: Block, squares: FloatArray, powers: FloatArray, channels: int) -> FloatArray:
    """1 / the norm of each entry's channels: [C, N]; 0 where it has no word, or is deleted.

    A count's squared weight is `squares` of its cell times `powers` of the count.
    """
    norms = np.sqrt(_squared_norms(block.occurrences, squares, powers, channels, len(block)))
    inverse = np.zeros(norms.shape, np.float32)
    np.divide(1, norms, out=inverse, where=(norms > 0) & block.alive)
    return inverse


def counts_at(block: Block, place: int, cells: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """How often one entry has each of the cells."""
    counts: NDArray[np.uint8] = _counts_at(block.occurrences, place, cells)
    return counts


def frozen(array: Array) -> Array:
    """The same array, read-only: kernels are compiled for one kind, and nobody changes a block."""
    array.flags.writeable = False
    return array


def _moved(block: Block, start: int) -> NDArray[np.int64]:
    """Where each entry stands once the deleted ones are gone, -1 for those, counted from `start`."""
    return np.where(block.alive, start + np.cumsum(block.alive) - 1, -1)


@njit(cache=True, nogil=True)
def _encode(counts, highest):  # type: ignore[no-untyped-def]
    """Sort all that is not 0 by cell, count and entry: counted first, then put in place."""
    entries, cells = counts.shape
    sizes = np.zeros((cells, highest + 1), np.uint32)
    for entry in range(entries):
        for cell in range(cells):
            if counts[entry, cell] > 0:
                sizes[cell, counts[entry, cell]] += 1
    groups, shared, ends = _open_groups(sizes)
    places = np.zeros(ends[-1], np.uint16)
    for entry in range(entries):
        for cell in range(cells):
            count = counts[entry, cell]
            if count > 0:
                places[sizes[cell, count]] = entry
                sizes[cell, count] += 1
    return groups, shared, ends, places


@njit(cache=True, nogil=True)
def _open_groups(sizes):  # type: ignore[no-untyped-def]
    """Groups for so many places [cells, counts]; `sizes` then says where each group's next place goes."""
    cells, highest = sizes.shape[0], sizes.shape[1] - 1
    made = np.count_nonzero(sizes)
    groups, shared = np.zeros(cells + 1, np.uint32), np.zeros(made, np.uint8)
    ends = np.zeros(made + 1, np.uint32)
    group = 0
    for cell in range(cells):
        for count in range(1, highest + 1):
            size = sizes[cell, count]
            if size > 0:
                sizes[cell, count] = ends[group]  # from here on: where the next place goes
                shared[group] = count
                ends[group + 1] = ends[group] + size
                group += 1
        groups[cell + 1] = group
    return groups, shared, ends


@njit(cache=True, nogil=True)
def _encode_words(words, seen, firsts, lasts, vocabulary, highest):  # type: ignore[no-untyped-def]
    """Count each stretch's words and note them; the noted ones are then put in place group by group."""
    channels = words.shape[1]
    sizes = np.zeros((channels * vocabulary, highest + 1), np.uint32)
    noted = np.empty(channels * (lasts - firsts + 1).sum(), np.uint32)  # 256 * cell + count
    ends_noted = np.empty(len(firsts), np.int64)
    counts, met, size = np.zeros(vocabulary, np.int64), np.empty(vocabulary, np.int64), 0
    for entry in range(len(firsts)):
        for channel in range(channels):
            kinds, byte, bit = 0, channel >> 3, 7 - (channel & 7)
            for step in range(firsts[entry], lasts[entry] + 1):
                if (seen[step, byte] >> bit) & 1:
                    word = words[step, channel]
                    if counts[word] == 0:
                        met[kinds] = word
                        kinds += 1
                    counts[word] += 1
            for number in range(kinds):
                cell, count = channel * vocabulary + met[number], min(counts[met[number]], highest)
                sizes[cell, count] += 1
                noted[size] = 256 * cell + count
                size += 1
                counts[met[number]] = 0
        ends_noted[entry] = size
    groups, shared, ends = _open_groups(sizes)
    places = np.zeros(size, np.uint16)
    at = 0
    for entry in range(len(firsts)):
        while at < ends_noted[entry]:
            cell, count = noted[at] >> 8, noted[at] & 255
            places[sizes[cell, count]] = entry
            sizes[cell, count] += 1
            at += 1
    return groups, shared, ends, places


@njit(cache=True, nogil=True)
def _usage(occurrences, alive):  # type: ignore[no-untyped-def]
    groups, counts, ends, places = occurrences
    usage = np.zeros((2, len(groups) - 1), np.int64)
    for cell in range(usage.shape[1]):
        for group in range(groups[cell], groups[cell + 1]):
            living = 0
            for at in range(ends[group], ends[group + 1]):
                living += places[at] < len(alive) and alive[places[at]]
            usage[0, cell] += living
            usage[1, cell] += living * counts[group]
    return usage


@njit(cache=True, nogil=True)
def _join(first, first_moved, second, second_moved):  # type: ignore[no-untyped-def]
    """Walk both blocks' groups side by side: places only rise, so nothing needs sorting."""
    groups1, counts1, ends1, places1 = first
    groups2, counts2, ends2, places2 = second
    groups = np.zeros(len(groups1), np.uint32)
    counts = np.zeros(len(counts1) + len(counts2), np.uint8)
    ends = np.zeros(len(counts) + 1, np.uint32)
    places = np.zeros(len(places1) + len(places2), np.uint16)
    made = size = 0
    for cell in range(len(groups) - 1):
        one, other = groups1[cell], groups2[cell]
        while one < groups1[cell + 1] or other < groups2[cell + 1]:
            left = counts1[one] if one < groups1[cell + 1] else 256
            right = counts2[other] if other < groups2[cell + 1] else 256
            if left <= right:
                size = _move(places1, ends1[one], ends1[one + 1], first_moved, places, size)
                one += 1
            if right <= left:
                size = _move(places2, ends2[other], ends2[other + 1], second_moved, places, size)
                other += 1
            if size > ends[made]:
                counts[made] = min(left, right)
                made += 1
                ends[made] = size
        groups[cell + 1] = made
    return groups, counts[:made].copy(), ends[: made + 1].copy(), places[:size].copy()


@njit(cache=True, nogil=True)
def _move(old, start, end, moved, places, size):  # type: ignore[no-untyped-def]
    for at in range(start, end):
        if old[at] < len(moved) and moved[old[at]] >= 0:
            places[size] = moved[old[at]]
            size += 1
    return size


@njit(cache=True, nogil=True)
def _squared_norms(occurrences, squares, powers, channels, entries):  # type: ignore[no-untyped-def]
    vocabulary = len(squares) // channels
    result = np.zeros((channels, entries), np.float32)
    sums = np.zeros(PLACES, np.float32)
    for channel in range(channels):
        sums[:entries] = 0
        for cell in range(channel * vocabulary, (channel + 1) * vocabulary):
            add_column(occurrences, cell, squares[cell], powers, sums)
        result[channel] = sums[:entries]
    return result


@njit(cache=True, nogil=True)
def add_column(occurrences, cell, weight, values, sums):  # type: ignore[no-untyped-def]
    """Add a cell's weight times the value of the count to every entry that has the cell."""
    groups, counts, ends, places = occurrences
    for group in range(groups[cell], groups[cell + 1]):
        share = weight * values[counts[group]]
        # Unsigned, since numba would ask of every signed place whether it counts from the end. Four at a
        # time, since no place comes twice in a group, which the compiler cannot know.
        at, end, four = np.uint64(ends[group]), np.uint64(ends[group + 1]), np.uint64(4)
        while at + four <= end:
            first, second = places[at], places[at + np.uint64(1)]
            third, fourth = places[at + np.uint64(2)], places[at + np.uint64(3)]
            one, two, three, last = sums[first], sums[second], sums[third], sums[fourth]
            sums[first], sums[second] = one + share, two + share
            sums[third], sums[fourth] = three + share, last + share
            at += four
        while at < end:
            sums[places[at]] += share
            at += np.uint64(1)


@njit(cache=True, nogil=True)
def score(known, asked, values, sums):  # type: ignore[no-untyped-def]
    """One score an entry: `combine_channels` of its cosines with the query.

    `known`: occurrences, inverse norms, and whether the block is complete, that is, every living
    entry shows every channel: then there is nothing to be shared out.
    """
    occurrences, inverse, complete = known
    entries = inverse.shape[1]
    cells, weights, cuts, shares = asked
    total, whole = np.zeros(entries, np.float32), np.float32(0)
    shared = np.zeros(0 if complete else entries, np.float32)
    for channel in range(len(shares)):
        shown = shares[channel]
        if shown == 0:
            continue
        whole += shown
        sums[:entries] = 0
        for at in range(cuts[channel], cuts[channel + 1]):
            add_column(occurrences, cells[at], weights[at], values, sums)
        for entry in range(entries):
            total[entry] += shown * min(sums[entry] * inverse[channel, entry], np.float32(1))
        for entry in range(len(shared)):
            shared[entry] += shown if inverse[channel, entry] > 0 else np.float32(0)
    whole = max(whole, np.float32(1e-9))
    if complete:
        return total / whole
    for entry in range(entries):
        mean = total[entry] / max(shared[entry], np.float32(1e-9))
        total[entry] = mean * np.sqrt(shared[entry] / whole)
    return total


@njit(cache=True, nogil=True)
def search(known, asked, values, sums, entries, best):  # type: ignore[no-untyped-def]
    """Let a block's entries (alive, ids) in among the best (scores, ids) for a query."""
    alive, ids = entries
    _keep_best(score(known, asked, values, sums), alive, ids, *best)


@njit(cache=True, nogil=True)
def _keep_best(scores, alive, ids, best_scores, best_ids):  # type: ignore[no-untyped-def]
    """Let living entries replace the worst of the best: a heap, lowest score, then highest id, on top."""
    for start in range(0, len(scores), 64):
        some = scores[start : start + 64]
        worst, better = best_scores[0], np.int32(0)
        for entry in range(len(some)):  # counted first, many at once: hardly any stretch has one
            better += np.int32(some[entry] > worst)
        if better == 0:
            continue
        for entry in range(start, start + len(some)):
            # Ids only rise, so an equal score never replaces.
            if scores[entry] > best_scores[0] and alive[entry]:
                _replace_worst(best_scores, best_ids, scores[entry], ids[entry])


@njit(cache=True, nogil=True)
def _replace_worst(scores, ids, score, number):  # type: ignore[no-untyped-def]
    at, child = 0, 1
    while child < len(ids):
        if child + 1 < len(ids) and _is_worse(scores, ids, child + 1, child):
            child += 1
        if score < scores[child] or (score == scores[child] and number > ids[child]):
            break
        scores[at], ids[at] = scores[child], ids[child]
        at, child = child, 2 * child + 1
    scores[at], ids[at] = score, number


@njit(cache=True, nogil=True)
def _is_worse(scores, ids, one, other):  # type: ignore[no-untyped-def]
    return scores[one] < scores[other] or (scores[one] == scores[other] and ids[one] > ids[other])


@njit(cache=True, nogil=True)
def _counts_at(occurrences, place, cells):  # type: ignore[no-untyped-def]
    """Halve each group of each cell until the place is found."""
    groups, counts, ends, places = occurrences
    result = np.zeros(len(cells), np.uint8)
    for at in range(len(cells)):
        for group in range(groups[cells[at]], groups[cells[at] + 1]):
            low, high = np.int64(ends[group]), np.int64(ends[group + 1])
            stop = high
            while low < high:
                middle = (low + high) // 2
                if places[middle] < place:
                    low = middle + 1
                else:
                    high = middle
            if low < stop and places[low] == place:
                result[at] = counts[group]
                break
    return result
