"""Word counts of up to 16,384 entries, stored column by column and never changed once made.

A column belongs to a cell, which is one word of one channel. It holds the damped count of the word in each
entry as a whole number (`histogram.count_codes`): a code. The column of a rare word lists the entries that
have it, two bytes each, those with the same code together as a group. That of a common word is dense: four
bits per entry, whether it has the word or not. Each place of a list costs a step of its own, while dense
columns go many entries at a time; from about one entry in eight on, that is faster.

The kernels that read columns for a query are in `scan.py`.
Letters: C channels, K words per channel, cells = C * K (channel by channel), N entries.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel

Array = TypeVar("Array", bound=NDArray[Any])

ROWS = 1 << 14  # entries per block: their sums stay in the fast caches while a query's columns go by
COMMON = 8  # a word that at least one entry in 8 has gets a dense column
HIGHEST = 15  # code that four bits hold

# Plain tuples: numba stores the class of a named one in its cache on disk, and a later version of this file
# without that class could not read the cache.

# cell -> groups of equal code -> places in the block
Lists = tuple[
    NDArray[np.uint32],  # groups [cells + 1]: where each cell's groups begin
    NDArray[np.uint8],  # codes [groups], rising within a cell
    NDArray[np.uint32],  # ends [groups + 1]: where each group's places begin
    NDArray[np.uint16],  # places, rising within a group
]
# The codes of all entries for common words: the lower four bits of a byte are those of an entry in the
# first half of the block, the upper ones those of the entry as far into the second half.
Dense = tuple[
    NDArray[np.int32],  # rows [cells]: the cell's row, -1 if it has none
    NDArray[np.uint8],  # nibbles [rows, half]
]
Occurrences = tuple[Lists, Dense]
# Segments: first and last step of each, and the number of words per channel.
Bounds = tuple[NDArray[np.int64], NDArray[np.int64], int]


@dataclass(frozen=True, eq=False)
class EntryBlock:
    """The counts of some entries, of which a few may be deleted."""

    occurrences: Occurrences
    ids: NDArray[np.int64]  # [N] the entries' numbers, rising
    alive: NDArray[np.bool_]  # [N]
    usage: NDArray[np.int64]  # [3, cells] how many living entries have the cell; sum of codes, and of squares

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def living(self) -> int:
        """The number of entries that are not deleted."""
        return int(self.alive.sum())

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        lists, dense = self.occurrences
        arrays: tuple[NDArray[Any], ...] = (*lists, *dense, self.ids, self.alive, self.usage)
        return sum(array.nbytes for array in arrays)

    def without(self, places: NDArray[np.intp]) -> "EntryBlock":
        """Return the same block with these entries marked as deleted."""
        alive, usage, cells = self.alive.copy(), self.usage.copy(), np.arange(self.usage.shape[1])
        for place in places[alive[places]].tolist():
            codes = read_codes(self, place, cells.astype(np.uint32)).astype(np.int64)
            usage -= np.stack([codes > 0, codes, codes**2])
            alive[place] = False
        return replace(self, alive=freeze(alive), usage=freeze(usage))


def encode(codes: NDArray[np.uint8], ids: NDArray[np.int64]) -> EntryBlock:
    """Return a block of codes [N, cells], at most `ROWS` entries."""
    return _make_block(_encode(codes, int(codes.max(initial=0))), ids)


def encode_words(
    words: NDArray[Any],
    seen: NDArray[np.uint8],
    bounds: Bounds,
    ids: NDArray[np.int64],
    codes: NDArray[np.uint8],
) -> EntryBlock:
    """Return a block of segments of words, whose counts have these codes [256]."""
    most = min(255, int((bounds[1] - bounds[0] + 1).max(initial=0)))
    return _make_block(_encode_words(words, seen, *bounds, codes[: most + 1]), ids)


def join(first: EntryBlock, second: EntryBlock) -> EntryBlock:
    """Return one block of the entries of two that are not deleted, in their order; they must fit into one."""
    parts = (first, second)
    one, other = (_unpack_dense(part.occurrences, len(part)) for part in parts)
    lists = _join(one, _new_places(first, 0), other, _new_places(second, first.living))
    ids = np.concatenate([part.ids[part.alive] for part in parts])
    return _make_block(lists, ids)


def _make_block(lists: Lists, ids: NDArray[np.int64]) -> EntryBlock:
    usage = freeze(_usage(lists))
    occurrences: Occurrences = _pack_dense(lists, len(ids))
    for part in occurrences:
        for array in part:
            freeze(array)
    return EntryBlock(occurrences, freeze(ids), freeze(np.ones(len(ids), np.bool_)), usage)


def compact(block: EntryBlock) -> EntryBlock:
    """Return the block without its deleted entries."""
    return join(block, encode(np.zeros((0, block.usage.shape[1]), np.uint8), block.ids[:0]))


def read_codes(block: EntryBlock, place: int, cells: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return the codes of one entry in the cells."""
    codes: NDArray[np.uint8] = _read_codes(block.occurrences, place, cells)
    return codes


