"""Longest common subsequence and Levenshtein distance of one word sequence to many, 64 cells an instruction.

A column of the table of all prefixes is kept as bits (Hyyrö 2004 for the subsequence, Myers 1999 and
Hyyrö 2003 for the distance). The query stands along the column: where its words are is written down as bit
masks once for all candidates. A query of more than 64 words takes several blocks. A block runs over the
whole candidate before the next one does, so that its column stays in registers; what it carries over to the
next is kept one number per column.

`flat` and `offsets` as in `elastic.py`.
"""

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.types import WordArray

_U = np.uint64
_0, _1, _63 = _U(0), _U(1), _U(63)
_ALL = _U(0xFFFFFFFFFFFFFFFF)
_PAIRS, _FOURS, _EIGHTS = _U(0x5555555555555555), _U(0x3333333333333333), _U(0x0F0F0F0F0F0F0F0F)


def common_subsequence(
    query: WordArray, flat: WordArray, offsets: NDArray[np.int64], vocabulary: int
) -> NDArray[np.int64]:
    """How many words the query and each candidate share in order: LCSS, epsilon 0, delta infinite."""
    return _subsequence(_masks(query, vocabulary), flat, offsets)  # type: ignore[no-any-return]


def levenshtein(
    query: WordArray, flat: WordArray, offsets: NDArray[np.int64], vocabulary: int
) -> NDArray[np.int64]:
    """How many words must be put in, left out or replaced to make each candidate: EDR with epsilon 0."""
    return _levenshtein(_masks(query, vocabulary), len(query), flat, offsets)  # type: ignore[no-any-return]


@kernel
def _masks(query, vocabulary):  # type: ignore[no-untyped-def]
    """Where each word stands in the query: [blocks, words], one bit per place."""
    masks = np.zeros(((len(query) + 63) // 64, vocabulary), np.uint64)
    for place in range(len(query)):
        masks[place // 64, query[place]] |= _1 << _U(place % 64)
    return masks


@kernel
def _ones(bits):  # type: ignore[no-untyped-def]
    """How many of 64 bits are set."""
    bits -= (bits >> _1) & _PAIRS
    bits = (bits & _FOURS) + ((bits >> _U(2)) & _FOURS)
    bits = (bits + (bits >> _U(4))) & _EIGHTS
    return (bits * _U(0x0101010101010101)) >> _U(56)


@kernel
def _most(offsets):  # type: ignore[no-untyped-def]
    most = 0
    for candidate in range(len(offsets) - 1):
        most = max(most, offsets[candidate + 1] - offsets[candidate])
    return most


@kernel
def _subsequence(masks, flat, offsets):  # type: ignore[no-untyped-def]
    found = np.zeros(len(offsets) - 1, np.int64)
    carries = np.empty(_most(offsets), np.uint64)
    for candidate in range(len(found)):
        words = flat[offsets[candidate] : offsets[candidate + 1]]
        carries[:] = _0
        total = _0
        for block in range(len(masks)):
            mask, column = masks[block], _ALL
            for place in range(len(words)):
                agreed = column & mask[words[place]]
                partial = column + agreed
                added = partial + carries[place]
                carries[place] = _U(partial < column) | _U(added < partial)
                column = added | (column - agreed)
            total += _ones(~column)  # places beyond the query's end agree with nothing and stay 1
        found[candidate] = np.int64(total)
    return found


@kernel
def _levenshtein(masks, length, flat, offsets):  # type: ignore[no-untyped-def]
    found = np.empty(len(offsets) - 1, np.int64)
    rises = np.empty(_most(offsets), np.uint64)
    falls = np.empty(_most(offsets), np.uint64)
    for candidate in range(len(found)):
        words = flat[offsets[candidate] : offsets[candidate + 1]]
        rises[:] = _1  # along the border every word put in costs one more
        falls[:] = _0
        for block in range(len(masks)):
            last = _U((length - 1) % 64) if block == len(masks) - 1 else _63
            _levenshtein_block(masks[block], words, rises, falls, last)
        distance = length
        for place in range(len(words)):
            distance += np.int64(rises[place]) - np.int64(falls[place])
        found[candidate] = distance
    return found


@kernel
def _levenshtein_block(mask, words, rises, falls, last):  # type: ignore[no-untyped-def]
    """Run one block over a candidate; turns the steps along its upper edge into those along its lower."""
    up, down = _ALL, _0
    for place in range(len(words)):
        rise, fall = rises[place], falls[place]
        agreed = mask[words[place]] | fall
        same = (((agreed & up) + up) ^ up) | agreed | down
        rising = down | ~(same | up)
        falling = same & up
        rises[place] = (rising >> last) & _1
        falls[place] = (falling >> last) & _1
        rising = (rising << _1) | rise
        falling = (falling << _1) | fall
        up = falling | ~(same | rising)
        down = rising & same
