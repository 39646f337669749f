"""Verdicts refitted on decisions about possible matches: one offset, added to the log likelihood ratio.

An E-value of E says that E dances are as near by accident. If every second clip shows a dance of the
catalogue, the odds that a possible match is right are then 1 to E. Decisions say how often possible matches
were right, and the offset is the shift, in decades, under which these odds fit them best: a logistic
regression whose slope is that of the shipped calibration and whose intercept alone is fitted, with a prior
that is centred at 0.

It rests on possible matches alone, a narrow band of ratios: nothing was decided about matches, nor about
what was no match. What it learns may be that the ratios are too small or too large for these dances, or that
more or fewer of the clips show a known dance; the verdicts are better for either.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dancematch.errors import InputError
from dancematch.search.confidence.verdict import evalue_of, shipped_calibration
from dancematch.types import MAX_OFFSET

PRIOR_DECADES = 0.3  # standard deviation of the prior: a handful of decisions moves the offset little
LEAST_DECISIONS = 10
LEAST_OF_A_KIND = 3
FOLDS = 10
_PRECISION = 1e-6  # decades


@dataclass(frozen=True)
class DecidedMatch:
    """A possible match that was decided on."""

    evalue: float  # as the shipped calibration gives it
    same: bool  # whether it is the same dance
    clip: str  # what it is about; decisions about one clip are never in fit and test at the same time

    @property
    def log_odds(self) -> float:
        """That it is right, in decades."""
        return -math.log10(self.evalue)


@dataclass(frozen=True)
class OffsetFit:
    """An offset, and how well the odds fit the decisions without it and with it."""

    offset: float  # decades
    decisions: int
    same: int  # of the decisions
    cost_before: float  # empirical cross-entropy in bits per decision; 0 is perfect
    cost_after: float  # of decisions about clips that the offset was not fitted on

    @property
    def helps(self) -> bool:
        """Whether the odds fit other decisions better with it."""
        return self.cost_after < self.cost_before


def fit_offset(decided: Sequence[DecidedMatch]) -> OffsetFit:
    """Fit the offset; too few decisions, or hardly any of one kind, are refused."""
    same = sum(one.same for one in decided)
    if len(decided) < LEAST_DECISIONS or min(same, len(decided) - same) < LEAST_OF_A_KIND:
        raise InputError(
            f"{len(decided)} possible matches are decided, {same} of them the same dance: to refit the "
            f"verdicts takes {LEAST_DECISIONS}, with {LEAST_OF_A_KIND} or more that are and "
            f"{LEAST_OF_A_KIND} or more that are not"
        )
    return OffsetFit(
        offset=best_offset(decided),
        decisions=len(decided),
        same=same,
        cost_before=sum(_bits(one, 0.0) for one in decided) / len(decided),
        cost_after=_cross_validate(decided),
    )


def best_offset(decided: Sequence[DecidedMatch]) -> float:
    """Return the likeliest offset under the prior, within its bounds, to three decimals."""
    low, high = -MAX_OFFSET, MAX_OFFSET
    while high - low > _PRECISION:  # the slope falls with the offset
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(decided, middle) > 0 else (low, middle)
    return round((low + high) / 2, 3) + 0.0  # no negative zero


def _slope(decided: Sequence[DecidedMatch], offset: float) -> float:
    """Return how much the logarithm of the likelihood, with the prior, rises at an offset."""
    missing = math.fsum(one.same - _probability(one.log_odds + offset) for one in decided)
    return math.log(10) * missing - offset / PRIOR_DECADES**2


def _probability(log_odds: float) -> float:
    return float(1 / (1 + 10.0 ** min(-log_odds, 300.0)))


def _bits(one: DecidedMatch, offset: float) -> float:
    """Return the cost of one decision: of 1 bit if the odds are even."""
    against = (-1 if one.same else 1) * (one.log_odds + offset)
    return math.log2(1 + 10.0 ** min(against, 300.0))


def _cross_validate(decided: Sequence[DecidedMatch]) -> float:
    clips = {clip: number for number, clip in enumerate(sorted({one.clip for one in decided}))}
    cost = 0.0
    for fold in range(FOLDS):
        kept = [one for one in decided if clips[one.clip] % FOLDS != fold]
        tested = [one for one in decided if clips[one.clip] % FOLDS == fold]
        offset = best_offset(kept) if tested else 0.0
        cost += math.fsum(_bits(one, offset) for one in tested)
    return cost / len(decided)


def shift_log_ratio(log_ratio: float, offset: float) -> float:
    """Return a log likelihood ratio with the offset, never more than the calibration supports.

    A ratio of 1 or less stays as it is: where nothing speaks for a dance, or too little is seen, no offset
    may speak for it. Their order stays.
    """
    if log_ratio <= 0:
        return log_ratio
    return min(max(0.0, log_ratio + offset), max(log_ratio, shipped_calibration().most))


def shift_evalue(evalue: float, log_ratio: float, offset: float) -> float:
    """Return the E-value of a log likelihood ratio once it has the offset."""
    dances = evalue * 10.0 ** max(0.0, log_ratio)  # that were searched
    return evalue_of(shift_log_ratio(log_ratio, offset), dances)
