"""A question put to a block: the kernels that walk columns (`blocks.py`) and add up what they say.

Sums are integers: a query's weights are scaled so that no sum can overflow, and a share is rounded
once. What is summed then depends neither on the order nor on which groups are bitmaps, so that an
entry's score is the same to the last bit in whatever block it stands. Rounding loses no more than
adding up in float32 would.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.index.blocks import WORD
from dancematch.types import FloatArray

PLACES = 1 << 16  # sums are this long, so that no 16-bit place can lie outside, whatever a file holds
LARGEST = (1 << 31) - 1  # sum
BITS = np.uint32(1) << np.arange(WORD, dtype=np.uint32)

# A query's own cells.
Asked = tuple[
    NDArray[np.uint32],  # cells, rising
    NDArray[np.float64],  # weights of the cells, already divided by the query's norms, scaled
    NDArray[np.uint32],  # cuts [C + 1]: where each channel's cells begin
    FloatArray,  # shown [C]: how much the query shows of the channel
    FloatArray,  # units [C]: what a sum of 1 stands for
]


def scales(weights: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """How much each channel's weights [C, K] can be scaled up, if a count is worth `most` at most: [C].

    Powers of two, so that scaling rounds nothing; those of the weights alone, not of the entries,
    so that a question means the same to all of them.
    """
    highest = most * weights.sum(axis=1)
    rounding = weights.shape[1]  # a half up a word, and as much to spare
    powers = np.floor(np.log2((LARGEST - rounding) / np.maximum(highest, 1e-30)))
    return np.asarray(np.exp2(powers))


@njit(cache=True, nogil=True)
def add_cells(occurrences, cells, weights, values, sums):  # type: ignore[no-untyped-def]
    """Add each cell's weight times the value of the count, rounded, to every entry that has the cell."""
    lists, (maps, counts, bits) = occurrences
    chosen, shares = np.zeros(len(counts) + 3, np.uint32), np.zeros(len(counts) + 3, sums.dtype)
    many = 0
    for at in range(len(cells)):
        _add_lists(lists, cells[at], weights[at], values, sums)
        for number in range(maps[cells[at]], maps[cells[at] + 1]):
            chosen[many], shares[many] = number, np.rint(weights[at] * values[counts[number]])
            many += 1
    if many > 0:
        _add_bitmaps(bits, chosen[: (many + 3) // 4 * 4], shares, sums)  # up to three of them add 0


@njit(cache=True, nogil=True)
def _add_lists(lists, cell, weight, values, sums):  # type: ignore[no-untyped-def]
    groups, counts, ends, places = lists
    for group in range(groups[cell], groups[cell + 1]):
        share = sums.dtype.type(np.rint(weight * values[counts[group]]))
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
def _add_bitmaps(bits, chosen, shares, sums):  # type: ignore[no-untyped-def]
    """Four bitmaps at a time, so that sums are fetched and put back less often.

    Written so that the compiler makes vectors of the lanes: 32 bits wide throughout, and no branch.
    """
    none, clear = sums.dtype.type(0), np.uint32(0)
    for at in range(0, len(chosen), 4):
        one, two, three, four = chosen[at], chosen[at + 1], chosen[at + 2], chosen[at + 3]
        first, second, third, fourth = shares[at], shares[at + 1], shares[at + 2], shares[at + 3]
        for word in range(bits.shape[1]):
            a, b, c, d = bits[one, word], bits[two, word], bits[three, word], bits[four, word]
            part = sums[WORD * word : WORD * (word + 1)]
            for lane in range(WORD):
                bit, total = BITS[lane], part[lane]
                total += first if np.uint32(a & bit) != clear else none
                total += second if np.uint32(b & bit) != clear else none
                total += third if np.uint32(c & bit) != clear else none
                total += fourth if np.uint32(d & bit) != clear else none
                part[lane] = total


@njit(cache=True, nogil=True)
def score(known, asked, values, sums):  # type: ignore[no-untyped-def]
    """One score an entry: `combine_channels` of its cosines with the query.

    `known`: occurrences, inverse norms, and whether the block is complete, that is, every
    entry shows every channel: then there is nothing to be shared out.
    """
    occurrences, inverse, complete = known
    entries = inverse.shape[1]
    cells, weights, cuts, shares, units = asked
    total, whole = np.zeros(entries, np.float32), np.float32(0)
    shared = np.zeros(0 if complete else entries, np.float32)
    for channel in range(len(shares)):
        shown, unit, own = shares[channel], units[channel], slice(cuts[channel], cuts[channel + 1])
        if shown == 0:
            continue
        whole += shown
        sums[:entries] = 0
        add_cells(occurrences, cells[own], weights[own], values, sums)
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
