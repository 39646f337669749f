"""What depends on all entries together: how rare each word is, and with it every entry's norms.

One entry more or less moves the rarity of every word a little, but rarity comes in steps
(`word_rarity`), so that hardly any word's changes. The next state's norms are therefore the last
one's, corrected for the words whose rarity did change; blocks that are new start from nothing. A squared
norm is a sum of integers, the squared rarity in squared steps times the squared value of a count, so
the corrected one is the very number that a store freshly built of the same entries has.

Letters: C channels, cells = C * K, N entries.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.index.blocks import Block, Occurrences, frozen
from dancematch.index.histogram import RARITY_STEPS
from dancematch.index.scan import PLACES, add_cells
from dancematch.types import FloatArray


class Norms(NamedTuple):
    """Those of one block's entries, the deleted ones included."""

    of: Occurrences
    squares: tuple[NDArray[np.int64], ...]  # a channel: [N] the squared norm, in squared steps of rarity
    inverse: FloatArray  # [C, N] 1 / the norm, 0 where a channel has no word
    complete: bool  # whether every entry shows every channel

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return self.inverse.nbytes + sum(channel.nbytes for channel in self.squares)


class Weights(NamedTuple):
    """What all entries together make of words and entries."""

    rarity: FloatArray  # [cells]
    norms: tuple[Norms, ...]  # a block each


def weigh(
    blocks: Sequence[Block], rarity: FloatArray, powers: NDArray[np.float64], earlier: Weights | None
) -> Weights:
    """The weights of blocks where words are as rare as that; `earlier` ones may save most of the work.

    `powers` [256] is the squared value of each count, rarity [C, K].
    """
    levels = _squared_levels(rarity)
    known, change = {}, levels
    if earlier is not None:
        known = {id(norms.of): norms for norms in earlier.norms}
        change = levels - _squared_levels(earlier.rarity).reshape(levels.shape)
    sums = np.zeros(PLACES, np.int64)
    made = [
        _corrected(known[id(block.occurrences)], change, powers, sums)
        if id(block.occurrences) in known
        else _corrected(_nothing(block, len(rarity)), levels, powers, sums)
        for block in blocks
    ]
    return Weights(frozen(rarity.ravel()), tuple(made))


def _squared_levels(rarity: FloatArray) -> NDArray[np.float64]:
    """Squared rarity in squared steps: whole numbers, far below 2^53."""
    return np.asarray(np.rint(rarity.astype(np.float64) * RARITY_STEPS) ** 2)


def _nothing(block: Block, channels: int) -> Norms:
    """As if no word were worth anything."""
    squares = tuple(np.zeros(len(block), np.int64) for _ in range(channels))
    return Norms(block.occurrences, squares, np.zeros((channels, len(block)), np.float32), False)


def _corrected(
    norms: Norms, change: NDArray[np.float64], powers: NDArray[np.float64], sums: NDArray[np.int64]
) -> Norms:
    """The norms once the squared rarity of cells [C, K] has changed by this much; `sums` is scratch space."""
    touched = np.flatnonzero(change.any(axis=1))
    if not len(touched):
        return norms
    squares, inverse = list(norms.squares), norms.inverse.copy()
    entries, vocabulary = inverse.shape[1], change.shape[1]
    for channel in touched.tolist():
        words = np.flatnonzero(change[channel])
        sums[:entries] = squares[channel]
        cells = (words + channel * vocabulary).astype(np.uint32)
        add_cells(norms.of, cells, change[channel, words], powers, sums)
        squares[channel] = frozen(sums[:entries].copy())
        _invert(squares[channel], inverse[channel])
    complete = norms.complete or bool((inverse > 0).all())  # every word is worth something
    return Norms(norms.of, tuple(squares), frozen(inverse), complete)


@njit(cache=True, nogil=True)
def _invert(squares, inverse):  # type: ignore[no-untyped-def]
    """Write down 1 / the norm for squared norms; 0 for none."""
    for entry in range(len(squares)):
        norm = np.sqrt(np.float64(squares[entry])) / RARITY_STEPS
        inverse[entry] = 1 / norm if squares[entry] > 0 else 0
