"""Figures of the suite `medley`: what was found of programmes, and what was named wrongly."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dancematch.evaluation.measures.bootstrap import bootstrap_interval
from dancematch.evaluation.measures.segments import (
    DanceSegment,
    SegmentCounts,
    add_counts,
    assign_segments,
    boundary_errors,
    count_segments,
    find_wrong_periods,
    merge_dancers,
)
from dancematch.evaluation.medley.programme import Programme
from dancematch.evaluation.medley.scanning import FoundDance, ScanCost
from dancematch.types import Span, Verdict

NAMED: tuple[Verdict, ...] = ("match",)
POSSIBLE: tuple[Verdict, ...] = ("match", "possible match")
HOUR = 3600.0


class ScannedProgramme(NamedTuple):
    """A programme, and what a scan found in it."""

    programme: Programme
    found: Sequence[FoundDance]
    cost: ScanCost

    def segments(self, verdicts: Collection[Verdict]) -> list[DanceSegment]:
        """The periods with such verdicts, of all dancers together."""
        return merge_dancers([
            (one.dancer, DanceSegment(one.span, one.dance)) for one in self.found if one.verdict in verdicts
        ])  # fmt: skip


@dataclass(frozen=True)
class SegmentFigures:
    """The figures of some programmes, of segments with certain verdicts."""

    segments: int  # to be found
    named: int
    right: int
    precision: float | None
    recall: float | None
    f1: float | None
    f1_interval: tuple[float, float]  # 95 %, bootstrap over programmes
    boundary_error: float | None  # seconds, median over the starts and ends of right segments
    boundary_error_90: float | None  # nine in ten are smaller
    start_error: float | None  # median; positive: begins too late
    end_error: float | None  # median; positive: ends too late
    wrong_per_hour: float  # seconds in which a dance is named that is not danced
    overrun_per_hour: float  # of which right segments begin too early or end too late
    wrong_by_kind: Mapping[str, float]  # the others of these seconds per hour, by what is shown meanwhile
    outcomes: Mapping[str, int]  # what became of the segments
    recall_by_change: Mapping[str, tuple[int, int]]  # right, and all


def measure_segments(scanned: Sequence[ScannedProgramme], verdicts: Collection[Verdict]) -> SegmentFigures:
    """The figures of all programmes together."""
    pairs = [(one.programme.truth, one.segments(verdicts)) for one in scanned]
    counts = [count_segments(*pair) for pair in pairs]
    total = add_counts(counts)
    errors = np.array([error for pair in pairs for error in boundary_errors(*pair)]).reshape(-1, 2)
    hours = sum(one.programme.seconds for one in scanned) / HOUR
    overrun, wrong = _sum_wrong_seconds(scanned, verdicts)
    return SegmentFigures(
        *total,
        precision=_round(total.precision),
        recall=_round(total.recall),
        f1=_round(total.f1),
        f1_interval=_f1_interval(counts),
        boundary_error=_summarise(np.abs(errors), np.median),
        boundary_error_90=_summarise(np.abs(errors), lambda values: np.quantile(values, 0.9)),
        start_error=_summarise(errors[:, 0], np.median),
        end_error=_summarise(errors[:, 1], np.median),
        wrong_per_hour=round((overrun + sum(wrong.values())) / hours, 2),
        overrun_per_hour=round(overrun / hours, 2),
        wrong_by_kind={kind: round(seconds / hours, 2) for kind, seconds in sorted(wrong.items())},
        outcomes=dict(Counter(outcome for one in scanned for outcome in name_outcomes(one, verdicts))),
        recall_by_change=_count_by_change(scanned, verdicts),
    )


def _f1_interval(counts: Sequence[SegmentCounts]) -> tuple[float, float]:
    def f1(drawn: Sequence[int]) -> float:
        return add_counts(counts[place] for place in drawn).f1 or 0.0

    low, high = bootstrap_interval(f1, range(len(counts)))
    return round(low, 4), round(high, 4)


def _sum_wrong_seconds(
    scanned: Sequence[ScannedProgramme], verdicts: Collection[Verdict]
) -> tuple[float, dict[str, float]]:
    """Seconds of overruns, and all others by the kind of the item that is shown meanwhile."""
    overrun, others = 0.0, dict[str, float]()
    for one in scanned:
        for period in find_wrong_periods(one.programme.truth, one.segments(verdicts)):
            if period.overrun:
                overrun += period.span.seconds
                continue
            for item in one.programme.items:
                others[item.kind] = others.get(item.kind, 0.0) + shared_seconds(item.span, period.span)
    return overrun, {kind: seconds for kind, seconds in others.items() if seconds}


def shared_seconds(one: Span, other: Span) -> float:
    """How long two periods overlap."""
    return max(0.0, min(one.end, other.end) - max(one.start, other.start))


def name_outcomes(scanned: ScannedProgramme, verdicts: Collection[Verdict]) -> list[str]:
    """What became of each segment to be found.

    `found`; `possible`: it would be found if possible matches counted; `misplaced`: its dance is named in a
    part of it, or in more than it; `misnamed`: half of it or more is named as other dances; `unnoticed`.
    """
    truth = scanned.programme.truth
    named, possible = scanned.segments(verdicts), scanned.segments(POSSIBLE)
    right = {pair.true for pair in assign_segments(truth, named)}
    perhaps = {pair.true for pair in assign_segments(truth, possible)}
    return [
        "found" if place in right else _name_miss(one, named, possible=place in perhaps)
        for place, one in enumerate(truth)
    ]


def _name_miss(true: DanceSegment, named: Sequence[DanceSegment], *, possible: bool) -> str:
    shared = [(one.dance == true.dance, shared_seconds(one.span, true.span)) for one in named]
    if any(same and seconds for same, seconds in shared):
        return "misplaced"
    if sum(seconds for same, seconds in shared if not same) >= true.span.seconds / 2:
        return "misnamed"
    return "possible" if possible else "unnoticed"


def _count_by_change(
    scanned: Sequence[ScannedProgramme], verdicts: Collection[Verdict]
) -> dict[str, tuple[int, int]]:
    counts: dict[str, list[bool]] = {}
    for one in scanned:
        for item, outcome in zip(one.programme.dances, name_outcomes(one, verdicts), strict=True):
            counts.setdefault(item.change, []).append(outcome == "found")
    return {name: (sum(found), len(found)) for name, found in sorted(counts.items())}


def _summarise(values: np.ndarray, summary: Callable[[np.ndarray], np.floating]) -> float | None:
    return round(float(summary(values)), 3) if values.size else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


@dataclass(frozen=True)
class CostFigures:
    """What scans of some programmes took, per second of the programme."""

    realtime_factor: float  # seconds
    cpu_factor: float  # of processor time
    search_share: float  # of the seconds
    peak_megabytes: float | None


def measure_cost(scanned: Sequence[ScannedProgramme]) -> CostFigures:
    """The cost of all scans together; the peak is the largest."""
    shown = sum(one.programme.seconds for one in scanned)
    spent = sum(one.cost.seconds for one in scanned)
    peaks = [one.cost.peak_bytes for one in scanned if one.cost.peak_bytes is not None]
    return CostFigures(
        realtime_factor=round(spent / shown, 4),
        cpu_factor=round(sum(one.cost.cpu_seconds for one in scanned) / shown, 4),
        search_share=round(sum(one.cost.search_seconds for one in scanned) / spent, 4) if spent else 0.0,
        peak_megabytes=round(max(peaks) / 1e6, 1) if peaks else None,
    )
