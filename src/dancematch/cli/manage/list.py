"""dancematch list: what a catalogue knows."""

import click

from dancematch.cli.options import FilterOptions, json_option, model_option, option_group
from dancematch.cli.output import emit_json, emit_table, say


@click.command("list")
@click.argument("catalogue")
@option_group("only", FilterOptions)
@model_option
@json_option
def list_command(catalogue: str, only: FilterOptions, model: str | None, as_json: bool) -> None:
    """List the dances that CATALOGUE knows.

    The period is what a dance repeats itself after, if it does.

    \b
    Example:
      dancematch list dances.db
      dancematch list dances.db --collection studio --json
    """
    from dancematch.pipeline.catalogue import open_catalogue

    with open_catalogue(catalogue, model=model, create=False) as known:
        known.require_any(only.label, only.collection)
        dances = known.dances(label=only.label, collection=only.collection)
    if as_json:
        for dance in dances:
            emit_json(dance)
        return
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
