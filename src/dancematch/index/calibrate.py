"""How sure: what score would an unrelated dance have reached?

The crowd that answers is the model's background of ordinary dances, together with the
other dances of the catalogue once they are many. The best of many unrelated dances is what
a match must beat, so it is the upper half of the crowd that counts: a normal tail through
its median and its 95th percentile.
"""

import math

import numpy as np

from dancematch.types import FloatArray

MAX_EVALUE = 0.05  # the default decision
FEWEST = 40  # fewer scores than this say nothing about a tail
WIDENING = 1.2  # real tails are heavier than a normal one; eval/calibration.py fits this
_LEAST_SPREAD = 0.02  # of the score: a narrower crowd is chance
_DEVIATIONS_AT_95 = 1.645  # where a normal distribution has its 95th percentile


def evalue(score: float, crowd: FloatArray, dances: int) -> float:
    """How many of `dances` unrelated dances would score at least `score`.

    Without a crowd there is no telling: every one of them might.
    """
    if len(crowd) < FEWEST:
        return float(dances)
    middle, high = (float(value) for value in np.quantile(_stretched(crowd), [0.5, 0.95]))
    spread = WIDENING * max((high - middle) / _DEVIATIONS_AT_95, _LEAST_SPREAD)
    beyond = float(_stretched(np.float32(score))) - middle
    return dances * math.erfc(beyond / spread / math.sqrt(2)) / 2


def _stretched(scores: FloatArray | np.float32) -> FloatArray:
    """Scores on a scale without an upper end, where the step from .8 to .9 counts more than from .2 to .3."""
    return np.asarray(-np.log1p(-np.minimum(scores, 0.999)))