def freeze(array: Array) -> Array:
    """Return the same array, made read-only: kernels are compiled for that kind alone."""
    array.flags.writeable = False
    return array


def _new_places(block: EntryBlock, start: int) -> NDArray[np.int64]:
    """The place of each entry without the deleted ones, from `start` on; -1 for those."""
    return np.where(block.alive, start + np.cumsum(block.alive) - 1, -1)


@kernel
def _encode(codes, highest):  # type: ignore[no-untyped-def]
    """Counting sort of all codes above 0 by cell, code and entry."""
    entries, cells = codes.shape
    sizes = np.zeros((cells, highest + 1), np.uint32)
    for entry in range(entries):
        for cell in range(cells):
            if codes[entry, cell] > 0:
                sizes[cell, codes[entry, cell]] += 1
    groups, shared, ends = _open_groups(sizes)
    places = np.zeros(ends[-1], np.uint16)
    for entry in range(entries):
        for cell in range(cells):
            code = codes[entry, cell]
            if code > 0:
                places[sizes[cell, code]] = entry
                sizes[cell, code] += 1
    return groups, shared, ends, places


@kernel
def _open_groups(sizes):  # type: ignore[no-untyped-def]
    """Return groups of these sizes [cells, codes]; `sizes` then holds where each group's next place goes."""
    cells, highest = sizes.shape[0], sizes.shape[1] - 1
    made = np.count_nonzero(sizes)
    groups, shared = np.zeros(cells + 1, np.uint32), np.zeros(made, np.uint8)
    ends = np.zeros(made + 1, np.uint32)
    group = 0
    for cell in range(cells):
        for code in range(1, highest + 1):
            size = sizes[cell, code]
            if size > 0:
                sizes[cell, code] = ends[group]  # from here on: where the next place goes
                shared[group] = code
                ends[group + 1] = ends[group] + size
                group += 1
        groups[cell + 1] = group
    return groups, shared, ends


@kernel
def _encode_words(words, seen, firsts, lasts, vocabulary, codes):  # type: ignore[no-untyped-def]
    """Count each segment's words and list them, then put them in place group by group."""
    channels, most = words.shape[1], len(codes) - 1
    sizes = np.zeros((channels * vocabulary, np.int64(codes[most]) + 1), np.uint32)
    listed = np.empty(channels * (lasts - firsts + 1).sum(), np.uint32)  # 256 * cell + code
    ends_listed = np.empty(len(firsts), np.int64)
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
                cell, code = channel * vocabulary + met[number], codes[min(counts[met[number]], most)]
                sizes[cell, code] += 1
                listed[size] = 256 * cell + code
                size += 1
                counts[met[number]] = 0
        ends_listed[entry] = size
    groups, shared, ends = _open_groups(sizes)
    places = np.zeros(size, np.uint16)
    at = 0
    for entry in range(len(firsts)):
        while at < ends_listed[entry]:
            cell, code = listed[at] >> 8, listed[at] & 255
            places[sizes[cell, code]] = entry
            sizes[cell, code] += 1
            at += 1
    return groups, shared, ends, places


@kernel
def _pack_dense(lists, entries):  # type: ignore[no-untyped-def]
    """Turn the groups of every common word into a dense column."""
    groups, codes, ends, places = lists
    half = (entries + 1) // 2
    rows, common = np.full(len(groups) - 1, -1, np.int32), 0
    few = size = 0
    for cell in range(len(rows)):
        first, last = groups[cell], groups[cell + 1]
        held = ends[last] - ends[first]
        if COMMON * held >= entries and held > 0 and codes[last - 1] <= HIGHEST:
            rows[cell] = common
            common += 1
        else:
            few += last - first
            size += held
    rare_groups, rare_codes = np.zeros(len(groups), np.uint32), np.zeros(few, np.uint8)
    rare_ends, rare_places = np.zeros(few + 1, np.uint32), np.zeros(size, np.uint16)
    nibbles = np.zeros((common, half), np.uint8)
    rare = 0  # groups
    for cell in range(len(rows)):
        for group in range(groups[cell], groups[cell + 1]):
            own = places[ends[group] : ends[group + 1]]
            if rows[cell] >= 0:
                _write_codes(nibbles[rows[cell]], own, codes[group])
            else:
                rare_ends[rare + 1] = rare_ends[rare] + len(own)
                rare_places[rare_ends[rare] : rare_ends[rare + 1]] = own
                rare_codes[rare] = codes[group]
                rare += 1
        rare_groups[cell + 1] = rare
    return (rare_groups, rare_codes, rare_ends, rare_places), (rows, nibbles)


@kernel
def _write_codes(nibbles, places, code):  # type: ignore[no-untyped-def]
    half = len(nibbles)
    for place in places:
        if place < half:
            nibbles[place] |= code
        else:
            nibbles[place - half] |= code << 4


