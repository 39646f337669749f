"""How sure a figure is: percentile intervals from queries drawn anew, with replacement.

Queries that are takes of one choreography, or are danced by one person, go wrong together: drawn
one by one they seem to say more than they do. With `clusters`, a label a query, all queries of a
label are drawn or not drawn together. The same seed gives the same interval. A figure without a
single exception (all right, none let in) has an interval without width; then "three in as many
queries as there are" is what may still go wrong unseen.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
DRAWS = 1000
SEED = 0

Interval = tuple[float, float]


def mean_interval(
    values: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval:
    """Where the mean of values, one a query, lies."""
    numbers = np.asarray(values, dtype=np.float64)
    labels = _numbered(clusters if clusters is not None else range(len(numbers)), len(numbers))
    sums, counts = np.bincount(labels, numbers), np.bincount(labels)
    rng = np.random.default_rng(seed)
    means = np.empty(draws)
    for draw in range(draws):
        chosen = rng.integers(len(sums), size=len(sums))
        means[draw] = sums[chosen].sum() / counts[chosen].sum()
    return _middle(means, level)


def bootstrap_interval(
    statistic: Callable[..., float],
    *samples: Sequence[Hashable],
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval:
    """Where any figure lies that is computed from one set of queries or more.

    Each sample is the cluster label of each of its queries (`range(n)` if each stands alone);
    `statistic` is given the places of the queries drawn, an array a sample.
    """
    members = [_members(sample) for sample in samples]
    rng = np.random.default_rng(seed)
    found = [statistic(*(_draw(groups, rng) for groups in members)) for _ in range(draws)]
    return _middle(np.array(found), level)


def _members(clusters: Sequence[Hashable]) -> list[NDArray[np.intp]]:
    labels = _numbered(clusters, len(clusters))
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _draw(groups: Sequence[NDArray[np.intp]], rng: np.random.Generator) -> NDArray[np.intp]:
    return np.concatenate([groups[place] for place in rng.integers(len(groups), size=len(groups))])


def _numbered(clusters: Sequence[Hashable], queries: int) -> NDArray[np.intp]:
    """The labels as numbers from 0, in the order in which they first come."""
    if not queries or len(clusters) != queries:
        raise ValueError(f"a label a query is needed, got {len(clusters)} for {queries} queries")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in clusters], dtype=np.intp)


def _middle(values: NDArray[np.float64], level: float) -> Interval:
    outside = (1 - level) / 2
    low, high = np.quantile(values, [outside, 1 - outside])
    return float(low), float(high)
