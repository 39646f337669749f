"""Descriptors of about a second of movement: bone directions averaged over a few steps, of unit length.

The product of two is the correlation of the two segments at that lag, as in synchrony: the moving mean is
taken out of bones already (`directions.py`). Segments in which the dancer hardly moves have none.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.search.stage2.synchrony import TREMBLE
from dancematch.search.words.word_store import Bones
from dancematch.types import BONE_NUMBERS, BONE_SCALE, BONES_UNSEEN, FloatArray

LENGTH = 9  # steps of one: 1.2 s
AVERAGED = 3  # steps per row of it
DIMENSIONS = LENGTH // AVERAGED * BONE_NUMBERS
HOP = 8  # steps from one to the next in a known track
QUERY_HOP = 3  # in a query, at least
_STILL = 4 * TREMBLE * BONE_SCALE**2 * LENGTH // AVERAGED  # energy of a dancer who hardly moves


class Descriptors(NamedTuple):
    """Descriptors of several tracks, in their order."""

    values: FloatArray  # [descriptors, DIMENSIONS]
    tracks: NDArray[np.int64]  # [descriptors]
    firsts: NDArray[np.int64]  # [descriptors] the first step


def describe_tracks(bones: Bones, hop: int) -> Descriptors:
    """Return the descriptors of tracks, one every `hop` steps."""
    lengths = np.diff(bones.offsets)
    most = int(np.maximum((lengths - LENGTH) // hop + 1, 0).sum())
    values = np.zeros((most, DIMENSIONS), np.float32)
    tracks, firsts = np.zeros(most, np.int64), np.zeros(most, np.int64)
    read_only = np.ascontiguousarray(bones.values).view()
    read_only.flags.writeable = False  # the kernel is compiled for one kind
    count = _describe(read_only, np.array(bones.offsets), hop, values, tracks, firsts)
    return Descriptors(values[:count], tracks[:count], firsts[:count])


@kernel
def _describe(bones, offsets, hop, values, tracks, firsts):  # type: ignore[no-untyped-def]
    """Write the descriptors; returns how many there are."""
    count, numbers = 0, bones.shape[1]
    for track in range(len(offsets) - 1):
        for first in range(offsets[track], offsets[track + 1] - LENGTH + 1, hop):
            row, energy = values[count], np.float32(0)
            for part in range(LENGTH // AVERAGED):
                begin = first + part * AVERAGED
                for number in range(numbers):
                    total, seen = 0, 0
                    for step in range(begin, begin + AVERAGED):
                        if bones[step, number] != BONES_UNSEEN:
                            total += bones[step, number]
                            seen += 1
                    mean = np.float32(total) / np.float32(max(seen, 1))
                    row[part * numbers + number] = mean
                    energy += mean * mean
            if energy >= _STILL:
                row /= np.sqrt(energy)
                tracks[count], firsts[count] = track, first - offsets[track]
                count += 1
    return count
