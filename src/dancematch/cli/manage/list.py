"""dancematch list: what a catalogue knows."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import (
    FilterOptions,
    file_path,
    force_option,
    json_option,
    model_option,
    option_group,
)
from dancematch.cli.output import emit, emit_json, emit_table, require_free, say

if TYPE_CHECKING:
    from dancematch.catalogue.records import Dance

_STDOUT = Path("-")


@click.command("list")
@click.argument("catalogue")
@option_group("only", FilterOptions)
@model_option
@json_option
@click.option(
    "--csv", "table", type=file_path(), help="Write a table with the columns of --json; - prints it."
)
@force_option("Let --csv replace a file that is there.")
def list_command(
    catalogue: str, only: FilterOptions, model: str | None, as_json: bool, table: Path | None, force: bool
) -> None:
    """List the dances that CATALOGUE knows.

    The period is what a dance repeats itself after, if it does.

    \b
    Example:
      dancematch list dances.db
      dancematch list dances.db --collection studio --json
      dancematch list dances.db --csv dances.csv
    """
    from dancematch.pipeline.catalogue import open_catalogue

    if table is not None:
        if as_json:
            raise click.UsageError("--csv and --json are two ways to list the same; give one of them")
        if table != _STDOUT:
            require_free(table, force)
    with open_catalogue(catalogue, model=model, create=False) as known:
        known.require_any(only.label, only.collection)
        dances = known.dances(label=only.label, collection=only.collection)
    if as_json:
        for dance in dances:
            emit_json(dance)
    elif table is not None:
        _write_csv(dances, table, force)
    else:
        _print_dances(dances)


def _write_csv(dances: "Sequence[Dance]", table: Path, force: bool) -> None:
    from dancematch.formats.files import write_bytes
    from dancematch.pipeline.tables import dances_to_csv

    if table == _STDOUT:
        for line in dances_to_csv(dances):
            emit(line)
        return
    content = "".join(f"{line}\n" for line in dances_to_csv(dances))
    write_bytes(table, content.encode(), overwrite=force)
    say(f"{table}: {len(dances)} dance(s)")


def _print_dances(dances: "Sequence[Dance]") -> None:
    emit_table(
        ["dance", "seconds", "dancers", "period", "label", "collection", "added"],
        [
            [
                dance.dance_id,
                f"{dance.seconds:.1f}",
                str(dance.dancers),
                "" if dance.period_seconds is None else f"{dance.period_seconds:.1f} s",
                dance.label or "",
                dance.collection or "",
                dance.added,
            ]
            for dance in dances
        ],
    )
    say(f"{len(dances)} dance(s)")
