"""Dances and answers as tables for other programs (CSV, pyarrow, pandas), columns named as in `--json`.

What JSON nests has a column per leaf: `query.start`, `parts.synchrony`. Lists stay lists.
"""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dancematch.catalogue.records import LABEL_SEPARATOR, Dance, Recording
from dancematch.control_characters import escape_controls
from dancematch.errors import InputError, MissingExtraError
from dancematch.pipeline.csv_table import APOSTROPHE, FORMULA_SIGNS
from dancematch.pipeline.dedup import DuplicateGroup
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.types import Match

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from dancematch.pipeline.answer import DancerAnswer

# Arrow's names of types; a column that a row lacks, or in which it has nothing, is null there.
_DANCE_COLUMNS = {
    "dance_id": "string", "name": "string", "labels": "labels", "collection": "string", "notes": "string",
    "added": "string", "recordings": "int64", "dancers": "int64", "seconds": "double",
    "period_seconds": "double", "period_strength": "double",
}  # fmt: skip
_RECORDING_COLUMNS = {
    "recording_id": "string", "dance_id": "string", "dance": "string", "file": "string",
    "performer": "string", "url": "string", "date": "string", "seconds": "double", "added": "string",
    "dancers": "int64", "period_seconds": "double", "period_strength": "double", "poster": "bool",
}  # fmt: skip
_SPAN_COLUMNS = {"span.start": "double", "span.end": "double"}
_MATCH_COLUMNS = {
    "dancer": "int64", "dance_id": "string", "dance": "string", "score": "double",
    "query.start": "double", "query.end": "double", "reference.start": "double", "reference.end": "double",
    "mirrored": "bool", "turned": "bool", "tempo": "double", "recording": "string", "recording_id": "string",
    "reference_dancer": "int64",
    "track": "int64", "segment.start": "double", "segment.end": "double", "verdict": "string",
    "log_ratio": "double", "evalue": "double", "same_performance": "bool",
}  # fmt: skip
_CANDIDATE_COLUMNS = {"dancer": "int64", **_SPAN_COLUMNS, **_MATCH_COLUMNS}
_SEGMENT_COLUMNS = {
    "dancer": "int64", **_SPAN_COLUMNS, "verdict": "string", "dance": "string",
    **{f"match.{name}": kind for name, kind in _MATCH_COLUMNS.items()},
}  # fmt: skip
_PAIR_COLUMNS = {
    "group": "int64", "one": "string", "other": "string", "score": "double", "log_ratio": "double",
    "evalue": "double", "mirrored": "bool", "tempo": "double", "in_one.start": "double",
    "in_one.end": "double", "in_other.start": "double", "in_other.end": "double",
}  # fmt: skip
_PARTS = "parts."
_LISTS = ("passages", "recordings")  # of a candidate


