"""dancematch exclude: segments of a dance that never match."""

import click

from dancematch.cli.options import json_option
from dancematch.cli.output import emit_json, emit_table, say
from dancematch.types import Span


@click.command("exclude")
@click.argument("catalogue")
@click.argument("dance")
@click.argument("start", type=float, required=False)
@click.argument("end", type=float, required=False)
@click.option("--reason", help="Words to keep with the segment.")
@click.option("--clear", is_flag=True, help="Let all of the dance match again.")
@json_option
def exclude_command(
    catalogue: str,
    dance: str,
    start: float | None,
    end: float | None,
    reason: str | None,
    clear: bool,
    as_json: bool,
) -> None:
    """Never match DANCE of CATALOGUE from START to END (seconds), such as the applause at its end.

    A segment ends where the dance does; segments that overlap become one. Without START and END:
    show what is excluded.

    \b
    Example:
      dancematch exclude dances.db thriller 0 4.5 --reason "walks on"
      dancematch exclude dances.db thriller
      dancematch exclude dances.db thriller --clear
    """
    from dancematch.catalogue.store import Store

    if (start is None) != (end is None) or (clear and start is not None):
        raise click.UsageError("give START and END, or --clear, or neither")
    store = Store(catalogue, None, create=False)
    try:
        if start is not None and end is not None:
            made = store.exclude(dance, Span(start, end), reason)
            if made.end < end:
                say(f"{dance} lasts {made.end:.2f} s: excluded up to there")
            if made.start < start or end < made.end:
                say(f"{dance}: one with what was excluded before, {made.start:.2f} to {made.end:.2f} s")
        if clear:
            say(f"{dance}: {store.clear_exclusions(dance)} segment(s) may match again")
        found = store.exclusions(dance)
    finally:
        store.close()
    if as_json:
        for segment in found:
            emit_json(segment)
    elif not clear:
        rows = [[f"{e.start:.2f} s", f"{e.end:.2f} s", e.reason or ""] for e in found]
        emit_table(["from", "to", "reason"], rows)
