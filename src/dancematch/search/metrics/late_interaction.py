"""Late interaction: each word of one clip looks for its nearest in the other, wherever that stands.

Order does not matter, and a word that was read as its neighbour still counts almost in full.
`flat` and `offsets` as in `elastic.py`.
"""

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.types import FloatArray, WordArray

_U = np.uint64


def late_interaction(
    query: WordArray, flat: WordArray, offsets: NDArray[np.int64], similarity: FloatArray
) -> FloatArray:
    """The mean over a clip's words of the greatest `similarity` [words, words] in the other, both ways' mean.

    NaN where a candidate has no words.
    """
    distinct, counts = np.unique(query, return_counts=True)
    nearness = np.ascontiguousarray(similarity[distinct].T)  # [words, distinct words of the query]
    nearest = nearness.max(axis=1)  # [words] to anything in the query
    shares = (counts / len(query)).astype(np.float32)
    return _both_ways(flat, offsets, nearness, nearest, shares)  # type: ignore[no-any-return]


@kernel
def _both_ways(flat, offsets, nearness, nearest, shares):  # type: ignore[no-untyped-def]
    found = np.empty(len(offsets) - 1, np.float32)
    best = np.empty(len(shares), np.float32)
    for candidate in range(len(found)):
        words = flat[offsets[candidate] : offsets[candidate + 1]]
        best[:] = -np.inf
        there = np.float32(0)
        for place in range(len(words)):
            there += nearest[words[place]]
            _raise(best, nearness[words[place]])
        back = np.float32(0)
        for place in range(len(shares)):
            back += shares[place] * best[place]
        found[candidate] = (there / len(words) + back) / 2 if len(words) else np.nan
    return found


@kernel
def _raise(best, row):  # type: ignore[no-untyped-def]
    for place in range(_U(len(best))):
        best[place] = best[place] if best[place] > row[place] else row[place]
