"""dancematch remove: forget dances and recordings."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import FilterOptions, model_option, option_group
from dancematch.cli.output import say
from dancematch.errors import InputError, UnknownDanceError

if TYPE_CHECKING:
    from dancematch.catalogue.records import Dance
    from dancematch.pipeline.catalogue import Catalogue

_NAMED = 20  # dances that are named before they are removed; more are only counted


@click.command("remove")
@click.argument("catalogue")
@click.argument("dances", nargs=-1)
@click.option(
    "--recording", "recordings", multiple=True, metavar="FILE|ID",
    help="Forget this recording, of one dance if that is named; may be repeated.",
)  # fmt: skip
@option_group("only", FilterOptions)
@click.option("--yes", is_flag=True, help="Remove all dances of the label or collection, not only name them.")
@model_option
def remove_command(
    catalogue: str,
    dances: tuple[str, ...],
    recordings: tuple[str, ...],
    only: FilterOptions,
    yes: bool,
    model: str | None,
) -> None:
    """Forget DANCES, named by name or id, with all their recordings; or single recordings.

    Words, skeletons and pictures are deleted from CATALOGUE. All that are named go, or, if one of them is
    unknown, none. A dance goes with its last recording. This cannot be undone, nor can an edit before it.

    \b
    Example:
      dancematch remove dances.db thriller
      dancematch remove dances.db --recording thriller-2.mp4
      dancematch remove dances.db --collection studio --yes
    """
    from dancematch.pipeline.catalogue import open_catalogue

    if only.is_empty() != bool(dances or recordings):
        raise click.UsageError(
            "name dances or recordings, or choose dances by --label and --collection: one of the two"
        )
    if recordings and len(dances) > 1:
        raise click.UsageError("--recording names recordings of one dance; give that dance, or none")
    with open_catalogue(catalogue, model=model, create=False) as known:
        if recordings:
            _remove_recordings(known, recordings, dances[0] if dances else None)
        else:
            if not only.is_empty():
                found = known.dances(label=only.label, collection=only.collection)
                dances = _confirm(found, catalogue, yes)
            _remove_dances(known, dances)
    say("this cannot be undone; 'dancematch add' learns the files again, if you have them")


def _remove_dances(known: "Catalogue", dances: Sequence[str]) -> None:
    gone: dict[str, Dance] = {}
    for name in dances:
        with suppress(UnknownDanceError):  # told below, with nothing removed
            gone.setdefault((dance := known.dance(name)).dance_id, dance)
    known.remove_many(dances)
    for dance in gone.values():
        count = dance.recordings
        say(f"{dance.name}: removed" + (f", with its {count} recordings" if count > 1 else ""))


def _remove_recordings(known: "Catalogue", named: Sequence[str], dance: str | None) -> None:
    try:
        found = [known.recording(one, dance) for one in named]
    except UnknownDanceError as error:
        raise UnknownDanceError(f"{error}; nothing was removed") from None
    gone = {one.recording_id: one for one in found}
    of_dances = {one.dance: {each.recording_id for each in known.recordings(one.dance)} for one in found}
    known.remove_recordings(gone)
    for one in gone.values():
        say(f"{one.file}: removed from {one.dance}")
    for name, own in of_dances.items():
        if own <= set(gone):
            say(f"{name}: removed with its last recording")


def _confirm(dances: "Sequence[Dance]", catalogue: str, yes: bool) -> tuple[str, ...]:
    """The names of the dances that a filter chose, if it chose any and `yes` is said."""
    names = tuple(dance.name for dance in dances)
    if not names:
        raise InputError(f"{catalogue} has no such dance; nothing was removed")
    if not yes:
        for name in names[:_NAMED]:
            say(name)
        raise InputError(f"this is {len(names)} dance(s), and nothing was removed; say --yes to do it")
    return names
