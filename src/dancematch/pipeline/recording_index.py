"""The index of recordings: a table (CSV) that says of each file what it is, for `add --index` and uploads.

An empty cell says nothing; one row per file, or several that do not contradict each other.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from dancematch.errors import InputError
from dancematch.formats.files import unreadable
from dancematch.formats.web_address import refuse_web_address
from dancematch.pipeline.csv_table import (
    CsvTable,
    Statements,
    TableLine,
    Value,
    parse_table,
    read_table_text,
)

INDEX_COLUMNS = ("file", "dance", "performer", "labels", "url", "date", "collection", "notes")
_OF_A_DANCE = ("collection", "notes")  # with one value, however many recordings the dance has
_NAMED = 3  # missing files that a message names; more are only counted

_Key = TypeVar("_Key", str, Path)


@dataclass(frozen=True)
class IndexRow:
    """What an index says about one file; None or no label: nothing."""

    row: int  # line of the table
    file: str  # as the table has it
    dance: str | None = None  # name
    performer: str | None = None
    labels: tuple[str, ...] = ()
    url: str | None = None
    date: str | None = None  # YYYY, YYYY-MM or YYYY-MM-DD
    collection: str | None = None
    notes: str | None = None


def read_index(path: Path) -> list[IndexRow]:
    """Return the rows of an index in a file, one per recording."""
    return parse_index(read_table_text(path), str(path))


def parse_index(text: str, name: str) -> list[IndexRow]:
    """Return the rows of an index, one per recording; `name` is that of its file, for messages."""
    table = parse_table(text, name, INDEX_COLUMNS)
    if "file" not in table.columns:
        raise InputError(f"{name} has no column file, which names the recording of each row")
    said = Statements(name)
    rows: dict[str, IndexRow] = {}
    for line in table.lines:
        row = _make_row(table, line)
        if row.dance is not None:
            said.add(row.row, ("the dance", row.dance), _values_of(row, _OF_A_DANCE))
        _enter_row(rows, os.path.normpath(row.file), row, said)
    return list(rows.values())


def match_rows_to_files(rows: Iterable[IndexRow], folder: Path) -> dict[Path, IndexRow]:
    """Return the rows by their files, absolute or relative to a folder; each must be there."""
    said = Statements("the index")
    found: dict[Path, IndexRow] = {}
    missing: list[IndexRow] = []
    for row in rows:
        path = folder / os.path.normpath(row.file)
        try:
            is_there = path.exists()
        except OSError as error:
            raise unreadable(path, error) from None
        if not is_there:
            refuse_web_address(row.file)
            missing.append(row)
        _enter_row(found, path, row, said)
    if missing:
        raise _refuse_missing(missing, folder)
    return found


def _refuse_missing(rows: Sequence[IndexRow], folder: Path) -> InputError:
    """Return the error about files that are not there: how many, and the first of them."""
    first = rows[0]
    if not rows[1:]:
        path = folder / os.path.normpath(first.file)
        return InputError(f"line {first.row} of the index names {first.file!r}, but {path} does not exist")
    names = ", ".join(f"line {row.row} {row.file!r}" for row in rows[:_NAMED])
    names += ", ..." if rows[_NAMED:] else ""
    return InputError(
        f"{len(rows)} files that the index names do not exist: {names}; names are absolute or relative to "
        f"the folder {folder}"
    )


def _enter_row(rows: dict[_Key, IndexRow], key: _Key, row: IndexRow, said: Statements) -> None:
    """Enter a row, or add what it says to the one about the same file that is there."""
    values = _values_of(row)
    said.add(row.row, ("the file", str(key)), values)
    if key in rows:
        row = replace(rows[key], **values)  # type: ignore[arg-type]  # each has the type of its column
    rows[key] = row


def _make_row(table: CsvTable, line: TableLine) -> IndexRow:
    cells = {column: cell for column, cell in line.cells.items() if cell}
    if "file" not in cells:
        raise table.refuse(line.line, "the cell in the column file is empty; it names the recording")
    labels = table.split_labels(cells.pop("labels", ""))
    for label in labels:
        table.require_value(line.line, "label", label)
    for column, cell in cells.items():
        table.require_value(line.line, column, cell)
    return IndexRow(line.line, labels=labels, **cells)


def _values_of(row: IndexRow, columns: Iterable[str] = INDEX_COLUMNS[1:]) -> Mapping[str, Value]:
    """Return what a row says besides naming its file."""
    return {column: value for column in columns if (value := getattr(row, column))}
