"""dancematch remove: forget dances."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import FilterOptions, model_option, option_group
from dancematch.cli.output import say
from dancematch.errors import InputError

if TYPE_CHECKING:
    from dancematch.catalogue.store import Dance

_NAMED = 20  # dances that are named before they are removed; more are only counted


@click.command("remove")
@click.argument("catalogue")
@click.argument("dance_ids", nargs=-1)
@option_group("only", FilterOptions)
@click.option("--yes", is_flag=True, help="Remove all dances of the label or collection, not only name them.")
@model_option
def remove_command(
    catalogue: str, dance_ids: Sequence[str], only: FilterOptions, yes: bool, model: str | None
) -> None:
    """Forget dances: their words and skeletons are deleted from CATALOGUE.

    All that are named go, or, if one of them is unknown, none.

    \b
    Example:
      dancematch remove dances.db thriller
      dancematch remove dances.db --collection studio --yes
    """
    from dancematch.pipeline.catalogue import open_catalogue

    if only.is_empty() != bool(dance_ids):
        raise click.UsageError("name dances, or choose them by --label and --collection: one of the two")
    with open_catalogue(catalogue, model=model, create=False) as known:
        if not only.is_empty():
            dance_ids = _confirm(known.dances(label=only.label, collection=only.collection), catalogue, yes)
        known.remove_many(dance_ids)
    for dance_id in dict.fromkeys(dance_ids):
        say(f"{dance_id}: removed")


def _confirm(dances: "Sequence[Dance]", catalogue: str, yes: bool) -> list[str]:
    """The names of the dances that a filter chose, if it chose any and `yes` is said."""
    names = [dance.dance_id for dance in dances]
    if not names:
        raise InputError(f"{catalogue} has no such dance; nothing was removed")
    if not yes:
        for name in names[:_NAMED]:
            say(name)
        raise InputError(f"this is {len(names)} dance(s), and nothing was removed; say --yes to do it")
    return names
