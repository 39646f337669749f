"""Counts of what a catalogue holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from dancematch.catalogue.sql.bulk_insert import is_among
from dancematch.catalogue.sql.connection import bytes_on_disk
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.schema import (
    VERSION,
    dances,
    exclusions,
    labels,
    metadata,
    recordings,
    tracks,
)


@dataclass(frozen=True)
class CatalogueStats:
    """The counts of one catalogue; dances without a label or collection are counted under ""."""

    model_id: str
    version: int
    generation: int
    dances: int
    recordings: int
    dancers: int
    with_skeletons: int  # dancers
    seconds: float  # of recordings
    words: int  # one per step and channel
    exclusions: int
    periodic_share: float | None  # of the dancers; None if there is none
    by_collection: dict[str, int]
    by_label: dict[str, int]
    bytes_on_disk: int | None


def count_stats(database: Database) -> CatalogueStats:
    """Count a catalogue's contents without reading words or skeletons."""
    of_tracks = sa.select(
        sa.func.count(),
        sa.func.count(tracks.c.joints),
        sa.func.sum(sa.func.length(tracks.c.words)),
        sa.func.count(tracks.c.period_seconds),
    ).select_from(tracks)
    of_recordings = sa.select(sa.func.count(), sa.func.sum(recordings.c.seconds)).select_from(recordings)
    with database.transaction() as connection:
        dancers, skeletons, word_bytes, periodic = connection.execute(of_tracks).one()
        recorded, seconds = connection.execute(of_recordings).one()
        return CatalogueStats(
            model_id=database.fact(connection, "model_id"),
            version=VERSION,
            generation=int(database.fact(connection, "generation")),
            dances=_count(connection, dances),
            recordings=recorded,
            dancers=dancers,
            with_skeletons=skeletons,
            seconds=float(seconds or 0),
            words=int(word_bytes or 0) // 2,
            exclusions=_count(connection, exclusions),
            periodic_share=periodic / dancers if dancers else None,
            by_collection=_count_by(connection, dances, dances.c.collection),
            by_label=_count_by(connection, dances.join(labels, isouter=True), labels.c.label),
            bytes_on_disk=bytes_on_disk(connection, metadata.tables),
        )


def stored_bytes(connection: sa.Connection, recording_keys: Sequence[int]) -> int:
    """Return how many bytes the words and skeletons of these recordings take."""
    columns = [column for column in tracks.c if isinstance(column.type, sa.LargeBinary)]
    size = sum(sa.func.coalesce(sa.func.length(column), 0) for column in columns)
    wanted = is_among(connection, tracks.c.recording, recording_keys)
    query = sa.select(sa.func.sum(size)).select_from(tracks).where(wanted)
    return int(connection.execute(query).scalar() or 0)


def _count(connection: sa.Connection, table: sa.Table) -> int:
    return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def _count_by(connection: sa.Connection, table: sa.FromClause, column: "sa.Column[str]") -> dict[str, int]:
    """Return the number of dances per value, the most frequent first."""
    value = sa.func.coalesce(column, "")
    rows = connection.execute(sa.select(value, sa.func.count()).select_from(table).group_by(value))
    return dict(sorted(((name, count) for name, count in rows), key=lambda pair: (-pair[1], str(pair[0]))))
