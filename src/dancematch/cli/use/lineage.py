"""dancematch lineage: which dances share passages with one?"""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import file_path, json_option, model_option, option, option_group
from dancematch.cli.output import emit, emit_json, emit_table, require_free, say, share_bar
from dancematch.search.confidence.verdict import MAX_EVALUE

if TYPE_CHECKING:
    from dancematch.pipeline.lineage import Lineage


@dataclasses.dataclass(frozen=True)
class LineageOptions:
    """How sure it must be, and where it is drawn."""

    max_evalue: float = option(
        "--max-evalue", type=click.FloatRange(0, 1), default=MAX_EVALUE, show_default=True,
        help="Wrong matches that all passages together may give by accident.",
    )  # fmt: skip
    plot: Path | None = option("--plot", type=file_path(), help="Draw it (.png, .svg, .pdf).")
    force: bool = option("--force", is_flag=True, help="Replace a file that is there.")


@click.command("lineage")
@click.argument("catalogue")
@click.argument("dance")
@option_group("wanted", LineageOptions)
@model_option
@json_option
def lineage_command(
    catalogue: str, dance: str, wanted: LineageOptions, model: str | None, as_json: bool
) -> None:
    """Say which other dances of CATALOGUE share passages with DANCE, and what in it is rare.

    Windows of six and of fifteen seconds are searched for among all other dances: twelve searches per thirty
    seconds of each recording. Dates are those of recordings ('dancematch edit --date'): who recorded a
    passage first need not have made it. Exits with 3 if no dance shares a passage.

    \b
    Example:
      dancematch lineage dances.db Thriller
      dancematch lineage dances.db Thriller --plot lineage.png --json
    """
    from dancematch.pipeline.catalogue import open_catalogue

    plot = wanted.plot
    if plot is not None:
        from dancematch.report.plots import require_drawable

        require_free(plot, wanted.force)
        require_drawable(plot)
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("comparing") as tell:
        found = known.lineage(dance, max_evalue=wanted.max_evalue, on_progress=tell)
    if as_json:
        emit_json(dataclasses.asdict(found))
    else:
        _print(found)
    if plot is not None:
        from dancematch.report.lineage_plot import draw_lineage

        draw_lineage(plot, found, overwrite=wanted.force)
        say(f"{plot}: written")
    if not found.edges:
        sys.exit(ExitCode.NO_MATCH)


def _print(found: "Lineage") -> None:
    from dancematch.report.lineage_text import (
        EDGE_HEADINGS,
        RARITY_HEADINGS,
        edge_rows,
        rarity_rows,
        summarise_lineage,
    )

    emit(summarise_lineage(found))
    if found.edges:
        emit()
        emit("Shared passages, in order of the dance")
        emit_table(EDGE_HEADINGS, edge_rows(found))
    emit()
    emit("How rare each passage is among these dances")
    emit_table(RARITY_HEADINGS, rarity_rows(found))
