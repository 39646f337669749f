"""Word counts of up to 16,384 entries, stored column by column and never changed once made.

A column belongs to a cell, which is one word of one channel. It says which entries have the
word, those that have it equally often together as a group: a query then adds one number to
everyone in it. A group is either a list of places, two bytes each, or a bitmap of the whole block,
a bit an entry, as Roaring bitmaps do. Each place of a list costs a step of its own, while a processor
goes through a bitmap eight entries at a time. Where the two are equally large they take about as
long, too, so the smaller one is taken (`_packed`).

Blocks are made of lists; what walks columns when a question is asked is in `scan.py`.
Letters: C channels, K words a channel, cells = C * K (channel by channel), N entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.index.bits import ones

Array = TypeVar("Array", bound=NDArray[Any])

ROWS = 1 << 14  # entries a block: their sums stay in the fast caches while a query's columns go by
WORD = 32  # bits of a word of a bitmap; place p is bit p % 32 of word p // 32
PLACES_A_WORD = 2  # places of a list that take as much memory as a word

# Plain tuples, no named ones: numba keeps the class of a named one in its cache on disk, and a later
# version of this file without that class could not read the cache.

# Who has which word how often: cell -> groups of equal count -> places in the block.
Lists = tuple[
    NDArray[np.uint32],  # groups [cells + 1]: where each cell's groups begin
    NDArray[np.uint8],  # counts [groups]: what the group's entries share, rising within a cell
    NDArray[np.uint32],  # ends [groups + 1]: where each group's places begin
    NDArray[np.uint16],  # places, rising within a group
]
# The same of groups that many entries are in.
Bitmaps = tuple[
    NDArray[np.uint32],  # maps [cells + 1]: where each cell's bitmaps begin
    NDArray[np.uint8],  # counts [maps]: what the bitmap's entries share, rising within a cell
    NDArray[np.uint32],  # bits [maps, N / 32]
]
Occurrences = tuple[Lists, Bitmaps]
# Stretches: first and last step of each, and the number of words a channel.
Bounds = tuple[NDArray[np.int64], NDArray[np.int64], int]


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

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        lists, bitmaps = self.occurrences
        arrays: tuple[NDArray[Any], ...] = (*lists, *bitmaps, self.ids, self.alive, self.usage)
        return sum(array.nbytes for array in arrays)

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
    one, other = _listed(first.occurrences), _listed(second.occurrences)
    lists = _join(one, _moved(first, 0), other, _moved(second, first.living))
    ids = np.concatenate([part.ids[part.alive] for part in parts])
    names = [
        part.name(place)
        for part in (parts if first.names or second.names else ())
        for place in np.flatnonzero(part.alive).tolist()
    ]
    return _fresh(lists, ids, names)


def _fresh(lists: Lists, ids: NDArray[np.int64], names: Sequence[str]) -> Block:
    occurrences: Occurrences = _packed(lists, len(ids))
    for part in occurrences:
        for array in part:
            frozen(array)
    alive = frozen(np.ones(len(ids), np.bool_))
    return Block(occurrences, frozen(ids), tuple(names), alive, frozen(_usage(occurrences, alive)))


def compacted(block: Block) -> Block:
    """The block without the entries that were deleted."""
    return join(block, encode(np.zeros((0, block.usage.shape[1]), np.uint8), block.ids[:0], ()))


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
def _packed(lists, entries):  # type: ignore[no-untyped-def]
    """Turn every group whose list would be larger than a bitmap into one."""
    groups, counts, ends, places = lists
    words = (entries + WORD - 1) // WORD
    sizes = ends[1:] - ends[:-1]
    common = sizes > PLACES_A_WORD * words
    few, many = np.count_nonzero(~common), np.count_nonzero(common)
    rare_groups, rare_counts = np.zeros(len(groups), np.uint32), np.zeros(few, np.uint8)
    rare_ends, rare_places = np.zeros(few + 1, np.uint32), np.zeros(sizes[~common].sum(), np.uint16)
    maps, map_counts = np.zeros(len(groups), np.uint32), np.zeros(many, np.uint8)
    bits = np.zeros((many, words), np.uint32)
    rare = made = 0
    for cell in range(len(groups) - 1):
        for group in range(groups[cell], groups[cell + 1]):
            own = places[ends[group] : ends[group + 1]]
            if common[group]:
                for place in own:
                    bits[made, place // WORD] |= np.uint32(1) << np.uint32(place % WORD)
                map_counts[made] = counts[group]
                made += 1
            else:
                rare_ends[rare + 1] = rare_ends[rare] + len(own)
                rare_places[rare_ends[rare] : rare_ends[rare + 1]] = own
                rare_counts[rare] = counts[group]
                rare += 1
        rare_groups[cell + 1], maps[cell + 1] = rare, made
    return (rare_groups, rare_counts, rare_ends, rare_places), (maps, map_counts, bits)


@njit(cache=True, nogil=True)
def _listed(occurrences):  # type: ignore[no-untyped-def]
    """Undo `_packed`: all groups as lists, in the order of their counts again."""
    (rare_groups, rare_counts, rare_ends, rare_places), (maps, map_counts, bits) = occurrences
    made = len(rare_counts) + len(map_counts)
    groups, counts = np.zeros(len(maps), np.uint32), np.zeros(made, np.uint8)
    ends, size = np.zeros(made + 1, np.uint32), len(rare_places)
    for number in range(len(bits)):
        size += _common(bits[number], bits[number])
    places = np.zeros(size, np.uint16)
    group = size = 0
    for cell in range(len(groups) - 1):
        rare, common = rare_groups[cell], maps[cell]
        while rare < rare_groups[cell + 1] or common < maps[cell + 1]:
            ours = rare_counts[rare] if rare < rare_groups[cell + 1] else 256
            theirs = map_counts[common] if common < maps[cell + 1] else 256
            if ours < theirs:
                own = rare_places[rare_ends[rare] : rare_ends[rare + 1]]
                places[size : size + len(own)] = own
                size += len(own)
                rare += 1
            else:
                size = _unpack(bits[common], places, size)
                common += 1
            counts[group] = min(ours, theirs)
            group += 1
            ends[group] = size
        groups[cell + 1] = group
    return groups, counts, ends, places


@njit(cache=True, nogil=True)
def _unpack(bits, places, size):  # type: ignore[no-untyped-def]
    """Write a bitmap's places behind the first `size`; returns how many there are then."""
    for word in range(len(bits)):
        left = np.uint64(bits[word])
        while left:
            lowest = left & (~left + np.uint64(1))
            places[size] = WORD * word + ones(lowest - np.uint64(1))
            left &= left - np.uint64(1)
            size += 1
    return size


