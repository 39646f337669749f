"""How sure: what score would an unrelated dance have reached?

Two crowds answer: the model's background of ordinary dances, and other dances of the
catalogue (not other takes of the one that is judged: `takes.py`), which may be more like the
query altogether (same studio, same camera). The best of many unrelated dances is what a match
must beat, so it is the upper half of a crowd that gives the spread: a normal tail through its
median and its 95th percentile. The more sceptical of the two crowds decides, about the middle
and about the spread.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from dancematch.types import FloatArray

MAX_EVALUE = 0.05  # the default decision
FEWEST = 20  # fewer scores than this say nothing about a tail
FEWEST_PEERS = 8  # fewer peers than this tell a middle, but no spread
# Where the middle lies at least, as long as too few peers tell: dances of one style are more alike than
# the background knows. One known dance would otherwise be taken for most others of its style.
STRANGER = 0.38
WIDENING = 1.2  # real tails are heavier than a normal one; the suite open-set shows what this lets in
_LEAST_SPREAD = 0.08  # a clip that nobody resembles at all has a narrower crowd, which says nothing
_NORMAL = NormalDist()


def evalue(score: float, background: FloatArray, peers: FloatArray, trials: int) -> float:
    """How many of `trials` comparisons with unrelated dances would score at least `score`.

    `background` and `peers` are scores of dances that are not this one. Without a background
    there is no telling: every comparison might.
    """
    return float(evalues(np.array([score]), background, peers, trials)[0])


def evalues(scores: FloatArray, background: FloatArray, peers: FloatArray, trials: int) -> FloatArray:
    """`evalue` of several dances, none of which is among the others."""
    if len(background) < FEWEST:
        return np.full(len(scores), float(trials))
    middle, spread = _tail(background)
    if len(peers):
        middle = max(middle, _quantile(np.sort(_stretched(peers)).tolist(), 0.5))
    if len(peers) >= FEWEST_PEERS:
        spread = max(spread, _tail(peers)[1])
    else:
        middle = max(middle, STRANGER)
    return np.asarray(trials * _chance(_stretched(scores), middle, spread))


def _chance(stretched: FloatArray, middle: float, spread: float) -> FloatArray:
    """The share of unrelated dances that lie beyond each of the scores."""
    deviations = (stretched - middle) / (WIDENING * spread)
    return np.array([math.erfc(value / math.sqrt(2)) / 2 for value in deviations])


def _tail(crowd: FloatArray) -> tuple[float, float]:
    """Middle and spread of the normal distribution that has the crowd's median and its upper end.

    The upper end is the 95th percentile; in a crowd of fewer than twenty it is the second best,
    because the best may be another take of the dance.
    """
    stretched = np.sort(_stretched(crowd)).tolist()
    count = len(stretched)
    high = stretched[-2] if count < FEWEST else _quantile(stretched, 0.95)
    share = (count - 1) / (count + 1) if count < FEWEST else 0.95
    middle = _quantile(stretched, 0.5)
    return middle, max((high - middle) / _NORMAL.inv_cdf(share), _LEAST_SPREAD)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """As `np.quantile`, which takes longer to begin than a crowd takes."""
    below, part = divmod(share * (len(ordered) - 1), 1)
    low, high = ordered[int(below)], ordered[min(int(below) + 1, len(ordered) - 1)]
    return low + part * (high - low)


def _stretched(scores: FloatArray) -> FloatArray:
    """Scores on a scale without an upper end, where the step from .8 to .9 counts more than from .2 to .3."""
    return np.asarray(-np.log1p(-np.minimum(scores, 0.999)))
