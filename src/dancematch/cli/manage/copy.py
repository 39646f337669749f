"""dancematch copy: a catalogue into another, or to and from a folder of plain files."""

import dataclasses
import os
import sys
from pathlib import Path

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import force_option, json_option
from dancematch.cli.output import counted, emit_json, say, share_bar
from dancematch.errors import InputError


@click.command("copy")
@click.argument("source")
@click.argument("target")
@force_option("Replace a folder that holds another catalogue, or this one of another time.")
@json_option
def copy_command(source: str, target: str, force: bool, as_json: bool) -> None:
    """Copy every dance of SOURCE into TARGET, made if need be; each is a file, a database URL or a folder.

    A folder is a catalogue's plain form, for backups and other programs: dances.jsonl, and an .npz file per
    dance with words and skeletons. A TARGET that ends with / is a folder. What is in TARGET already is
    skipped, so an interrupted run goes on where it stopped. Every dance is compared by its checksums;
    exits with 1 if one is not there as it is in SOURCE.

    \b
    Example:
      dancematch copy dances.db postgresql://me@server/dances
      dancematch copy dances.db backup/
      dancematch copy backup/ restored.db
    """
    from_folder, to_folder = _is_folder(source), _is_folder(target)
    if from_folder and to_folder:
        raise InputError(f"{source} and {target} are folders; one of the two must be a catalogue")
    if force and not to_folder:
        raise click.UsageError(f"--force replaces a folder, and {target} is none")
    if to_folder:
        _write_folder(source, Path(target), force, as_json)
    elif from_folder:
        _read_folder(Path(source), target, as_json)
    else:
        _copy(source, target, as_json)


def _is_folder(where: str) -> bool:
    return where.endswith(("/", os.sep)) or ("://" not in where and Path(where).is_dir())


def _write_folder(catalogue: str, folder: Path, force: bool, as_json: bool) -> None:
    from dancematch.catalogue.store import Store
    from dancematch.catalogue.transfer.plain_folder import export_catalogue

    counts = {"written": 0, "kept": 0}
    store = Store(catalogue, None, create=False)
    try:
        for exported in counted(export_catalogue(store, folder, force=force), "copying"):
            state = "kept" if exported.skipped else "written"
            counts[state] += 1
            if as_json:
                emit_json({"dance_id": exported.dance_id, "file": exported.file, "state": state})
    finally:
        store.close()
    say(f"{folder}: " + ", ".join(f"{number} {state}" for state, number in counts.items()))


def _read_folder(folder: Path, catalogue: str, as_json: bool) -> None:
    from dancematch.catalogue.transfer.plain_folder import import_catalogue

    counts = {"added": 0, "skipped": 0, "failed": 0}
    for imported in counted(import_catalogue(catalogue, folder), "copying"):
        state = "failed" if imported.error else "skipped" if imported.known_as else "added"
        counts[state] += 1
        if imported.error is not None:
            say(f"{imported.dance_id}: {imported.error}")
        if as_json:
            emit_json({"dance_id": imported.dance_id, "state": state, "known_as": imported.known_as})
    say(", ".join(f"{number} {state}" for state, number in counts.items()))
    if counts["failed"]:
        sys.exit(ExitCode.FAILED)


def _copy(source: str, target: str, as_json: bool) -> None:
    from dancematch.catalogue.sql.connection import shown_address
    from dancematch.catalogue.store import Store
    from dancematch.catalogue.transfer.copying import Copied, copy_catalogue

    done = Copied(0)
    store = Store(source, None, create=False)
    try:
        with share_bar("copying") as tell:
            for some in copy_catalogue(store, target):
                for name, why in some.failed.items():
                    say(f"{name}: {why}")
                done += some
                tell((done.copied + done.skipped + len(done.failed)) / max(done.total, 1))
    finally:
        store.close()
    if as_json:
        emit_json(dataclasses.asdict(done) | {"source": store.where, "target": shown_address(target)})
    say(f"{done.copied} copied, {done.skipped} skipped, {len(done.failed)} failed")
    say(f"{done.verified} of {done.total} dances are in {shown_address(target)} as they are in {store.where}")
    if done.verified != done.total:
        sys.exit(ExitCode.FAILED)
