"""Verification of a catalogue: everything is read, and every problem reported."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from dancematch.catalogue.sql.checksums import skeletons_checksum, words_checksum
from dancematch.catalogue.sql.connection import check_integrity
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.rows import fingerprint_of, motion_of
from dancematch.catalogue.sql.schema import dances, exclusions, removals, states, tracks
from dancematch.errors import CatalogueError, InputError

MAX_METRES = 200  # metres from the middle of a motion: no stage is larger
_FETCHED = 64  # tracks in memory


@dataclass(frozen=True)
class CatalogueProblem:
    """One problem of a catalogue, and the dance that has it."""

    problem: str
    dance_id: str | None = None


def find_problems(database: Database) -> Iterator[CatalogueProblem]:
    """Read everything and yield every problem, those of the database's own files first."""
    try:
        with database.transaction() as connection:
            damaged = check_integrity(connection)
            yield from (CatalogueProblem(f"the database is damaged: {line}") for line in damaged)
            if damaged:
                return  # what is read from such a file is not reliable
            yield from _check_facts(database, connection)
            yield from _check_dances(connection)
            yield from _check_orphans(connection)
            yield from _check_tracks(database, connection)
            yield from _check_exclusions(connection)
    except CatalogueError as error:
        yield CatalogueProblem(str(error))
    except (TypeError, ValueError) as error:  # SQLite keeps any text where a number should be
        yield CatalogueProblem(f"a value is not of its column's kind: {error}")


def find_problems_quickly(database: Database) -> Iterator[CatalogueProblem]:
    """Yield the problems that show without reading words and skeletons."""
    with database.transaction() as connection:
        yield from (
            CatalogueProblem(f"the database is damaged: {line}")
            for line in check_integrity(connection, quick=True)
        )
        yield from _check_facts(database, connection)
        yield from _check_orphans(connection)


def _check_facts(database: Database, connection: sa.Connection) -> Iterator[CatalogueProblem]:
    for name in ("generation", "log_start"):
        value = database.fact(connection, name)
        if not value.isdecimal():
            yield CatalogueProblem(f"the {name} is {value!r}, not a number")
            return
    if not database.fact(connection, "model_id"):
        yield CatalogueProblem("no model is named whose words these are")
    now = int(database.fact(connection, "generation"))
    if int(database.fact(connection, "log_start")) > now:
        yield CatalogueProblem(f"the log of removals starts after generation {now}, which is the latest")
    if not database.token(connection, now):
        yield CatalogueProblem(f"generation {now}, the latest, has no token")
    for table in (tracks, removals, states):
        ahead = sa.select(sa.func.count()).select_from(table).where(table.c.generation > now)
        count = connection.execute(ahead).scalar_one()
        if count:
            yield CatalogueProblem(
                f"{count} row(s) of {table.name} are of a later generation than {now}, the latest"
            )


def _check_dances(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    for name, seconds, content in connection.execute(
        sa.select(dances.c.dance_id, dances.c.seconds, dances.c.content_hash)
    ):
        if not (isinstance(seconds, float) and 0 < seconds < math.inf):
            yield CatalogueProblem(f"it lasts {seconds} seconds", name)
        if not name or not content:
            yield CatalogueProblem("it has no name or no content hash", name)


def _check_orphans(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    """Find rows whose dance or track is missing."""
    alone = sa.select(dances.c.dance_id).where(dances.c.key.not_in(sa.select(tracks.c.dance)))
    for (name,) in connection.execute(alone):
        yield CatalogueProblem("it has no dancer", name)
    for table in (tracks, exclusions):
        orphans = table.c.dance.not_in(sa.select(dances.c.key))
        count = connection.execute(sa.select(sa.func.count()).select_from(table).where(orphans)).scalar_one()
        if count:
            yield CatalogueProblem(f"{count} row(s) of {table.name} belong to no dance")


def _check_tracks(database: Database, connection: sa.Connection) -> Iterator[CatalogueProblem]:
    """Find tracks that cannot be read, or whose words are of another kind than the first track's."""
    query = sa.select(dances.c.dance_id, tracks).join(dances).order_by(tracks.c.key)
    usual: tuple[int, int] | None = None
    for row in connection.execution_options(yield_per=_FETCHED).execute(query).mappings():
        wrong = list(_check_track(row, database.model_id))
        kind = (row["channels"], row["vocabulary"])
        if not wrong:
            usual = usual or kind
            if kind != usual:
                wrong = [f"{kind[0]} channels of {kind[1]} words, others have {usual[0]} of {usual[1]}"]
        yield from (
            CatalogueProblem(f"dancer {row['dancer']}: {problem}", row["dance_id"]) for problem in wrong
        )


def _check_track(row: sa.RowMapping, model_id: str) -> Iterator[str]:
    """Yield the problems of one dancer."""
    if row["dancer"] < 1:
        yield "dancers are counted from 1"
    try:
        fingerprint_of(row, model_id)
        if words_checksum(row) != row["words_checksum"]:
            yield "the words are damaged: they are not those that were added"
    except (ValueError, TypeError, InputError) as error:
        yield f"the words are damaged: {error}"
    try:
        motion = motion_of(row)
        if motion is not None and np.abs(np.nan_to_num(motion.joints)).max() > MAX_METRES:
            yield f"the skeletons are damaged: a joint is more than {MAX_METRES} m away"
        elif skeletons_checksum(row) != row["skeletons_checksum"]:
            yield "the skeletons are damaged: they are not those that were added"
    except (ValueError, TypeError, InputError) as error:
        yield f"the skeletons are damaged: {error}"
    period, strength = row["period_seconds"], row["period_strength"]
    if strength < 0 or not (period is None or 0 < period < math.inf):
        yield f"the period is {period} s, of strength {strength}"


def _check_exclusions(connection: sa.Connection) -> Iterator[CatalogueProblem]:
    query = sa.select(dances.c.dance_id, exclusions.c.start, exclusions.c.end)
    for name, start, end in connection.execute(query.select_from(exclusions.join(dances))):
        if not 0 <= start < end:
            yield CatalogueProblem(f"a segment from {start} to {end} s is excluded", name)
