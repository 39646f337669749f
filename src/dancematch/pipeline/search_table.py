"""Searched clips as a table (CSV): one row per clip and dancer, for people who open it in a spreadsheet.

Names are those of `search --json`; what JSON nests has a column per leaf, and text is made safe for
spreadsheets, as in `tables.py`. A row tells the dancer's match or possible match; where there is none, the
columns of the match are empty. `question_id` is the same in all rows that were searched among the same dances
by the same model with the same options: by it a finished table can be continued.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from dancematch.control_characters import escape_controls
from dancematch.errors import InputError
from dancematch.formats.files import write_bytes
from dancematch.pipeline.answer import DancerAnswer
from dancematch.pipeline.batch_search import SearchedClip
from dancematch.pipeline.csv_table import CsvTable, parse_table, read_table_text
from dancematch.pipeline.tables import csv_file, csv_line
from dancematch.pipeline.wording import likelihood_ratio
from dancematch.types import Match, Verdict

COLUMNS = (
    "file", "verdict", "dance", "dance_id", "recording", "dancer", "span.start", "span.end", "query.start",
    "query.end", "reference.start", "reference.end", "mirrored", "tempo", "evalue", "likelihood_ratio",
    "log_ratio", "same_performance", "ignored", "error", "sha256", "question_id",
)  # fmt: skip

_TEXTS = ("file", "verdict", "dance", "dance_id", "recording", "error", "sha256", "question_id")
_VERDICTS: tuple[Verdict, ...] = ("match", "possible match", "no match")  # the strongest first
_DECIMALS = 3  # of seconds, of the tempo and of log_ratio
_DIGITS = 4  # of the E-value

Row = dict[str, Any]


def header_line() -> str:
    """The names of the columns, as one line of CSV."""
    return csv_line(COLUMNS)


def row_lines(searched: SearchedClip, question_id: str) -> list[str]:
    """The rows of one clip, as lines of CSV."""
    rows = [row | {"question_id": question_id} for row in describe_rows(searched)]
    return [csv_line(row.get(name) for name in COLUMNS) for row in rows]


def make_question_id(asked: Mapping[str, Any]) -> str:
    """A short name of what was asked of which catalogue; a letter first, or spreadsheets make it a number."""
    return "q" + hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:11]


def describe_rows(searched: SearchedClip) -> list[Row]:
    """The rows of one clip by column: one per dancer, or one with the error."""
    clip: Row = {"file": str(searched.path), "sha256": searched.sha256}
    if searched.answer is None:
        return [clip | {"error": str(searched.error)}]
    clip["ignored"] = len(searched.answer.ignored)
    return [clip | _describe_dancer(one) for one in searched.answer.dancers]


def _describe_dancer(one: DancerAnswer) -> Row:
    row: Row = {
        "verdict": one.verdict,
        "dancer": one.dancer,
        "span.start": _rounded(one.span.start),
        "span.end": _rounded(one.span.end),
    }
    return row | _describe_match(one.matches[0]) if one.matches else row


def _describe_match(match: Match) -> Row:
    ratio, evalue = match.log_ratio, match.evalue
    return {
        "dance": match.name,
        "dance_id": match.dance_id,
        "recording": match.recording,
        "query.start": _rounded(match.query.start),
        "query.end": _rounded(match.query.end),
        "reference.start": _rounded(match.reference.start),
        "reference.end": _rounded(match.reference.end),
        "mirrored": match.mirrored,
        "tempo": _rounded(match.tempo),
        "evalue": None if evalue is None else float(f"{evalue:.{_DIGITS}g}"),
        "likelihood_ratio": None if ratio is None else likelihood_ratio(ratio),
        "log_ratio": _rounded(ratio),
        "same_performance": match.same_performance,
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, _DECIMALS)


class SearchTable:
    """A table that is written whole when all clips are searched; until then a part of it is kept.

    The part, beside the table, is what a run that was interrupted left and another goes on with. Its
    first line says what was asked of which catalogue, so that no table is made of two; each further line
    holds a clip's rows and is complete if it ends. To `resume` a table that is finished is to keep its rows
    and to add those of clips that it has not got.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], *, resume: bool, overwrite: bool) -> None:
        self.path, self.part = path, find_part(path)
        self.question_id = make_question_id(asked)
        self._entries: dict[tuple[str, str | None], tuple[int, Verdict | None]] = {}  # where, and what
        self._finished = FinishedTable()
        self._overwrite = overwrite
        if resume and not overwrite and path.exists():
            self._finished = read_finished_table(path, self.question_id)
            self._overwrite = True
        if self.part.exists() and not resume:
            if not overwrite:
                raise InputError(
                    f"{self.part} was left by a run that was interrupted; say --resume to go on with it, "
                    "or --force to begin again"
                )
            self.part.unlink()
        try:
            self._file: BinaryIO = self.part.open("a+b")
        except OSError as error:
            raise InputError(f"{self.part} cannot be written: {error.strerror}") from None
        self._read_part(json.dumps(asked).encode() + b"\n")

    def __len__(self) -> int:
        return len(self._entries)

    def verdict(self, clip: Path, sha256: str | None) -> Verdict | None:
        """The verdict on a clip that is there with this content; None if it has to be searched."""
        found = self._entries.get((str(clip), sha256))
        return self._finished.verdict(clip, sha256) if found is None else found[1]

    def add(self, searched: SearchedClip) -> None:
        """Keep the rows of a clip."""
        key = (str(searched.path), searched.sha256)
        line = {"clip": key, "verdict": searched.verdict, "rows": row_lines(searched, self.question_id)}
        self._entries[key] = (self._file.seek(0, io.SEEK_END), searched.verdict)
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()

    def finish(self, contents: Mapping[Path, str | None]) -> bool:
        """Write the table of these clips, in their order, and remove the part.

        What a finished table has of other clips stays, above them. Returns whether there was anything to
        write: a finished table to which no clip was added is left alone.
        """
        if not self._entries:
            self.close()
            return False
        lines = [header_line(), *self._finished.rows_of_others(contents)]
        lines += [row for key in contents.items() for row in self._read_rows(*key)]
        write_bytes(self.path, csv_file(lines), overwrite=self._overwrite)
        self.close()
        self.part.unlink()
        return True

    def close(self) -> None:
        """Leave the part as it is, for another run; one without any clip is removed."""
        self._file.close()
        if not self._entries:
            self.part.unlink(missing_ok=True)

    def _read_rows(self, clip: Path, sha256: str | None) -> Iterator[str]:
        found = self._entries.get((str(clip), sha256))
        if found is None:
            yield from self._finished.rows(clip, sha256)
            return
        self._file.seek(found[0])
        yield from json.loads(self._file.readline())["rows"]

    def _read_part(self, asked: bytes) -> None:
        """Find the clips that the part has; what a killed process wrote of one more is cut off."""
        self._file.seek(0)
        first = self._file.readline()
        if not first:
            self._file.write(asked)
            self._file.flush()
        elif first != asked:
            self._file.close()
            raise InputError(
                f"{self.part} was begun with other dances, another model or other options; leave out "
                "--resume and say --force to begin again"
            )
        place = self._file.tell()
        while (line := self._file.readline()).endswith(b"\n"):
            self._enter(place, line)
            place = self._file.tell()
        self._file.truncate(place)

    def _enter(self, place: int, line: bytes) -> None:
        try:
            found = json.loads(line)
            clip, sha256 = found["clip"]
            self._entries[clip, sha256] = (place, found["verdict"])
        except (ValueError, KeyError, TypeError):
            self._file.close()
            raise InputError(f"{self.part} is damaged; leave out --resume and say --force") from None


