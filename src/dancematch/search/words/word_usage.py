"""How often words are used: all that the worth of a word depends on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class WordUsage(NamedTuple):
    """How some entries use words; cells are words of channels, channel by channel."""

    entries: int
    documents: NDArray[np.int64]  # [cells] entries that have the word
    totals: NDArray[np.int64]  # [cells] how often they have it in all


def add_usages(parts: Sequence[WordUsage]) -> WordUsage:
    """The usage by the entries of all parts, of which there is at least one."""
    entries, documents, totals = zip(*parts, strict=True)
    return WordUsage(sum(entries), np.sum(documents, axis=0), np.sum(totals, axis=0))
