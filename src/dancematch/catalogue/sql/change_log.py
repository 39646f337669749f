"""What has changed in a catalogue since a generation; schema.py says how that is kept."""

import sqlalchemy as sa

from dancematch.catalogue.sql.database import KEPT_GENERATIONS, Database
from dancematch.catalogue.sql.schema import removals, tracks


def note_removed(
    database: Database, connection: sa.Connection, which: sa.ColumnElement[bool], generation: int
) -> None:
    """Note that the tracks that `which` chooses go, or change, at `generation`; before they do."""
    leaving = sa.select(sa.literal(generation), tracks.c.key).where(which)
    connection.execute(sa.insert(removals).from_select(["generation", "track"], leaving))
    oldest = generation - KEPT_GENERATIONS
    if oldest > int(database.fact(connection, "log_start")):
        connection.execute(sa.delete(removals).where(removals.c.generation <= oldest))
        database.set_fact(connection, "log_start", oldest)


def note_changed(
    database: Database, connection: sa.Connection, which: sa.ColumnElement[bool], generation: int
) -> None:
    """Note that the tracks that `which` chooses are something else from `generation` on."""
    note_removed(database, connection, which, generation)
    connection.execute(sa.update(tracks).where(which).values(generation=generation))


def begin_anew(database: Database, connection: sa.Connection, generation: int) -> None:
    """Note that at `generation` everything changed."""
    connection.execute(sa.delete(removals))
    connection.execute(sa.update(tracks).values(generation=generation))
    database.set_fact(connection, "log_start", generation)


def removed_since(
    database: Database, connection: sa.Connection, since: int, until: int
) -> tuple[int, ...] | None:
    """The keys of the tracks that went or changed after `since`; None if it is not known any more."""
    query = sa.select(removals.c.track).where(removals.c.generation > since, removals.c.generation <= until)
    keys = {key for (key,) in connection.execute(query)}
    # Asked afterwards: the log may have been cut in between.
    if not int(database.fact(connection, "log_start")) <= since <= until:
        return None
    return tuple(sorted(keys))
