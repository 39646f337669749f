"""Databases for the tests: a PostgreSQL server of their own, and plain SQL for either engine."""

import os
import re
import secrets
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from dancematch.catalogue.sql.schema import dances, exclusions, labels, recordings, tracks

BINARIES = max(
    Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), default=None
)
USER, PASSWORD = "dancer", "pa55word"


def share_compiled_statements() -> None:
    """Compile each SQL statement once per process and engine, not per catalogue: tests open thousands.

    SQLAlchemy keeps compiled statements per `Engine` and dialect object; all of ours are configured alike.
    """
    shared: LRUCache = LRUCache(2000)
    Engine._compiled_cache = property(lambda _: shared, lambda *_: None)  # type: ignore[assignment]
    for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        dialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
        dialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]


class Server:
    """A PostgreSQL server on loopback, in a folder that goes when it is stopped."""

    def __init__(self) -> None:
        assert BINARIES is not None
        self.folder = Path(tempfile.mkdtemp(prefix="dancematch-pg-"))
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        words = self.folder / "password"
        words.write_text(PASSWORD, encoding="utf-8")
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            for path in (self.folder, words):
                shutil.chown(path, "postgres", "postgres")
        encoding = ("--encoding=UTF8", "--locale=C.UTF-8")
        # A password that is checked in a moment: tests connect thousands of times.
        self._run("initdb", *encoding, "--auth=md5", f"--username={USER}", f"--pwfile={words}", "-N")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        runuser = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        subprocess.run(
            [*runuser, str(BINARIES / program), "-D", str(self.folder / "data"), *arguments],
            check=True, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": ""}
        settings |= {"fsync": "off", "autovacuum": "off", "wal_level": "minimal", "max_wal_senders": 0}
        told = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._run("pg_ctl", "--wait", f"--log={self.folder / 'log'}", f"--options={told}", "start")

    def halt(self, mode: str = "immediate") -> None:
        """End the server in the middle of whatever it does: as a crash does or, "fast", in good order."""
        self._run("pg_ctl", "--wait", f"--mode={mode}", "stop")

    def stop(self) -> None:
        """End it, and leave nothing."""
        self.halt()
        shutil.rmtree(self.folder)

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        """Where a database of this server is."""
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/{database}"

    def new_database(self, options: str = "") -> str:
        """The URL of an empty database that nobody else has."""
        name = f"d{secrets.token_hex(6)}"
        run_sql(self.url(), f"CREATE DATABASE {name} {options}")
        return self.url(name)

    def new_schema(self) -> str:
        """The URL of empty tables that nobody else has: made faster than a database, otherwise the same."""
        name = f"s{secrets.token_hex(6)}"
        run_sql(self.url(), f"CREATE SCHEMA {name}")
        return f"{self.url()}?options=-csearch_path%3D{name}"


def run_sql(address: object, *statements: str) -> None:
    """Do something to a database past our own code, whatever its foreign keys say."""
    with _connected(address) as connection:
        if "://" in str(address):
            connection.execute("SET session_replication_role = replica")
        for statement in statements:
            connection.execute(_translated(statement) if "://" in str(address) else statement)


def fetch(address: object, query: str) -> list[tuple[Any, ...]]:
    with _connected(address) as connection:
        return connection.execute(query).fetchall()


def contents(address: object) -> dict[str, list[tuple[Any, ...]]]:
    """All that a catalogue says of its dances, to the byte; keys and generations are a database's own."""
    own = ("key", "dance", "recording", "generation")
    of_recording = [recordings, dances]
    joins = {
        tracks: of_recording,
        exclusions: of_recording,
        recordings: [dances],
        labels: [dances],
        dances: [],
    }
    queries = {}
    for table, others in joins.items():
        wanted = [f'{one.name}."{c.name}"' for one in (table, *others) for c in one.c if c.name not in own]
        joined = "".join(f" JOIN {one.name} ON {one.name[:-1]} = {one.name}.key" for one in others)
        queries[table.name] = f"SELECT {', '.join(wanted)} FROM {table.name}{joined}"  # noqa: S608  (our own)
    with _connected(address) as connection:
        return {
            name: sorted(connection.execute(query).fetchall(), key=str) for name, query in queries.items()
        }


def backup(address: str) -> str:
    """Another catalogue that is what this one was, as a backup is; nobody may have this one open."""
    if "://" not in address:
        shutil.copy(address, f"{address}-backup")
        return f"{address}-backup"
    name = f"d{secrets.token_hex(6)}"
    run_sql(address.replace("/postgres?", "/template1?"), f"CREATE DATABASE {name} TEMPLATE postgres")
    return address.replace("/postgres?", f"/{name}?")


class _connected:  # noqa: N801  (read as a verb)
    """A driver's own connection, committed after every statement and closed at the end."""

    def __init__(self, address: object) -> None:
        if "://" in str(address):
            import psycopg

            self.connection: Any = psycopg.connect(str(address), autocommit=True)
        else:
            self.connection = sqlite3.connect(str(address), isolation_level=None)

    def __enter__(self) -> Any:
        return self.connection

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def run_script(address: object, script: str) -> None:
    """Make tables and rows as SQLite, or PostgreSQL, wrote them once."""
    run_sql(address, *(statement for statement in script.split(";") if statement.strip()))
    if "://" in str(address):
        last = "SELECT setval(pg_get_serial_sequence('{0}', 'key'), (SELECT max(key) FROM {0}))"
        run_sql(address, last.format("dances"), last.format("recordings"), last.format("tracks"))


def _translated(statement: str) -> str:
    """What SQLite understands, as PostgreSQL does."""
    statement = re.sub(r"X'([0-9A-Fa-f]*)'", r"'\\x\1'", statement)
    statement = re.sub(r"zeroblob\((\d+)\)", r"decode(repeat('00', \1), 'hex')", statement)
    return statement.replace(" BLOB", " BYTEA").replace('"key" INTEGER NOT NULL', '"key" SERIAL NOT NULL')
