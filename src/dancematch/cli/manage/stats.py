"""dancematch stats: a catalogue in numbers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import emit_json, emit_table, json_option

if TYPE_CHECKING:
    from dancematch.catalogue.stats import Stats


@click.command("stats")
@click.argument("catalogue")
@json_option
def stats_command(catalogue: str, as_json: bool) -> None:
    """Say what CATALOGUE holds, in numbers.

    \b
    Example:
      dancematch stats dances.db
      dancematch stats dances.db --json
    """
    from dancematch.catalogue.stats import stats_of
    from dancematch.catalogue.store import Store

    store = Store(catalogue, None, create=False)
    try:
        found = stats_of(store)
    finally:
        store.close()
    if as_json:
        emit_json(found)
    else:
        _print(found)


def _print(found: "Stats") -> None:
    size, share = found.bytes_on_disk, found.periodic_share
    for name, value in {
        "dances": f"{found.dances:,}",
        "dancers": f"{found.dancers:,}, {found.with_skeletons:,} with skeletons",
        "seconds": f"{found.seconds:,.1f}",
        "words": f"{found.words:,}",
        "periodic": "no dancers" if share is None else f"{share:.0%} of dancers",
        "excluded": f"{found.exclusions:,} stretch(es)",
        "model": found.model_id,
        "on disk": "not known" if size is None else f"{size / 1e6:,.1f} MB",
        "version": f"{found.version}, generation {found.generation:,}",
    }.items():
        click.echo(f"{name}: {value}")
    _print_counts("collection", found.by_collection)
    _print_counts("label", found.by_label)


def _print_counts(what: str, counts: Mapping[str, int]) -> None:
    if set(counts) - {""}:
        click.echo()
        emit_table([what, "dances"], [[name or "(none)", f"{count:,}"] for name, count in counts.items()])
