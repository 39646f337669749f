"""How good a ranking is: the paper's three numbers, recall at k, average precision.

A rank is that of a query's best right answer, 1 = first. Among equal scores the wrong answers stand first.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

RANK_SCORES = (1.0, 0.5, 0.25)  # of a first right answer at rank 1, 2 or 3
RANKS_SHOWN = 10  # of a distribution; later ranks are one share
LATER = "later"

Numbers = NDArray[np.float64]
Values = NDArray[np.floating[Any]]  # in any precision


def score_ranks(ranks: ArrayLike) -> Numbers:
    """Each query's part of the mean score: 1, .5 or .25 at the first three ranks, then 0."""
    scores = np.array([*RANK_SCORES, 0.0])
    return np.asarray(scores[np.minimum(_require_ranks(ranks), len(scores)) - 1])


def recall_at(ranks: ArrayLike, k: int) -> float:
    """The share of queries with a right answer among the first `k`."""
    return float((_require_ranks(ranks) <= k).mean())


def rank_distribution(ranks: ArrayLike, shown: int = RANKS_SHOWN) -> Mapping[str, float]:
    """The share of queries at each of the first ranks, and at any later one."""
    places = np.minimum(_require_ranks(ranks), shown + 1)
    shares = np.bincount(places, minlength=shown + 2)[1:] / len(places)
    names = [*map(str, range(1, shown + 1)), LATER]
    return dict(zip(names, shares.tolist(), strict=True))


def rank_of(scores: Values, right: NDArray[np.bool_]) -> int:
    """The rank of the best right answer."""
    return 1 + int((scores[~right] >= scores[right].max()).sum())


def average_precision(scores: Values, right: NDArray[np.bool_]) -> float:
    """The precision at each right answer of one query, averaged over these."""
    if not right.any():
        raise ValueError("average precision needs a right answer")
    order = np.lexsort((right, -scores))  # among equals the wrong ones first
    places = 1 + np.flatnonzero(right[order])
    return float((np.arange(1, len(places) + 1) / places).mean())


def _require_ranks(ranks: ArrayLike) -> NDArray[np.intp]:
    places = np.asarray(ranks, dtype=np.intp)
    if not places.size:
        raise ValueError("no query to score")
    if places.min() < 1:
        raise ValueError(f"ranks begin at 1, got {places.min()}")
    return places
