"""Dances and recordings in order of name, read without the rest of a large catalogue."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from dancematch.catalogue.records import Dance, Recording
from dancematch.catalogue.sql.bulk_insert import is_among
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.references import require_dances, require_recordings
from dancematch.catalogue.sql.rows import read_labels, require_labels, require_row, require_values
from dancematch.catalogue.sql.schema import dances, labels, recordings, tracks
from dancematch.errors import UnknownDanceError

# The order of Python's own `sorted`, which a language's order is not.
_BY_CODE_POINT = {"sqlite": "BINARY", "postgresql": "C"}


@dataclass(frozen=True)
class Page:
    """Some of the dances that were asked for."""

    dances: tuple[Dance, ...]
    total: int  # of all pages


@dataclass(frozen=True)
class TrackNames:
    """The dance and the recording that a track is of, as people know them."""

    dance: str
    recording: str  # the file's name
    recording_id: str


def conditions(
    label: str | None = None, collection: str | None = None, text: str | None = None
) -> Iterator[sa.ColumnElement[bool]]:
    """Build the conditions of a label, a collection, or a text in any name of a dance or its recordings."""
    if label is not None:
        yield dances.c.key.in_(sa.select(labels.c.dance).where(labels.c.label == label))
    if collection is not None:
        yield dances.c.collection == collection
    if text:
        own = (dances.c.name, dances.c.collection, dances.c.notes)
        of_recordings = (recordings.c.file, recordings.c.performer, recordings.c.url)
        labelled = sa.select(labels.c.dance).where(_contains([labels.c.label], text))
        recorded = sa.select(recordings.c.dance).where(_contains(of_recordings, text))
        yield sa.or_(_contains(own, text), dances.c.key.in_(labelled), dances.c.key.in_(recorded))


def _contains(columns: "Sequence[sa.Column[Any]]", text: str) -> sa.ColumnElement[bool]:
    return sa.or_(*(column.icontains(text, autoescape=True) for column in columns))


def read_dances(database: Database, connection: sa.Connection, *which: sa.ColumnElement[bool]) -> list[Dance]:
    """Return dances by name; a value of a wrong kind is a `CatalogueError`."""
    rows = connection.execute(sa.select(dances).where(*which)).mappings().all()
    some = sa.select(dances.c.key).where(*which)
    labelled = read_labels(connection, *([labels.c.dance.in_(some)] if which else []))
    counts = _count_recordings(database, connection, *([recordings.c.dance.in_(some)] if which else []))
    made = []
    for row in rows:
        require_row(row, database.where)
        own_labels = labelled.get(row["key"], ())
        require_labels(row["name"], own_labels, database.where)
        own = {name: value for name, value in row.items() if name != "key"}
        made.append(Dance(**own, labels=own_labels, **counts.get(row["key"], {})))
    # Sorted here: databases differ in their order of text.
    return sorted(made, key=lambda dance: dance.name)


def _count_recordings(
    database: Database, connection: sa.Connection, *which: sa.ColumnElement[bool]
) -> dict[int, dict[str, Any]]:
    """Return what the recordings say of dances, by the key of the dance."""
    query = _select_recordings().where(*which).order_by(recordings.c.key)
    counts: dict[int, dict[str, Any]] = {}
    for row in connection.execute(query).mappings():
        _require_recording(row, database.where)
        known = counts.setdefault(row["dance_key"], {"recordings": 0, "dancers": 0, "seconds": 0.0})
        known["recordings"] += 1
        known["dancers"] += row["dancers"]
        known["seconds"] += row["seconds"]
        if known.get("period_seconds") is None:
            known |= {name: row[name] for name in ("period_seconds", "period_strength")}
    return counts


def _select_recordings() -> "sa.Select[Any]":
    """Build the query for every field of `Recording`, to be narrowed down."""
    first = [
        sa.func.max(sa.case((tracks.c.dancer == 1, column))).label(column.name)
        for column in (tracks.c.period_seconds, tracks.c.period_strength)
    ]
    own = [recordings.c[one.name] for one in fields(Recording) if one.name in recordings.c]
    wanted = [column for column in own if column.name not in ("dance", "poster")]
    kept = recordings.c.poster.is_not(None).label("poster")
    named = (dances.c.dance_id, dances.c.name.label("dance"), recordings.c.dance.label("dance_key"))
    dancers = sa.func.count(tracks.c.key).label("dancers")
    query = sa.select(*wanted, kept, *named, dancers, *first).select_from(recordings.join(dances))
    return query.join(tracks, isouter=True).group_by(recordings.c.key, dances.c.key)


def read_recordings(
    database: Database, connection: sa.Connection, *which: sa.ColumnElement[bool]
) -> list[Recording]:
    """Return recordings by the name of their dance, then in the order of their adding."""
    query = _select_recordings().where(*which).order_by(recordings.c.key)
    made = []
    for row in connection.execute(query).mappings():
        _require_recording(row, database.where)
        values = {name: value for name, value in row.items() if name != "dance_key"}
        made.append(Recording(**values | {"poster": bool(values["poster"])}))
    return sorted(made, key=lambda one: one.dance)


def _require_recording(row: sa.RowMapping, where: str) -> None:
    """Refuse values of a recording that are not of their column's kind."""
    own = {str(name): (value,) for name, value in row.items() if name not in ("dance", "poster")}
    require_values(own | {"name": (row["dance"],)}, where)


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
    name = sa.collate(dances.c.name, _BY_CODE_POINT.get(database.engine.dialect.name, "C"))
    wanted = list(conditions(label, collection, text))
    beyond = [] if after is None else [name > after]
    some = sa.select(dances.c.key).where(*wanted, *beyond).order_by(name).limit(limit)
    with database.transaction() as connection:
        total = connection.execute(sa.select(sa.func.count()).select_from(dances).where(*wanted)).scalar_one()
        keys = connection.execute(some).scalars().all()
        shown = read_dances(database, connection, dances.c.key.in_(keys))
    return Page(tuple(shown), total)


