"""dancematch add: learn dances."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import complain, emit_json, json_option, say, share_bar

if TYPE_CHECKING:
    from dancematch.pipeline.catalogue import Added


@click.command("add")
@click.argument("catalogue")
@click.argument("places", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--id", "dance_id", help="The dance's name, for a single file; else the file's own name.")
@click.option("--label", help="Words to keep with the dances, such as the song.")
@click.option("--bank", help="The collection that the dances belong to.")
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count(), help="Processes to use (default: all cores)."
)
@click.option("--model", help="A shipped model's name or a model's folder.")
@json_option
def add_command(
    catalogue: str,
    places: tuple[Path, ...],
    dance_id: str | None,
    label: str | None,
    bank: str | None,
    jobs: int,
    model: str | None,
    as_json: bool,
) -> None:
    """Learn the dances in PLACES (videos, motion files, folders of them, or patterns such as 'clips/*.mp4').

    CATALOGUE is a file, made if it is not there, or a database URL. A clip that is
    already known is skipped, so an interrupted run goes on where it stopped.

    \b
    Example:
      dancematch add dances.db thriller.mp4
      dancematch add dances.db clips/ --label "summer class" --jobs 2
    """
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.pipeline.extract import clips_in

    if dance_id and len(places) > 1:
        raise click.UsageError(f"--id names one dance, but {len(places)} files are given")
    clips = clips_in(places)
    if dance_id and len(clips) > 1:
        raise click.UsageError(f"--id names one dance, but {len(clips)} files fit {places[0]}")
    with open_catalogue(catalogue, model=model) as known, share_bar("adding") as tell:
        if dance_id:
            results = iter([known.add(clips[0], dance_id=dance_id, label=label, bank=bank, on_progress=tell)])
        else:
            results = known.add_many(clips, label=label, bank=bank, jobs=jobs, on_progress=tell)
        counts = {"added": 0, "skipped": 0, "failed": 0}
        for added in results:
            state = "failed" if added.error else "skipped" if added.skipped else "added"
            counts[state] += 1
            _tell_of(added, state, as_json)
    if counts["skipped"] and (label or bank):
        say("what was known already keeps the label and bank that it has")
    say(", ".join(f"{number} {state}" for state, number in counts.items()))
    if counts["failed"]:
        sys.exit(1)


def _tell_of(added: "Added", state: str, as_json: bool) -> None:
    if added.error is not None:
        complain(added.path, added.error)
    elif not as_json and added.skipped:
        say(f"{added.path}: skipped, known as {added.dance_id}")
    elif not as_json:
        say(f"{added.path}: {added.seconds:.1f} s, {added.dancers} dancer(s)")
    if as_json:
        names = ("dance_id", "dancers", "seconds")
        emit_json({"file": str(added.path), "state": state} | {name: getattr(added, name) for name in names})
