"""Clips compared by unquantised features: what words lose can be seen against these.

Both methods compare the k-means tokeniser's features of patches (mean and change of the canonical
coordinates). They are baselines, not searches: every patch of every clip is read for each query.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dancematch.evaluation.measures.ranking import Values
from dancematch.model.kmeans import patch_features
from dancematch.model.parts import PARTS7, WHOLE, Parts
from dancematch.motion import canonicalise
from dancematch.types import FloatArray, Motion

PAIRS = 20_000  # of patches, drawn to estimate a body part's median distance
SEED = 0  # of that draw
BATCH = 64  # sequences that a query is warped onto at once


class ClipComparison(Protocol):
    """A way to score the similarity of clips."""

    def scores(self, query: int, candidates: NDArray[np.intp]) -> Values:
        """The similarity of the query and each candidate."""


class DynamicTimeWarping:
    """Whole clips, patch by patch in order, at any tempo.

    Symmetric steps (a diagonal one counts twice): the cost divided by the sum of both lengths is the mean
    along any path (Sakoe and Chiba 1978), and a pair of known clips is compared once.
    """

    def __init__(self, motions: Sequence[Motion], motion_of: Callable[[int], Motion] | None = None) -> None:
        self._motion_of = motion_of
        self._features = [_whole_body_features(motion) for motion in motions]
        pairs = len(motions) if motion_of is None else 0
        self._costs = np.full((pairs, pairs), np.nan, dtype=np.float32)  # NaN: not compared yet

    def scores(self, query: int, candidates: NDArray[np.intp]) -> FloatArray:
        """Minus the mean distance along each candidate's cheapest path."""
        if self._motion_of:
            return -self._warp(_whole_body_features(self._motion_of(query)), candidates)
        new = candidates[np.isnan(self._costs[query, candidates])]
        if len(new):
            self._costs[query, new] = self._costs[new, query] = self._warp(self._features[query], new)
        return np.asarray(-self._costs[query, candidates])

    def _warp(self, own: FloatArray, candidates: NDArray[np.intp]) -> FloatArray:
        """Candidates of similar length are warped together: tables are as long as the longest of them."""
        others = [self._features[place] for place in candidates]
        order = np.argsort([len(other) for other in others], kind="stable")
        costs = np.empty(len(others), dtype=np.float32)
        for first in range(0, len(order), BATCH):
            few = order[first : first + BATCH]
            costs[few] = warping_costs(own, [others[place] for place in few])
        return costs


def warping_costs(query: FloatArray, others: Sequence[FloatArray]) -> FloatArray:
    """The mean distance along the cheapest path from the query through each other sequence.

    All tables are filled together along antidiagonals, whose cells are independent.
    """
    rows, lengths = len(query), np.array([len(other) for other in others])
    longest = int(lengths.max())
    costs = np.full((rows + longest, rows, len(others)), np.inf, dtype=np.float32)  # by antidiagonal and row
    steps = np.arange(rows)
    for place, other in enumerate(others):
        distances = np.sqrt(squared_distances(query, other))
        costs[steps[:, None] + np.arange(len(other)), steps[:, None], place] = distances
    totals = np.full(len(others), np.inf, dtype=np.float32)
    before = latest = np.full((rows, len(others)), np.inf, dtype=np.float32)
    for diagonal in range(rows + longest - 1):
        cost = costs[diagonal]
        best = np.minimum(latest + cost, _shift_rows(latest) + cost)  # one step in either sequence
        best = np.minimum(best, _shift_rows(before) + 2 * cost)  # a step in both
        if diagonal == 0:
            best[0] = 2 * cost[0]
        before, latest = latest, best
        ends = lengths + rows - 2 == diagonal
        totals[ends] = best[rows - 1, ends]
    return np.asarray(totals / (rows + lengths), dtype=np.float32)


def _shift_rows(values: FloatArray) -> FloatArray:
    """Each row's predecessor; infinity for the first."""
    return np.concatenate([np.full_like(values[:1], np.inf), values[:-1]])


class LateInteraction:
    """Each patch of the query with the most similar patch of the other clip, wherever it is.

    The mean similarity per body part, then over the parts: order is ignored, as in histograms, but nothing
    is quantised. Frequency and rarity do not count, so this is no upper bound for words. Similarity is 1 at
    distance 0 and 1/e at the part's median squared distance, as between words.
    """

    def __init__(self, motions: Sequence[Motion], motion_of: Callable[[int], Motion] | None = None) -> None:
        self._motion_of = motion_of
        self._clips = [_features(motion, PARTS7) for motion in motions]
        lengths = [len(parts[0]) for parts in self._clips]
        self._firsts = np.cumsum([0, *lengths[:-1]])  # each clip's first patch
        self._parts = [np.concatenate(rows) for rows in zip(*self._clips, strict=True)]  # [patches, features]
        self._scales = [median_square(rows) for rows in self._parts]
        self._rows: dict[int, FloatArray] = {}

    def scores(self, query: int, candidates: NDArray[np.intp]) -> FloatArray:
        """The mean similarity of the query's patches to each candidate's nearest ones."""
        if query not in self._rows:
            self._rows[query] = self._score_clips(query)
        return self._rows[query][candidates]

    def _score_clips(self, query: int) -> FloatArray:
        own = _features(self._motion_of(query), PARTS7) if self._motion_of else self._clips[query]
        by_part = []
        for rows, known, scale in zip(own, self._parts, self._scales, strict=True):
            seen = rows[np.isfinite(rows).all(axis=1)]
            if not len(seen):
                continue
            squares = np.nan_to_num(squared_distances(seen, known), nan=np.inf)
            nearest = np.minimum.reduceat(squares, self._firsts, axis=1)  # [patches, clips]
            by_part.append(np.exp(-nearest / scale).mean(axis=0))
        if not by_part:
            return np.zeros(len(self._firsts), dtype=np.float32)
        return np.asarray(np.mean(by_part, axis=0), dtype=np.float32)


WORDLESS_METHODS: Mapping[str, type[DynamicTimeWarping] | type[LateInteraction]] = {
    "dtw": DynamicTimeWarping,
    "late-interaction": LateInteraction,
}


def _features(motion: Motion, parts: Parts) -> list[FloatArray]:
    canonical = canonicalise(motion)
    return [patch_features(canonical, joints).astype(np.float32) for joints in parts.values()]


def _whole_body_features(motion: Motion) -> FloatArray:
    return np.nan_to_num(_features(motion, WHOLE)[0])


def squared_distances(first: FloatArray, second: FloatArray) -> FloatArray:
    """Squared distances of all pairs of rows: [first, second]; NaN where a row has NaN."""
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * first @ second.T
    return np.asarray(np.maximum(squares, 0), dtype=np.float32)


def median_square(rows: FloatArray) -> float:
    """The median squared distance of two rows drawn at random."""
    rng = np.random.default_rng(SEED)
    one, other = rng.integers(len(rows), size=(2, PAIRS))
    squares = ((rows[one] - rows[other]) ** 2).sum(axis=1)
    known = squares[np.isfinite(squares) & (squares > 0)]
    return float(np.median(known)) if len(known) else 1.0
