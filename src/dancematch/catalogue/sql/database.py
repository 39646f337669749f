"""A catalogue's database, opened: its version and model are checked, work is done in transactions."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, DataError, IntegrityError, OperationalError

from dancematch.catalogue.records import require_name
from dancematch.catalogue.sql import full_disk, postgresql
from dancematch.catalogue.sql.connection import connect, is_read_only, shown
from dancematch.catalogue.sql.outage import Outage, repeated
from dancematch.catalogue.sql.schema import VERSION, facts, metadata, states
from dancematch.errors import CatalogueError, DiskFullError, ModelMismatchError, ServerAwayError
from dancematch.temporary_folder import temporary_folder

READ = "BEGIN"
# A writer locks at the start: two transactions that read first and then write could not both go on.
WRITE = "BEGIN IMMEDIATE"

KEPT_GENERATIONS = 10_000
"""Older changes are dropped from the log: a cache that is so far behind is made again."""

_CHANGE = "change"  # the token of the latest, as noted with a connection
_CORE_TABLES = {"facts", "dances", "tracks"}  # in every version


class State(NamedTuple):
    """One state of a catalogue; no other state of it, or of another catalogue, has the same token."""

    generation: int
    token: str


class Database:
    """The tables of one catalogue, opened for one model's words."""

    def __init__(
        self,
        where: str | Path,
        model_id: str | None,
        *,
        create: bool = True,
        lazily: bool = False,
        describe_model: Callable[[str], str] = str,
    ) -> None:
        """Open the catalogue at a file's path or a database URL; `create` it if it is not there.

        Without a `model_id` it must exist, and is opened for the model whose words it holds. A file that is
        created `lazily` is made by the first change: without a change none is left.
        `describe_model` is how messages name a model by its id.
        """
        self.model_id, self._describe_model = model_id or "", describe_model
        create = create and model_id is not None
        self._address, self._new_identity = str(where), uuid4().hex
        self.engine = connect(self._address)
        self.where = shown(self.engine.url)
        self.outage = Outage(self.where)
        self._aside = ExitStack()  # a temporary folder
        self._is_aside = False  # in empty tables elsewhere, until the file is made
        self._is_moving = False
        self._is_confined = False  # opened without room on the disk
        self._turn = threading.RLock()
        if self._is_file:
            self._require_file(create)
        try:
            if self._is_file and create and lazily and not Path(self.where).exists():
                self._begin_aside()
            else:
                self._open(create)
        except BaseException:
            self.close()
            raise

    def _open(self, create: bool) -> None:
        """Prepare the database where it is; a file also if its disk is full."""
        try:
            self._prepare(create)
        except DiskFullError:
            self._confine()
            self._prepare(create)

    def _confine(self) -> None:
        """Let go of the room beside the file, and go on without it."""
        with self._turn:
            self.engine.dispose()
            self.engine, self._is_confined = connect(self._address, confined=True), True

    def _leave_confinement(self) -> None:
        """Go on as usual when there is room again, or another process has opened the file as usual."""
        file = Path(self.where)
        with self._turn:
            if self._is_confined and (full_disk.has_room(file) or full_disk.is_shared(file)):
                self.engine, self._is_confined = connect(self._address), False

    def _require_file(self, create: bool) -> None:
        """Refuse what is no file, or no catalogue yet."""
        path = Path(self.where)
        if (path / "recordings.jsonl").is_file():
            raise CatalogueError(
                f"{path} is a folder that holds a copy of a catalogue; copy it into a file first: "
                f"dancematch copy {path} dances.db"
            )
        if path.is_dir():
            raise CatalogueError(
                f"{path} is a folder, not a catalogue; name a file in it, such as {path / 'dances.db'}"
            )
        if path.exists() and not path.is_file():
            raise CatalogueError(f"{path} is neither a catalogue nor any other file; choose another name")
        if not create and not path.exists():
            raise CatalogueError(f"there is no catalogue at {path}; 'dancematch add' makes one")
        if not create and path.stat().st_size == 0:
            raise CatalogueError(f"{path} is an empty file, no catalogue yet; 'dancematch add' makes it one")

    def _begin_aside(self) -> None:
        """Work with empty tables in a temporary folder for now, if the file can be made later."""
        folder = Path(self.where).parent
        if not folder.is_dir():
            raise CatalogueError(f"the catalogue {self.where} cannot be made: there is no folder {folder}")
        try:
            with TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise CatalogueError(f"the catalogue {self.where} cannot be made: {error.strerror}") from None
        self.engine.dispose()
        aside = self._aside.enter_context(temporary_folder())
        self.engine = connect(str(aside / "dances.db"))
        self._prepare(create=True)
        self._is_aside = True

    def _leave_aside(self, writing: bool) -> None:
        """Go on in the file itself before a write, or when another process has made it."""
        with self._turn:
            ours = self._is_aside and not self._is_moving  # `_prepare` gets here too
            if not ours or not (writing or Path(self.where).exists()):
                return
            self._is_moving = True
            try:
                # The temporary tables stay until the end: other threads may be reading them.
                self.engine.dispose()
                self.engine = connect(self._address)
                self._prepare(create=True)
                self._is_aside = False
            finally:
                self._is_moving = False

    def _prepare(self, create: bool) -> None:
        """Create the tables in an empty database; in any other, check them, the version and the model."""
        with self.transaction() as connection:  # reading need not wait for a writer
            empty = not sa.inspect(connection).get_table_names()
        if empty and not create:
            raise CatalogueError(
                f"{self.where} is a database that is empty; 'dancematch add' makes a catalogue of it"
            )
        if empty:
            self.pragma("journal_mode=WAL")  # stored in the file: readers go on while one process writes
        with self.transaction(WRITE if empty else READ) as connection:
            if empty and self._on_postgresql:
                postgresql.take_lock(connection, postgresql.MAKING_TABLES)
            # Asked again: another process may have been faster.
            if not sa.inspect(connection).get_table_names():
                self._make_tables(connection)
            self._require_version(connection)
            self.model_id = self.model_id or self.fact(connection, "model_id")
            self.require_ours(connection)

    @property
    def _on_postgresql(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    @property
    def _is_file(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def _make_tables(self, connection: sa.Connection) -> None:
        require_name(self.model_id, "model_id")
        if self._on_postgresql:
            postgresql.require_any_text(connection, self.where)
        metadata.create_all(connection)
        initial = {"version": str(VERSION), "model_id": self.model_id, "generation": "0", "log_start": "0"}
        initial |= {"identity": self._new_identity, "recalibration": ""}
        connection.execute(sa.insert(facts), [{"name": n, "value": v} for n, v in initial.items()])
        connection.execute(sa.insert(states).values(generation=0, token=uuid4().hex))

    def _require_version(self, connection: sa.Connection) -> None:
        """Refuse a database that is no catalogue, or of another version."""
        existing = set(sa.inspect(connection).get_table_names())
        if not existing >= _CORE_TABLES:
            raise CatalogueError(f"{self.where} is a database, but not a dancematch catalogue")
        version = self.fact(connection, "version")
        if version != str(VERSION):
            raise CatalogueError(
                f"{self.where} has catalogue version {version}, this dancematch reads version {VERSION} "
                f"only; open it with the dancematch that made it, or add its recordings to a new catalogue"
            )
        missing = sorted(set(metadata.tables) - existing)
        if missing:
            raise CatalogueError(f"{self.where} is damaged: its table {missing[0]!r} is missing")

    def require_ours(self, connection: sa.Connection) -> None:
        """Refuse another version or model: another process may have changed either meanwhile."""
        version, stored = self.fact(connection, "version"), self.fact(connection, "model_id")
        if version != str(VERSION):
            raise CatalogueError(
                f"{self.where} has become catalogue version {version}, this dancematch writes {VERSION} only"
            )
        if stored != self.model_id:
            raise ModelMismatchError(
                f"{self.where} holds words of the model {self._describe_model(stored)}, not of "
                f"{self._describe_model(self.model_id)}; open it with that model (--model), or make its "
                f"words anew with this one, by its name or folder: "
                f"dancematch retokenise {self.where} --model MODEL"
            )

    @contextmanager
    def transaction(self, begin: str = READ) -> Iterator[sa.Connection]:
        """Run a transaction on one state of the catalogue; database errors become `CatalogueError`.

        `begin` is SQLite's statement; on PostgreSQL the transaction has the same effect. A `ServerAwayError`
        means that nothing was changed: methods marked by `repeated` then begin again.
        """
        if begin == WRITE:
            self.require_writable()
        if self._is_aside:
            self._leave_aside(writing=begin == WRITE)
        if self._is_confined:
            self._leave_confinement()
        options: dict[str, Any] = {"begin": begin}
        if self._on_postgresql and begin != WRITE:
            options |= postgresql.ONE_STATE
        token: str | None = None
        try:
            with self.engine.execution_options(**options).begin() as connection:
                connection.info.pop(_CHANGE, None)  # of an earlier change, which failed
                yield connection
                token = connection.info.pop(_CHANGE, None)
            self.outage.end()
        except IntegrityError:
            raise
        except DatabaseError as error:
            expected = self._expected(error)
            # Lost on its way may be the commit, or only the reply to it.
            if token is None or not (isinstance(expected, ServerAwayError) and self._is_committed(token)):
                raise expected from None

    @repeated
    def _is_committed(self, token: str) -> bool:
        """Whether the change is in the catalogue that `next_generation` gave this token."""
        with self.transaction(WRITE) as connection:
            # The server may still be at the change: who has the lock comes after it.
            counter = sa.select(facts.c.value).where(facts.c.name == "generation")
            connection.execute(counter.with_for_update())
            known = sa.select(states.c.generation).where(states.c.token == token)
            return connection.execute(known).first() is not None

    def _expected(self, error: DatabaseError) -> CatalogueError:
        """Return a database's error as one of ours."""
        if self._is_file and full_disk.is_full(error.orig, Path(shown(self.engine.url))):
            return DiskFullError(
                f"the catalogue {self.where} cannot be changed: there is no room left on the disk; "
                f"nothing was changed: make room, then try again"
            )
        away = self._on_postgresql and postgresql.is_away(error)
        return (ServerAwayError if away else CatalogueError)(self._explain(error))

    def _explain(self, error: DatabaseError) -> str:
        if isinstance(error, DataError):
            return f"{self.where} cannot keep this: {_reason(error)}"
        if self._on_postgresql:
            return f"the catalogue {self.where} cannot be used: {postgresql.reason(error, self.engine.url)}"
        if isinstance(error, OperationalError):
            return f"the catalogue {self.where} cannot be used: {_reason(error)}"
        return f"{self.where} is not a catalogue, or it is damaged: {_reason(error)}"

    def require_writable(self) -> None:
        """Refuse a read-only catalogue, before any work."""
        if is_read_only(self.engine.url):
            raise CatalogueError(
                f"{self.where} can only be read: the file, or the folder that it is in, cannot be written; "
                f"copy it to where it can be, or ask for the right to write it"
            )

    def pragma(self, setting: str) -> None:
        """Set something in SQLite outside a transaction; other databases have no such settings."""
        if self._is_file:
            with self.transaction(begin="") as connection:
                connection.exec_driver_sql(f"PRAGMA {setting}")

    def truncate_log(self) -> None:
        """Truncate the log beside the file, which still has what was removed."""
        # It is removed whether or not this succeeds; the last process to close truncates the log too.
        with suppress(CatalogueError):
            self.pragma("wal_checkpoint(TRUNCATE)")

    def keep_ballast(self) -> None:
        """Hold room on a file's disk, so that dances can be removed when there is no other."""
        if self._is_file:
            full_disk.make_ballast(Path(self.where))

    def release_ballast(self) -> bool:
        """Give the room that was held; return whether there was any."""
        return self._is_file and full_disk.release_ballast(Path(self.where))

    def restore_ballast(self) -> None:
        """Hold room again, all that is left."""
        self.truncate_log()
        self._confine()
        self.keep_ballast()

    @staticmethod
    def fact(connection: sa.Connection, name: str) -> str:
        """Return a fact about the whole catalogue; empty if a damaged one lacks it."""
        value = connection.execute(sa.select(facts.c.value).where(facts.c.name == name)).scalar()
        return "" if value is None else str(value)

    @staticmethod
    def set_fact(connection: sa.Connection, name: str, value: object) -> None:
        """Change a fact about the whole catalogue."""
        connection.execute(sa.update(facts).where(facts.c.name == name).values(value=str(value)))

    @property
    @repeated
    def generation(self) -> int:
        """The number of changes so far: what was derived at another generation is out of date."""
        with self.transaction() as connection:
            return int(self.fact(connection, "generation"))

    @property
    @repeated
    def identity(self) -> str:
        """A random id that no other catalogue has, not even a later one at the same address."""
        with self.transaction() as connection:
            return self.fact(connection, "identity")

    def state(self, connection: sa.Connection) -> State:
        """Return the state that the catalogue is in."""
        now = int(self.fact(connection, "generation"))
        return State(now, self.token(connection, now))

    @staticmethod
    def token(connection: sa.Connection, generation: int) -> str:
        """Return the token of a generation; empty if it is unknown or too old."""
        query = sa.select(states.c.token).where(states.c.generation == generation)
        return str(connection.execute(query).scalar() or "")

    def next_generation(self, connection: sa.Connection) -> int:
        """Count one change more. Call it first in a transaction: from then on no other process writes."""
        # Counted by the database itself: two writers that each read first might count as one.
        number = sa.cast(sa.cast(facts.c.value, sa.Integer) + 1, sa.String)
        connection.execute(sa.update(facts).where(facts.c.name == "generation").values(value=number))
        now = int(self.fact(connection, "generation"))
        connection.info[_CHANGE] = uuid4().hex
        connection.execute(sa.insert(states).values(generation=now, token=connection.info[_CHANGE]))
        connection.execute(sa.delete(states).where(states.c.generation < now - KEPT_GENERATIONS))
        return now

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()
        self._aside.close()


def _reason(error: DatabaseError) -> str:
    return str(error.orig).strip().splitlines()[0]
