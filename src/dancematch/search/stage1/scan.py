"""The kernels that score the entries of a block (`blocks.py`) for a query: sums over the query's columns.

A query's weights are whole numbers too, as large as they can be without any sum overflowing. A sum then
depends neither on the order nor on which columns are dense, so that an entry's score is the same to the last
bit in whatever block it lies. Rounding loses no more than adding up in float32 would.
"""

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.types import FloatArray

PLACES = 1 << 16  # sums are this long, so that no 16-bit place can lie outside, whatever a file holds
LARGEST = (1 << 31) - 1  # sum

# A query's own cells.
QueryCells = tuple[
    NDArray[np.uint32],  # cells, rising
    NDArray[np.int32],  # weights of the cells, already divided by the query's norms, in units
    NDArray[np.uint32],  # cuts [C + 1]: where each channel's cells begin
    FloatArray,  # shown [C]: how much the query shows of the channel
    FloatArray,  # units [C]: what a sum of 1 stands for
]


def quantise_weights(
    weights: NDArray[np.float64], highest: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return weights [C, K] as whole numbers, and the unit of each channel, for codes up to `highest`."""
    room = LARGEST / highest - weights.shape[1]  # rounding up adds at most a half per word
    units = np.maximum(weights.sum(axis=1) / room, 1e-30)
    return np.rint(weights / units[:, None]).astype(np.int32), units


@kernel
def add_cells(occurrences, cells, weights, sums):  # type: ignore[no-untyped-def]
    """Add each cell's weight times the code to every entry that has the cell.

    Sums are of the weights' type.
    """
    (groups, codes, ends, places), (rows, nibbles) = occurrences
    kind = weights.dtype.type
    chosen, shares = np.zeros(len(cells) + 3, np.int64), np.zeros(len(cells) + 3, weights.dtype)
    many = 0
    for at in range(len(cells)):
        cell = cells[at]
        if rows[cell] >= 0:
            chosen[many], shares[many] = rows[cell], weights[at]
            many += 1
        for group in range(groups[cell], groups[cell + 1]):
            share = kind(weights[at] * kind(codes[group]))
            _add_list(places, ends[group], ends[group + 1], share, sums)
    if many > 0:
        _add_dense(nibbles, chosen[: (many + 3) // 4 * 4], shares, sums)  # up to three of them add 0


@kernel
def _add_list(places, first, end, share, sums):  # type: ignore[no-untyped-def]
    # Unsigned, since numba checks every signed place for counting from the end. Four at a time, since no
    # place comes twice in a group, which the compiler cannot know.
    at, end, four = np.uint64(first), np.uint64(end), np.uint64(4)
    while at + four <= end:
        one, two = places[at], places[at + np.uint64(1)]
        three, last = places[at + np.uint64(2)], places[at + np.uint64(3)]
        first_sum, second_sum, third_sum, last_sum = sums[one], sums[two], sums[three], sums[last]
        sums[one], sums[two] = first_sum + share, second_sum + share
        sums[three], sums[last] = third_sum + share, last_sum + share
        at += four
    while at < end:
        sums[places[at]] += share
        at += np.uint64(1)


@kernel
def _add_dense(nibbles, chosen, shares, sums):  # type: ignore[no-untyped-def]
    """Four columns at a time, so that sums are fetched and put back less often.

    Written so that the compiler makes vectors of it: of one width throughout, that of the sums.
    """
    half, lower, four, kind = nibbles.shape[1], np.uint8(15), np.uint8(4), shares.dtype.type
    low, high = sums[:half], sums[half : 2 * half]
    for at in range(0, len(chosen), 4):
        a, b = nibbles[chosen[at]], nibbles[chosen[at + 1]]
        c, d = nibbles[chosen[at + 2]], nibbles[chosen[at + 3]]
        w, x, y, z = shares[at], shares[at + 1], shares[at + 2], shares[at + 3]
        for j in range(half):
            p, q, r, s = a[j], b[j], c[j], d[j]
            one, two = kind(w * kind(p & lower)), kind(x * kind(q & lower))
            three, last = kind(y * kind(r & lower)), kind(z * kind(s & lower))
            low[j] += kind(kind(one + two) + kind(three + last))
            one, two = kind(w * kind(p >> four)), kind(x * kind(q >> four))
            three, last = kind(y * kind(r >> four)), kind(z * kind(s >> four))
            high[j] += kind(kind(one + two) + kind(three + last))


@kernel
def score(known, query_cells, sums):  # type: ignore[no-untyped-def]
    """Return one score per entry: `combine_channels` of its cosines with the query.

    `known`: occurrences, inverse norms, and whether the block is complete, that is, every
    entry shows every channel: then all share the same channels.
    """
    occurrences, inverse, complete = known
    entries = inverse.shape[1]
    cells, weights, cuts, shares, units = query_cells
    total, whole = np.zeros(entries, np.float32), np.float32(0)
    shared = np.zeros(0 if complete else entries, np.float32)
    for channel in range(len(shares)):
        shown, unit, own = shares[channel], units[channel], slice(cuts[channel], cuts[channel + 1])
        if shown == 0:
            continue
        whole += shown
        sums[:entries] = 0
        add_cells(occurrences, cells[own], weights[own], sums)
        for entry in range(entries):
            cosine = np.float32(sums[entry]) * unit * inverse[channel, entry]
            total[entry] += shown * min(cosine, np.float32(1))
        for entry in range(len(shared)):
            shared[entry] += shown if inverse[channel, entry] > 0 else np.float32(0)
    whole = max(whole, np.float32(1e-9))
    return total / whole if complete else _combine(total, shared, whole)


@kernel
def _combine(total, shared, whole):  # type: ignore[no-untyped-def]
    """The mean over the channels that query and entry share, lowered by the root of their share."""
    for entry in range(len(total)):
        mean = total[entry] / max(shared[entry], np.float32(1e-9))
        total[entry] = mean * np.sqrt(shared[entry] / whole)
    return total


@kernel
def score_places(known, query_cells, chosen, sums):  # type: ignore[no-untyped-def]
    """Return `score` of a few entries by their places in the block, to the last bit.

    Lists are added up for all entries, which takes less than looking for a few places in each; of dense
    columns only the places are read.
    """
    ((groups, codes, ends, places), (rows, nibbles)), inverse, _ = known
    cells, weights, cuts, shares, units = query_cells
    total, shared = np.zeros(len(chosen), np.float32), np.zeros(len(chosen), np.float32)
    whole, half = np.float32(0), nibbles.shape[1]
    for channel in range(len(shares)):
        shown, unit = shares[channel], units[channel]
        if shown == 0:
            continue
        whole += shown
        for place in chosen:
            sums[place] = 0  # others are not read
        for at in range(cuts[channel], cuts[channel + 1]):
            cell, weight = cells[at], weights[at]
            for group in range(groups[cell], groups[cell + 1]):
                _add_list(places, ends[group], ends[group + 1], np.int32(weight * codes[group]), sums)
            if rows[cell] >= 0:
                own = nibbles[rows[cell]]
                for place in chosen:
                    code = own[place] & 15 if place < half else own[place - half] >> 4
                    sums[place] += np.int32(weight * code)
        for number in range(len(chosen)):
            place = chosen[number]
            cosine = np.float32(sums[place]) * unit * inverse[channel, place]
            total[number] += shown * min(cosine, np.float32(1))
            shared[number] += shown if inverse[channel, place] > 0 else np.float32(0)
    return _combine(total, shared, max(whole, np.float32(1e-9)))


def spread_weights(query: QueryCells, cells: tuple[int, int]) -> NDArray[np.int32]:
    """Return the weights of a query's cells as a table [C, K]."""
    table = np.zeros(cells[0] * cells[1], np.int32)
    table[query[0]] = query[1]
    return table.reshape(cells)


@kernel
def score_words(segments, query_cells, weights, codes, inverse):  # type: ignore[no-untyped-def]
    """Return `score` of entries by their words, to the last bit; `weights` is `spread_weights` of the query.

    `inverse` [N, C]. Unsigned numbers: numba checks every signed index for counting from the end.
    """
    words, seen, offsets = segments
    _, _, _, shares, units = query_cells
    total, shared = np.zeros(len(offsets) - 1, np.float32), np.zeros(len(offsets) - 1, np.float32)
    counts, more = np.zeros(weights.shape[1], np.uint8), np.zeros(256, np.int32)  # of the 256th and on: 0
    for count in range(255):
        more[count] = np.int32(codes[count + 1]) - np.int32(codes[count])
    for entry in range(len(total)):
        first, end = np.uint64(offsets[entry]), np.uint64(offsets[entry + 1])
        for channel in range(np.uint64(len(shares))):
            shown, own, number = shares[channel], weights[channel], np.int32(0)
            if shown == 0:
                continue
            counts[:] = 0
            for step in range(first, end):
                if seen[step, channel]:
                    word = np.uint64(words[step, channel])
                    count = counts[word]
                    number += np.int32(own[word] * more[count])
                    counts[word] = count + np.uint8(count < 255)
            cosine = np.float32(number) * units[channel] * inverse[entry, channel]
            total[entry] += shown * min(cosine, np.float32(1))
            shared[entry] += shown if inverse[entry, channel] > 0 else np.float32(0)
    whole = np.float32(0)
    for shown in shares:
        whole += shown
    return _combine(total, shared, max(whole, np.float32(1e-9)))