def dances_to_csv(dances: Iterable[Dance], etags: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the lines of a table of dances, the names of the columns first.

    With `etags` of dances by their ids it has a column of them: what was changed since the table was written
    is then not overwritten by `edit --csv`.
    """
    return _to_csv(dances, _DANCE_COLUMNS, etags)


def recordings_to_csv(
    recordings: Iterable[Recording], etags: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the lines of a table of recordings, the names of the columns first; `etags` as for dances."""
    return _to_csv(recordings, _RECORDING_COLUMNS, etags)


def _to_csv(
    records: Iterable[Dance | Recording], columns: Iterable[str], etags: Mapping[str, str] | None
) -> Iterator[str]:
    yield csv_line(columns if etags is None else (*columns, "etag"))
    for record in records:
        values = [getattr(record, name) for name in columns]
        yield csv_line(values if etags is None else [*values, etags.get(record.dance_id)])


def csv_line(values: Iterable[Any]) -> str:
    """Return values as one line of CSV that a spreadsheet opens safely.

    Text that it would take for a formula is preceded by an apostrophe, and so is text that begins with one: a
    reader drops the first. Control characters are visible, as in Python's source; what is no number is empty.
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([_csv_cell(value) for value in values])
    return line.getvalue()


def csv_file(lines: Iterable[str]) -> bytes:
    """Return a table as a file: it begins with a byte-order mark, by which spreadsheets know UTF-8."""
    return "".join(("\ufeff", *(f"{line}\n" for line in lines))).encode()


def _csv_cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    text = escape_controls(f"{LABEL_SEPARATOR} ".join(value) if isinstance(value, tuple) else str(value))
    return APOSTROPHE + text if text.startswith((*FORMULA_SIGNS, APOSTROPHE)) else text


def dances_to_arrow(dances: Iterable[Dance]) -> "pa.Table":
    """Return one row per dance."""
    return _make_table([dataclasses.asdict(dance) for dance in dances], _DANCE_COLUMNS)


def recordings_to_arrow(recordings: Iterable[Recording]) -> "pa.Table":
    """Return one row per recording."""
    return _make_table([dataclasses.asdict(one) for one in recordings], _RECORDING_COLUMNS)


def candidates_to_arrow(dancers: "Sequence[DancerAnswer]") -> "pa.Table":
    """Return one row per dancer and candidate, in the order of the answer."""
    rows = [
        {**_flatten({"span": dataclasses.asdict(one.span)}), **_flatten(dataclasses.asdict(match))}
        for one in dancers
        for match in one.candidates
    ]
    return _candidate_table(rows, _CANDIDATE_COLUMNS)


def _candidate_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> "pa.Table":
    parts = dict.fromkeys((name for row in rows for name in row if name.startswith(_PARTS)), "double")
    return _make_table(rows, {**columns, **parts}, lists=_LISTS)


def _matches_to_arrow(matches: Sequence[Match]) -> "pa.Table":
    return _candidate_table([_flatten(dataclasses.asdict(match)) for match in matches], _MATCH_COLUMNS)


def _segments_to_arrow(segments: Sequence[ScanSegment]) -> "pa.Table":
    return _make_table([_flatten(one.described()) for one in segments], _SEGMENT_COLUMNS)


def _duplicates_to_arrow(groups: Sequence[DuplicateGroup]) -> "pa.Table":
    pairs = [(number, pair) for number, one in enumerate(groups, start=1) for pair in one.pairs]
    rows = [{"group": number, **_flatten(dataclasses.asdict(pair))} for number, pair in pairs]
    return _make_table(rows, _PAIR_COLUMNS)


_TABLES: Mapping[type, Callable[[Sequence[Any]], "pa.Table"]] = {
    Dance: dances_to_arrow,
    Recording: recordings_to_arrow,
    Match: _matches_to_arrow,
    ScanSegment: _segments_to_arrow,
    DuplicateGroup: _duplicates_to_arrow,
}


def to_pandas(
    records: Iterable[Match] | Iterable[ScanSegment] | Iterable[DuplicateGroup] | Iterable[Dance | Recording],
) -> "pd.DataFrame":
    """Return a data frame with one row per record: match, segment of a scan, pair of duplicates, dance.

    All must be of one kind; of nothing there is a data frame without columns.
    """
    several: list[Any] = list(records)
    kinds = {type(one) for one in several}
    if not kinds:
        return arrow_to_pandas(_make_table([], {}))
    if len(kinds) > 1 or not kinds <= set(_TABLES):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        known = ", ".join(kind.__name__ for kind in _TABLES)
        raise InputError(f"a table holds records of one kind ({known}), got {names}")
    return arrow_to_pandas(_TABLES[kinds.pop()](several))


def columns_to_pandas(columns: Mapping[str, Any]) -> "pd.DataFrame":
    """Return arrays of numbers by name, all of one length, as a data frame."""
    return arrow_to_pandas(_import_pyarrow().table(dict(columns)))


def _flatten(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested values by dotted names, as `pandas.json_normalize` has them."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat


def _make_table(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], lists: Sequence[str] = ()
) -> "pa.Table":
    pa = _import_pyarrow()
    several = pa.list_(pa.string())
    kinds = {name: several if kind == "labels" else pa.type_for_alias(kind) for name, kind in columns.items()}
    fields = [pa.field(name, kind) for name, kind in kinds.items()]
    fields += [pa.field(name, pa.list_(kind)) for name, kind in _list_kinds(pa).items() if name in lists]
    return pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(fields))


def _list_kinds(pa: Any) -> dict[str, Any]:
    """Return the types of what a candidate has several of."""
    span = pa.struct([("start", pa.float64()), ("end", pa.float64())])
    passage = [("query", span), ("reference", span), ("tempo", pa.float64())]
    recording = [
        ("recording", pa.string()), ("recording_id", pa.string()), ("track", pa.int64()),
        ("reference_dancer", pa.int64()), ("mirrored", pa.bool_()), ("score", pa.float64()),
        ("log_ratio", pa.float64()), *passage,
    ]  # fmt: skip
    return {"passages": pa.struct(passage), "recordings": pa.struct(recording)}


def arrow_to_pandas(table: "pa.Table") -> "pd.DataFrame":
    """Return an arrow table as a data frame."""
    try:
        import pandas as _  # noqa: F401  (pyarrow imports it itself, and says less if it is not there)
    except ImportError:
        raise _missing("pandas") from None
    return table.to_pandas()


def _import_pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise _missing("pyarrow") from None
    return pyarrow


def _missing(library: str) -> MissingExtraError:
    return MissingExtraError(f"tables for other programs need {library}: pip install 'dancematch[tables]'")
