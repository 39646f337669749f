"""From an older catalogue's tables to today's, one numbered step after the other.

A step is plain SQL that SQLite and PostgreSQL both understand, or a function where SQL cannot do
it, and never changes again once it is published: it may not lean on schema.py, which will move on.
"""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from dancematch.catalogue.checksums import skeletons_checksum, words_checksum
from dancematch.catalogue.schema import VERSION

Step = str | Callable[[sa.Connection], None]

_AT_ONCE = 500  # tracks in memory


def _add_checksums(connection: sa.Connection) -> None:
    """Give every track the checksums of what it holds now, whatever may have befallen it before."""
    some = sa.text("SELECT * FROM tracks WHERE key > :last ORDER BY key LIMIT :most")
    noted = sa.text(
        "UPDATE tracks SET words_checksum = :words, skeletons_checksum = :skeletons WHERE key = :key"
    )
    last = 0
    while rows := connection.execute(some, {"last": last, "most": _AT_ONCE}).mappings().all():
        connection.execute(
            noted,
            [
                {
                    "key": row["key"],
                    "words": words_checksum(_plain(row)),
                    "skeletons": skeletons_checksum(row),
                }
                for row in rows
            ],
        )
        last = rows[-1]["key"]


def _plain(row: sa.RowMapping) -> dict[str, Any]:
    """A row from before there were bones."""
    return {**row, "bones": None}


def _name_this_state(connection: sa.Connection) -> None:
    """Give the catalogue, and the generation that it is at, a random name of their own."""
    known = connection.execute(sa.text("SELECT value FROM facts WHERE name = 'identity'")).scalar()
    if known is None:
        named = {"name": "identity", "value": uuid4().hex}
        connection.execute(sa.text("INSERT INTO facts (name, value) VALUES (:name, :value)"), named)
    now = connection.execute(sa.text("SELECT value FROM facts WHERE name = 'generation'")).scalar_one()
    state = {"generation": int(now), "token": uuid4().hex}
    connection.execute(sa.text("INSERT INTO states (generation, token) VALUES (:generation, :token)"), state)


def _suit_postgresql(connection: sa.Connection) -> None:
    """Let PostgreSQL not try to make words and joints smaller, keep short ones in their row, find names."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text('CREATE INDEX ix_dances_by_name ON dances (dance_id COLLATE "C")'))
        for name in ("words", "joints"):
            connection.execute(sa.text(f"ALTER TABLE tracks ALTER COLUMN {name} SET STORAGE EXTERNAL"))
        connection.execute(sa.text("ALTER TABLE tracks SET (toast_tuple_target = 4080)"))


def _add_bones(connection: sa.Connection) -> None:
    """Bytes, under the name that each database has for them."""
    kind = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    connection.execute(sa.text(f"ALTER TABLE tracks ADD COLUMN bones {kind}"))


STEPS: dict[int, tuple[Step, ...]] = {
    1: (  # to version 2: periods, exclusions, what changed since a generation, search by label and collection
        "ALTER TABLE tracks ADD COLUMN period_seconds FLOAT",
        "ALTER TABLE tracks ADD COLUMN period_strength FLOAT",
        "ALTER TABLE tracks ADD COLUMN generation INTEGER DEFAULT '0' NOT NULL",
        "CREATE INDEX ix_tracks_generation ON tracks (generation)",
        "CREATE INDEX ix_dances_label ON dances (label)",
        "CREATE INDEX ix_dances_collection ON dances (collection)",
        """CREATE TABLE exclusions (
            dance INTEGER NOT NULL, start FLOAT NOT NULL, "end" FLOAT NOT NULL, reason VARCHAR,
            PRIMARY KEY (dance, start, "end"),
            FOREIGN KEY (dance) REFERENCES dances (key) ON DELETE CASCADE
        )""",
        """CREATE TABLE removals (
            generation INTEGER NOT NULL, track INTEGER NOT NULL, PRIMARY KEY (generation, track)
        )""",
        "INSERT INTO facts (name, value) SELECT 'log_start', value FROM facts WHERE name = 'generation'",
    ),
    2: (  # to version 3: checksums, who has no period yet, and a name for every state
        "ALTER TABLE tracks ADD COLUMN words_checksum BIGINT",
        "ALTER TABLE tracks ADD COLUMN skeletons_checksum BIGINT",
        "CREATE INDEX ix_tracks_unmeasured ON tracks (key) WHERE period_strength IS NULL",
        """CREATE TABLE states (
            generation INTEGER NOT NULL, token VARCHAR NOT NULL, PRIMARY KEY (generation)
        )""",
        _suit_postgresql,
        _add_checksums,
        _name_this_state,
    ),
    3: (_add_bones,),  # to version 4: how the bones point at each word
}


def migrate(connection: sa.Connection, version: int) -> None:
    """Bring tables of that version to today's, within the transaction of `connection`."""
    for number in range(version, VERSION):
        for step in STEPS[number]:
            if callable(step):
                step(connection)
            else:
                connection.execute(sa.text(step))
    connection.execute(
        sa.text("UPDATE facts SET value = :version WHERE name = 'version'"), {"version": str(VERSION)}
    )
