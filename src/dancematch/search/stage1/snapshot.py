"""One state of the columns (`columns.py`), which a reader works on while others write."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.search.stage1.blocks import EntryBlock
from dancematch.search.stage1.histogram import (
    UNITS,
    Weighting,
    count_codes,
    inverse_document_frequency,
    query_weights,
)
from dancematch.search.stage1.norms import Norms, Weights, compute_weights
from dancematch.search.stage1.scan import QueryCells, quantise_weights
from dancematch.search.words.word_usage import DocumentFrequencies
from dancematch.types import FloatArray


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The entries at one moment; nothing in it changes."""

    blocks: tuple[EntryBlock, ...]
    channels: int
    cells: int
    weighting: Weighting
    stored: Weights | None = None  # the weights, if they come from a file
    among: DocumentFrequencies | None = None  # the usage of all shards, if this is one of several
    # The last weights computed before this state, if any; dropped once this state has its own.
    earlier: list[Weights] = field(default_factory=list)

    @cached_property
    def entries(self) -> int:
        """The number of entries that are not deleted."""
        return sum(block.living for block in self.blocks)

    @cached_property
    def usage(self) -> DocumentFrequencies:
        """How often these entries have each word."""
        documents, codes, squares = sum(
            (one.usage for one in self.blocks), np.zeros((3, self.cells), np.int64)
        )
        # The square of a root is the count, but for rounding.
        return DocumentFrequencies(self.entries, documents, codes if self.weighting == "cosine" else squares)

    @cached_property
    def weights(self) -> Weights:
        """The idf of words and the norms of entries, computed on first use."""
        if self.stored is not None:
            return self.stored
        usage = self.among or self.usage
        idf = inverse_document_frequency(usage.documents, usage.entries, self.weighting).reshape(
            self.channels, -1
        )
        made = compute_weights(self.blocks, idf, UNITS[self.weighting], next(iter(self.earlier), None))
        self.earlier.clear()
        return made

    @property
    def latest(self) -> list[Weights]:
        """The weights, if they are computed already, or else those before them: one at most."""
        made = self.stored or self.__dict__.get("weights")
        return [made] if made else self.earlier[:]

    def parts(self) -> Iterator[tuple[EntryBlock, Norms]]:
        """Each block with its norms."""
        return zip(self.blocks, self.weights.norms, strict=True)

    def query_cells(self, query: NDArray[Any], seen: FloatArray) -> QueryCells:
        """Return a query of counts [C, K], also fractions, and shares [C] as the kernels read it."""
        idf = self.weights.idf.reshape(query.shape).astype(np.float64)
        weights = query_weights(query, idf, self.weighting)
        whole, units = quantise_weights(weights, int(count_codes(self.weighting)[-1]))
        cells = np.flatnonzero(whole).astype(np.uint32)
        cuts = np.searchsorted(cells, np.arange(self.channels + 1) * query.shape[1]).astype(np.uint32)
        return cells, whole.ravel()[cells], cuts, seen, (units * UNITS[self.weighting]).astype(np.float32)

    def find(self, row: int) -> tuple[int, int]:
        """Return the number of the block that an entry is in, and its place there."""
        number = bisect_right(self.blocks, row, key=lambda block: int(block.ids[0])) - 1
        if number >= 0:
            block = self.blocks[number]
            place = int(np.searchsorted(block.ids, row))
            if place < len(block) and block.ids[place] == row and block.alive[place]:
                return number, place
        raise InputError(f"there is no entry {row}; it was never added, or was removed")
