"""How sure: what score would an unrelated dance have reached?

The crowd that answers is the model's background of ordinary dances, together with the
other dances of the catalogue once they are many. Unrelated dances differ in how alike they
are to a query, and the best of many is what counts; so the upper tail of the crowd is
fitted (an exponential above its ninth decile: peaks over threshold), not its middle.
"""

import math

import numpy as np

from dancematch.types import FloatArray

MAX_EVALUE = 0.01  # the default decision: chance alone gives a match as good once in a hundred searches
TAIL = 0.1  # the share of the crowd that the tail is fitted on
FEWEST = 50  # fewer scores than this have no tail to speak of
_LEAST_SCALE = 0.02  # of the score: below this a tail is narrower than fifty background dances can show


def evalue(score: float, crowd: FloatArray, dances: int) -> float:
    """How many of `dances` unrelated dances would score at least `score`.

    The tail's scale comes from the median excess, because the crowd may hold other takes
    of the very dance, and a mean would follow them. Without a crowd there is no telling:
    every dance might.
    """
    if len(crowd) < FEWEST:
        return float(dances)
    start = float(np.quantile(crowd, 1 - TAIL))
    scale = max(float(np.median(crowd[crowd >= start] - start)) / math.log(2), _LEAST_SCALE)
    if score <= start:
        return dances * float((crowd >= score).mean())
    return dances * TAIL * math.exp(-(score - start) / scale)
