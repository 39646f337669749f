"""Cosines of word n-gram counts, one sequence against many: which short runs two dances share.

`flat` and `offsets` as in `elastic.py`. Orders up to three: an n-gram is one number of 48 bits.
"""

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.types import FloatArray, WordArray

_U = np.uint64
_0, _1, _16 = _U(0), _U(1), _U(16)
_SPREAD = _U(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: neighbours fall far apart


def ngram_cosines(query: WordArray, flat: WordArray, offsets: NDArray[np.int64], order: int) -> FloatArray:
    """The cosine of two sequences' counts of `order` words in a row; NaN where either has no such run."""
    return _cosines(query, flat, offsets, order)  # type: ignore[no-any-return]


def short_runs(query: WordArray, flat: WordArray, offsets: NDArray[np.int64]) -> FloatArray:
    """The mean of the bigrams' and the trigrams' cosine; of bigrams alone where there are but two words."""
    pairs = ngram_cosines(query, flat, offsets, 2)
    triples = ngram_cosines(query, flat, offsets, 3)
    return np.where(np.isnan(triples), pairs, (pairs + triples) / 2)


@kernel
def _slot(keys, key, shift):  # type: ignore[no-untyped-def]
    """Where `key` is kept, or the free place where it would be."""
    slot = (key * _SPREAD) >> shift
    while keys[slot] != key and keys[slot] != _0:
        slot = (slot + _1) & _U(len(keys) - 1)
    return slot


@kernel
def _bits_for(length):  # type: ignore[no-untyped-def]
    """How many bits number a table that at most a quarter of is used."""
    bits = 3
    while (1 << bits) < 4 * length:
        bits += 1
    return bits


@kernel
def _key(words, place, order):  # type: ignore[no-untyped-def]
    """The n-gram at a place as a number; never 0, which means a free slot."""
    key = _1
    for step in range(order):
        key = (key << _16) | _U(words[place + step])
    return key


@kernel
def _count(words, order, shift, keys, counts, slots):  # type: ignore[no-untyped-def]
    """Count a sequence's n-grams in an empty table; returns the sum of the squares of the counts."""
    squares = 0
    for place in range(len(words) - order + 1):
        key = _key(words, place, order)
        slot = _slot(keys, key, shift)
        keys[slot] = key
        squares += 2 * counts[slot] + 1  # from the old count's square to the new one's
        counts[slot] += 1
        slots[place] = slot
    return squares


@kernel
def _cosines(query, flat, offsets, order):  # type: ignore[no-untyped-def]
    longest = len(query)
    for candidate in range(len(offsets) - 1):
        longest = max(longest, offsets[candidate + 1] - offsets[candidate])
    bits = _bits_for(longest)
    shift, size = _U(64 - bits), 1 << bits
    asked_keys, asked_counts = np.zeros(size, np.uint64), np.zeros(size, np.int64)
    keys, counts, slots = np.zeros(size, np.uint64), np.zeros(size, np.int64), np.empty(longest, np.uint64)
    asked = _count(query, order, shift, asked_keys, asked_counts, slots)
    found = np.empty(len(offsets) - 1, np.float32)
    for candidate in range(len(found)):
        words = flat[offsets[candidate] : offsets[candidate + 1]]
        squares = _count(words, order, shift, keys, counts, slots)
        shared = 0
        for place in range(len(words) - order + 1):
            key = keys[slots[place]]
            if key != _0:  # each n-gram once, and its slot is free again for the next candidate
                shared += counts[slots[place]] * asked_counts[_slot(asked_keys, key, shift)]
                keys[slots[place]] = _0
                counts[slots[place]] = 0
        found[candidate] = shared / np.sqrt(asked * squares) if asked and squares else np.nan
    return found
