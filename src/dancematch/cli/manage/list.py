"""dancematch list: what a catalogue knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import FilterOptions, file_path, json_option, model_option, option, option_group
from dancematch.cli.output import emit, emit_json, emit_table, require_free, say

if TYPE_CHECKING:
    from dancematch.catalogue.records import Dance, Exclusion, Recording
    from dancematch.pipeline.catalogue import Catalogue

_STDOUT = Path("-")
_ID_LENGTH = 12  # characters of a recording's id that are shown


@dataclass(frozen=True)
class ListOptions:
    """What is listed, and where to."""

    recordings: bool = option("--recordings", is_flag=True, help="List recordings, one per file.")
    exclusions: bool = option("--exclusions", is_flag=True, help="List the segments that never match.")
    csv: Path | None = option(
        "--csv", type=file_path(),
        help="Write a table with the columns of --json, for 'dancematch edit --csv', and the etag, by which "
        "that refuses to overwrite what was changed since; - prints it.",
    )  # fmt: skip
    force: bool = option("--force", is_flag=True, help="Let --csv replace a file that is there.")


@click.command("list")
@click.argument("catalogue")
@click.argument("dances", nargs=-1)
@option_group("wanted", ListOptions)
@option_group("only", FilterOptions)
@model_option
@json_option
def list_command(
    catalogue: str,
    dances: tuple[str, ...],
    wanted: ListOptions,
    only: FilterOptions,
    model: str | None,
    as_json: bool,
) -> None:
    """List the dances that CATALOGUE knows, or their recordings: all, or those of DANCES.

    The period is what a dance repeats itself after, if it does.

    \b
    Example:
      dancematch list dances.db
      dancematch list dances.db Thriller --recordings
      dancematch list dances.db --collection studio --json
      dancematch list dances.db --recordings --csv recordings.csv
      dancematch list dances.db --exclusions
    """
    from dancematch.pipeline.catalogue import open_catalogue

    _refuse_contradictions(dances, wanted, only, as_json)
    if wanted.csv not in (None, _STDOUT):
        require_free(Path(wanted.csv or ""), wanted.force)
    with open_catalogue(catalogue, model=model, create=False) as known:
        known.require_any(only.label, only.collection)
        if wanted.exclusions:
            _list_exclusions(_find_exclusions(known, dances, only), as_json)
        elif wanted.recordings:
            etags = (
                known.etags() if wanted.csv is not None else {}
            )  # not newer than what they are written with
            _list_recordings(_find_recordings(known, dances, only), etags, wanted, as_json)
        else:
            etags = known.etags() if wanted.csv is not None else {}
            _list_dances(_find_dances(known, dances, only), etags, wanted, as_json)


def _refuse_contradictions(
    dances: Sequence[str], wanted: ListOptions, only: FilterOptions, as_json: bool
) -> None:
    if wanted.csv is not None and as_json:
        raise click.UsageError("--csv and --json are two ways to list the same; give one of them")
    if wanted.exclusions and (wanted.recordings or wanted.csv is not None):
        raise click.UsageError("--exclusions lists segments, to be read or as --json; leave out the rest")
    if dances and not only.is_empty():
        raise click.UsageError("name dances, or choose them by --label and --collection: one of the two")


def _find_dances(known: "Catalogue", dances: Sequence[str], only: FilterOptions) -> "list[Dance]":
    if dances:
        return [known.dance(dance) for dance in dict.fromkeys(dances)]
    return known.dances(label=only.label, collection=only.collection)


def _find_recordings(known: "Catalogue", dances: Sequence[str], only: FilterOptions) -> "list[Recording]":
    if dances:
        return [one for dance in dict.fromkeys(dances) for one in known.recordings(dance)]
    return known.recordings(label=only.label, collection=only.collection)


def _find_exclusions(known: "Catalogue", dances: Sequence[str], only: FilterOptions) -> "list[Exclusion]":
    if dances:
        return [one for dance in dict.fromkeys(dances) for one in known.exclusions(dance)]
    if only.is_empty():
        return known.exclusions()
    names = {dance.name for dance in known.dances(label=only.label, collection=only.collection)}
    return [one for one in known.exclusions() if one.dance in names]


def _list_dances(
    dances: "Sequence[Dance]", etags: Mapping[str, str], wanted: ListOptions, as_json: bool
) -> None:
    from dancematch.pipeline.tables import dances_to_csv

    if as_json:
        for dance in dances:
            emit_json(dance)
    elif wanted.csv is not None:
        _write_csv(list(dances_to_csv(dances, etags)), wanted.csv, wanted.force, "dance(s)")
    else:
        emit_table(
            ["dance", "recordings", "seconds", "dancers", "period", "labels", "collection", "notes", "added"],
            [
                [
                    dance.name, str(dance.recordings), f"{dance.seconds:.1f}", str(dance.dancers),
                    _period(dance.period_seconds), ", ".join(dance.labels), dance.collection or "",
                    dance.notes or "", dance.added,
                ]
                for dance in dances
            ],
        )  # fmt: skip
        say(f"{len(dances)} dance(s), {sum(dance.recordings for dance in dances)} recording(s)")


def _list_recordings(
    recordings: "Sequence[Recording]", etags: Mapping[str, str], wanted: ListOptions, as_json: bool
) -> None:
    from dancematch.pipeline.tables import recordings_to_csv

    if as_json:
        for one in recordings:
            emit_json(one)
    elif wanted.csv is not None:
        _write_csv(list(recordings_to_csv(recordings, etags)), wanted.csv, wanted.force, "recording(s)")
    else:
        emit_table(
            ["dance", "file", "seconds", "dancers", "period", "performer", "date", "url", "added", "id"],
            [
                [
                    one.dance, one.file, f"{one.seconds:.1f}", str(one.dancers), _period(one.period_seconds),
                    one.performer or "", one.date or "", one.url or "", one.added,
                    one.recording_id[:_ID_LENGTH],
                ]
                for one in recordings
            ],
        )  # fmt: skip
        say(f"{len(recordings)} recording(s) of {len({one.dance_id for one in recordings})} dance(s)")


def _list_exclusions(found: "Sequence[Exclusion]", as_json: bool) -> None:
    if as_json:
        for one in found:
            emit_json(one)
        return
    emit_table(
        ["dance", "file", "from", "to", "reason"],
        [[e.dance, e.file, f"{e.start:.2f} s", f"{e.end:.2f} s", e.reason or ""] for e in found],
    )
    say(f"{len(found)} segment(s) never match")


def _period(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f} s"


def _write_csv(lines: Sequence[str], table: Path, force: bool, what: str) -> None:
    """Write or print a table, the names of the columns first."""
    from dancematch.formats.files import write_bytes
    from dancematch.pipeline.tables import csv_file

    if table == _STDOUT:
        for line in lines:
            emit(line)
        return
    write_bytes(table, csv_file(lines), overwrite=force)
    say(f"{table}: {len(lines) - 1} {what}")
