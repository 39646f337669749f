"""Upper bounds of scores in sixteen bits: all that a search reads of most entries.

A query's weights are rounded up, so far that no sum overflows sixteen bits, and so are the inverse norms. The
sums of a block then stay in the fastest cache, twice as many go through the processor at a time, and all
queries (the variants of one clip) are taken together, channel by channel, since they share many columns. A
bound lies about half a percent above the score; the score itself is computed for the highest bounds alone
(`top_entries.py`).

Letters: C channels, N entries, Q queries.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.search.stage1.scan import QueryCells, add_cells
from dancematch.types import FloatArray

LARGEST = (1 << 16) - 1  # sum
_SLACK = 1e-5  # that bounds are raised by: more than single precision loses in fourteen channels

# The cells of several queries.
BoundCells = tuple[
    NDArray[np.uint32],  # cells, query by query
    NDArray[np.uint16],  # weights of the cells, rounded up
    NDArray[np.int64],  # cuts [Q, C + 1]: where each channel's cells begin
    FloatArray,  # shown [Q, C]
    FloatArray,  # units [Q, C]: what a sum of 1 stands for
]
# Norms of a block that are read for bounds.
CoarseNorms = tuple[
    NDArray[np.uint16],  # [C, N] the inverse norm in steps, rounded up; 0 where a channel has no word
    FloatArray,  # [C] the step
]


def round_up_weights(queries: Sequence[QueryCells], highest: int) -> BoundCells:
    """Return the cells of queries with weights of sixteen bits, for codes up to `highest`."""
    parts, starts = [_round_up(query, highest) for query in queries], [0]
    for query in queries:
        starts.append(starts[-1] + len(query[0]))
    return (
        np.concatenate([query[0] for query in queries]),
        np.concatenate([weights for weights, _ in parts]),
        np.stack([query[2].astype(np.int64) + start for query, start in zip(queries, starts, strict=False)]),
        np.stack([query[3] for query in queries]),
        np.stack([units for _, units in parts]),
    )


def _round_up(query: QueryCells, highest: int) -> tuple[NDArray[np.uint16], FloatArray]:
    """The weights of one query's cells, and what a sum of 1 stands for per channel."""
    _, weights, cuts, _, units = query
    counts = cuts[1:].astype(np.int64) - cuts[:-1]
    channels = np.repeat(np.arange(len(counts)), counts)
    totals = np.bincount(channels, weights, len(counts))
    # Rounding up adds less than 1 per cell.
    scales = np.maximum(LARGEST // highest - counts, 0) / np.maximum(totals, 1)
    rounded = np.ceil(weights * scales[channels]).astype(np.uint16)
    wider = units.astype(np.float64) / np.where(scales > 0, scales, 1) * (1 + _SLACK)
    return rounded, wider.astype(np.float32)


def can_bound(query: QueryCells, highest: int) -> bool:
    """Return whether sixteen bits hold the weights of a query well enough: some steps per cell."""
    return bool(16 * np.diff(query[2].astype(np.int64)).max(initial=0) * highest <= LARGEST)


@kernel
def round_up_norms(inverse, coarse):  # type: ignore[no-untyped-def]
    """Write the inverse norms of one channel [N] in steps, rounded up; returns the step."""
    most = np.float64(0)
    for entry in range(len(inverse)):
        most = max(most, np.float64(inverse[entry]))
    step = np.float32(max(most / (LARGEST - 1), 1e-30))
    for entry in range(len(inverse)):
        coarse[entry] = np.uint16(np.ceil(np.float64(inverse[entry]) / np.float64(step)))
    return step


@kernel
def bound_scores(known, queries, sums):  # type: ignore[no-untyped-def]
    """Return an upper bound of `scan.score` per query and entry: [Q, N].

    `known`: occurrences, coarse norms, and whether every entry shows every channel.
    """
    occurrences, (coarse, steps), complete = known
    cells, weights, cuts, shares, units = queries
    entries = coarse.shape[1]
    totals = np.zeros((len(cuts), entries), np.float32)
    shared = np.zeros((len(cuts), 0 if complete else entries), np.float32)
    for channel in range(len(coarse)):
        norms = coarse[channel]
        for query in range(len(cuts)):
            shown = shares[query, channel]
            if shown == 0:
                continue
            own, total = slice(cuts[query, channel], cuts[query, channel + 1]), totals[query]
            sums[:entries] = 0
            add_cells(occurrences, cells[own], weights[own], sums)
            factor = units[query, channel] * steps[channel]
            for entry in range(entries):
                product = np.float32(np.int32(sums[entry])) * np.float32(np.int32(norms[entry]))
                total[entry] += shown * (product * factor)
            for entry in range(shared.shape[1]):
                shared[query, entry] += shown if norms[entry] > 0 else np.float32(0)
    for query in range(len(cuts)):
        whole, total = max(shares[query].sum(), np.float32(1e-9)), totals[query]
        for entry in range(entries):
            both = whole if complete else max(shared[query, entry], np.float32(1e-9))
            total[entry] /= np.sqrt(both * whole)
    return totals


@kernel
def search_bounds(known, queries, sums, open_to, best):  # type: ignore[no-untyped-def]
    """Merge the bounds of a block's entries into the best (bounds, positions) [Q, size] of all queries.

    `open_to`: which entries may be found, and the position of the first.
    """
    alive, start = open_to
    best_bounds, best_positions = best
    bounds = bound_scores(known, queries, sums)
    for query in range(len(bounds)):
        _keep_best(bounds[query], alive, start, best_bounds[query], best_positions[query])


@kernel
def _keep_best(scores, alive, start, best_scores, best_positions):  # type: ignore[no-untyped-def]
    """Replace the worst of the best: a heap with the lowest score, then the highest position, on top."""
    for first in range(0, len(scores), 64):
        some = scores[first : first + 64]
        worst, better = best_scores[0], np.int32(0)
        for entry in range(len(some)):  # counted first, many at once: hardly any run of 64 has one
            better += np.int32(some[entry] > worst)
        if better == 0:
            continue
        for entry in range(first, first + len(some)):
            # Positions only rise, so an equal score never replaces.
            if scores[entry] > best_scores[0] and alive[entry]:
                _replace_worst(best_scores, best_positions, scores[entry], start + entry)


@kernel
def _replace_worst(scores, positions, score, position):  # type: ignore[no-untyped-def]
    at, child = 0, 1
    while child < len(positions):
        if child + 1 < len(positions) and _is_worse(scores, positions, child + 1, child):
            child += 1
        if score < scores[child] or (score == scores[child] and position > positions[child]):
            break
        scores[at], positions[at] = scores[child], positions[child]
        at, child = child, 2 * child + 1
    scores[at], positions[at] = score, position


@kernel
def _is_worse(scores, positions, one, other):  # type: ignore[no-untyped-def]
    return scores[one] < scores[other] or (scores[one] == scores[other] and positions[one] > positions[other])
