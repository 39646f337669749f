"""dancematch verify: is a catalogue whole?"""

import sys

import click

from dancematch.cli.output import emit_json, json_option, say


@click.command("verify")
@click.argument("catalogue")
@json_option
def verify_command(catalogue: str, as_json: bool) -> None:
    """Read all of CATALOGUE and say what is wrong with it, a line a problem.

    Exits with 0 if nothing is and with 1 otherwise.

    \b
    Example:
      dancematch verify dances.db
    """
    from dancematch.catalogue.store import Store
    from dancematch.catalogue.verify import problems_of

    store = Store(catalogue, None, create=False)
    count = 0
    try:
        for count, found in enumerate(problems_of(store), start=1):  # noqa: B007  (counted for the end)
            if as_json:
                emit_json(found)
            else:
                click.echo(found.problem if found.dance_id is None else f"{found.dance_id}: {found.problem}")
    finally:
        store.close()
    say(f"{store.where}: {count} problem(s)" if count else f"{store.where}: all is well")
    if count:
        sys.exit(1)