def count_dances(database: Database) -> int:
    """Return how many dances there are."""
    with database.transaction() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(dances)).scalar_one())


def read_dance(database: Database, dance: str) -> Dance:
    """Return one dance, by its name or id."""
    with database.transaction() as connection:
        key = require_dances(connection, database.where, [dance])[dance]
        return read_dances(database, connection, dances.c.key == key)[0]


def find_dance(database: Database, dance: str) -> Dance | None:
    """Return the same, or None if there is none."""
    try:
        return read_dance(database, dance)
    except UnknownDanceError:
        return None


def read_dance_recordings(database: Database, dance: str) -> list[Recording]:
    """Return the recordings of one dance, by its name or id, in the order of their adding."""
    with database.transaction() as connection:
        key = require_dances(connection, database.where, [dance])[dance]
        return read_recordings(database, connection, recordings.c.dance == key)


def read_recording(database: Database, recording: str, dance: str | None = None) -> Recording:
    """Return one recording, by its id or its file's name, perhaps among those of a dance."""
    with database.transaction() as connection:
        of_dance = None if dance is None else require_dances(connection, database.where, [dance])[dance]
        wanted = (recording, of_dance)
        key = require_recordings(connection, database.where, [wanted])[wanted]
        return read_recordings(database, connection, recordings.c.key == key)[0]


def read_poster(database: Database, recording_id: str) -> bytes | None:
    """Return the picture that is kept of a recording, as JPEG; None if there is none."""
    query = sa.select(recordings.c.poster).where(recordings.c.recording_id == recording_id)
    with database.transaction() as connection:
        found = connection.execute(query).scalar()
    return None if found is None else bytes(found)


def name_tracks(database: Database, track_keys: Sequence[int]) -> dict[int, TrackNames]:
    """Return what tracks are of, by their keys; one that has been removed since has no item."""
    query = sa.select(tracks.c.key, dances.c.name, recordings.c.file, recordings.c.recording_id)
    query = query.select_from(tracks.join(recordings).join(dances))
    with database.transaction() as connection:
        wanted = is_among(connection, tracks.c.key, list(dict.fromkeys(track_keys)))
        return {row[0]: TrackNames(*row[1:]) for row in connection.execute(query.where(wanted))}


def dances_with_skeletons(database: Database, dance_ids: Sequence[str]) -> set[str]:
    """Return those of the dances, by id, of which skeletons were kept."""
    shown = sa.select(dances.c.dance_id).select_from(dances.join(recordings).join(tracks)).distinct()
    with database.transaction() as connection:
        wanted = is_among(connection, dances.c.dance_id, dance_ids)
        return set(connection.execute(shown.where(wanted, tracks.c.fps.is_not(None))).scalars())


def read_names(database: Database) -> dict[str, str]:
    """Return the names of all dances by id."""
    with database.transaction() as connection:
        rows = connection.execute(sa.select(dances.c.dance_id, dances.c.name)).all()
    require_values({"name": [name for _, name in rows]}, database.where)
    return dict(rows)


def sample_dance_ids(database: Database, limit: int) -> list[str]:
    """Return the ids of at most `limit` dances, evenly spread over all in the order of their names."""
    names = read_names(database)
    ids = sorted(names, key=names.__getitem__)
    count = min(limit, len(ids))
    return [ids[number * len(ids) // count] for number in range(count)]
