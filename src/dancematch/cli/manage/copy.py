"""dancematch copy: all dances of one catalogue into another."""

import dataclasses
import sys

import click

from dancematch.cli.output import emit_json, json_option, say, share_bar


@click.command("copy")
@click.argument("source")
@click.argument("target")
@json_option
def copy_command(source: str, target: str, as_json: bool) -> None:
    """Copy every dance of SOURCE into TARGET, made if it is not there; each a file or a database URL.

    What is in TARGET already is skipped, so an interrupted run goes on where it stopped. Every dance is
    read back and compared by its checksums; exits with 1 if one is not there as it is in SOURCE.

    \b
    Example:
      dancematch copy dances.db postgresql://me@server/dances
      dancematch copy postgresql://me@server/dances backup.db
    """
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
        sys.exit(1)
