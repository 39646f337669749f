"""How good a ranking is: the paper's three numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

RANK_SCORES = (1.0, 0.5, 0.25)  # what a first right answer at rank 1, 2 or 3 is worth


@dataclass(frozen=True)
class Scores:
    """The paper's numbers over a set of queries."""

    mean_score: float
    match_rate: float  # share of queries with a right answer among the first three
    rank1: float
    queries: int


def score_ranks(ranks: Sequence[int]) -> Scores:
    """Score the rank (1 = first) of each query's best right answer."""
    if not ranks:
        raise ValueError("no query, no score")
    worth = [RANK_SCORES[rank - 1] if rank <= len(RANK_SCORES) else 0.0 for rank in ranks]
    count = len(ranks)
    return Scores(
        mean_score=sum(worth) / count,
        match_rate=sum(rank <= len(RANK_SCORES) for rank in ranks) / count,
        rank1=sum(rank == 1 for rank in ranks) / count,
        queries=count,
    )
