"""Dances and answers as tables for other programs (CSV, pyarrow, pandas), columns named as in `--json`.

What JSON nests has a column per leaf: `query.start`, `parts.synchrony`. Lists stay lists.
"""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dancematch.catalogue.records import Dance
from dancematch.control_characters import escape_controls
from dancematch.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from dancematch.pipeline.answer import DancerAnswer

# Arrow's names of types; a column that a row lacks, or in which it has nothing, is null there.
_DANCE_COLUMNS = {
    "dance_id": "string", "source": "string", "content_hash": "string", "seconds": "double",
    "label": "string", "collection": "string", "added": "string", "dancers": "int64",
    "period_seconds": "double", "period_strength": "double",
}  # fmt: skip
_CANDIDATE_COLUMNS = {
    "dancer": "int64", "span.start": "double", "span.end": "double", "dance_id": "string", "score": "double",
    "query.start": "double", "query.end": "double", "reference.start": "double", "reference.end": "double",
    "mirrored": "bool", "tempo": "double", "recording": "string", "reference_dancer": "int64",
    "track": "int64", "segment.start": "double", "segment.end": "double", "verdict": "string",
    "log_ratio": "double", "evalue": "double", "same_performance": "bool",
}  # fmt: skip
_PARTS, _PASSAGES = "parts.", "passages"
# With these a spreadsheet begins a formula; some take the full-width forms of East Asian keyboards too.
_FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_APOSTROPHE = "'"


def dances_to_csv(dances: Iterable[Dance]) -> Iterator[str]:
    """Yield the lines of a table of dances, the names of the columns first."""
    yield csv_line(_DANCE_COLUMNS)
    for dance in dances:
        values = dataclasses.asdict(dance)
        yield csv_line(values[name] for name in _DANCE_COLUMNS)


def csv_line(values: Iterable[Any]) -> str:
    """Return values as one line of CSV that a spreadsheet opens safely.

    Text that it would take for a formula is preceded by an apostrophe, and so is text that begins with one: a
    reader drops the first. Control characters are visible, as in Python's source; what is no number is empty.
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([_csv_cell(value) for value in values])
    return line.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    text = escape_controls(str(value))
    return _APOSTROPHE + text if text.startswith((*_FORMULA_SIGNS, _APOSTROPHE)) else text


def dances_to_arrow(dances: Iterable[Dance]) -> "pa.Table":
    """Return one row per dance."""
    return _make_table([dataclasses.asdict(dance) for dance in dances], _DANCE_COLUMNS)


def candidates_to_arrow(dancers: "Sequence[DancerAnswer]") -> "pa.Table":
    """Return one row per dancer and candidate, in the order of the answer."""
    rows = [
        {**_flatten({"span": dataclasses.asdict(one.span)}), **_flatten(dataclasses.asdict(match))}
        for one in dancers
        for match in one.candidates
    ]
    parts = dict.fromkeys((name for row in rows for name in row if name.startswith(_PARTS)), "double")
    return _make_table(rows, {**_CANDIDATE_COLUMNS, **parts}, lists=(_PASSAGES,))


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
    fields = [pa.field(name, pa.type_for_alias(kind)) for name, kind in columns.items()]
    span = pa.struct([("start", pa.float64()), ("end", pa.float64())])
    passage = pa.struct([("query", span), ("reference", span), ("tempo", pa.float64())])
    fields += [pa.field(name, pa.list_(passage)) for name in lists]
    return pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(fields))


def to_pandas(table: "pa.Table") -> "pd.DataFrame":
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
