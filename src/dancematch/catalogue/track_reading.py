"""Tracks of a catalogue as records, with what a search knows of their dances."""

from collections.abc import Sequence

import sqlalchemy as sa

from dancematch.catalogue.sql import bulk_insert
from dancematch.catalogue.sql.checksums import words_checksum
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.rows import (
    damaged_words,
    fingerprint_of,
    read_excluded_spans,
    read_labels,
    require_labels,
    require_row,
)
from dancematch.catalogue.sql.schema import dances, labels, recordings, tracks
from dancematch.errors import InputError
from dancematch.tracks import KnownTrack
from dancematch.types import Span

_MANY_DANCES = 10_000
_WORDS = [column for column in tracks.c if column.name not in ("joints", "joint_visibility")]


def read_tracks(
    database: Database, connection: sa.Connection, *which: sa.ColumnElement[bool]
) -> tuple[KnownTrack, ...]:
    """Return tracks of some conditions, in order of the dance's name; damaged words are an error."""
    named = (dances.c.name, dances.c.dance_id, dances.c.collection, recordings.c.dance)
    query = sa.select(*named, *_WORDS).select_from(tracks.join(recordings).join(dances))
    rows = connection.execute(query.where(*which)).mappings().all()
    excluded = read_excluded_spans(connection, database.where)
    labelled = _read_labels_of(connection, {row["dance"] for row in rows})
    database.require_ours(connection)  # afterwards: it may change in between
    for row in rows:
        require_row(row, database.where)
        require_labels(row["name"], labelled.get(row["dance"], ()), database.where)
    rows = sorted(rows, key=lambda row: (row["name"], row["recording"], row["dancer"]))
    return tuple(
        _read_track(database, row, excluded.get(row["recording"], ()), labelled.get(row["dance"], ()))
        for row in rows
    )


def _read_labels_of(connection: sa.Connection, dance_keys: set[int]) -> dict[int, tuple[str, ...]]:
    """Read the labels of dances, or of all if these are many: to name them would take longer."""
    if len(dance_keys) > _MANY_DANCES:
        return read_labels(connection)
    return read_labels(connection, bulk_insert.is_among(connection, labels.c.dance, list(dance_keys)))


def _read_track(
    database: Database, row: sa.RowMapping, excluded: Sequence[Span], labelled: tuple[str, ...]
) -> KnownTrack:
    try:
        words = fingerprint_of(row, database.model_id, excluded)
    except (ValueError, TypeError, InputError):
        raise damaged_words(database.where, row["name"]) from None
    if words_checksum(row) != row["words_checksum"]:
        raise damaged_words(database.where, row["name"])
    names = ("key", "dance_id", "dancer", "collection", "period_seconds", "period_strength")
    keys = {"dance_key": row["dance"], "recording_key": row["recording"]}
    own = {name: row[name] for name in names}
    return KnownTrack(fingerprint=words, labels=labelled, **keys, **own)
