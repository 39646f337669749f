"""Tables (CSV) that people write or correct and give back: their text, header and rows.

UTF-8, with commas, semicolons or tabs, as spreadsheets save them. Blanks around a cell are dropped, and so is
the apostrophe that `tables.py` puts before what a spreadsheet would take for a formula. Whatever is wrong is
an `InputError` that names the table and the line.
"""

import csv
import io
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.catalogue.records import LABEL_SEPARATOR
from dancematch.errors import InputError
from dancematch.formats.files import open_regular, unreadable
from dancematch.pipeline.value_checks import find_value_problem, show

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

MAX_TABLE_BYTES = 10_000_000
MAX_TABLE_ROWS = 200_000
# With these a spreadsheet begins a formula; some take the full-width forms of East Asian keyboards too.
FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
APOSTROPHE = "'"

_DELIMITERS = (",", ";", "\t")
_EMPTY_ROWS = 100  # that may stand before the header
_OTHER_LABEL_SEPARATOR = "|"  # where semicolons part the cells

Value = str | tuple[str, ...] | None


@dataclass(frozen=True)
class TableLine:
    """One row of a table: its cells by column, empty ones included, and where it begins."""

    line: int
    cells: Mapping[str, str]
    is_short: bool  # it has fewer cells than the header


@dataclass(frozen=True)
class CsvTable:
    """A table whose columns are known."""

    name: str  # of its file, for messages
    columns: tuple[str, ...]
    lines: tuple[TableLine, ...]
    delimiter: str

    def split_labels(self, cell: str) -> tuple[str, ...]:
        """Return the labels of a cell, each once.

        They are separated by semicolons. Where semicolons part the cells, people write | instead; but a
        spreadsheet that saves a table of ours so quotes the cell and leaves its semicolons.
        """
        other = self.delimiter == LABEL_SEPARATOR and LABEL_SEPARATOR not in cell
        parts = cell.split(_OTHER_LABEL_SEPARATOR if other else LABEL_SEPARATOR)
        return tuple(dict.fromkeys(part for one in parts if (part := one.strip())))

    def refuse(self, line: int, problem: str) -> InputError:
        """Return the error about a line."""
        return InputError(f"{self.name}, line {line}: {problem}")

    def require_value(self, line: int, kind: str, value: str) -> None:
        """Refuse a value that cannot be kept."""
        problem = find_value_problem(kind, value)
        if problem is not None:
            raise self.refuse(line, problem)


