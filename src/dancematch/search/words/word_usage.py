"""How often entries have each word: all that the idf depends on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class DocumentFrequencies(NamedTuple):
    """Word counts over some entries; cells are words of channels, channel by channel."""

    entries: int
    documents: NDArray[np.int64]  # [cells] entries that have the word
    totals: NDArray[np.int64]  # [cells] how often they have it in all


def add_usages(parts: Sequence[DocumentFrequencies]) -> DocumentFrequencies:
    """Return the usage of all shards together, at least one."""
    entries, documents, totals = zip(*parts, strict=True)
    return DocumentFrequencies(sum(entries), np.sum(documents, axis=0), np.sum(totals, axis=0))