@kernel
def _unpack_dense(occurrences, entries):  # type: ignore[no-untyped-def]
    """Undo `_pack_dense`: return all groups as lists."""
    (rare_groups, rare_codes, rare_ends, rare_places), (rows, nibbles) = occurrences
    sizes = np.zeros((len(rows), HIGHEST + 1), np.uint32)
    for cell in range(len(rows)):
        if rows[cell] >= 0:
            for entry in range(entries):
                sizes[cell, _read_code(nibbles[rows[cell]], entry)] += 1
    made = len(rare_codes) + np.count_nonzero(sizes[:, 1:])
    size = len(rare_places) + sizes[:, 1:].sum()
    groups, codes = np.zeros(len(rows) + 1, np.uint32), np.zeros(made, np.uint8)
    ends, places = np.zeros(made + 1, np.uint32), np.zeros(size, np.uint16)
    group = 0
    for cell in range(len(rows)):
        for rare in range(rare_groups[cell], rare_groups[cell + 1]):
            own = rare_places[rare_ends[rare] : rare_ends[rare + 1]]
            codes[group], ends[group + 1] = rare_codes[rare], ends[group] + len(own)
            places[ends[group] : ends[group + 1]] = own
            group += 1
        if rows[cell] >= 0:
            group = _list_codes(nibbles[rows[cell]], entries, sizes[cell], codes, ends, places, group)
        groups[cell + 1] = group
    return groups, codes, ends, places


@kernel
def _list_codes(nibbles, entries, sizes, codes, ends, places, group):  # type: ignore[no-untyped-def]
    """Append a dense column's groups; returns how many groups there are then."""
    for code in range(1, len(sizes)):
        if sizes[code] > 0:
            codes[group], ends[group + 1] = code, ends[group] + sizes[code]
            sizes[code] = ends[group]  # from here on: where the next place goes
            group += 1
    for entry in range(entries):
        code = _read_code(nibbles, entry)
        if code > 0:
            places[sizes[code]] = entry
            sizes[code] += 1
    return group


@kernel
def _read_code(nibbles, place):  # type: ignore[no-untyped-def]
    half = len(nibbles)
    return np.int64(nibbles[place]) & 15 if place < half else np.int64(nibbles[place - half]) >> 4


@kernel
def _usage(lists):  # type: ignore[no-untyped-def]
    groups, codes, ends, _ = lists
    usage = np.zeros((3, len(groups) - 1), np.int64)
    for cell in range(usage.shape[1]):
        for group in range(groups[cell], groups[cell + 1]):
            size, code = np.int64(ends[group + 1] - ends[group]), np.int64(codes[group])
            usage[0, cell] += size
            usage[1, cell] += size * code
            usage[2, cell] += size * code * code
    return usage


@kernel
def _join(first, first_moved, second, second_moved):  # type: ignore[no-untyped-def]
    """Merge both blocks' groups: places only rise, so nothing needs sorting."""
    groups1, codes1, ends1, places1 = first
    groups2, codes2, ends2, places2 = second
    groups = np.zeros(len(groups1), np.uint32)
    codes = np.zeros(len(codes1) + len(codes2), np.uint8)
    ends = np.zeros(len(codes) + 1, np.uint32)
    places = np.zeros(len(places1) + len(places2), np.uint16)
    made = size = 0
    for cell in range(len(groups) - 1):
        one, other = groups1[cell], groups2[cell]
        while one < groups1[cell + 1] or other < groups2[cell + 1]:
            left = codes1[one] if one < groups1[cell + 1] else 256
            right = codes2[other] if other < groups2[cell + 1] else 256
            if left <= right:
                size = _move(places1, ends1[one], ends1[one + 1], first_moved, places, size)
                one += 1
            if right <= left:
                size = _move(places2, ends2[other], ends2[other + 1], second_moved, places, size)
                other += 1
            if size > ends[made]:
                codes[made] = min(left, right)
                made += 1
                ends[made] = size
        groups[cell + 1] = made
    return groups, codes[:made].copy(), ends[: made + 1].copy(), places[:size].copy()


@kernel
def _move(old, start, end, moved, places, size):  # type: ignore[no-untyped-def]
    for at in range(start, end):
        if old[at] < len(moved) and moved[old[at]] >= 0:
            places[size] = moved[old[at]]
            size += 1
    return size


@kernel
def _read_codes(occurrences, place, cells):  # type: ignore[no-untyped-def]
    """Read the place in dense columns, search it in lists by bisection."""
    (groups, codes, ends, places), (rows, nibbles) = occurrences
    result = np.zeros(len(cells), np.uint8)
    for at in range(len(cells)):
        if rows[cells[at]] >= 0:
            result[at] = _read_code(nibbles[rows[cells[at]]], place)
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
                result[at] = codes[group]
                break
    return result
