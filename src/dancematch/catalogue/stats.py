"""Counts of what a catalogue holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from dancematch.catalogue.sql.bulk_insert import is_among
from dancematch.catalogue.sql.connection import bytes_on_disk
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.schema import VERSION, dances, exclusions, metadata, tracks


@dataclass(frozen=True)
class CatalogueStats:
    """The counts of one catalogue; dances without a label or collection are counted under ""."""

    model_id: str
    version: int
    generation: int
    dances: int
    dancers: int
    with_skeletons: int  # dancers
    seconds: float  # of dances
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
    of_dances = sa.select(sa.func.count(), sa.func.sum(dances.c.seconds)).select_from(dances)
    with database.transaction() as connection:
        dancers, skeletons, word_bytes, periodic = connection.execute(of_tracks).one()
        number, seconds = connection.execute(of_dances).one()
        return CatalogueStats(
            model_id=database.fact(connection, "model_id"),
            version=VERSION,
            generation=int(database.fact(connection, "generation")),
            dances=number,
            dancers=dancers,
            with_skeletons=skeletons,
            seconds=float(seconds or 0),
            words=int(word_bytes or 0) // 2,
            exclusions=connection.execute(sa.select(sa.func.count()).select_from(exclusions)).scalar_one(),
            periodic_share=periodic / dancers if dancers else None,
            by_collection=_count_by(connection, dances.c.collection),
            by_label=_count_by(connection, dances.c.label),
            bytes_on_disk=bytes_on_disk(connection, metadata.tables),
        )


def stored_bytes(database: Database, dance_ids: Sequence[str]) -> int:
    """Return how many bytes the words and skeletons of these dances take."""
    columns = [column for column in tracks.c if isinstance(column.type, sa.LargeBinary)]
    size = sum(sa.func.coalesce(sa.func.length(column), 0) for column in columns)
    with database.transaction() as connection:
        wanted = is_among(connection, dances.c.dance_id, dance_ids)
        query = sa.select(sa.func.sum(size)).select_from(tracks.join(dances)).where(wanted)
        return int(connection.execute(query).scalar() or 0)


def _count_by(connection: sa.Connection, column: sa.Column[str]) -> dict[str, int]:
    """Return the number of dances per value, the most frequent first."""
    value = sa.func.coalesce(column, "")
    rows = connection.execute(sa.select(value, sa.func.count()).group_by(value))
    return dict(sorted(((name, count) for name, count in rows), key=lambda pair: (-pair[1], str(pair[0]))))
