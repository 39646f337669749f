"""dancematch copy: a catalogue into another, or to and from a folder of plain files."""

import dataclasses
import sys

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import force_option, json_option
from dancematch.cli.output import emit_json, say, share_bar


@click.command("copy")
@click.argument("source")
@click.argument("target")
@force_option("Replace a folder that holds another catalogue, or this one of another time.")
@json_option
def copy_command(source: str, target: str, force: bool, as_json: bool) -> None:
    """Copy every dance of SOURCE, with all its recordings, into TARGET.

    Each is a file, a database URL or a folder; TARGET is made if need be.

    A folder is a catalogue's plain form, for backups and other programs: recordings.jsonl, and one .npz
    file per recording with words and skeletons. A TARGET that ends with / is a folder. What is in TARGET
    already is skipped, so an interrupted run goes on where it stopped. Every recording is compared;
    exits with 1 if one is not there as it is in SOURCE.

    \b
    Example:
      dancematch copy dances.db postgresql://me@server/dances
      dancematch copy dances.db backup/
      dancematch copy backup/ restored.db
    """
    from dancematch.catalogue.sql.connection import shown_address
    from dancematch.catalogue.transfer.copying import copy_catalogue, is_folder
    from dancematch.catalogue.transfer.recording_rows import Copied

    if force and not is_folder(target):
        raise click.UsageError(f"--force replaces a folder, and {shown_address(target)} is none")
    done = Copied()
    with share_bar("copying") as tell:
        for some in copy_catalogue(source, target, force=force):
            for name, why in some.failed.items():
                say(f"{name}: {why}")
            done += some
            tell((done.copied + done.skipped + len(done.failed)) / max(done.total, 1))
    shown = {"source": shown_address(source), "target": shown_address(target)}
    if as_json:
        emit_json(dataclasses.asdict(done) | shown)
    say(f"{done.copied} copied, {done.skipped} skipped, {len(done.failed)} failed")
    both = f"in {shown['target']} as they are in {shown['source']}"
    say(f"{done.verified} of {done.total} recordings are {both}")
    if done.verified != done.total:
        sys.exit(ExitCode.FAILED)
