"""The tables that `dancematch eval` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dancematch.cli.output import emit_table
from dancematch.search.confidence.verdict import MAX_EVALUE

if TYPE_CHECKING:
    from dancematch.evaluation.medley.suite import MedleyResult
    from dancematch.evaluation.real.figures import PartFigures
    from dancematch.evaluation.real.suite import RealResult
    from dancematch.evaluation.suites.open_set import OpenSetResult
    from dancematch.evaluation.suites.retrieval import RetrievalResult
    from dancematch.evaluation.suites.run import SuiteResult

_UNKNOWN_PARTS = ("unknown", "single", "no-dance")


def emit_tables(results: "Sequence[SuiteResult]") -> None:
    """Print the main figures: a table for rankings, decisions and programmes, two for real clips."""
    from dancematch.evaluation.medley.suite import MedleyResult
    from dancematch.evaluation.real.suite import RealResult
    from dancematch.evaluation.suites.open_set import OpenSetResult
    from dancematch.evaluation.suites.retrieval import RetrievalResult

    medleys = [one for one in results if isinstance(one, MedleyResult)]
    summaries = [one for one in results if isinstance(one, RealResult)]
    rankings = [one for one in results if isinstance(one, RetrievalResult)]
    decisions = [one for one in results if isinstance(one, OpenSetResult)]
    if summaries:
        _emit_real_tables(summaries)
    if rankings:
        _emit_rankings(rankings)
    if decisions:
        _emit_decisions(decisions)
    if medleys:
        _emit_medleys(medleys)


def _emit_rankings(rankings: "Sequence[RetrievalResult]") -> None:
    headings = ["suite", "method", "mean score", "match in 3", "rank 1", "95 %", "dance", "chance"]
    emit_table([*headings, "queries", "seconds"], [
        [
            r.suite, r.method, f"{r.mean_score:.3f}", f"{r.match_rate:.1%}", f"{r.rank1:.1%}",
            "{:.1%} to {:.1%}".format(*r.intervals["rank1"]),
            "-" if r.rank1_dance is None else f"{r.rank1_dance:.1%}",
            f"{r.chance:.1%}", str(r.queries), f"{r.seconds:.1f}",
        ]
        for r in rankings
    ])  # fmt: skip


def _emit_decisions(decisions: "Sequence[OpenSetResult]") -> None:
    headings = ["query", "method", "rank 1", "accepted", "unknown accepted", "at 1 % unknown"]
    emit_table([*headings, "queries", "unknown"], [
        [
            r.query, r.method, f"{r.rank1:.1%}", f"{r.true_accepts[str(MAX_EVALUE)]:.1%}",
            f"{r.false_accepts[str(MAX_EVALUE)]:.1%}", f"{r.true_accepts_at_1_percent:.1%}",
            str(r.queries), str(r.unknown),
        ]
        for r in decisions
    ])  # fmt: skip


def _emit_real_tables(summaries: "Sequence[RealResult]") -> None:
    """The figures of known dances, people and game characters apart, and of unknown ones."""
    headings = ["query", "catalogue", "method", "rank 1", "right and accepted", "wrong and accepted"]
    emit_table([*headings, "right at 1 %", "lag within 0.2 s"], [
        [
            part, one.catalogue, one.method, *_known_cells(one.parts[part]),
        ]
        for part in ("people", "game characters")
        for one in summaries
        if part in one.parts
    ])  # fmt: skip
    emit_table(["query", "catalogue", "method", "accepted", "singles", "no dance"], [
        [
            "unknown", one.catalogue, one.method,
            *(_format_count(one.parts.get(part), "wrong_accepted") for part in _UNKNOWN_PARTS),
        ]
        for one in summaries
        if "unknown" in one.parts
    ])  # fmt: skip


def _emit_medleys(medleys: "Sequence[MedleyResult]") -> None:
    """The figures of segments that are a match, and of those that are a possible match too."""
    headings = ["programmes", "known dances", "verdict", "F1", "precision", "recall", "boundary error"]
    headings += ["wrong s/hour", "overrun s/hour", "time", "search", "memory"]
    emit_table(headings, [
        [
            one.source, one.part, verdict,
            *("-" if share is None else f"{share:.3f}" for share in (own.f1, own.precision, own.recall)),
            "-" if own.boundary_error is None else f"{own.boundary_error:.2f} s",
            f"{own.wrong_per_hour - own.overrun_per_hour:.1f}", f"{own.overrun_per_hour:.1f}",
            f"x{one.cost.realtime_factor:.2f}", f"{one.cost.search_share:.0%}",
            "-" if one.cost.peak_megabytes is None else f"{one.cost.peak_megabytes:.0f} MB",
        ]
        for one in medleys
        for verdict, own in (("match", one.match), ("at least possible", one.possible))
    ])  # fmt: skip


def _known_cells(figures: "PartFigures") -> list[str]:
    shares = ("rank1", "right_accepted", "wrong_accepted", "right_accepted_at_1_percent")
    right, truths = figures.lag_right, figures.lag_truths
    lag = "-" if right is None else f"{round(right * truths)} of {truths}"
    return [*(_format_count(figures, name) for name in shares), lag]


def _format_count(figures: "PartFigures | None", name: str) -> str:
    if figures is None:
        return "-"
    share = getattr(figures, name)
    return f"{round(share * figures.queries)} of {figures.queries} ({share:.0%})"
