"""What has changed in a catalogue since a generation; schema.py says how it is stored."""

import sqlalchemy as sa

from dancematch.catalogue.sql.database import KEPT_GENERATIONS, Database
from dancematch.catalogue.sql.schema import removals, tracks


def log_removed(
    database: Database, connection: sa.Connection, which: sa.ColumnElement[bool], generation: int
) -> None:
    """Log that the tracks of the condition `which` are removed or changed at `generation`; call before."""
    leaving = sa.select(sa.literal(generation), tracks.c.key).where(which)
    connection.execute(sa.insert(removals).from_select(["generation", "track"], leaving))
    oldest = generation - KEPT_GENERATIONS
    if oldest > int(database.fact(connection, "log_start")):
        connection.execute(sa.delete(removals).where(removals.c.generation <= oldest))
        database.set_fact(connection, "log_start", oldest)


def log_changed(
    database: Database, connection: sa.Connection, which: sa.ColumnElement[bool], generation: int
) -> None:
    """Log that the tracks of the condition `which` changed at `generation`."""
    log_removed(database, connection, which, generation)
    connection.execute(sa.update(tracks).where(which).values(generation=generation))


def restart_log(database: Database, connection: sa.Connection, generation: int) -> None:
    """Start the log again: at `generation` everything changed."""
    connection.execute(sa.delete(removals))
    connection.execute(sa.update(tracks).values(generation=generation))
    database.set_fact(connection, "log_start", generation)


def removed_since(
    database: Database, connection: sa.Connection, since: int, until: int
) -> tuple[int, ...] | None:
    """Return the keys of tracks removed or changed after `since`; None if the log does not reach so far."""
    query = sa.select(removals.c.track).where(removals.c.generation > since, removals.c.generation <= until)
    keys = {key for (key,) in connection.execute(query)}
    # Read afterwards: the log may have been cut in between.
    if not int(database.fact(connection, "log_start")) <= since <= until:
        return None
    return tuple(sorted(keys))
