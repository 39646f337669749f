"""dancematch export and import: a catalogue as a folder of plain files, and back."""

import sys
from pathlib import Path

import click

from dancematch.cli.output import counted, emit_json, json_option, say


@click.command("export")
@click.argument("catalogue")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace an export of another catalogue, or of another time.")
@json_option
def export_command(catalogue: str, folder: Path, force: bool, as_json: bool) -> None:
    """Write CATALOGUE into FOLDER: dances.jsonl, and an .npz a dance with words and skeletons.

    What is written already is kept, so an interrupted run goes on where it stopped.

    \b
    Example:
      dancematch export dances.db backup/
      dancematch export dances.db backup/ --force
    """
    from dancematch.catalogue.store import Store
    from dancematch.catalogue.transfer.plain_folder import export_catalogue

    counts = {"written": 0, "kept": 0}
    store = Store(catalogue, None, create=False)
    try:
        for exported in counted(export_catalogue(store, folder, force=force), "exporting"):
            state = "kept" if exported.skipped else "written"
            counts[state] += 1
            if as_json:
                emit_json({"dance_id": exported.dance_id, "file": exported.file, "state": state})
    finally:
        store.close()
    say(f"{folder}: " + ", ".join(f"{number} {state}" for state, number in counts.items()))


@click.command("import")
@click.argument("catalogue")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def import_command(catalogue: str, folder: Path, as_json: bool) -> None:
    """Add to CATALOGUE, made if it is not there, the dances that were exported to FOLDER.

    What is known already is skipped, so an interrupted run goes on where it stopped.

    \b
    Example:
      dancematch import dances.db backup/
      dancematch import postgresql://host/dances backup/
    """
    from dancematch.catalogue.transfer.plain_folder import import_catalogue

    counts = {"added": 0, "skipped": 0, "failed": 0}
    for imported in counted(import_catalogue(catalogue, folder), "importing"):
        state = "failed" if imported.error else "skipped" if imported.known_as else "added"
        counts[state] += 1
        if imported.error is not None:
            say(f"{imported.dance_id}: {imported.error}")
        if as_json:
            emit_json({"dance_id": imported.dance_id, "state": state, "known_as": imported.known_as})
    say(", ".join(f"{number} {state}" for state, number in counts.items()))
    if counts["failed"]:
        sys.exit(1)
