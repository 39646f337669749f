"""From an older catalogue's tables to today's, one numbered step after the other.

A step is plain SQL that SQLite and PostgreSQL both understand, and never changes again
once it is published: it may not lean on schema.py, which will move on.
"""

import sqlalchemy as sa

from dancematch.catalogue.schema import VERSION

STEPS = {
    1: (  # to version 2: periods, exclusions, what changed since a generation, and search by label and bank
        "ALTER TABLE tracks ADD COLUMN period_seconds FLOAT",
        "ALTER TABLE tracks ADD COLUMN period_strength FLOAT",
        "ALTER TABLE tracks ADD COLUMN generation INTEGER DEFAULT '0' NOT NULL",
        "CREATE INDEX ix_tracks_generation ON tracks (generation)",
        "CREATE INDEX ix_dances_label ON dances (label)",
        "CREATE INDEX ix_dances_bank ON dances (bank)",
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
}


def migrate(connection: sa.Connection, version: int) -> None:
    """Bring tables of that version to today's, within the transaction of `connection`."""
    for number in range(version, VERSION):
        for statement in STEPS[number]:
            connection.execute(sa.text(statement))
    connection.execute(
        sa.text("UPDATE facts SET value = :version WHERE name = 'version'"), {"version": str(VERSION)}
    )
