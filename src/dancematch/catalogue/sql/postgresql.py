"""What is specific to PostgreSQL: how it is reached, what its errors mean, and rows in bulk.

A reading transaction sees one state of the catalogue from its first statement to its last; a writing one
waits for the lock on the generation's row (`Database.next_generation`) and holds it until the commit.
Generations therefore become visible in their order.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, DBAPIError

from dancematch.errors import CatalogueError

ONE_STATE = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
"""Options of a transaction that only reads."""

MAKING_TABLES = 0x64616E6365  # the lock that is held while the tables are made

_DRIVER = "postgresql+psycopg"
SCHEMES = ("postgresql", "postgres")
FORM = "expected postgresql://USER@HOST:PORT/DATABASE, the port a number (5432 if there is none)"
_SECRETS = ("password", "sslpassword")  # that may be among a URL's options
_CONNECT_SECONDS = 10
_TURN_SECONDS = 120  # that a writer waits for its turn
_TYPES = {sa.Integer: "int4", sa.BigInteger: "int8", sa.Float: "float8", sa.LargeBinary: "bytea"}

_LASTING = (  # what the server or its library says, and what to say instead
    (
        r"lock timeout",
        f"another process has been writing for more than {_TURN_SECONDS} s; try again later",
    ),
    (
        r"password authentication failed",
        "the server refuses the password of {user!r}; give the right one in ~/.pgpass, PGPASSWORD or the URL",
    ),
    (
        r"no password supplied",
        "the server wants a password of {user!r}; give it in ~/.pgpass, PGPASSWORD or the URL",
    ),
    (
        r'database ".*" does not exist',
        "the server has no database {database!r}; make it (createdb {database}) or name another",
    ),
    (r'role ".*" does not exist', "the server knows no user {user!r}; name another in the URL"),
)  # fmt: skip
_PASSING = (  # what goes away by itself, as when the server restarts
    (
        r"starting up|shutting down|not yet accepting|in recovery mode",
        "the server is starting or stopping; try again in a moment",
    ),
    (
        r"too many clients|too many connections|connection slots",
        "the server has no connection left; try again later, or let it have more",
    ),
    (
        r"refused|[Tt]imed? ?out|timeout expired|socket .*No such file|failed to resolve|could not translate"
        r"|No route|unreachable",
        "no server answers at {place}; is it running, and is the address right?",
    ),
    (
        r"server closed the connection|terminating connection|connection (is|was) (closed|lost)"
        r"|consuming input|sending query",
        "the connection to the server was lost; what was acknowledged is kept: try again",
    ),
)  # fmt: skip
# Connections that fail or are taken away; not 57P04, a database that was dropped.
_AWAY_STATES = re.compile("08...|57P0[1235]|53300")


def is_postgresql(address: str) -> bool:
    """Whether an address names a PostgreSQL database."""
    return address.partition("://")[0] in (*SCHEMES, _DRIVER)


def normalised(address: str) -> sa.URL:
    """Return the URL with the driver and a connection timeout."""
    url = sa.make_url(address).set(drivername=_DRIVER)
    # Neither message shows the URL: part of the password may stand where host or port should.
    if "@" in (url.host or ""):
        raise CatalogueError("in a URL's user or password, write @ as %40, / as %2F and : as %3A")
    if url.port is not None and not 0 < url.port < 1 << 16:
        raise CatalogueError("a URL's port must be 1 to 65535, this one's is not; without a port it is 5432")
    options = {"connect_timeout": str(_CONNECT_SECONDS), "application_name": "dancematch"}
    return url.set(query=options | dict(url.query))


def shown_url(url: sa.URL) -> str:
    """Return the URL as it was given, without password and our own options."""
    hidden = (*_SECRETS, "connect_timeout", "application_name")
    plain = url.set(drivername=SCHEMES[0]).difference_update_query(hidden)
    return plain.render_as_string(hide_password=True)


def set_up(connection: Any, _record: Any) -> None:
    """Set up a new connection."""
    connection.cursor_factory, connection.server_cursor_factory = _binary_cursors()
    connection.execute(f"SET lock_timeout = '{_TURN_SECONDS}s'")
    connection.commit()


@cache
def _binary_cursors() -> tuple[type, type]:
    """Return cursors that fetch bytes in binary, which takes half the time."""
    from psycopg import Cursor, ServerCursor, pq

    class BinaryCursor(Cursor[Any]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.format = pq.Format.BINARY

    class BinaryServerCursor(ServerCursor[Any]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.format = pq.Format.BINARY

    return BinaryCursor, BinaryServerCursor


def reason(error: DatabaseError, url: sa.URL) -> str:
    """Return what is wrong and what to do about it."""
    text = str(error.orig).strip()
    place = f"{url.host}, port {url.port or 5432}" if url.host else "this machine's own socket"
    known = {"user": url.username or "you", "database": url.database or url.username, "place": place}
    for pattern, sentence in (*_LASTING, *_PASSING):
        if re.search(pattern, text):
            return sentence.format(**known)
    if getattr(error.orig, "sqlstate", None) == "42501":
        return f"{text.splitlines()[0]}; ask the database's owner for the right"
    return text.splitlines()[0]


def is_away(error: DatabaseError) -> bool:
    """Whether the server is away for the moment: the same work may succeed a little later."""
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return _AWAY_STATES.fullmatch(state) is not None
    # Without a state the library speaks, not the server: its text is all there is.
    text = str(error.orig)
    lasting = any(re.search(pattern, text) for pattern, _ in _LASTING)
    return not lasting and any(re.search(pattern, text) for pattern, _ in _PASSING)


def require_any_text(connection: sa.Connection, where: str) -> None:
    """Refuse a database that cannot hold every name a dance may have."""
    encoding = connection.execute(sa.text("SHOW server_encoding")).scalar()
    if encoding != "UTF8":
        raise CatalogueError(
            f"{where} keeps text as {encoding}, a catalogue needs UTF8; make a database with "
            f"createdb --encoding UTF8 --template template0"
        )


def take_lock(connection: sa.Connection, what: int) -> None:
    """Take a lock until the end of the transaction, waiting for it if need be."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(what)))


def new_keys(connection: sa.Connection, table: sa.Table, count: int) -> list[int]:
    """Reserve `count` new keys."""
    sequence = sa.func.pg_get_serial_sequence(table.name, "key")
    query = sa.select(sa.func.nextval(sequence)).select_from(sa.func.generate_series(1, count))
    return list(connection.execute(query).scalars())


def copy_rows(
    connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows, the values in the order of the columns' names, as fast as the server takes them."""
    columns = ", ".join(f'"{name}"' for name in names)
    statement = f"COPY {table.name} ({columns}) FROM STDIN (FORMAT BINARY)"
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101  (for the type checker)
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([_type(table.c[name]) for name in names])
            for row in rows:
                copy.write_row(row)
    except driver.Error as error:  # of the driver, which SQLAlchemy does not translate here
        raise DBAPIError.instance(statement, None, error, driver.Error) from None


def _type(column: "sa.Column[Any]") -> str:
    found = (column.foreign_keys and next(iter(column.foreign_keys)).column.type) or column.type
    # The most specific type first: a BigInteger is an Integer too.
    return next((name for kind, name in reversed(_TYPES.items()) if isinstance(found, kind)), "text")
