"""The rows of a CSV table, one after the other, however long the file is."""

import csv
import io
from collections.abc import Iterator
from typing import IO

from dancematch.errors import InputError
from dancematch.formats.limits import MAX_ROW

_DELIMITERS = (",", ";", "\t")


def iterate_rows(file: IO[bytes]) -> Iterator[list[str]]:
    """Yield each row's cells; blank lines are left out."""
    with io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline=None) as text:
        lines = _LineSource(text)
        delimiter = max(_DELIMITERS, key=lines.first.count)
        for row in csv.reader(lines, delimiter=delimiter, strict=True):
            lines.unread = MAX_ROW
            if any(cell.strip() for cell in row):
                yield row


class _LineSource:
    """Gives lines to the CSV reader as long as they make no endless row: a cell in quotes may hold many."""

    def __init__(self, text: io.TextIOBase) -> None:
        self._text = text
        self.unread = MAX_ROW  # characters that the row may still have
        self.first = text.readline(MAX_ROW + 1)
        self._waiting = [self.first]

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._waiting.pop() if self._waiting else self._text.readline(MAX_ROW + 1)
        self.unread -= len(line)
        if self.unread < 0:
            raise InputError(f"a row has more than {MAX_ROW} characters")
        if not line:
            raise StopIteration
        return line


def count_lines(file: IO[bytes]) -> int:
    """Return how many lines a file has, whichever characters end them; it is at its start again."""
    count = 1
    while piece := file.read(1 << 20):
        count += piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n")
    file.seek(0)
    return count
