"""Learn how much each metric counts, from questions whose answers are known.

Each question has candidates, some of them right. The weights are those under which a right one is
most probably first: a softmax over the candidates' scores, maximised by exponentiated gradients,
which keep every weight above 0 and their sum 1. Questions of one group (one dance) are never
in training and test at the same time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.search.metrics.registry import combine
from dancematch.types import FloatArray

SHARPNESS = 40.0  # of the softmax: a lead of .05 makes odds of about seven to one
STEPS = 300
RATE = 0.5
FOLDS = 5
LEAST = 0.005  # a smaller weight is 0: it would cost its metric's time for nothing


@dataclass(frozen=True, eq=False)
class RankingQuestion:
    """A query whose dance is known, and each metric's values of its candidates."""

    group: str  # questions of one group are about the same dance
    parts: dict[str, FloatArray]  # by metric, [candidates]
    right: NDArray[np.bool_]  # [candidates]

    @property
    def asks(self) -> bool:
        """Whether it has right and wrong candidates: any other says nothing about weights."""
        return bool(self.right.any() and not self.right.all())


@dataclass(frozen=True)
class FittedWeights:
    """Weights, and how often a right candidate came first with weights learnt from other groups."""

    weights: dict[str, float]
    rank1: float
    questions: int


def fit_weights(
    questions: Sequence[RankingQuestion], metrics: Sequence[str], *, seed: int = 0
) -> FittedWeights:
    """Return weights of `metrics` fitted to all questions, and their cross-validated rank 1."""
    asked = [one for one in questions if one.asks]
    groups = sorted({one.group for one in asked})
    if len(groups) < 2:
        raise InputError(
            f"weights are learnt from dances that come in several performances; {len(groups)} such "
            "is too few: two dances or more with two recordings or more each are needed"
        )
    folds = np.random.default_rng(seed).permutation(len(groups)) % min(FOLDS, len(groups))
    fold_of = dict(zip(groups, folds.tolist(), strict=True))
    hits = []
    for fold in range(max(fold_of.values()) + 1):
        learnt = _learn([one for one in asked if fold_of[one.group] != fold], metrics)
        hits += [first_is_right(one, learnt) for one in asked if fold_of[one.group] == fold]
    return FittedWeights(_learn(asked, metrics), float(np.mean(hits)), len(asked))


def first_is_right(question: RankingQuestion, weights: dict[str, float]) -> bool:
    """Whether a right candidate stands first; a tie counts against it."""
    scores = combine(question.parts, weights)
    return bool(scores[question.right].max() > scores[~question.right].max())


def _learn(questions: Sequence[RankingQuestion], metrics: Sequence[str]) -> dict[str, float]:
    longest = max(len(one.right) for one in questions)
    table = np.zeros(
        (len(questions), len(metrics), longest), dtype=np.float32
    )  # [questions, metrics, candidates]
    right = np.zeros((len(questions), longest), dtype=np.bool_)
    there = np.zeros_like(right)
    for number, one in enumerate(questions):
        count = len(one.right)
        table[number, :, :count] = [np.nan_to_num(one.parts[name]) for name in metrics]
        right[number, :count], there[number, :count] = one.right, True
    weights = np.full(len(metrics), 1 / len(metrics))
    for step in range(STEPS):
        scores = np.where(there, SHARPNESS * np.einsum("m,qmn->qn", weights, table), -np.inf)
        lead = _chances(np.where(right, scores, -np.inf)) - _chances(scores)
        # How the mean log-probability that a right candidate comes first grows with each weight.
        gradient = np.einsum("qmn,qn->m", table, lead) / len(questions)
        weights *= np.exp(RATE * (1 - step / STEPS) * gradient)
        weights /= weights.sum()
    return _rounded(metrics, np.where(weights < LEAST, 0, weights))


def _chances(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """The softmax of each row."""
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _rounded(metrics: Sequence[str], weights: NDArray[np.floating]) -> dict[str, float]:
    shares = weights / weights.sum()
    kept = {name: round(float(share), 3) for name, share in zip(metrics, shares, strict=True) if share > 0}
    heaviest = max(kept, key=lambda name: kept[name])
    kept[heaviest] = round(kept[heaviest] + 1 - sum(kept.values()), 3)  # what rounding took or gave
    return kept
