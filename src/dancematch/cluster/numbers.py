"""Numbers for the entries of all parts of a catalogue together.

In one process, equal scores are ordered by the numbers of entries, which follow the keys of the tracks.
A number here is therefore made of the track's key, then the entry's place within the track; the part
that holds it stands last, where it changes no order.
"""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

_PLACE_BITS, _PART_BITS = 16, 12
MOST_PARTS = 1 << _PART_BITS
STRANGER = -1  # the key of entries that are no dance of the catalogue: they come first


def numbered(keys: IntArray, places: IntArray, part: int) -> IntArray:
    """The numbers of entries."""
    shifted = (keys << _PLACE_BITS) | places
    return np.asarray((shifted << _PART_BITS) | part, dtype=np.int64)


def parts_of(numbers: IntArray) -> IntArray:
    """The parts that hold entries."""
    return np.asarray(numbers & (MOST_PARTS - 1))


def keys_and_places(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """What the numbers were made of."""
    shifted = numbers >> _PART_BITS
    return shifted >> _PLACE_BITS, shifted & ((1 << _PLACE_BITS) - 1)
