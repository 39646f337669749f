"""dancematch eval audit: how far a catalogue can be trusted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import (
    MODEL_HELP,
    file_path,
    json_option,
    max_evalue_settings,
    option,
    option_group,
)
from dancematch.cli.output import emit, emit_json, emit_table, require_free, say, share_bar
from dancematch.evaluation.audit.changes import CHANGES
from dancematch.evaluation.audit.result import MAX_DANCES
from dancematch.evaluation.measures.accept_rates import FALSE_ACCEPT_RATE
from dancematch.evaluation.suites.changed_excerpts import EXCERPT_SECONDS

if TYPE_CHECKING:
    from dancematch.evaluation.audit.result import AuditSummary, ChangeFigures


@dataclass(frozen=True)
class AuditOptions:
    """What is changed and searched for, and where the picture goes."""

    changes: str = option(
        "--changes", metavar="NAME,...", default=",".join(CHANGES), help=f"Some of {', '.join(CHANGES)}."
    )
    max_dances: int = option(
        "--max-dances", type=click.IntRange(1), default=MAX_DANCES, show_default=True,
        help="Ask for so many dances, drawn by the seed.",
    )  # fmt: skip
    seconds: float = option(
        "--seconds", type=click.FloatRange(1), default=EXCERPT_SECONDS, show_default=True,
        help="Of an excerpt.",
    )  # fmt: skip
    false_accepts: float = option(
        "--false-accepts", type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=FALSE_ACCEPT_RATE, show_default=True,
        help="Share of unknown dances that may be taken for a known one.",
    )  # fmt: skip
    max_evalue: float = option(
        "--max-evalue", **max_evalue_settings("The limit in use: a match has at most this E-value.")
    )
    by_label: bool = option(
        "--by-label", is_flag=True, help="Dances of one label are recordings of one dance."
    )
    seed: int = option("--seed", type=click.IntRange(0), default=0, show_default=True)
    plot: Path | None = option("--plot", type=file_path(), help="Draw it: a .png, .svg or .pdf file.")
    force: bool = option("--force", is_flag=True, help="Let --plot replace a file that is there.")
    model: str | None = option("--model", help=MODEL_HELP)

    def change_names(self) -> tuple[str, ...]:
        """The changes, each once."""
        return tuple(dict.fromkeys(name.strip() for name in self.changes.split(",") if name.strip()))


@click.command("audit")
@click.argument("catalogue")
@option_group("options", AuditOptions)
@json_option
def audit_command(catalogue: str, options: AuditOptions, as_json: bool) -> None:
    """Say how well the dances of CATALOGUE are found when they are changed.

    Dances are drawn, changed as cameras, pose estimators and dancers change them, and searched
    for; and again with their own entry left out, as a dance that is not known yet would be:
    every match then is a false accept. From these the limit of the E-value is suggested at
    which no more unknown dances are accepted than you want. Nothing in CATALOGUE is changed.

    With --json, an object for each change and then one for the catalogue.

    \b
    Example:
      dancematch eval audit dances.db
      dancematch eval audit dances.db --changes excerpt,phone --seconds 3 --plot audit.png
      dancematch eval audit dances.db --false-accepts 0.05 --json | tail -n 1
    """
    from dancematch.evaluation.audit.picture import draw_audit
    from dancematch.evaluation.audit.run import audit
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.report.plots import require_drawable

    if not math.isfinite(options.seconds):
        raise click.UsageError(f"--seconds must be a number, got {options.seconds}")
    if math.isnan(options.false_accepts):
        raise click.UsageError("--false-accepts must be a number, got nan")
    if options.plot is not None:
        require_free(options.plot, options.force)
        require_drawable(options.plot)
    with (
        open_catalogue(catalogue, model=options.model, create=False) as known,
        share_bar("searching") as show,
    ):
        made = audit(
            known, changes=options.change_names(), seconds=options.seconds, max_dances=options.max_dances,
            seed=options.seed, by_label=options.by_label, on_progress=show,
        )  # fmt: skip
        labels = {dance.name: dance.labels for dance in known.dances()}
    figures = made.figures(options.max_evalue)
    summary = made.summarise(options.max_evalue, options.false_accepts)
    if as_json:
        for line in (*figures, summary):
            emit_json(line)
    else:
        _print(figures, summary)
    same_label = 0 if options.by_label else made.count_own_label(options.max_evalue, labels)
    if same_label:
        say(
            f"{same_label} of the false accepts are dances of one label; if they are one dance, merge them"
            " ('dancematch edit --merge-into'), or let --by-label count them as right"
        )
    if options.plot is not None:
        draw_audit(options.plot, made, summary.suggestion, options.max_evalue, overwrite=options.force)
        say(f"{options.plot}: the same as a picture")


def _print(figures: "Sequence[ChangeFigures]", summary: "AuditSummary") -> None:
    from dancematch.pipeline.wording import accident_sentence

    limit = summary.max_evalue
    emit(f"{summary.asked} of {summary.dances} dances, changed and searched for; a match has E <= {limit:g}")
    emit_table(
        [
            "change", "first", "match", "(95 %)", "or possible", "place found", "false accepts", "queries",
            "what it is",
        ],
        [
            [
                one.change, f"{one.rank1:.0%}", f"{one.accepted:.0%}",
                f"{one.accepted_interval[0]:.0%} to {one.accepted_interval[1]:.0%}", f"{one.possible:.0%}",
                "-" if one.place is None else f"{one.place:.0%}",
                "-" if one.false_accepts is None else f"{one.false_accepts:.1%}", str(one.queries),
                CHANGES[one.change].summary,
            ]
            for one in figures
        ],
    )  # fmt: skip
    emit()
    emit(_unknown_line(summary))
    emit(_suggestion_line(summary))
    for one in summary.most_alike:
        if one.unknown_evalue <= limit:
            emit(
                f"  {one.dance} ({one.change}) is taken for {one.taken_for}. "
                f"{accident_sentence(one.unknown_evalue)} 'dancematch dedup' shows whether they are one."
            )


def _unknown_line(summary: "AuditSummary") -> str:
    if summary.false_accepts is None or summary.false_accepts_interval is None:
        return "False accepts cannot be measured: no other dance is left when one is left out."
    low, high = summary.false_accepts_interval
    return (
        f"Left out of the catalogue, a dance is taken for another in {summary.false_accepts:.1%} of the"
        f" queries (95 %: {low:.1%} to {high:.1%}, from {summary.left_out} dances)."
    )


def _suggestion_line(summary: "AuditSummary") -> str:
    suggestion = summary.suggestion
    wanted = f"{suggestion.wanted:.3g}"
    if suggestion.evalue is None and summary.left_out >= suggestion.dances_needed:
        return (
            f"No limit is suggested: a share above {wanted} is taken for another by the strongest evidence;"
            " recordings of one dance are to be merged ('dancematch dedup'), or need one label (--by-label)."
        )
    if suggestion.evalue is None or suggestion.interval is None:
        return (
            f"No limit is suggested, E <= {summary.max_evalue:g} stays: a share of {wanted} cannot be"
            f" estimated from fewer than {suggestion.dances_needed} dances left out, {summary.left_out} were"
            " (--false-accepts, --max-dances)."
        )
    low, high = suggestion.interval
    return (
        f"Suggested: --max-evalue {suggestion.evalue:.2g} (95 %: {low:.2g} to {high:.2g}) accepts a share of"
        f" {wanted} of unknown dances; {suggestion.accepted:.0%} of the changed dances are a match then."
    )
