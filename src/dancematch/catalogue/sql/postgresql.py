"""What is PostgreSQL's own: how it is reached, what its complaints mean, and rows in bulk.

A transaction that reads sees one state of the catalogue from its first statement to its last; one that
writes waits for its turn at the generation's row (`Database.next_generation`), which it holds until it is
committed. So generations become visible in their order: nobody ever sees the eighth before the seventh.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, DBAPIError

from dancematch.errors import CatalogueError

ONE_STATE = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
"""How a transaction that only reads is to be."""

MAKING_TABLES = 0x64616E6365  # the lock that whoever makes the tables holds

_DRIVER = "postgresql+psycopg"
SCHEMES = ("postgresql", "postgres")
FORM = "expected postgresql://USER@HOST:PORT/DATABASE, the port a number (5432 if there is none)"
_SECRETS = ("password", "sslpassword")  # that may stand among a URL's options
_CONNECT_SECONDS = 10
_TURN_SECONDS = 120  # that a writer waits for others
_TYPES = {sa.Integer: "int4", sa.BigInteger: "int8", sa.Float: "float8", sa.LargeBinary: "bytea"}

_REASONS = (  # what the server or its library says, and what to tell instead
    (
        r"lock timeout",
        f"somebody else has been writing for more than {_TURN_SECONDS} s; try again later",
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
    (
        r"starting up|shutting down|not yet accepting|in recovery mode",
        "the server is starting or stopping; try again in a moment",
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


def is_postgresql(address: str) -> bool:
    """Whether an address names a PostgreSQL database."""
    return address.partition("://")[0] in (*SCHEMES, _DRIVER)


def normalised(address: str) -> sa.URL:
    """The URL with the driver that is used, and with a limit to how long a server may keep us waiting."""
    url = sa.make_url(address).set(drivername=_DRIVER)
    if "@" in (
        url.host or ""
    ):  # said without the URL, in which part of the password would be taken for a host
        raise CatalogueError("in a URL's user or password, write @ as %40, / as %2F and : as %3A")
    if url.port is not None and not 0 < url.port < 1 << 16:
        # Not shown: of a URL whose host was forgotten, it is the password.
        raise CatalogueError("a URL's port must be 1 to 65535, this one's is not; without a port it is 5432")
    told = {"connect_timeout": str(_CONNECT_SECONDS), "application_name": "dancematch"}
    return url.set(query=told | dict(url.query))


def shown_url(url: sa.URL) -> str:
    """The URL as it was given, without what nobody else is to read or need know."""
    hidden = (*_SECRETS, "connect_timeout", "application_name")
    plain = url.set(drivername=SCHEMES[0]).difference_update_query(hidden)
    return plain.render_as_string(hide_password=True)


def set_up(connection: Any, _record: Any) -> None:
    """Prepare a connection that was just made."""
    connection.cursor_factory, connection.server_cursor_factory = _binary_cursors()
    connection.execute(f"SET lock_timeout = '{_TURN_SECONDS}s'")
    connection.commit()


@cache
def _binary_cursors() -> tuple[type, type]:
    """Cursors that get words and skeletons as bytes, not as digits, which takes twice as long."""
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
    """What is the matter, and what to do about it."""
    said = str(error.orig).strip()
    place = f"{url.host}, port {url.port or 5432}" if url.host else "this machine's own socket"
    known = {"user": url.username or "you", "database": url.database or url.username, "place": place}
    for pattern, sentence in _REASONS:
        if re.search(pattern, said):
            return sentence.format(**known)
    if getattr(error.orig, "sqlstate", None) == "42501":
        return f"{said.splitlines()[0]}; ask whoever owns the database for the right"
    return said.splitlines()[0]


def require_any_text(connection: sa.Connection, where: str) -> None:
    """Refuse a database that cannot hold every name a dance may have."""
    encoding = connection.execute(sa.text("SHOW server_encoding")).scalar()
    if encoding != "UTF8":
        raise CatalogueError(
            f"{where} keeps text as {encoding}, a catalogue needs UTF8; make a database with "
            f"createdb --encoding UTF8 --template template0"
        )


def take_turn(connection: sa.Connection, what: int) -> None:
    """Wait until nobody else does the same, until the end of the transaction."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(what)))


def new_keys(connection: sa.Connection, table: sa.Table, count: int) -> list[int]:
    """So many keys that nobody has, and nobody else will be given."""
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
    except driver.Error as error:  # past SQLAlchemy, whose errors all others are
        raise DBAPIError.instance(statement, None, error, driver.Error) from None


def _type(column: "sa.Column[Any]") -> str:
    found = (column.foreign_keys and next(iter(column.foreign_keys)).column.type) or column.type
    # The most particular first: a BigInteger is an Integer too.
    return next((name for kind, name in reversed(_TYPES.items()) if isinstance(found, kind)), "text")
