"""Percentile bootstrap: intervals of figures, from queries drawn anew with replacement.

Queries of one choreography, or by one dancer, fail together: drawn one by one they make an interval too
narrow. With `clusters`, one label per query, all queries of a label are drawn together. The same seed gives
the same interval. A figure without exception (all right, none accepted) has an interval without width; the
rule of three, 3 / queries, bounds what may still go wrong.
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
    """The interval of a mean of values, one per query."""
    numbers = np.asarray(values, dtype=np.float64)
    labels = _number_labels(clusters if clusters is not None else range(len(numbers)), len(numbers))
    sums, counts = np.bincount(labels, numbers), np.bincount(labels)
    rng = np.random.default_rng(seed)
    means = np.empty(draws)
    for draw in range(draws):
        chosen = rng.integers(len(sums), size=len(sums))
        means[draw] = sums[chosen].sum() / counts[chosen].sum()
    return _central_interval(means, level)


def bootstrap_interval(
    statistic: Callable[..., float],
    *samples: Sequence[Hashable],
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval:
    """The interval of any figure computed from one or more sets of queries.

    A sample holds the cluster label of each of its queries (`range(n)` without clusters); `statistic` gets
    the indices of the queries drawn, one array per sample.
    """
    members = [_cluster_members(sample) for sample in samples]
    rng = np.random.default_rng(seed)
    figures = [statistic(*(_draw_clusters(groups, rng) for groups in members)) for _ in range(draws)]
    return _central_interval(np.array(figures), level)


def _cluster_members(clusters: Sequence[Hashable]) -> list[NDArray[np.intp]]:
    labels = _number_labels(clusters, len(clusters))
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _draw_clusters(groups: Sequence[NDArray[np.intp]], rng: np.random.Generator) -> NDArray[np.intp]:
    return np.concatenate([groups[place] for place in rng.integers(len(groups), size=len(groups))])


def _number_labels(clusters: Sequence[Hashable], queries: int) -> NDArray[np.intp]:
    """The labels as numbers from 0, by first occurrence."""
    if not queries or len(clusters) != queries:
        raise ValueError(f"one label per query is needed, got {len(clusters)} for {queries} queries")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in clusters], dtype=np.intp)


def _central_interval(values: NDArray[np.float64], level: float) -> Interval:
    outside = (1 - level) / 2
    low, high = np.quantile(values, [outside, 1 - outside])
    return float(low), float(high)
