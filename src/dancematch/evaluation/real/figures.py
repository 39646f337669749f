"""Figures of the suite `real`: is the first answer right, accepted, and at the right time?

The first candidate is the answer. A right one is another recording of the query's dance. An accepted one has
the verdict match or, of a method without verdicts, a confidence that at most one false answer in a hundred
reaches. False answers, for that threshold, are the first candidates of another dance, over the queries of all
other dances (leave one dance out): with fewer than a hundred queries no false answer may reach it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dancematch.evaluation.measures.accept_rates import FALSE_ACCEPT_RATE, limit_at
from dancematch.evaluation.measures.bootstrap import mean_interval
from dancematch.evaluation.methods.recogniser import Candidate
from dancematch.evaluation.real.clip_index import IndexedClip

LAG_TOLERANCE_SECONDS = 0.2


@dataclass(frozen=True)
class QueryOutcome:
    """The result of one search."""

    query: IndexedClip
    answer: Candidate | None  # None: no dancer was seen, or the catalogue is empty
    rank: int | None  # of the first recording of the query's dance; None: not among the candidates
    false_confidence: float | None  # of the first candidate of another dance
    others_accepted: int  # candidates of other dances with the verdict match, whatever their rank
    lag_error_seconds: float | None  # of a right answer whose true lag is known
    accepted: bool  # by the method's own verdict, or the threshold below where it has none
    accepted_at_1_percent: bool = False

    @property
    def right(self) -> bool:
        """Whether the answer is another recording of the query's dance."""
        return self.rank == 1


def compare_with_truth(
    query: IndexedClip, candidates: Sequence[Candidate], dances: Mapping[str, str], lags: Mapping[str, float]
) -> QueryOutcome:
    """The result of a search; `dances` names the dance of every recording, `lags` has the known lags."""
    same = [query.kind == "dance" and dances[one.recording_id] == query.dance for one in candidates]
    false = [one for one, right in zip(candidates, same, strict=True) if not right]
    answer = candidates[0] if candidates else None
    error = None
    if answer is not None and same[0] and answer.lag_seconds is not None:
        reference = lags.get(answer.recording_id)
        if reference is not None and query.lag_seconds is not None:
            error = answer.lag_seconds - (reference - query.lag_seconds)
    return QueryOutcome(
        query,
        answer,
        rank=same.index(True) + 1 if any(same) else None,
        false_confidence=false[0].confidence if false else None,
        others_accepted=sum(one.verdict == "match" for one in false),
        lag_error_seconds=error,
        accepted=answer is not None and answer.verdict == "match",
    )


def apply_threshold(outcomes: Sequence[QueryOutcome]) -> list[QueryOutcome]:
    """The results with what is accepted at 1 % false answers; it decides where the method has no verdicts."""
    decided = []
    for one in outcomes:
        false = [
            -other.false_confidence
            for other in outcomes
            if other.query.dance != one.query.dance and other.false_confidence is not None
        ]
        limit = limit_at(false, FALSE_ACCEPT_RATE) if false else float("inf")
        passed = one.answer is not None and -one.answer.confidence <= limit
        undecided = one.answer is not None and one.answer.verdict is None
        decided.append(
            replace(one, accepted_at_1_percent=passed, accepted=passed if undecided else one.accepted)
        )
    return decided


@dataclass(frozen=True)
class PartFigures:
    """The figures of the queries of one part; shares of the queries, 0..1."""

    queries: int  # searches: with small catalogues several per clip
    rank1: float
    right_accepted: float
    wrong_accepted: float  # of an unknown dance every answer is wrong
    wrong_possible: float  # verdict possible match
    right_possible: float
    right_accepted_at_1_percent: float
    lag_truths: int  # right answers whose true lag is known
    lag_right: float | None  # share of these within the tolerance
    lag_median_error: float | None  # seconds
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # 95 %, bootstrap over dances


_SHARES: Mapping[str, Callable[[QueryOutcome], bool]] = {
    "rank1": lambda one: one.right,
    "right_accepted": lambda one: one.right and one.accepted,
    "wrong_accepted": lambda one: not one.right and one.accepted,
    "wrong_possible": lambda one: not one.right and _is_possible(one),
    "right_possible": lambda one: one.right and _is_possible(one),
    "right_accepted_at_1_percent": lambda one: one.right and one.accepted_at_1_percent,
}


def _is_possible(one: QueryOutcome) -> bool:
    return one.answer is not None and one.answer.verdict == "possible match"


def measure_parts(outcomes: Sequence[QueryOutcome]) -> dict[str, PartFigures]:
    """The figures of people, game characters and unknown dances; of the last by kind as well."""
    parts: dict[str, list[QueryOutcome]] = {}
    for one in outcomes:
        parts.setdefault(one.query.part, []).append(one)
        if one.query.part == "unknown":
            parts.setdefault(one.query.kind, []).append(one)
    return {part: _measure(own) for part, own in parts.items()}


def _measure(outcomes: Sequence[QueryOutcome]) -> PartFigures:
    values = {name: np.array([test(one) for one in outcomes]) for name, test in _SHARES.items()}
    dances = [one.query.dance for one in outcomes]
    errors = [abs(one.lag_error_seconds) for one in outcomes if one.lag_error_seconds is not None]
    within = np.array(errors) <= LAG_TOLERANCE_SECONDS
    return PartFigures(
        queries=len(outcomes),
        **{name: round(float(own.mean()), 4) for name, own in values.items()},
        lag_truths=len(errors),
        lag_right=round(float(within.mean()), 4) if errors else None,
        lag_median_error=round(float(np.median(errors)), 3) if errors else None,
        intervals={name: _round(mean_interval(own, dances)) for name, own in values.items()},
    )


def _round(interval: tuple[float, float]) -> tuple[float, float]:
    low, high = interval
    return round(low, 4), round(high, 4)
