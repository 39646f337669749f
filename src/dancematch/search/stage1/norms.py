"""What depends on all entries together: the idf of each word, and with it every entry's norms.

One entry more or less moves the idf of every word a little, but the idf comes in steps
(`inverse_document_frequency`), so that hardly any word's changes. The next state's norms are therefore the
last one's, corrected for the words whose idf did change; new blocks start from 0. A squared norm is a sum of
integers, the squared idf in squared steps times the squared code of a count, so the corrected one is the
number that columns freshly built of the same entries have.

Letters: C channels, cells = C * K, N entries.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.search.stage1.blocks import EntryBlock, Occurrences, freeze
from dancematch.search.stage1.bounds import CoarseNorms, round_up_norms
from dancematch.search.stage1.histogram import IDF_STEPS
from dancematch.search.stage1.scan import PLACES
from dancematch.types import FloatArray


class Norms(NamedTuple):
    """The norms of one block's entries, the deleted ones included."""

    of: Occurrences
    squares: tuple[NDArray[np.int64], ...]  # per channel: [N] the squared norm, in squared steps and units
    inverse: FloatArray  # [C, N] 1 / the norm, 0 where a channel has no word
    coarse: CoarseNorms  # the same, for bounds
    complete: bool  # whether every entry shows every channel

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        arrays: list[NDArray[Any]] = [self.inverse, *self.coarse, *self.squares]
        return sum(array.nbytes for array in arrays)


class Weights(NamedTuple):
    """The idf of words and the norms of entries."""

    idf: FloatArray  # [cells]
    norms: tuple[Norms, ...]  # one per block


def compute_weights(
    blocks: Sequence[EntryBlock], idf: FloatArray, unit: float, earlier: Weights | None
) -> Weights:
    """Return the weights of blocks for this idf [C, K]; `earlier` ones may save most of the work.

    `unit` is the damped count that a code of 1 stands for.
    """
    levels = _squared_levels(idf)
    known, change = {}, levels
    if earlier is not None:
        known = {id(norms.of): norms for norms in earlier.norms}
        change = levels - _squared_levels(earlier.idf).reshape(levels.shape)
    sums = np.zeros(PLACES, np.int64)
    made = [
        _correct_norms(known[id(block.occurrences)], change, unit, sums)
        if id(block.occurrences) in known
        else _correct_norms(_zero_norms(block, len(idf)), levels, unit, sums)
        for block in blocks
    ]
    return Weights(freeze(idf.ravel()), tuple(made))


def _squared_levels(idf: FloatArray) -> NDArray[np.int64]:
    """The squared idf in squared steps."""
    return np.rint(idf.astype(np.float64) * IDF_STEPS).astype(np.int64) ** 2


def _zero_norms(block: EntryBlock, channels: int) -> Norms:
    """The norms as if every idf were 0."""
    squares = tuple(np.zeros(len(block), np.int64) for _ in range(channels))
    inverse = freeze(np.zeros((channels, len(block)), np.float32))
    return Norms(block.occurrences, squares, inverse, round_up(inverse), False)


def _correct_norms(norms: Norms, change: NDArray[np.int64], unit: float, sums: NDArray[np.int64]) -> Norms:
    """The norms after the squared idf of cells [C, K] changed by this much; `sums` is scratch space."""
    touched = np.flatnonzero(change.any(axis=1))
    if not len(touched):
        return norms
    squares, inverse = list(norms.squares), norms.inverse.copy()
    entries, vocabulary = inverse.shape[1], change.shape[1]
    for channel in touched.tolist():
        words = np.flatnonzero(change[channel])
        sums[:entries] = squares[channel]
        cells = (words + channel * vocabulary).astype(np.uint32)
        _add_squares(norms.of, entries, cells, change[channel, words], sums)
        squares[channel] = freeze(sums[:entries].copy())
        _invert(squares[channel], unit / IDF_STEPS, inverse[channel])
    complete = norms.complete or bool((inverse > 0).all())  # no idf is 0
    coarse = round_up(freeze(inverse), touched.tolist(), norms.coarse)
    return Norms(norms.of, tuple(squares), inverse, coarse, complete)


def round_up(
    inverse: FloatArray, channels: Iterable[int] | None = None, earlier: CoarseNorms | None = None
) -> CoarseNorms:
    """Return inverse norms as bounds read them; `earlier` ones hold for all but these channels."""
    empty: CoarseNorms = np.zeros(inverse.shape, np.uint16), np.zeros(len(inverse), np.float32)
    coarse, steps = empty if earlier is None else (earlier[0].copy(), earlier[1].copy())
    for channel in range(len(inverse)) if channels is None else channels:
        steps[channel] = round_up_norms(inverse[channel], coarse[channel])
    return freeze(coarse), freeze(steps)


@kernel
def _add_squares(occurrences, entries, cells, weights, sums):  # type: ignore[no-untyped-def]
    """Add each cell's weight times the squared code to every entry that has the cell."""
    (groups, codes, ends, places), (rows, nibbles) = occurrences
    shares, half = np.zeros(16, np.int64), nibbles.shape[1]
    for at in range(len(cells)):
        cell, weight = cells[at], weights[at]
        for group in range(groups[cell], groups[cell + 1]):
            share = weight * np.int64(codes[group]) ** 2
            for place in places[ends[group] : ends[group + 1]]:
                sums[place] += share
        if rows[cell] >= 0:
            shares[:] = weight * np.arange(16) ** 2
            own = nibbles[rows[cell]]
            for place in range(half):
                sums[place] += shares[own[place] & 15]
            for place in range(half, entries):
                sums[place] += shares[own[place - half] >> 4]


@kernel
def _invert(squares, unit, inverse):  # type: ignore[no-untyped-def]
    """Write 1 / the norm for squared norms in squared units; 0 for none."""
    for entry in range(len(squares)):
        norm = unit * np.sqrt(np.float64(squares[entry]))
        inverse[entry] = 1 / norm if squares[entry] > 0 else 0
