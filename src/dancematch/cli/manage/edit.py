"""dancematch edit: correct what is said of dances and recordings."""

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.manage.edit_options import (
    DanceEditOptions,
    RecordingEditOptions,
    WhichOptions,
    refuse_contradictions,
)
from dancematch.cli.options import json_option, option_group
from dancematch.cli.output import emit, emit_json, say
from dancematch.errors import InputError

if TYPE_CHECKING:
    from dancematch.catalogue.editing.edit import Edited
    from dancematch.catalogue.editing.requests import Edit
    from dancematch.catalogue.store import Store
    from dancematch.pipeline.edit_rows import TableEdits

_SHOWN = 20  # changes that are printed; more are only counted


@click.command("edit")
@click.argument("catalogue")
@click.argument("dances", nargs=-1)
@option_group("which", WhichOptions)
@option_group("dance", DanceEditOptions)
@option_group("recording", RecordingEditOptions)
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@json_option
def edit_command(
    catalogue: str,
    dances: tuple[str, ...],
    which: WhichOptions,
    dance: DanceEditOptions,
    recording: RecordingEditOptions,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Correct what CATALOGUE says of DANCES, named by name or id, and of their recordings.

    All of an edit is made or, if anything is wrong, nothing; each change is printed. --undo takes the last
    edit back, until something is removed. Words and skeletons stay as they are: nothing is analysed again.

    A recording is named by its file or by its id, of which eight characters do. A segment that is excluded
    ends where the recording does; segments that overlap become one. A dance goes when its last recording is
    moved away.

    A table for --csv has the columns of 'dancematch list --csv', with or without --recordings. A column that
    is not there stays as it is, an empty cell removes the value; the column dance moves a recording to
    another dance. By the column etag a row is refused that would change a dance which was changed since the
    table was written; without that column, nothing is compared.

    \b
    Example:
      dancematch edit dances.db clip-0042 --name Thriller --label pop
      dancematch edit dances.db "thriller cover" thriller2 --merge-into Thriller
      dancematch edit dances.db Thriller --recording ben.mp4 --performer Ben --date 2019-07
      dancematch edit dances.db --recording waltz.mp4 --new-dance Waltz
      dancematch edit dances.db Thriller --recording anna.mp4 --exclude 0 4.5 --reason "walks on"
      dancematch edit dances.db --with-label pop --collection studio
      dancematch list dances.db --csv dances.csv    (correct it in a spreadsheet)
      dancematch edit dances.db --csv dances.csv --dry-run
      dancematch edit dances.db --undo
    """
    from dancematch.catalogue.editing.edit import CatalogueEditor
    from dancematch.catalogue.store import Store

    refuse_contradictions(dances, which, dance, recording)
    store = Store(catalogue, None, create=False)
    try:
        editor = CatalogueEditor(store)
        if which.undo:
            edited = editor.undo(dry_run=dry_run)
        elif which.csv is not None:
            made = _edits_of_table(store, which.csv)
            edited = editor.edit(made.edits, expected=made.expected, dry_run=dry_run)
        else:
            edits = list(
                _edits_of_options(store, _choose(store, dances, which, dance), which, dance, recording)
            )
            edited = editor.edit(edits, dry_run=dry_run)
        where = shlex.quote(store.where)
    finally:
        store.close()
    if as_json:
        emit_json(dataclasses.asdict(edited))
    else:
        back = f"taken back by: dancematch edit {where} --undo"
        _print(edited, None if which.undo else back)


def _edits_of_table(store: "Store", table: Path) -> "TableEdits":
    from dancematch.catalogue.details import read_etags
    from dancematch.pipeline.edit_rows import edits_of_rows
    from dancematch.pipeline.edit_table import read_edit_table

    rows = read_edit_table(table)
    etags = read_etags(store) if any(row.etag for row in rows) else {}
    return edits_of_rows(rows, store.dances(), store.recordings(), etags, str(table))


def _choose(
    store: "Store", dances: Sequence[str], which: WhichOptions, dance: DanceEditOptions
) -> Sequence[str]:
    """The dances that are named, or those that a filter chooses but for the one they are merged into."""
    if not which.is_filter:
        return tuple(dict.fromkeys(dances))
    store.require_any(which.with_label, which.in_collection)
    found = store.dances(label=which.with_label, collection=which.in_collection)
    chosen = [one.name for one in found if dance.merge_into not in (one.name, one.dance_id)]
    if not chosen:
        raise InputError(f"{store.where} has no such dance; nothing was changed")
    return chosen


def _edits_of_options(
    store: "Store",
    dances: Sequence[str],
    which: WhichOptions,
    dance: DanceEditOptions,
    recording: RecordingEditOptions,
) -> "Iterator[Edit]":
    """Edits of recordings first: a dance that is merged into another is not there any more."""
    if which.recordings:
        for name in dict.fromkeys(which.recordings):
            yield recording.edit(name, dances[0] if dances else None)
    elif recording.is_given():
        for name in dances:
            yield recording.edit(_only_recording(store, name))
    if dance.is_given():
        _require_labelled(store, dances, dance.unlabels)
        for name in dances:
            yield dance.edit(name)


def _require_labelled(store: "Store", dances: Sequence[str], labels: Sequence[str]) -> None:
    """Refuse to remove a label that none of the dances has: it is misspelt."""
    chosen = set(dances)
    found = [one for one in store.dances() if chosen & {one.name, one.dance_id}] if labels else []
    for label in labels:
        if found and not any(label in one.labels for one in found):
            none = (
                f"{found[0].name!r} has no" if len(found) == 1 else f"none of the {len(found)} dances has the"
            )
            raise InputError(f"{none} label {label!r}; nothing was changed")


def _only_recording(store: "Store", dance: str) -> str:
    """The id of a dance's recording; several are refused by their files."""
    from dancematch.catalogue.listing import read_dance_recordings

    known = read_dance_recordings(store, dance)
    if len(known) > 1:
        files = ", ".join(one.file for one in known[:_SHOWN]) + (", ..." if known[_SHOWN:] else "")
        raise InputError(
            f"{dance!r} has {len(known)} recordings; say --recording with one of {files}; nothing was changed"
        )
    return known[0].recording_id


def _print(edited: "Edited", how_to_undo: str | None) -> None:
    changes = edited.changes
    if not changes:
        say("nothing to change")
        return
    for change in changes[:_SHOWN]:
        emit(change)
    if len(changes) > _SHOWN:
        emit(f"and {len(changes) - _SHOWN:,} more; --json shows all")
    counted = f"{len(changes):,} change{'s' * (len(changes) > 1)}"
    if edited.dry_run:
        say(f"{counted}, not made: this was a dry run")
    elif how_to_undo is None and edited.takes_back:
        say("the last edit was taken back; --undo again makes it again")
    elif how_to_undo is None:
        say("the last edit was made again; --undo takes it back")
    else:
        say(f"{counted}; {how_to_undo}")
