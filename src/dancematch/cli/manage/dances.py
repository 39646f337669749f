"""dancematch list and remove: what a catalogue knows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import emit_json, emit_table, json_option, say
from dancematch.errors import InputError

if TYPE_CHECKING:
    from dancematch.catalogue.store import Dance

label_option = click.option("--label", help="Only dances with this label.")
collection_option = click.option("--collection", help="Only dances of this collection.")

_NAMED = 20  # dances that are named before they are removed; more are only counted


@click.command("list")
@click.argument("catalogue")
@label_option
@collection_option
@click.option("--model", help="A shipped model's name or a model's folder.")
@json_option
def list_command(
    catalogue: str, label: str | None, collection: str | None, model: str | None, as_json: bool
) -> None:
    """List the dances that CATALOGUE knows.

    The period is what a dance repeats itself after, if it does.

    \b
    Example:
      dancematch list dances.db
      dancematch list dances.db --collection studio --json
    """
    from dancematch.pipeline.catalogue import open_catalogue

    with open_catalogue(catalogue, model=model, create=False) as known:
        known.require_any(label, collection)
        dances = known.dances(label=label, collection=collection)
    if as_json:
        for dance in dances:
            emit_json(dance)
        return
    emit_table(
        ["dance", "seconds", "dancers", "period", "label", "collection", "added"],
        [
            [
                d.dance_id,
                f"{d.seconds:.1f}",
                str(d.dancers),
                "" if d.period_seconds is None else f"{d.period_seconds:.1f} s",
                d.label or "",
                d.collection or "",
                d.added,
            ]
            for d in dances
        ],
    )
    say(f"{len(dances)} dance(s)")


@click.command("remove")
@click.argument("catalogue")
@click.argument("dance_ids", nargs=-1)
@label_option
@collection_option
@click.option(
    "--yes", is_flag=True, help="Remove all dances of the label or collection; without, only name them."
)
@click.option("--model", help="A shipped model's name or a model's folder.")
def remove_command(
    catalogue: str,
    dance_ids: Sequence[str],
    label: str | None,
    collection: str | None,
    yes: bool,
    model: str | None,
) -> None:
    """Forget dances: their words and skeletons are deleted from CATALOGUE.

    All that are named go, or, if one of them is unknown, none.

    \b
    Example:
      dancematch remove dances.db thriller
      dancematch remove dances.db --collection studio --yes
    """
    from dancematch.pipeline.catalogue import open_catalogue

    by_filter = label is not None or collection is not None
    if by_filter == bool(dance_ids):
        raise click.UsageError("name dances, or choose them by --label and --collection: one of the two")
    with open_catalogue(catalogue, model=model, create=False) as known:
        if by_filter:
            dance_ids = _of_filter(known.dances(label=label, collection=collection), catalogue, yes)
        known.remove_many(dance_ids)
    for dance_id in dict.fromkeys(dance_ids):
        say(f"{dance_id}: removed")


def _of_filter(dances: "Sequence[Dance]", catalogue: str, yes: bool) -> list[str]:
    """The names of the dances that a filter chose, if it chose any and they are meant."""
    names = [dance.dance_id for dance in dances]
    if not names:
        raise InputError(f"{catalogue} has no such dance; nothing was removed")
    if not yes:
        for name in names[:_NAMED]:
            say(name)
        raise InputError(f"this is {len(names)} dance(s), and nothing was removed; say --yes to do it")
    return names
