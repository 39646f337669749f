"""How sure: what score would an unrelated dance have reached?

Two crowds answer that for each query: the model's background of ordinary dances, and
the other dances of the catalogue, which may be more like the query (same studio, same
camera). The more sceptical crowd decides.
"""

import math

import numpy as np

from dancematch.types import FloatArray

MAX_EVALUE = 0.01  # the default decision: chance alone gives a match as good once in a hundred searches
CROWD = 5  # fewer scores than this say nothing about a distribution
_SMALLEST_SPREAD = 0.01


def evalue(score: float, crowds: list[FloatArray], dances: int) -> float:
    """How many of `dances` unrelated dances would score at least `score`."""
    deviations = [_deviations(score, crowd) for crowd in crowds if len(crowd) >= CROWD]
    if not deviations:
        return float(dances)
    return dances * math.erfc(min(deviations) / math.sqrt(2)) / 2


def _deviations(score: float, crowd: FloatArray) -> float:
    """How far `score` stands above the crowd, in standard deviations.

    Median and median deviation, because the crowd may hold another take of the very dance.
    """
    middle = float(np.median(crowd))
    spread = 1.4826 * float(np.median(np.abs(crowd - middle)))
    return (score - middle) / max(spread, _SMALLEST_SPREAD)
