"""Many rows at once without SQLAlchemy's conversions: PostgreSQL's COPY, or SQLite's own `executemany`.

Rows are plain tuples in the order of the columns named. Only within a transaction that has called
`Database.next_generation`: keys are given out here.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from dancematch.catalogue.sql import postgresql
from dancematch.catalogue.sql.schema import (
    DANCE_COLUMNS,
    RECORDING_COLUMNS,
    TRACK_COLUMNS,
    dances,
    labels,
    recordings,
    tracks,
)

Values = Sequence[Any]


def insert_dances(connection: sa.Connection, rows: Sequence[Values]) -> list[int]:
    """Insert dances, each the values of `DANCE_COLUMNS`; return their keys in the same order."""
    keys = _new_keys(connection, dances, len(rows))
    keyed = [(key, *row) for key, row in zip(keys, rows, strict=True)]
    _insert(connection, dances, ("key", *DANCE_COLUMNS), keyed)
    return keys


def insert_labels(connection: sa.Connection, rows: Sequence[tuple[int, str]]) -> None:
    """Insert labels: the dance's key, and the label."""
    if rows:
        _insert(connection, labels, ("dance", "label"), rows)


def insert_recordings(connection: sa.Connection, rows: Sequence[tuple[int, Values]]) -> list[int]:
    """Insert recordings: the dance's key, and the values of `RECORDING_COLUMNS`; return their keys."""
    keys = _new_keys(connection, recordings, len(rows))
    keyed = [(key, dance, *values) for key, (dance, values) in zip(keys, rows, strict=True)]
    _insert(connection, recordings, ("key", "dance", *RECORDING_COLUMNS), keyed)
    return keys


def insert_tracks(connection: sa.Connection, generation: int, rows: Iterable[tuple[int, Values]]) -> None:
    """Insert tracks of a generation: the recording's key, and the values of `TRACK_COLUMNS`."""
    names = ("recording", "generation", *TRACK_COLUMNS)
    _insert(connection, tracks, names, ((recording, generation, *values) for recording, values in rows))


def _new_keys(connection: sa.Connection, table: sa.Table, count: int) -> list[int]:
    if connection.dialect.name == "postgresql":
        return postgresql.new_keys(connection, table, count)
    last = connection.execute(sa.select(sa.func.max(table.c.key))).scalar() or 0
    return list(range(last + 1, last + 1 + count))


def _insert(connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Iterable[Values]) -> None:
    if connection.dialect.name == "postgresql":
        postgresql.copy_rows(connection, table, names, rows)
        return
    columns, places = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
    statement = f"INSERT INTO {table.name} ({columns}) VALUES ({places})"  # noqa: S608  (our own names)
    connection.exec_driver_sql(statement, [tuple(row) for row in rows])


def is_among(
    connection: sa.Connection, column: "sa.Column[Any]", values: Sequence[str | int]
) -> sa.ColumnElement[bool]:
    """Build the condition that a column has one of these values, all texts or all numbers.

    They are bound as one parameter: of `in_`, databases take only so many.
    """
    bound = sa.literal(json.dumps(list(values)), sa.Text)
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import JSON  # here, since it is long in loading

        each = sa.func.json_array_elements_text(sa.cast(bound, JSON)).table_valued("value")
        return column.in_(sa.select(sa.cast(each.c.value, column.type)))
    each = sa.func.json_each(bound).table_valued("value")
    return column.in_(sa.select(each.c.value))
