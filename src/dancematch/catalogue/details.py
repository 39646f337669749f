"""Dances with all that is said of them and their recordings, read at one moment.

Their ETag is of that very moment: what is changed on account of an older state can be refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from dancematch.catalogue.editing.images import ExcludedSegment, etag_of, etags_of, read_images
from dancematch.catalogue.listing import read_dances, read_recordings
from dancematch.catalogue.records import Dance, Recording
from dancematch.catalogue.sql.bulk_insert import is_among
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.outage import repeated
from dancematch.catalogue.sql.references import find_dances, require_dances
from dancematch.catalogue.sql.schema import dances, recordings, tracks


@dataclass(frozen=True)
class DanceDetails:
    """A dance with its recordings, in the order of their adding."""

    dance: Dance
    recordings: tuple[Recording, ...]
    exclusions: Mapping[str, tuple[ExcludedSegment, ...]]  # by the id of the recording
    with_skeletons: frozenset[str]  # ids of recordings
    etag: str


def read_details(database: Database, named: Sequence[str]) -> dict[str, DanceDetails]:
    """Return dances by how they were named, by name or id; an unknown one has no item."""
    with database.transaction() as connection:
        found = find_dances(connection, named)
        known = {name: key for name, key in found.items() if key is not None}
        keys = list(set(known.values()))
        chosen = is_among(connection, dances.c.key, keys)
        query = sa.select(dances.c.key, dances.c.dance_id).where(chosen)
        ids = dict(connection.execute(query).all())
        made = _read(database, connection, keys)
    return {name: made[ids[key]] for name, key in known.items()}


@repeated
def read_etag(database: Database, dance: str) -> str:
    """Return a text that changes whenever what people say of a dance or its recordings does."""
    with database.transaction() as connection:
        key = require_dances(connection, database.where, [dance])[dance]
        images = read_images(connection, [key])
        return etag_of(images, next(iter(images.dances)))


def read_etags(database: Database) -> dict[str, str]:
    """Return the ETags of all dances by their ids."""
    with database.transaction() as connection:
        keys = list(connection.execute(sa.select(dances.c.key)).scalars())
        return etags_of(read_images(connection, keys))


def _read(database: Database, connection: sa.Connection, keys: Sequence[int]) -> dict[str, DanceDetails]:
    """Return the details of dances, given by key, by their ids."""
    of_dances = is_among(connection, recordings.c.dance, keys)
    own: dict[str, list[Recording]] = {}
    for one in read_recordings(database, connection, of_dances):
        own.setdefault(one.dance_id, []).append(one)
    shown = sa.select(recordings.c.recording_id).select_from(recordings.join(tracks)).distinct()
    drawn = set(connection.execute(shown.where(of_dances, tracks.c.fps.is_not(None))).scalars())
    images = read_images(connection, keys)
    etags = etags_of(images)
    details = {}
    for dance in read_dances(database, connection, is_among(connection, dances.c.key, keys)):
        recorded = own.get(dance.dance_id, [])
        of_recordings = [one.recording_id for one in recorded]
        details[dance.dance_id] = DanceDetails(
            dance,
            tuple(recorded),
            {one: images.recordings[one].excluded for one in of_recordings},
            frozenset(drawn.intersection(of_recordings)),
            etags[dance.dance_id],
        )
    return details
