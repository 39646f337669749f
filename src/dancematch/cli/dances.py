"""dancematch list and remove: what a catalogue knows."""

import click

from dancematch.cli.output import emit_json, emit_table, json_option, say
from dancematch.errors import UnknownDanceError


@click.command("list")
@click.argument("catalogue")
@click.option("--model", help="A shipped model's name or a model's folder.")
@json_option
def list_command(catalogue: str, model: str | None, as_json: bool) -> None:
    """List the dances that CATALOGUE knows.

    \b
    Example:
      dancematch list dances.db
    """
    from dancematch.pipeline.catalogue import open_catalogue

    with open_catalogue(catalogue, model=model, create=False) as known:
        dances = known.dances()
    if as_json:
        for dance in dances:
            emit_json(dance)
        return
    emit_table(
        ["dance", "seconds", "dancers", "label", "bank", "added"],
        [
            [d.dance_id, f"{d.seconds:.1f}", str(d.dancers), d.label or "", d.bank or "", d.added]
            for d in dances
        ],
    )
    say(f"{len(dances)} dance(s)")


@click.command("remove")
@click.argument("catalogue")
@click.argument("dance_ids", nargs=-1, required=True)
@click.option("--model", help="A shipped model's name or a model's folder.")
def remove_command(catalogue: str, dance_ids: tuple[str, ...], model: str | None) -> None:
    """Forget dances: their words and skeletons are deleted from CATALOGUE.

    \b
    Example:
      dancematch remove dances.db thriller
    """
    from dancematch.pipeline.catalogue import open_catalogue

    with open_catalogue(catalogue, model=model, create=False) as known:
        there = {dance.dance_id for dance in known.dances()}
        unknown = [dance_id for dance_id in dance_ids if dance_id not in there]
        if unknown:
            raise UnknownDanceError(f"{catalogue} has no dance named {unknown[0]!r}; nothing was removed")
        for dance_id in dict.fromkeys(dance_ids):
            known.remove(dance_id)
            say(f"{dance_id}: removed")
