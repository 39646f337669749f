"""How good a ranking is: the paper's three numbers, recall at k, mean average precision.

A rank is that of a query's best right answer, 1 = first. Right and wrong answers with the same
score count against us: the wrong ones stand first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

RANK_SCORES = (1.0, 0.5, 0.25)  # what a first right answer at rank 1, 2 or 3 is worth
RANKS_SHOWN = 10  # of a distribution; what comes later is one share
LATER = "later"

Numbers = NDArray[np.float64]
Values = NDArray[np.floating[Any]]  # in any precision


@dataclass(frozen=True)
class Scores:
    """The paper's numbers over a set of queries."""

    mean_score: float
    match_rate: float  # share of queries with a right answer among the first three
    rank1: float
    queries: int


def score_ranks(ranks: Sequence[int]) -> Scores:
    """Score the rank of each query's best right answer."""
    return Scores(
        mean_score=float(rank_scores(ranks).mean()),
        match_rate=recall_at(ranks, len(RANK_SCORES)),
        rank1=recall_at(ranks, 1),
        queries=len(ranks),
    )


def rank_scores(ranks: ArrayLike) -> Numbers:
    """What each query is worth in the mean score: 1, .5 or .25 at the first three ranks, then nothing."""
    worth = np.array([*RANK_SCORES, 0.0])
    return np.asarray(worth[np.minimum(_checked(ranks), len(worth)) - 1])


def recall_at(ranks: ArrayLike, k: int) -> float:
    """The share of queries with a right answer among the first `k`."""
    return float((_checked(ranks) <= k).mean())


def rank_distribution(ranks: ArrayLike, shown: int = RANKS_SHOWN) -> Mapping[str, float]:
    """The share of queries at each of the first ranks, and at any later one."""
    places = np.minimum(_checked(ranks), shown + 1)
    shares = np.bincount(places, minlength=shown + 2)[1:] / len(places)
    names = [*map(str, range(1, shown + 1)), LATER]
    return dict(zip(names, shares.tolist(), strict=True))


def rank_of(scores: Values, right: NDArray[np.bool_]) -> int:
    """The rank of the best right answer."""
    return 1 + int((scores[~right] >= scores[right].max()).sum())


def average_precision(scores: Values, right: NDArray[np.bool_]) -> float:
    """The mean, over one query's right answers, of the share of right ones down to each."""
    if not right.any():
        raise ValueError("no right answer, no precision")
    order = np.lexsort((right, -scores))  # among equals the wrong ones first
    places = 1 + np.flatnonzero(right[order])
    return float((np.arange(1, len(places) + 1) / places).mean())


def _checked(ranks: ArrayLike) -> NDArray[np.intp]:
    places = np.asarray(ranks, dtype=np.intp)
    if not places.size:
        raise ValueError("no query, no score")
    if places.min() < 1:
        raise ValueError(f"ranks begin at 1, got {places.min()}")
    return places