def read_table_text(path: Path) -> str:
    """Return the text of a table in a file."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; a table (CSV) was expected")
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > MAX_TABLE_BYTES:
            raise _too_large(str(path))
        try:
            return decode_table(file.read(MAX_TABLE_BYTES + 1), str(path))
        except OSError as error:
            raise unreadable(path, error) from None


def decode_table(content: bytes, name: str) -> str:
    """Return the text of a table, UTF-8 with or without a byte order mark."""
    if len(content) > MAX_TABLE_BYTES:
        raise _too_large(name)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: it is not UTF-8; save the table as CSV in UTF-8") from None


def _too_large(name: str) -> InputError:
    return InputError(f"{name} has more than {MAX_TABLE_BYTES // 1_000_000} MB; split the table")


def parse_table(text: str, name: str, known: Sequence[str], ignored: Collection[str] = ()) -> CsvTable:
    """Return the table of a text: `known` columns, in any order and letter case; `ignored` ones are left out.

    A row that is wholly empty is none. What a row lacks of the header's columns is empty.
    """
    if len(text) > MAX_TABLE_BYTES or len(text.encode(errors="surrogatepass")) > MAX_TABLE_BYTES:
        raise _too_large(name)
    text = text.removeprefix("\ufeff")
    delimiter = max(_DELIMITERS, key=lambda one: _count_header_cells(text, one))
    rows = _iterate_rows(text, name, delimiter)
    expected = ", ".join(known)
    line, first = next(rows, (0, []))
    if not first:
        raise InputError(f"{name} is empty; a header was expected, with columns among {expected}")
    header = _check_header(f"{name}, line {line}", first, known, ignored)
    lines: list[TableLine] = []
    for line, row in rows:
        if any(row[len(header) :]):
            many = f"the row has {len(row)} cells, the header {len(header)}"
            raise InputError(f"{name}, line {line}: {many}; put a cell with the separator in it in quotes")
        lines.append(_make_line(line, header, row, ignored))
    columns = tuple(column for column in header if column not in ignored)
    return CsvTable(name, columns, tuple(lines), delimiter)


def _make_line(line: int, header: Sequence[str], row: Sequence[str], ignored: Collection[str]) -> TableLine:
    padded = (*row, *[""] * (len(header) - len(row)))  # or longer: empty cells to the right of the table
    cells = {column: cell for column, cell in zip(header, padded, strict=False) if column not in ignored}
    return TableLine(line, cells, len(row) < len(header))


def _count_header_cells(text: str, delimiter: str) -> int:
    try:
        first = islice(_make_reader(text, delimiter), _EMPTY_ROWS)
        return len(next((row for row in first if any(map(str.strip, row))), ()))
    except csv.Error:
        return 0


def _make_reader(text: str, delimiter: str) -> "CsvReader":
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


def _iterate_rows(text: str, name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not wholly empty with the line that it begins in."""
    reader = _make_reader(text, delimiter)
    for count in range(MAX_TABLE_ROWS + 2):  # with the header
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            hint = "is a quotation mark missing?"
            raise InputError(f"{name}, line {line}: it cannot be read as CSV: {error}; {hint}") from None
        if row is None:
            return
        if count > MAX_TABLE_ROWS:
            raise InputError(f"{name} has more than {MAX_TABLE_ROWS} rows; split the table")
        cells = [unguard_cell(cell.strip()) for cell in row]
        if any(cells):
            yield line, cells


def unguard_cell(cell: str) -> str:
    """Return a cell without the apostrophe that keeps it from being a formula; any other apostrophe stays."""
    if not cell.startswith(APOSTROPHE):
        return cell
    return cell[1:] if cell.startswith((*FORMULA_SIGNS, APOSTROPHE), 1) else cell


def _check_header(
    where: str, row: Sequence[str], known: Sequence[str], ignored: Collection[str]
) -> tuple[str, ...]:
    """Return the columns by their own spelling; unknown ones, and one that stands twice, are refused."""
    header = [cell.casefold() for cell in row]
    while not header[-1]:  # empty columns to the right of the table, as spreadsheets save them
        header.pop()
    if not set(header) & {*known, *ignored}:
        expected = f"a header was expected, with columns among {', '.join(known)}"
        raise InputError(f"{where}: {expected}; got {show(row[0])}")
    for place, column in enumerate(header):
        if column not in known and column not in ignored:
            raise InputError(f"{where}: there is no column {show(row[place])}; known are {', '.join(known)}")
        if column in header[:place]:
            raise InputError(f"{where}: the column {column} stands twice")
    return tuple(header)


class Statements:
    """What the lines of a table say about files, dances and recordings; two that contradict are refused."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._said: dict[tuple[tuple[str, str], str], tuple[int, Value]] = {}  # by subject and column

    def add(self, line: int, subject: tuple[str, str], values: Mapping[str, Value]) -> None:
        """Enter what a line says of a subject: what it is, such as "the dance", and which."""
        for column, value in values.items():
            first, said = self._said.setdefault((subject, column), (line, value))
            if said != value:
                about = f"{subject[0]} {show(subject[1])}"
                both = f"{column} {_show_value(said)} and {_show_value(value)}"
                lines = f"lines {first} and {line} contradict each other about {about}: {both}"
                raise InputError(f"{self._table}: {lines}")


def _show_value(value: Value) -> str:
    if value is None or value == ():
        return "nothing"
    return show(value if isinstance(value, str) else f"{LABEL_SEPARATOR} ".join(value))
