"""A table of dances or recordings that `list --csv` wrote, corrected and given back to `edit --csv`.

A column that is not there leaves its values as they are; an empty cell removes the value. `dance_id` and
`recording_id` say which dance and recording a row is about, and are never changed. The `etag` is that of the
dance when the table was written: a row that changes a dance which was changed since is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dancematch.errors import InputError
from dancematch.pipeline.csv_table import (
    CsvTable,
    Statements,
    TableLine,
    Value,
    parse_table,
    read_table_text,
)
from dancematch.pipeline.value_checks import show

DANCE_COLUMNS = ("name", "labels", "collection", "notes")
RECORDING_COLUMNS = ("performer", "url", "date", "dance")
IGNORED_COLUMNS = (
    "added", "seconds", "dancers", "tracks", "recordings", "file", "content_hash", "poster", "period_seconds",
    "period_strength",
)  # fmt: skip
"""What `list --csv` tells about a dance or recording and people cannot change."""

_ETAG = "etag"
_COLUMNS_OF = {"dance_id": DANCE_COLUMNS, "recording_id": RECORDING_COLUMNS}


@dataclass(frozen=True)
class EditRow:
    """What a row wants a dance, a recording or both to be; None or no label removes a value.

    Values of a dance are those of `DANCE_COLUMNS`. The value of `dance` is the name or id of the dance that
    the recording should belong to.
    """

    row: int  # line of the table
    dance_id: str | None
    recording_id: str | None
    values: Mapping[str, Value]
    etag: str | None = (
        None  # of the dance that the row is about, or whose recording; None: it is not compared
    )


def read_edit_table(path: Path) -> list[EditRow]:
    """Return the rows of a corrected table in a file."""
    return parse_edit_table(read_table_text(path), str(path))


def parse_edit_table(text: str, name: str) -> list[EditRow]:
    """Return the rows of a corrected table; `name` is that of its file, for messages.

    Rows about the same dance or recording agree; those that say the same are one.
    """
    known = tuple(column for key, columns in _COLUMNS_OF.items() for column in (key, *columns))
    known = (*known, _ETAG)
    table = parse_table(text, name, known, IGNORED_COLUMNS)
    _check_columns(table)
    said = Statements(name)
    names: dict[str, EditRow] = {}
    rows: dict[tuple[str | None, str | None], EditRow] = {}
    for line in table.lines:
        row = _make_row(table, line)
        _enter_values(said, row)
        _check_name(name, names, row)
        first = rows.setdefault((row.dance_id, row.recording_id), row)
        rows[row.dance_id, row.recording_id] = replace(first, values={**first.values, **row.values})
    return list(rows.values())


def _enter_values(said: Statements, row: EditRow) -> None:
    """Enter what a row says of its dance and of its recording, which belongs to one dance."""
    of_dance, of_recording = (
        {column: row.values[column] for column in columns if column in row.values}
        for columns in (DANCE_COLUMNS, RECORDING_COLUMNS)
    )
    if row.dance_id is not None:
        said.add(row.row, ("the dance", row.dance_id), of_dance)
        said.add(row.row, ("the dance", row.dance_id), {_ETAG: row.etag})
    if row.recording_id is not None:
        belongs = {} if row.dance_id is None else {"dance_id": row.dance_id}
        said.add(row.row, ("the recording", row.recording_id), {**of_recording, **belongs})


def _check_columns(table: CsvTable) -> None:
    """Refuse a table that does not say whose values its columns hold."""
    if not set(table.columns) & set(_COLUMNS_OF):
        raise InputError(f"{table.name} has no column dance_id or recording_id to say what a row is about")
    for key, columns in _COLUMNS_OF.items():
        for column in table.columns:
            if column in columns and key not in table.columns:
                raise InputError(f"{table.name} has a column {column}, which needs a column {key}")


def _make_row(table: CsvTable, line: TableLine) -> EditRow:
    if line.is_short:
        problem = "the row has fewer cells than the header; an empty cell removes a value"
        raise table.refuse(line.line, f"{problem}, so each has to be there")
    keys = {key: line.cells.get(key) or None for key in _COLUMNS_OF}
    if not any(keys.values()):
        raise table.refuse(line.line, "it has no dance_id or recording_id, so what it is about is unknown")
    values: dict[str, Value] = {}
    for key, columns in _COLUMNS_OF.items():
        found = keys[key]
        if found is not None:
            table.require_value(line.line, key, found)
        for column in columns:
            if column not in line.cells:
                continue
            if found is not None:
                values |= _read_cell(table, line, column)
            elif line.cells[column]:
                raise table.refuse(line.line, f"it has a value in the column {column}, but no {key}")
    return EditRow(line.line, keys["dance_id"], keys["recording_id"], values, line.cells.get(_ETAG) or None)


def _read_cell(table: CsvTable, line: TableLine, column: str) -> dict[str, Value]:
    """Return the value of a cell by its column."""
    cell = line.cells[column]
    if column == "labels":
        labels = table.split_labels(cell)
        for label in labels:
            table.require_value(line.line, "label", label)
        return {column: labels}
    if not cell and column == "name":
        raise table.refuse(line.line, "the name is empty; a dance has a name")
    if not cell and column == "dance":
        raise table.refuse(line.line, "the dance is empty; a recording is always one of a dance")
    if cell:
        table.require_value(line.line, column, cell)
    return {column: cell or None}


def _check_name(table: str, names: dict[str, EditRow], row: EditRow) -> None:
    """Refuse one name for two dances."""
    name = row.values.get("name")
    if isinstance(name, str):
        first = names.setdefault(name, row)
        if first.dance_id != row.dance_id:
            lines = f"lines {first.row} and {row.row}"
            raise InputError(f"{table}: {lines} give two dances one name: {show(name)}")