@njit(cache=True, nogil=True)
def _common(bits, others):  # type: ignore[no-untyped-def]
    """How many places two bitmaps have in common."""
    found = 0
    for word in range(len(bits)):
        found += ones(np.uint64(bits[word] & others[word]))
    return found


@njit(cache=True, nogil=True)
def _usage(occurrences, alive):  # type: ignore[no-untyped-def]
    (groups, counts, ends, places), (maps, map_counts, bits) = occurrences
    usage = np.zeros((2, len(groups) - 1), np.int64)
    living_bits = np.zeros(bits.shape[1], np.uint32)
    for place in np.flatnonzero(alive):
        living_bits[place // WORD] |= np.uint32(1) << np.uint32(place % WORD)
    for cell in range(usage.shape[1]):
        for group in range(groups[cell], groups[cell + 1]):
            living = 0
            for at in range(ends[group], ends[group + 1]):
                living += places[at] < len(alive) and alive[places[at]]
            usage[0, cell] += living
            usage[1, cell] += living * counts[group]
        for number in range(maps[cell], maps[cell + 1]):
            living = _common(bits[number], living_bits)
            usage[0, cell] += living
            usage[1, cell] += living * map_counts[number]
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
def _counts_at(occurrences, place, cells):  # type: ignore[no-untyped-def]
    """Ask each bitmap of each cell, and halve each list until the place is found."""
    (groups, counts, ends, places), (maps, map_counts, bits) = occurrences
    result = np.zeros(len(cells), np.uint8)
    for at in range(len(cells)):
        for number in range(maps[cells[at]], maps[cells[at] + 1]):
            if (bits[number, place // WORD] >> (place % WORD)) & 1:
                result[at] = map_counts[number]
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
