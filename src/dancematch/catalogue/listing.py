"""Dances by the page: a part of a large catalogue, in order of name, without reading the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from dancematch.catalogue.records import Dance
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.schema import dances, tracks
from dancematch.errors import UnknownDanceError

# The order of Python's own `sorted`, which a language's order is not.
_BY_CODE_POINT = {"sqlite": "BINARY", "postgresql": "C"}


@dataclass(frozen=True)
class Page:
    """Some of the dances that were asked for."""

    dances: tuple[Dance, ...]
    total: int  # of all pages


def described() -> "sa.Select[tuple[object, ...]]":
    """The query for all that a `Dance` says, to be narrowed down."""
    dancers = sa.func.count(tracks.c.key).label("dancers")
    first = [
        sa.func.max(sa.case((tracks.c.dancer == 1, column))).label(column.name)
        for column in (tracks.c.period_seconds, tracks.c.period_strength)
    ]
    wanted = [column for column in dances.c if column.name != "key"]
    return sa.select(*wanted, dancers, *first).join(tracks).group_by(dances.c.key)


def chosen(
    label: str | None = None, collection: str | None = None, text: str | None = None
) -> Iterator[sa.ColumnElement[bool]]:
    """The conditions of a search by label, collection, or a text in any of a dance's names."""
    if label is not None:
        yield dances.c.label == label
    if collection is not None:
        yield dances.c.collection == collection
    if text:
        columns = (dances.c.dance_id, dances.c.label, dances.c.collection, dances.c.source)
        yield sa.or_(*(column.icontains(text, autoescape=True) for column in columns))


def page_of(
    database: Database,
    *,
    label: str | None = None,
    collection: str | None = None,
    text: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page:
    """The next dances after a name, in order of name, and how many there are on all pages."""
    name = sa.collate(dances.c.dance_id, _BY_CODE_POINT.get(database.engine.dialect.name, "C"))
    asked = list(chosen(label, collection, text))
    beyond = [] if after is None else [name > after]
    some = sa.select(dances.c.key).where(*asked, *beyond).order_by(name).limit(limit)
    with database.transaction() as connection:
        total = connection.execute(sa.select(sa.func.count()).select_from(dances).where(*asked)).scalar_one()
        keys = connection.execute(some).scalars().all()
        rows = connection.execute(described().where(dances.c.key.in_(keys))).mappings().all()
    found = sorted((Dance(**row) for row in rows), key=lambda dance: dance.dance_id)
    return Page(tuple(found), total)


def dance_of(database: Database, dance_id: str) -> Dance:
    """What is known of one dance."""
    with database.transaction() as connection:
        row = connection.execute(described().where(dances.c.dance_id == dance_id)).mappings().first()
    if row is None:
        raise UnknownDanceError(f"{database.where} has no dance named {dance_id!r}")
    return Dance(**row)


def with_skeletons(database: Database, dance_ids: Sequence[str]) -> set[str]:
    """Those of the dances of which skeletons were kept; for some thousand names at most."""
    shown = sa.select(dances.c.dance_id).join(tracks)
    query = shown.where(dances.c.dance_id.in_(dance_ids), tracks.c.fps.is_not(None))
    with database.transaction() as connection:
        return set(connection.execute(query).scalars())


def names_of(database: Database, limit: int) -> list[str]:
    """The names of at most `limit` dances, evenly chosen from all of them in their order."""
    with database.transaction() as connection:
        names = sorted(connection.execute(sa.select(dances.c.dance_id)).scalars())
    count = min(limit, len(names))
    return [names[number * len(names) // count] for number in range(count)]
