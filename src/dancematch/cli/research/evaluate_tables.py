"""The tables that `dancematch eval` prints."""

from collections.abc import Sequence
from typing import Any

from dancematch.cli.output import emit_table
from dancematch.cli.research.evaluate_real import emit_real_tables
from dancematch.search.confidence.verdict import MAX_EVALUE


def emit_tables(results: Sequence[Any]) -> None:
    """The main figures, a table for rankings and one for decisions; of real clips, its own."""
    if any(one.suite == "real" for one in results):
        emit_real_tables(results)
    rankings = [one for one in results if one.suite not in ("open-set", "real")]
    decisions = [one for one in results if one.suite == "open-set"]
    if rankings:
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
    if decisions:
        headings = ["query", "method", "rank 1", "accepted", "unknown accepted", "at 1 % unknown"]
        emit_table([*headings, "queries", "unknown"], [
            [
                r.query, r.method, f"{r.rank1:.1%}", f"{r.true_accepts[str(MAX_EVALUE)]:.1%}",
                f"{r.false_accepts[str(MAX_EVALUE)]:.1%}", f"{r.true_accepts_at_1_percent:.1%}",
                str(r.queries), str(r.strangers),
            ]
            for r in decisions
        ])  # fmt: skip
