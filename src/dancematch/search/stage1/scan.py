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
    """Add each cell's weight times the code to every entry that has the cell."""
    (groups, codes, ends, places), (rows, nibbles) = occurrences
    chosen, shares = np.zeros(len(cells) + 3, np.int64), np.zeros(len(cells) + 3, np.int32)
    many = 0
    for at in range(len(cells)):
        cell = cells[at]
        if rows[cell] >= 0:
            chosen[many], shares[many] = rows[cell], weights[at]
            many += 1
        for group in range(groups[cell], groups[cell + 1]):
            share = np.int32(weights[at] * np.int32(codes[group]))
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

    Written so that the compiler makes vectors of it: 32 bits wide throughout.
    """
    half, lower, four = nibbles.shape[1], np.uint8(15), np.uint8(4)
    low, high = sums[:half], sums[half : 2 * half]
    for at in range(0, len(chosen), 4):
        a, b = nibbles[chosen[at]], nibbles[chosen[at + 1]]
        c, d = nibbles[chosen[at + 2]], nibbles[chosen[at + 3]]
        w, x, y, z = shares[at], shares[at + 1], shares[at + 2], shares[at + 3]
        for j in range(half):
            p, q, r, s = a[j], b[j], c[j], d[j]
            one, two = w * np.int32(p & lower), x * np.int32(q & lower)
            three, last = y * np.int32(r & lower), z * np.int32(s & lower)
            low[j] += (one + two) + (three + last)
            one, two = w * np.int32(p >> four), x * np.int32(q >> four)
            three, last = y * np.int32(r >> four), z * np.int32(s >> four)
            high[j] += (one + two) + (three + last)


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
    if complete:
        return total / whole
    for entry in range(entries):
        mean = total[entry] / max(shared[entry], np.float32(1e-9))
        total[entry] = mean * np.sqrt(shared[entry] / whole)
    return total


@kernel
def search(known, query_cells, sums, entries, best):  # type: ignore[no-untyped-def]
    """Merge a block's entries (alive, ids) into the best (scores, ids) for a query."""
    alive, ids = entries
    _keep_best(score(known, query_cells, sums), alive, ids, *best)


@kernel
def _keep_best(scores, alive, ids, best_scores, best_ids):  # type: ignore[no-untyped-def]
    """Replace the worst of the best: a heap with the lowest score, then the highest id, on top."""
    for start in range(0, len(scores), 64):
        some = scores[start : start + 64]
        worst, better = best_scores[0], np.int32(0)
        for entry in range(len(some)):  # counted first, many at once: hardly any run of 64 has one
            better += np.int32(some[entry] > worst)
        if better == 0:
            continue
        for entry in range(start, start + len(some)):
            # Ids only rise, so an equal score never replaces.
            if scores[entry] > best_scores[0] and alive[entry]:
                _replace_worst(best_scores, best_ids, scores[entry], ids[entry])


@kernel
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


@kernel
def _is_worse(scores, ids, one, other):  # type: ignore[no-untyped-def]
    return scores[one] < scores[other] or (scores[one] == scores[other] and ids[one] > ids[other])
