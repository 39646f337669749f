"""How sure: what score would an unrelated dance have reached?

Two crowds answer: the model's background of ordinary dances, and other dances of the
catalogue, which may be more like the query altogether (same studio, same camera). The best
of many unrelated dances is what a match must beat, so it is the upper half of the background
that gives the spread: a normal tail through its median and its 95th percentile. Where the
catalogue's own dances lie higher, the whole tail is moved up to them.
"""

import math

import numpy as np

from dancematch.types import FloatArray

MAX_EVALUE = 0.05  # the default decision
FEWEST = 20  # fewer scores than this say nothing about a tail
ANOTHER_TAKE = 0.01  # a peer this far above the background may be the same dance: it is no judge
WIDENING = 1.2  # real tails are heavier than a normal one; eval/calibration.py fits this
_LEAST_SPREAD = 0.02  # of the score: a narrower crowd is chance
_DEVIATIONS_AT_95 = 1.645  # where a normal distribution has its 95th percentile


def evalue(score: float, background: FloatArray, peers: FloatArray, dances: int) -> float:
    """How many of `dances` unrelated dances would score at least `score`.

    `background` and `peers` are scores of dances that are not this one. Without a background
    there is no telling: every dance might.
    """
    if len(background) < FEWEST:
        return float(dances)
    middle, spread = _tail(background)
    unrelated = peers[dances * _chance(_stretched(peers), middle, spread) > ANOTHER_TAKE]
    if len(unrelated):
        peers_middle, peers_spread = _tail(unrelated)
        middle = max(middle, peers_middle)
        spread = max(spread, peers_spread) if len(unrelated) >= FEWEST else spread
    return float(dances * _chance(_stretched(np.array([score])), middle, spread)[0])


def _chance(stretched: FloatArray, middle: float, spread: float) -> FloatArray:
    """The share of unrelated dances that lie beyond each of the scores."""
    deviations = (stretched - middle) / (WIDENING * spread)
    return np.array([math.erfc(value / math.sqrt(2)) / 2 for value in deviations])


def _tail(crowd: FloatArray) -> tuple[float, float]:
    """Middle and spread of the normal distribution that has the crowd's median and 95th percentile."""
    middle, high = (float(value) for value in np.quantile(_stretched(crowd), [0.5, 0.95]))
    return middle, max((high - middle) / _DEVIATIONS_AT_95, _LEAST_SPREAD)


def _stretched(scores: FloatArray) -> FloatArray:
    """Scores on a scale without an upper end, where the step from .8 to .9 counts more than from .2 to .3."""
    return np.asarray(-np.log1p(-np.minimum(scores, 0.999)))
