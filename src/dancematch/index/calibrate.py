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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.types import FloatArray

MAX_EVALUE = 0.05  # the default decision
FEWEST = 20  # fewer scores than this say nothing about a tail
FEWEST_DANCES = 5  # fewer dances than this tell a middle, but no spread
# Where the middle lies at least as long as nobody tells, less so with every dance that does: those of one
# style are more alike than the background knows. One known dance would else be taken for most of its style.
STRANGER = 0.38
ENOUGH_DANCES = 10  # tell by themselves how alike strangers are
WIDENING = 1.2  # real tails are heavier than a normal one; the suite open-set shows what this lets in
_LEAST_SPREAD = 0.08  # a clip that nobody resembles at all has a narrower crowd, which says nothing
_NORMAL = NormalDist()


class Tail(NamedTuple):
    """The normal distribution that has a crowd's median and its 95th percentile."""

    middle: float
    spread: float


class Judging(NamedTuple):
    """What other dances of the catalogue score, and which of these are takes of one: the same number."""

    scores: FloatArray
    dances: NDArray[np.int64]


NOBODY = Judging(np.zeros(0, np.float32), np.zeros(0, np.int64))


def tail_of(scores: FloatArray) -> Tail | None:
    """How a crowd's scores are spread; None if there are too few to tell."""
    return _tail(sorted(_stretched(scores).tolist())) if len(scores) >= FEWEST else None


def evalues(scores: FloatArray, background: Tail | None, peers: Judging, trials: int) -> FloatArray:
    """How many of `trials` comparisons with unrelated dances would score at least as much as each score.

    `background` and `peers` are dances that are not the one of the score. Without a background there
    is no telling: every comparison might.
    """
    if background is None:
        return np.full(len(scores), float(trials))
    middle, spread = background
    ordered, dances = sorted(_stretched(peers.scores).tolist()), len(set(peers.dances.tolist()))
    if ordered:
        middle = max(middle, _quantile(ordered, 0.5))
    middle = max(middle, STRANGER * (1 - dances / ENOUGH_DANCES))
    if len(ordered) >= FEWEST and dances >= FEWEST_DANCES:
        spread = max(spread, _tail(ordered).spread)
    elif dances >= FEWEST_DANCES:
        spread = max(spread, _spread_of_few(peers))
    return np.asarray(trials * _chance(_stretched(scores), middle, spread))


def _spread_of_few(peers: Judging) -> float:
    """By the second best dance: the best may be the one in question."""
    stretched = _stretched(peers.scores)
    others = stretched[peers.dances != peers.dances[stretched.argmax()]]
    share = len(others) / (len(others) + 2)  # that lie below the best of them, on the mean
    return float(others.max() - np.median(stretched)) / _NORMAL.inv_cdf(share)


def _chance(stretched: FloatArray, middle: float, spread: float) -> FloatArray:
    """The share of unrelated dances that lie beyond each of the scores."""
    deviations = (stretched - middle) / (WIDENING * spread)
    return np.array([math.erfc(value / math.sqrt(2)) / 2 for value in deviations])


def _tail(ordered: Sequence[float]) -> Tail:
    middle = _quantile(ordered, 0.5)
    return Tail(middle, max((_quantile(ordered, 0.95) - middle) / _NORMAL.inv_cdf(0.95), _LEAST_SPREAD))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """As numpy's, which takes longer to begin than these few numbers take to sort."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _stretched(scores: FloatArray) -> FloatArray:
    """Scores on a scale without an upper end, where the step from .8 to .9 counts more than from .2 to .3."""
    return np.asarray(-np.log1p(-np.minimum(scores, 0.999)))
