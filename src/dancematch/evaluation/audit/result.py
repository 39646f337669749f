"""The answers of an audit, and the figures at a limit of the E-value.

An answer is accepted if its verdict is match: its E-value is within the limit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal

import numpy as np

from dancematch.errors import InputError
from dancematch.evaluation.measures.accept_rates import (
    FALSE_ACCEPT_RATE,
    AcceptCurve,
    accept_curve,
    false_accepts,
    limit_at,
    true_accepts,
)
from dancematch.evaluation.measures.bootstrap import Interval, bootstrap_interval, mean_interval
from dancematch.evaluation.measures.temporal_overlap import ENOUGH
from dancematch.search.confidence.verdict import POSSIBLE_EVALUE, evalue_of, shipped_calibration, verdict_of

MAX_DANCES = 100  # that are asked for
PAIRS_NAMED = 3  # of dances that are taken for each other, in a summary


@dataclass(frozen=True)
class AuditAnswer:
    """The first matches of one changed dance, with its own entry and without."""

    dance: str  # its name
    change: str
    right: bool  # the first match is the dance
    evalue: float  # of the first match
    overlap: float | None  # temporal IoU of the segment found with the true one; None: another recording
    taken_for: str | None  # without its own entry, the first match
    unknown_evalue: float  # of that match


@dataclass(frozen=True)
class ChangeFigures:
    """How well dances are found after one kind of change, as shares of the queries."""

    change: str
    queries: int
    rank1: float
    accepted: float  # rank 1, and within the limit
    accepted_interval: Interval  # 95 %
    possible: float  # rank 1, and a match or a possible match
    place: float | None  # rank 1, and half of the time in its true segment or the one found is in both;
    # not known where the first is another recording: None if that is so of all
    false_accepts: float | None  # without its own entry, another dance within the limit; None: no other
    max_evalue: float  # the limit


@dataclass(frozen=True)
class LimitSuggestion:
    """The limit of the E-value with the wanted false accept rate."""

    wanted: float  # share of unknown dances accepted
    evalue: float | None  # None: too few dances to estimate it, or too many that are there twice
    interval: Interval | None  # 95 %, bootstrap over dances
    dances_needed: int  # to estimate such a share at all
    accepted: float | None  # of all changed dances, named rightly and within this limit


@dataclass(frozen=True)
class AuditSummary:
    """The figures of a whole catalogue at one limit."""

    dances: int
    asked: int  # of them, changed and searched for
    left_out: int
    queries: int
    seed: int
    model_id: str
    max_evalue: float
    false_accepts: float | None
    false_accepts_interval: Interval | None
    suggestion: LimitSuggestion
    most_alike: list[AuditAnswer]


@dataclass(frozen=True)
class Audit:
    """All answers."""

    answers: tuple[AuditAnswer, ...]
    dances: int  # of the catalogue
    asked: int  # of them, changed and searched for
    model_id: str
    seed: int = 0

    @property
    def left_out(self) -> int:
        """The number of dances that were searched for without their own entry, among at least one other."""
        return len({one.dance for one in self._unknown})

    @property
    def _unknown(self) -> list[AuditAnswer]:
        return [one for one in self.answers if one.taken_for is not None]

    def figures(self, limit: float) -> list[ChangeFigures]:
        """The figures of each change at this limit."""
        kinds = dict.fromkeys(one.change for one in self.answers)
        return [
            _compute_figures([one for one in self.answers if one.change == kind], limit) for kind in kinds
        ]

    def summarise(self, limit: float, wanted: float) -> AuditSummary:
        """The figures of the catalogue at this limit, and the limit for a wanted false accept rate."""
        accepted, interval = self.false_accepts(limit) or (None, None)
        return AuditSummary(
            self.dances, self.asked, self.left_out, len(self.answers), self.seed, self.model_id, limit,
            accepted, interval, self.suggest_limit(wanted), self.most_alike(PAIRS_NAMED),
        )  # fmt: skip

    def false_accepts(self, limit: float) -> tuple[float, Interval] | None:
        """The false accept rate at this limit, with its interval; None if there is no unknown dance."""
        unknown = self._unknown
        if not unknown:
            return None
        accepted = np.array([one.unknown_evalue <= limit for one in unknown])
        low, high = mean_interval(accepted, [one.dance for one in unknown])
        # Without a false accept the interval has no width; the rule of three bounds it.
        return float(accepted.mean()), (low, max(high, min(1.0, 3 / self.left_out)))

    def accept_curve(self) -> AcceptCurve | None:
        """True and false accept rates at every limit; None if there is no unknown dance."""
        unknown = [one.unknown_evalue for one in self._unknown]
        known, right = [one.evalue for one in self.answers], [one.right for one in self.answers]
        return accept_curve(known, right, unknown) if unknown else None

    def suggest_limit(self, wanted: float = FALSE_ACCEPT_RATE) -> LimitSuggestion:
        """The widest limit with at most the wanted false accept rate.

        A rate of one in a hundred cannot be estimated from fewer than a hundred dances: then none is
        suggested, nor where more dances than that share are in the catalogue under two names.
        """
        if not 0 < wanted < 1:
            raise InputError(f"a share of false accepts lies between 0 and 1, got {wanted}")
        needed = int(np.ceil(1 / wanted))
        if self.left_out < needed:
            return LimitSuggestion(wanted, None, None, needed, None)
        unknown = self._unknown
        evalues = np.array([one.unknown_evalue for one in unknown])
        limit = min(round_down(limit_at(evalues, wanted)), POSSIBLE_EVALUE)  # no search takes a wider one
        # Below the E-value of the largest ratio nothing is accepted: dances are there under two names.
        if limit < evalue_of(shipped_calibration().most, self.dances):
            return LimitSuggestion(wanted, None, None, needed, None)
        interval = bootstrap_interval(
            lambda drawn: min(limit_at(evalues[drawn], wanted), POSSIBLE_EVALUE),
            [one.dance for one in unknown],
        )
        known, right = [one.evalue for one in self.answers], [one.right for one in self.answers]
        return LimitSuggestion(wanted, limit, interval, needed, true_accepts(known, right, limit))

    def most_alike(self, count: int) -> list[AuditAnswer]:
        """The unknown dances with the lowest E-values, one per pair of dances."""
        pairs: dict[frozenset[str], AuditAnswer] = {}
        for one in sorted(self._unknown, key=lambda one: (one.unknown_evalue, one.dance)):
            pairs.setdefault(frozenset((one.dance, str(one.taken_for))), one)
        return list(pairs.values())[:count]

    def count_own_label(self, limit: float, labels: Mapping[str, Sequence[str]]) -> int:
        """The number of false accepts as a dance of a label that the dance has too; labels are by name."""
        return sum(
            one.unknown_evalue <= limit
            and not set(labels.get(one.dance, ())).isdisjoint(labels.get(str(one.taken_for), ()))
            for one in self._unknown
        )


def _compute_figures(answers: Sequence[AuditAnswer], limit: float) -> ChangeFigures:
    accepted = np.array([one.right and one.evalue <= limit for one in answers])
    possible = [one.right and verdict_of(one.evalue, limit) != "no match" for one in answers]
    unknown = [one.unknown_evalue for one in answers if one.taken_for is not None]
    overlaps = [one.overlap for one in answers if one.overlap is not None]
    return ChangeFigures(
        change=answers[0].change,
        queries=len(answers),
        rank1=float(np.mean([one.right for one in answers])),
        accepted=float(accepted.mean()),
        accepted_interval=wilson_interval(int(accepted.sum()), len(accepted)),
        possible=float(np.mean(possible)),
        place=float(np.mean(np.array(overlaps) >= ENOUGH)) if overlaps else None,
        false_accepts=false_accepts(unknown, limit) if unknown else None,
        max_evalue=limit,
    )


def round_down(evalue: float) -> float:
    """The E-value to two digits, so that it can be typed; never wider."""
    return float(Context(prec=2, rounding=ROUND_FLOOR).create_decimal(Decimal(evalue)))


def wilson_interval(count: int, total: int) -> Interval:
    """Wilson's 95 % interval (1927) of a share: `count` of `total` independent queries.

    It has width where all or none succeed, which the bootstrap's has not.
    """
    share, square = count / total, 1.96**2 / total
    middle = share + square / 2
    reach = 1.96 * math.sqrt(share * (1 - share) / total + square / (4 * total))
    low, high = (middle - reach) / (1 + square), (middle + reach) / (1 + square)
    return (low if count else 0.0), (high if count < total else 1.0)
