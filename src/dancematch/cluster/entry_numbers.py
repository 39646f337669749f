"""Numbers for the entries of all shards of a catalogue together.

In one process, equal scores are ordered by the numbers of entries, which follow the keys of the tracks.
A number here is therefore made of the track's key, then the entry's place within the track; the shard
that holds it stands last, where it changes no order.
"""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

_PLACE_BITS, _SHARD_BITS = 16, 12
MAX_SHARDS = 1 << _SHARD_BITS
BACKGROUND_KEY = -1  # of entries of the background, which come first


def number_entries(keys: IntArray, places: IntArray, shard: int) -> IntArray:
    """The numbers of entries."""
    shifted = (keys << _PLACE_BITS) | places
    return np.asarray((shifted << _SHARD_BITS) | shard, dtype=np.int64)


def shards_of(numbers: IntArray) -> IntArray:
    """The shards that hold entries."""
    return np.asarray(numbers & (MAX_SHARDS - 1))


def split_numbers(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """The keys and places that numbers were made of."""
    shifted = numbers >> _SHARD_BITS
    return shifted >> _PLACE_BITS, shifted & ((1 << _PLACE_BITS) - 1)
