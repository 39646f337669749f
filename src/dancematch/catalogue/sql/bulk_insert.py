"""Many rows at once without SQLAlchemy's conversions: PostgreSQL's COPY, or SQLite's own `executemany`.

Rows are plain tuples in the order of the columns named. Only within a transaction that has called
`Database.next_generation`: keys are given out here.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSON

from dancematch.catalogue.sql import postgresql
from dancematch.catalogue.sql.schema import DANCE_COLUMNS, TRACK_COLUMNS, dances, tracks

Values = Sequence[Any]


def insert_dances(connection: sa.Connection, rows: Sequence[Values]) -> list[int]:
    """Insert dances, each the values of `DANCE_COLUMNS`; return their keys in the same order."""
    keys = _new_keys(connection, len(rows))
    keyed = [(key, *row) for key, row in zip(keys, rows, strict=True)]
    _insert(connection, dances, ("key", *DANCE_COLUMNS), keyed)
    return keys


def insert_tracks(connection: sa.Connection, generation: int, rows: Iterable[tuple[int, Values]]) -> None:
    """Insert tracks of a generation: the dance's key, and the values of `TRACK_COLUMNS`."""
    names = ("dance", "generation", *TRACK_COLUMNS)
    _insert(connection, tracks, names, ((dance, generation, *values) for dance, values in rows))


def _new_keys(connection: sa.Connection, count: int) -> list[int]:
    if connection.dialect.name == "postgresql":
        return postgresql.new_keys(connection, dances, count)
    last = connection.execute(sa.select(sa.func.max(dances.c.key))).scalar() or 0
    return list(range(last + 1, last + 1 + count))


def _insert(connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Iterable[Values]) -> None:
    if connection.dialect.name == "postgresql":
        postgresql.copy_rows(connection, table, names, rows)
        return
    columns, places = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
    statement = f"INSERT INTO {table.name} ({columns}) VALUES ({places})"  # noqa: S608  (our own names)
    connection.exec_driver_sql(statement, [tuple(row) for row in rows])


def is_among(
    connection: sa.Connection, column: "sa.Column[str]", values: Sequence[str]
) -> sa.ColumnElement[bool]:
    """Build the condition that a column has one of these values.

    They are bound as one parameter: of `in_`, databases take only so many.
    """
    bound = sa.literal(json.dumps(list(values)), sa.Text)
    if connection.dialect.name == "postgresql":
        each = sa.func.json_array_elements_text(sa.cast(bound, JSON)).table_valued("value")
    else:
        each = sa.func.json_each(bound).table_valued("value")
    return column.in_(sa.select(each.c.value))
