"""A catalogue's database, opened: that it is one, of which version and model, and how work on it is done.

A file of an older version is brought to today's when it is opened, in one transaction.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from dancematch.catalogue.connection import connect, is_read_only, shown
from dancematch.catalogue.migrations import migrate
from dancematch.catalogue.schema import VERSION, facts, metadata
from dancematch.errors import CatalogueError, ModelMismatchError

READ = "BEGIN"
# A writer takes its turn at the start: two that both read first could never both go on.
WRITE = "BEGIN IMMEDIATE"

_IDENTITY = sa.select(facts.c.value).where(facts.c.name == "identity")
_ALWAYS_THERE = {"facts", "dances", "tracks"}  # in every version


class Database:
    """The tables of one catalogue, opened for one model's words."""

    def __init__(self, where: str | Path, model_id: str | None, *, create: bool = True) -> None:
        """Open the catalogue at a file's path or a database URL; `create` it if it is not there.

        Without a `model_id` it must be there, and is opened for whatever model's words it holds.
        """
        self.model_id = model_id or ""
        create = create and model_id is not None
        self.engine = connect(str(where))
        self.where = shown(self.engine.url)
        is_file = self.engine.dialect.name == "sqlite"
        if is_file and not create and not Path(self.where).is_file():
            raise self._absent()
        try:
            self._prepare(create)
        except BaseException:
            self.close()
            raise

    def _absent(self) -> CatalogueError:
        return CatalogueError(f"there is no catalogue at {self.where}; 'dancematch add' makes one")

    def _prepare(self, create: bool) -> None:
        """Make the tables in an empty database; in any other, check that they are ours and today's."""
        with self.transaction() as connection:  # whoever only reads need not wait for a writer
            empty = not sa.inspect(connection).get_table_names()
        if empty and not create:
            raise self._absent()
        if empty:
            self.pragma("journal_mode=WAL")  # kept in the file: readers go on while one process writes
        with self.transaction(WRITE if empty else READ) as connection:
            if not sa.inspect(connection).get_table_names():
                self._make_tables(connection)
            version = self._version(connection)
        if version < VERSION:
            self._bring_up_to_date(version)
        with self.transaction() as connection:
            self.model_id = self.model_id or self.fact(connection, "model_id")
            self.require_ours(connection)

    def _make_tables(self, connection: sa.Connection) -> None:
        metadata.create_all(connection)
        initial = {"version": str(VERSION), "model_id": self.model_id, "generation": "0", "log_start": "0"}
        initial["identity"] = uuid4().hex
        connection.execute(sa.insert(facts), [{"name": n, "value": v} for n, v in initial.items()])

    def _version(self, connection: sa.Connection) -> int:
        """The version of a catalogue that can be read, or brought to where it can."""
        existing = set(sa.inspect(connection).get_table_names())
        if not existing >= _ALWAYS_THERE:
            raise CatalogueError(f"{self.where} is a database, but not a dancematch catalogue")
        version = self.fact(connection, "version")
        if version not in map(str, range(1, VERSION + 1)):
            raise CatalogueError(
                f"{self.where} has catalogue version {version}, this dancematch reads up to {VERSION}; "
                f"upgrade dancematch"
            )
        missing = sorted(set(metadata.tables) - existing)
        if int(version) == VERSION and missing:
            raise CatalogueError(f"{self.where} is damaged: its table {missing[0]!r} is missing")
        return int(version)

    def _bring_up_to_date(self, version: int) -> None:
        if is_read_only(self.engine.url):
            raise CatalogueError(
                f"{self.where} has catalogue version {version}, must be brought to {VERSION} and cannot be "
                f"written; copy it to where it can be, then say: dancematch stats COPY"
            )
        with self.transaction(WRITE) as connection:
            # Asked again, and locked where there are no files to lock: somebody may have been faster.
            row = sa.select(facts.c.value).where(facts.c.name == "version").with_for_update()
            current = int(connection.execute(row).scalar_one())
            if current < VERSION:
                migrate(connection, current)

    def require_ours(self, connection: sa.Connection) -> None:
        """Refuse to go on with another version or model, which somebody may have made since we opened."""
        version, stored = self.fact(connection, "version"), self.fact(connection, "model_id")
        if version != str(VERSION):
            raise CatalogueError(f"{self.where} has become catalogue version {version}; upgrade dancematch")
        if stored != self.model_id:
            raise ModelMismatchError(
                f"{self.where} holds words of the model {stored}, not of {self.model_id}; open it with that "
                f"model, or make its words anew with this one, by its name or folder: "
                f"dancematch retokenise {self.where} --model MODEL"
            )

    @contextmanager
    def transaction(self, begin: str = READ) -> Iterator[sa.Connection]:
        """One all-or-nothing piece of work; the database's complaints become ours.

        `begin` is how SQLite is to start it; other databases need no telling.
        """
        try:
            with self.engine.execution_options(begin=begin).begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except OperationalError as error:
            raise CatalogueError(f"the catalogue {self.where} cannot be used: {_reason(error)}") from None
        except DatabaseError as error:
            raise CatalogueError(
                f"{self.where} is not a catalogue, or it is damaged: {_reason(error)}"
            ) from None

    def pragma(self, setting: str) -> None:
        """Tell SQLite something that cannot be said within a transaction; no other database has it."""
        if self.engine.dialect.name == "sqlite":
            with self.transaction(begin="") as connection:
                connection.exec_driver_sql(f"PRAGMA {setting}")

    @staticmethod
    def fact(connection: sa.Connection, name: str) -> str:
        """A fact about the whole catalogue."""
        value = connection.execute(sa.select(facts.c.value).where(facts.c.name == name)).scalar()
        return str(value)

    @staticmethod
    def set_fact(connection: sa.Connection, name: str, value: object) -> None:
        """Change a fact about the whole catalogue."""
        connection.execute(sa.update(facts).where(facts.c.name == name).values(value=str(value)))

    @property
    def generation(self) -> int:
        """Counts the changes: what was derived at another generation is out of date."""
        with self.transaction() as connection:
            return int(self.fact(connection, "generation"))

    @property
    def identity(self) -> str:
        """A random name that no other catalogue has, not even a later one in the same place.

        One that was made before there were such names gets it now.
        """
        with self.transaction() as connection:
            known = connection.execute(_IDENTITY).scalar()
        if known is None:
            with self.transaction(WRITE) as connection:
                known = connection.execute(_IDENTITY).scalar() or uuid4().hex
                connection.execute(sa.delete(facts).where(facts.c.name == "identity"))
                connection.execute(sa.insert(facts).values(name="identity", value=known))
        return str(known)

    def next_generation(self, connection: sa.Connection) -> int:
        """Count one change more. First in a transaction: from then on nobody else writes, in any database."""
        # Counted by the database itself: two writers who each read first might count as one.
        number = sa.cast(sa.cast(facts.c.value, sa.Integer) + 1, sa.String)
        connection.execute(sa.update(facts).where(facts.c.name == "generation").values(value=number))
        return int(self.fact(connection, "generation"))

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()


def _reason(error: DatabaseError) -> str:
    return str(error.orig).strip().splitlines()[0]
