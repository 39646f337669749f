"""dancematch eval audit: how far a catalogue can be trusted."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import (
    file_path,
    force_option,
    json_option,
    max_evalue_settings,
    model_option,
    option,
    option_group,
)
from dancematch.cli.output import emit_json, emit_table, require_free, say, share_bar
from dancematch.evaluation.audit.run import CHANGES, EXPLAINED, FALSE_ACCEPTS, MAX_DANCES, SECONDS

if TYPE_CHECKING:
    from dancematch.evaluation.audit.run import Audit, LimitSuggestion

_ALIKE = 3  # pairs of dances that are named


@dataclass(frozen=True)
class AuditOptions:
    """What is searched for, and what may be accepted."""

    changes: str = option(
        "--changes", metavar="NAME,...", default=",".join(CHANGES), help=f"Some of {', '.join(CHANGES)}."
    )
    max_dances: int = option(
        "--max-dances", type=click.IntRange(1), default=MAX_DANCES, show_default=True,
        help="Search for so many dances, drawn by the seed.",
    )  # fmt: skip
    seconds: float = option(
        "--seconds", type=click.FloatRange(1), default=SECONDS, show_default=True, help="Of an excerpt."
    )
    false_accepts: float = option(
        "--false-accepts", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=FALSE_ACCEPTS,
        show_default=True, help="Share of unknown dances that may be taken for a known one.",
    )  # fmt: skip
    max_evalue: float = option(
        "--max-evalue", **max_evalue_settings("The limit in use: a match has at most this E-value.")
    )
    by_label: bool = option(
        "--by-label", is_flag=True, help="Dances of one label are recordings of one dance."
    )
    seed: int = option("--seed", type=click.IntRange(0), default=0, show_default=True)


@click.command("audit")
@click.argument("catalogue")
@option_group("asked", AuditOptions)
@click.option("--plot", type=file_path(), help="Draw it: a .png, .svg or .pdf file.")
@force_option("Let --plot replace a file that is there.")
@model_option
@json_option
def audit_command(
    catalogue: str, asked: AuditOptions, plot: Path | None, force: bool, model: str | None, as_json: bool
) -> None:
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

    if not math.isfinite(asked.seconds):
        raise click.UsageError(f"--seconds must be a number, got {asked.seconds}")
    if math.isnan(asked.false_accepts):
        raise click.UsageError("--false-accepts must be a number, got nan")
    if plot is not None:
        require_free(plot, force)
        require_drawable(plot)
    limit = asked.max_evalue
    named = tuple(dict.fromkeys(name.strip() for name in asked.changes.split(",") if name.strip()))
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("searching") as tell:
        made = audit(
            known, changes=named, seconds=asked.seconds, max_dances=asked.max_dances, seed=asked.seed,
            by_label=asked.by_label, on_progress=tell,
        )  # fmt: skip
        labels = {dance.dance_id: dance.label for dance in known.dances()}
    suggestion = made.suggest(asked.false_accepts)
    if as_json:
        _emit(made, suggestion, limit, asked.seed)
    else:
        _print(made, suggestion, limit)
    same_label = 0 if asked.by_label else made.taken_for_own_label(limit, labels)
    if same_label:
        say(
            f"{same_label} of the false accepts are dances of one label; if they are recordings of one dance,"
            " --by-label counts them as right"
        )
    if plot is not None:
        draw_audit(plot, made, suggestion, limit, overwrite=force)
        say(f"{plot}: the same as a picture")


def _emit(made: "Audit", suggestion: "LimitSuggestion", limit: float, seed: int) -> None:
    for survival in made.survivals(limit):
        emit_json({**asdict(survival), "max_evalue": limit})
    accepted, interval = made.false_accepts(limit) or (None, None)
    emit_json(
        {
            "dances": made.dances, "asked": made.asked, "left_out": made.left_out,
            "queries": len(made.answers), "seed": seed, "model_id": made.model_id, "max_evalue": limit,
            "false_accepts": accepted, "false_accepts_interval": interval,
            "suggestion": asdict(suggestion), "most_alike": [asdict(one) for one in made.most_alike(_ALIKE)],
        }
    )  # fmt: skip


def _print(made: "Audit", suggestion: "LimitSuggestion", limit: float) -> None:
    from dancematch.pipeline.wording import accident_sentence

    click.echo(f"{made.asked} of {made.dances} dances, changed and searched for; a match has E <= {limit:g}")
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
                EXPLAINED[one.change],
            ]
            for one in made.survivals(limit)
        ],
    )  # fmt: skip
    click.echo()
    click.echo(_unknown_line(made, limit))
    click.echo(_suggestion_line(made, suggestion, limit))
    for one in made.most_alike(_ALIKE):
        if one.unknown_evalue <= limit:
            click.echo(
                f"  {one.dance_id} ({one.change}) is taken for {one.taken_for}. "
                f"{accident_sentence(one.unknown_evalue)} 'dancematch dedup' shows whether they are one."
            )


def _unknown_line(made: "Audit", limit: float) -> str:
    found = made.false_accepts(limit)
    if found is None:
        return "False accepts cannot be measured: no other dance is left when one is left out."
    share, (low, high) = found
    return (
        f"Left out of the catalogue, a dance is taken for another in {share:.1%} of the queries"
        f" (95 %: {low:.1%} to {high:.1%}, from {made.left_out} dances)."
    )


def _suggestion_line(made: "Audit", suggestion: "LimitSuggestion", limit: float) -> str:
    wanted = f"{suggestion.wanted:.3g}"
    if suggestion.evalue is None and made.left_out >= suggestion.dances_needed:
        return (
            f"No limit is suggested: a share above {wanted} is taken for another by the strongest evidence;"
            " recordings of one dance need one label (--by-label), or are to be removed ('dancematch dedup')."
        )
    if suggestion.evalue is None or suggestion.interval is None:
        return (
            f"No limit is suggested, E <= {limit:g} stays: a share of {wanted} cannot be told from fewer than"
            f" {suggestion.dances_needed} dances left out, {made.left_out} were"
            " (--false-accepts, --max-dances)."
        )
    low, high = suggestion.interval
    return (
        f"Suggested: --max-evalue {suggestion.evalue:.2g} (95 %: {low:.2g} to {high:.2g}) accepts a share of"
        f" {wanted} of unknown dances; {suggestion.accepted:.0%} of the changed dances are a match then."
    )
