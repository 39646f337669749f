"""dancematch dedup: which dances of a catalogue look like one?"""

import dataclasses
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import FilterOptions, json_option, model_option, option_group
from dancematch.cli.output import emit, emit_json, emit_table, say, share_bar
from dancematch.search.confidence.verdict import MAX_EVALUE

if TYPE_CHECKING:
    from dancematch.pipeline.dedup import DuplicateGroup


@click.command("dedup")
@click.argument("catalogue")
@click.option(
    "--max-evalue", type=click.FloatRange(0), default=MAX_EVALUE, show_default=True,
    help="Wrong pairs that the whole catalogue may give by accident.",
)  # fmt: skip
@click.option(
    "--min-score", type=click.FloatRange(0, 1), default=0.0, show_default=True,
    help="Only pairs that score as much as this.",
)  # fmt: skip
@option_group("only", FilterOptions)
@model_option
@json_option
def dedup_command(
    catalogue: str,
    max_evalue: float,
    min_score: float,
    only: FilterOptions,
    model: str | None,
    as_json: bool,
) -> None:
    """Find the dances of CATALOGUE that look like one and the same, wholly or in part.

    Each recording is searched for among the other dances: one search per recording, seconds for a hundred,
    minutes for thousands. Nothing is changed: below each group stands the command that merges its dances into
    the one with most recordings, for you to decide. Exits with 3 if no dances look like one.

    \b
    Example:
      dancematch dedup dances.db
      dancematch dedup dances.db --min-score 0.8 --json
    """
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.pipeline.dedup import find_duplicates

    began = time.monotonic()
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("comparing") as tell:
        known.require_any(only.label, only.collection)
        count = len(known.dances(label=only.label, collection=only.collection))
        where = known.where
        groups = find_duplicates(
            known,
            max_evalue=max_evalue,
            min_score=min_score,
            label=only.label,
            collection=only.collection,
            on_progress=tell,
        )
        sizes = {dance.name: dance.recordings for dance in known.dances()} if groups else {}
    commands = [_merge_command(where, group, sizes) for group in groups]
    if as_json:
        for group, command in zip(groups, commands, strict=True):
            emit_json(dataclasses.asdict(group) | {"command": command})
    else:
        _print(groups, commands)
    seconds = time.monotonic() - began
    say(f"{count} dance(s) compared in {seconds:.1f} s; {len(groups)} group(s) that look like one dance")
    if not groups:
        sys.exit(ExitCode.NO_MATCH)


def _merge_command(catalogue: str, group: "DuplicateGroup", sizes: Mapping[str, int]) -> str:
    """The command that merges a group into its dance with most recordings, the first by name."""
    target = max(group.dances, key=lambda name: sizes.get(name, 0))
    named = [catalogue, *(name for name in group.dances if name != target)]
    if any(name.startswith("-") for name in named):
        return shlex.join(["dancematch", "edit", f"--merge-into={target}", "--", *named])
    into = ["--merge-into", target] if not target.startswith("-") else [f"--merge-into={target}"]
    return shlex.join(["dancematch", "edit", *named, *into])


def _print(groups: "Sequence[DuplicateGroup]", commands: Sequence[str]) -> None:
    from dancematch.pipeline.wording import ratio_cell

    for number, (group, command) in enumerate(zip(groups, commands, strict=True)):
        if number:
            emit()
        emit(f"{len(group.dances)} dances look like one: {', '.join(group.dances)}")
        emit_table(
            ["score", "dance", "where", "dance", "where", "tempo", "mirrored", "evidence if one dance"],
            [
                [
                    f"{pair.score:.2f}",
                    pair.one,
                    f"{pair.in_one.start:.1f} to {pair.in_one.end:.1f} s",
                    pair.other,
                    f"{pair.in_other.start:.1f} to {pair.in_other.end:.1f} s",
                    "" if pair.tempo is None else f"x{pair.tempo:.2f}",
                    "yes" if pair.mirrored else "no",
                    ratio_cell(pair.log_ratio),
                ]
                for pair in group.pairs
            ],
        )
        emit(f"Are they one? Merge them: {command}")
