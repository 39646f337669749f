"""Connections to a database, by a file's path or a URL, and how SQLite is set up.

postgresql.py does the same for PostgreSQL.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from dancematch.catalogue.sql import postgresql
from dancematch.errors import CatalogueError, MissingExtraError

_SUPPORTED = ("sqlite", *postgresql.SCHEMES)


def connect(where: str, *, confined: bool = False) -> sa.Engine:
    """Create an engine for a file's path or a database URL.

    A `confined` one is for a file without room beside it: during each transaction this process has the file
    to itself.
    """
    if not where:
        raise CatalogueError("a catalogue needs a file's path or a database URL, got neither")
    scheme = where.partition("://")[0]
    if "://" in where and scheme.partition("+")[0] not in _SUPPORTED:
        raise CatalogueError(
            f"{scheme}:// is not supported: a catalogue is a file (dances.db) or a PostgreSQL database "
            f"(postgresql://HOST/DATABASE)"
        )
    try:
        url = _url(where)
        if confined:
            # Without a pool: an open connection keeps all other processes out.
            engine = sa.create_engine(_confined_url(url), poolclass=sa.NullPool)
        else:
            # Pinged before use: a server may have been restarted since.
            engine = sa.create_engine(url, pool_pre_ping=url.get_backend_name() != "sqlite")
    except (NoSuchModuleError, ModuleNotFoundError):
        raise MissingExtraError(
            f"the driver for {scheme} is not installed; PostgreSQL's: pip install 'dancematch[postgres]'"
        ) from None
    except (ArgumentError, ValueError):
        raise CatalogueError(
            f"what follows {scheme}:// cannot be read; {postgresql.FORM}, or a file's path"
        ) from None
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    elif engine.dialect.name == "postgresql":
        sa.event.listen(engine, "connect", postgresql.set_up)
    return engine


def _url(where: str) -> sa.URL:
    if postgresql.is_postgresql(where):
        return postgresql.normalised(where)
    # Not as text: a path may hold characters that mean something in a URL.
    return sa.make_url(where) if "://" in where else _file_url(Path(where))


def shown_address(where: str) -> str:
    """Return how messages name the catalogue at an address; nothing is opened."""
    try:
        return shown(_url(where))
    except (ArgumentError, ValueError):
        return f"{where.partition('://')[0]}://..."


def _file_url(path: Path) -> sa.URL:
    """Return the URL of a SQLite file, read-only where nothing can be written beside it."""
    if path.is_file() and not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)):
        read_only = {"mode": "ro", "immutable": "1", "uri": "true"}
        return sa.URL.create("sqlite", database=f"file:{quote(str(path))}", query=read_only)
    return sa.URL.create("sqlite", database=str(path))


def _confined_url(url: sa.URL) -> sa.URL:
    """Return the URL of a SQLite file with the lock that needs no shared memory, thus no room for it."""
    exclusive = {"vfs": "unix-excl", "uri": "true"}
    return sa.URL.create("sqlite", database=f"file:{quote(shown(url))}", query=exclusive)


def is_read_only(url: sa.URL) -> bool:
    """Whether a catalogue is opened read-only."""
    return url.query.get("mode") == "ro"


def check_integrity(connection: sa.Connection, *, quick: bool = False) -> list[str]:
    """Return what the database finds wrong with its files; nothing where it has no such check."""
    if connection.dialect.name != "sqlite":
        return []
    pragma = "quick_check" if quick else "integrity_check"
    rows = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA {pragma}(20)")]
    found = [line for row in rows for line in row.splitlines() if not line.startswith("*** in database")]
    return [] if rows == ["ok"] else found or rows


def bytes_on_disk(connection: sa.Connection, tables: Iterable[str]) -> int | None:
    """Return the size of the tables, SQLite's log included; None where it is not known."""
    engine = connection.engine
    if engine.dialect.name == "sqlite":
        file = Path(shown(engine.url))
        beside = (file.with_name(file.name + ending) for ending in ("", "-wal", "-shm"))
        return sum(path.stat().st_size for path in beside if path.exists())
    if engine.dialect.name == "postgresql":
        sizes = sa.select(*(sa.func.pg_total_relation_size(name) for name in tables))
        return sum(connection.execute(sizes).one())
    return None


def shown(url: sa.URL) -> str:
    """Return how messages name a catalogue: its path, or its URL without the password."""
    if url.get_backend_name() == "sqlite" and url.database:
        return unquote(url.database.removeprefix("file:")) if "uri" in url.query else url.database
    return postgresql.shown_url(url)


def _begin_sqlite(connection: sa.Connection) -> None:
    begin = connection.get_execution_options().get("begin")
    if begin:
        connection.exec_driver_sql(begin)


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    # Autocommit on the driver's side: SQLAlchemy's own BEGIN then covers table creation too.
    connection.isolation_level = None
    for pragma in (
        "busy_timeout=10000",
        "synchronous=FULL",  # what was acknowledged survives a power cut
        "foreign_keys=ON",
        "secure_delete=ON",  # a removed dance leaves no bytes in the file
    ):
        connection.execute(f"PRAGMA {pragma}")
