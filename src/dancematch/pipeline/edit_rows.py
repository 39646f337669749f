"""The rows of a corrected table -> edits: only what differs from what there is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dancematch.catalogue.editing.requests import Edit, EditDance, EditRecording
from dancematch.catalogue.records import Dance, Recording
from dancematch.control_characters import escape_controls
from dancematch.errors import ChangedMeanwhileError, InputError
from dancematch.pipeline.csv_table import Value
from dancematch.pipeline.edit_table import DANCE_COLUMNS, RECORDING_COLUMNS, EditRow
from dancematch.pipeline.value_checks import show

_DANCE = "dance"  # the column that says which dance a recording belongs to


@dataclass(frozen=True)
class TableEdits:
    """What the rows of a table change, and what the dances that they change are expected to be."""

    edits: list[Edit] = field(default_factory=list)
    expected: dict[str, str] = field(default_factory=dict)  # ETags by the name of the dance


def edits_of_rows(
    rows: Iterable[EditRow],
    dances: Sequence[Dance],
    recordings: Sequence[Recording],
    etags: Mapping[str, str],
    table: str = "the table",
) -> TableEdits:
    """Return what the rows change, given all dances and recordings that there are.

    A dance that a row names is meant by the name it has before the edit. A row about something that is not
    there, or about a recording that belongs to another dance than the row says, is refused with its line; so
    is one that changes a dance whose ETag is not the row's (`etags` by the id of the dance).
    """
    by_id = {dance.dance_id: dance for dance in dances}
    named = {**by_id, **{dance.name: dance for dance in dances}}  # a name comes before an id
    known = {recording.recording_id: recording for recording in recordings}
    made = TableEdits()
    for row in rows:
        where = f"{table}, line {row.row}"
        if row.dance_id is not None and row.dance_id not in by_id:
            raise _unknown(where, "dance", row.dance_id)
        if row.recording_id is not None and row.recording_id not in known:
            raise _unknown(where, "recording", row.recording_id)
        recording = None if row.recording_id is None else known[row.recording_id]
        dance = by_id[row.dance_id or (recording.dance_id if recording else "")]
        is_stale = row.etag is not None and row.etag != etags.get(dance.dance_id)
        try:
            edits = _edit_dance(dance, row.values) if row.dance_id is not None else []
            edits += [] if recording is None else _edit_owned(where, recording, row, named)
        except InputError:
            if is_stale:
                raise _stale(where, dance) from None
            raise
        if edits and is_stale:
            raise _stale(where, dance)
        made.edits.extend(edits)
        if edits and row.etag is not None:
            made.expected[dance.name] = row.etag
    return made


def _stale(where: str, dance: Dance) -> ChangedMeanwhileError:
    since = f"{dance.name} was changed since the table was written"
    return ChangedMeanwhileError(f"{where}: {since}; list it again; nothing was changed")


def _edit_owned(where: str, recording: Recording, row: EditRow, dances: Mapping[str, Dance]) -> list[Edit]:
    """Return what a row changes of a recording, which must be of the dance that the row names."""
    _require_owner(where, recording, row)
    return _edit_recording(recording, row.values, _find_target(where, row, dances))


def _edit_dance(dance: Dance, values: Mapping[str, Value]) -> list[Edit]:
    changed = _find_changes(dance, values, DANCE_COLUMNS)
    return [EditDance(dance.name, changed)] if changed else []


def _edit_recording(recording: Recording, values: Mapping[str, Value], target: Dance | None) -> list[Edit]:
    changed = _find_changes(recording, values, RECORDING_COLUMNS)
    changed.pop(_DANCE, None)
    move = None if target is None or target.dance_id == recording.dance_id else target.name
    if not changed and move is None:
        return []
    return [EditRecording(recording.recording_id, changed, move_to=move)]


def _find_changes(
    record: Dance | Recording, values: Mapping[str, Value], columns: Sequence[str]
) -> dict[str, Value]:
    """Return the values that are not those of the record."""
    return {
        column: values[column]
        for column in columns
        if column in values and _as_cell(values[column]) != _as_cell(getattr(record, column))
    }


def _as_cell(value: Value) -> Value | frozenset[str]:
    """Return a value as a table that is written and read again has it: labels in any order."""
    if isinstance(value, tuple):
        return frozenset(escape_controls(one).strip() for one in value)
    return None if value is None else escape_controls(value).strip()


def _find_target(where: str, row: EditRow, dances: Mapping[str, Dance]) -> Dance | None:
    """Return the dance that a row says its recording is of; None if it says nothing."""
    named = row.values.get(_DANCE)
    if not isinstance(named, str):
        return None
    if named not in dances:
        raise InputError(
            f"{where}: there is no dance {show(named)}; to rename a dance, correct the table of dances "
            f"('dancematch list --csv' without --recordings), or make a new one of this recording: "
            f"'dancematch edit --recording' with --new-dance; nothing was changed"
        )
    return dances[named]


def _require_owner(where: str, recording: Recording, row: EditRow) -> None:
    if row.dance_id is not None and row.dance_id != recording.dance_id:
        raise InputError(
            f"{where}: {recording.file} is a recording of {recording.dance!r} ({recording.dance_id}), not of "
            f"{show(row.dance_id)}; to move it, change the column dance; nothing was changed"
        )


def _unknown(where: str, what: str, named: str) -> InputError:
    return InputError(f"{where}: there is no {what} {show(named)}; nothing was changed")
