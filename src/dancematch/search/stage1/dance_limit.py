"""The limit of recordings per dance: the most similar ones of each dance, whatever else there is.

Whether a row is within the limit depends on the rows of its own dance before it and on nothing else. What is
found for the first rows of an order therefore holds for the whole order, and what a shard finds for its
dances holds for all shards.
"""

import numpy as np
from numpy.typing import NDArray


def within_limit(
    dances: NDArray[np.integer], recordings: NDArray[np.integer], limit: int | None
) -> NDArray[np.bool_]:
    """Return which rows, best first, are of the first `limit` recordings of their dance; None = all."""
    if limit is None or len(dances) <= limit:
        return np.ones(len(dances), np.bool_)
    ordered = np.sort(dances)
    if not (ordered[limit:] == ordered[:-limit]).any():  # no dance has more rows than that
        return np.ones(len(dances), np.bool_)
    _, firsts, rows = np.unique(recordings, return_index=True, return_inverse=True)
    order = np.argsort(firsts)  # recordings in the order of their first rows
    ranks = np.empty(len(firsts), np.int64)
    ranks[order] = _rank_within(dances[firsts[order]])
    return np.asarray(ranks[rows] < limit)


def _rank_within(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """How many rows before each are of its group."""
    order = np.argsort(groups, kind="stable")
    begins = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    sizes = np.diff(begins, append=len(groups))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(begins, sizes)
    return ranks