@dataclass(frozen=True)
class FinishedTable:
    """The rows of a table that an earlier run finished, by clip and content, as their cells name them."""

    lines: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)  # of CSV
    verdicts: Mapping[tuple[str, str], Verdict] = field(default_factory=dict)  # of clips that did not fail

    def verdict(self, clip: Path, sha256: str | None) -> Verdict | None:
        """The verdict on a clip with this content; None if it is not there, or failed."""
        return self.verdicts.get((_clip_cell(clip), sha256 or ""))

    def rows(self, clip: Path, sha256: str | None) -> Sequence[str]:
        """The rows of a clip with this content."""
        return self.lines[_clip_cell(clip), sha256 or ""]

    def rows_of_others(self, clips: Iterable[Path]) -> Iterator[str]:
        """The rows of all other clips."""
        named = {_clip_cell(clip) for clip in clips}
        return (row for (clip, _), rows in self.lines.items() if clip not in named for row in rows)


def read_finished_table(path: Path, question_id: str) -> FinishedTable:
    """Read a table to go on with; one that was asked for otherwise, or is none of ours, is refused."""
    advice = "leave out --resume, and choose another name or say --force to begin again"
    try:
        table = parse_table(read_table_text(path), str(path), COLUMNS)
    except InputError as error:
        raise InputError(f"{error}; --resume goes on with a table that search wrote: {advice}") from None
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise InputError(f"{path} has no column {missing[0]}, so it cannot be gone on with: {advice}")
    if any(line.cells["question_id"] != question_id for line in table.lines):
        raise InputError(
            f"{path} was made with other dances, another model or other options; {advice}, "
            "which searches for all clips again"
        )
    return _collect_rows(table)


def _collect_rows(table: CsvTable) -> FinishedTable:
    lines: dict[tuple[str, str], list[str]] = {}
    verdicts: dict[tuple[str, str], Verdict] = {}
    for line in table.lines:
        key = line.cells["file"], line.cells["sha256"]
        row = csv_line(_read_cell(name, line.cells[name]) for name in COLUMNS)
        lines.setdefault(key, []).append(row)
        found = [one for one in _VERDICTS if one in (line.cells["verdict"], verdicts.get(key))]
        if found:
            verdicts[key] = found[0]
    return FinishedTable(lines, verdicts)


def _read_cell(column: str, cell: str) -> Any:
    """The value of a cell: a number stays one, else a negative one would be taken for a formula."""
    if column in _TEXTS:
        return cell
    try:
        return json.loads(cell)
    except ValueError:  # empty, or as a spreadsheet writes it
        return cell


def _clip_cell(clip: Path) -> str:
    """A clip's name as a table that is written and read again has it."""
    return escape_controls(str(clip)).strip()


def find_part(path: Path) -> Path:
    """Where the part of a table is kept until it is whole."""
    return path.with_name(f"{path.name}.part")
