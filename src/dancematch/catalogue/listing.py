"""Pages of dances in order of name, read without the rest of a large catalogue."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from dancematch.catalogue.records import Dance
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.rows import require_row, require_values
from dancematch.catalogue.sql.schema import dances, tracks
from dancematch.errors import UnknownDanceError

# The order of Python's own `sorted`, which a language's order is not.
_BY_CODE_POINT = {"sqlite": "BINARY", "postgresql": "C"}


@dataclass(frozen=True)
class Page:
    """Some of the dances that were asked for."""

    dances: tuple[Dance, ...]
    total: int  # of all pages


def select_dances() -> "sa.Select[tuple[object, ...]]":
    """Build the query for every field of `Dance`, to be narrowed down."""
    dancers = sa.func.count(tracks.c.key).label("dancers")
    first = [
        sa.func.max(sa.case((tracks.c.dancer == 1, column))).label(column.name)
        for column in (tracks.c.period_seconds, tracks.c.period_strength)
    ]
    wanted = [column for column in dances.c if column.name != "key"]
    return sa.select(*wanted, dancers, *first).join(tracks).group_by(dances.c.key)


def conditions(
    label: str | None = None, collection: str | None = None, text: str | None = None
) -> Iterator[sa.ColumnElement[bool]]:
    """Build the conditions of a label, a collection, or a text in any of a dance's names."""
    if label is not None:
        yield dances.c.label == label
    if collection is not None:
        yield dances.c.collection == collection
    if text:
        columns = (dances.c.dance_id, dances.c.label, dances.c.collection, dances.c.source)
        yield sa.or_(*(column.icontains(text, autoescape=True) for column in columns))


def read_page(
    database: Database,
    *,
    label: str | None = None,
    collection: str | None = None,
    text: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page:
    """Return the next dances after a name, in order of name, and the number on all pages."""
    name = sa.collate(dances.c.dance_id, _BY_CODE_POINT.get(database.engine.dialect.name, "C"))
    wanted = list(conditions(label, collection, text))
    beyond = [] if after is None else [name > after]
    some = sa.select(dances.c.key).where(*wanted, *beyond).order_by(name).limit(limit)
    with database.transaction() as connection:
        total = connection.execute(sa.select(sa.func.count()).select_from(dances).where(*wanted)).scalar_one()
        keys = connection.execute(some).scalars().all()
        rows = connection.execute(select_dances().where(dances.c.key.in_(keys))).mappings().all()
    return Page(tuple(sort_dances(rows, database.where)), total)


def sort_dances(rows: Iterable[sa.RowMapping], where: str) -> list[Dance]:
    """Return the dances of rows of `select_dances` by name; a value of a wrong kind is a `CatalogueError`.

    Sorted here: databases differ in their order of text.
    """
    made = [_dance_of(row, where) for row in rows]
    return sorted(made, key=lambda dance: dance.dance_id)


def _dance_of(row: sa.RowMapping, where: str) -> Dance:
    require_row(row, where)
    return Dance(**row)


def read_dance(database: Database, dance_id: str) -> Dance:
    """Return one dance."""
    with database.transaction() as connection:
        row = connection.execute(select_dances().where(dances.c.dance_id == dance_id)).mappings().first()
    if row is None:
        raise UnknownDanceError(f"{database.where} has no dance named {dance_id!r}")
    return _dance_of(row, database.where)


def recording_names(database: Database, dance_ids: Sequence[str]) -> dict[str, str]:
    """Return the file names of the dances' recordings by dance; for some thousand dances at most."""
    query = sa.select(dances.c.dance_id, dances.c.source).where(dances.c.dance_id.in_(dance_ids))
    with database.transaction() as connection:
        return {row.dance_id: row.source for row in connection.execute(query)}


def names_with_skeletons(database: Database, dance_ids: Sequence[str]) -> set[str]:
    """Return those of the dances whose skeletons were kept; for some thousand names at most."""
    shown = sa.select(dances.c.dance_id).join(tracks)
    query = shown.where(dances.c.dance_id.in_(dance_ids), tracks.c.fps.is_not(None))
    with database.transaction() as connection:
        return set(connection.execute(query).scalars())


def sample_names(database: Database, limit: int) -> list[str]:
    """Return the names of at most `limit` dances, evenly spread over all in their order."""
    with database.transaction() as connection:
        names = connection.execute(sa.select(dances.c.dance_id)).scalars().all()
    require_values({"dance_id": names}, database.where)
    names = sorted(names)
    count = min(limit, len(names))
    return [names[number * len(names) // count] for number in range(count)]
