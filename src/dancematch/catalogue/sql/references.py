"""Which dance or recording is meant: by name or id."""

import re
from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa

from dancematch.catalogue.sql.bulk_insert import is_among
from dancematch.catalogue.sql.schema import dances, recordings
from dancematch.errors import InputError, UnknownDanceError

_BEGINNING_OF_ID = re.compile("[0-9a-f]{8,63}")  # that names a recording


def find_dances(connection: sa.Connection, references: Iterable[str]) -> dict[str, int | None]:
    """Return the keys of dances by how they were named, by name or else by id; None for an unknown one."""
    keys: dict[str, int | None] = dict.fromkeys(references)
    for column in (dances.c.dance_id, dances.c.name):  # the name, asked last, wins
        wanted = is_among(connection, column, list(keys))
        keys |= dict(connection.execute(sa.select(column, dances.c.key).where(wanted)).all())
    return keys


def require_dances(
    connection: sa.Connection, where: str, references: Iterable[str], nothing: str = ""
) -> dict[str, int]:
    """Return the keys of dances by how they were named; an unknown one is refused."""
    keys: dict[str, int] = {}
    for name, key in find_dances(connection, references).items():
        if key is None:
            advice = nothing or "; 'dancematch list' names all"
            raise UnknownDanceError(f"{where} has no dance named {name!r}{advice}")
        keys[name] = key
    return keys


Reference = tuple[str, int | None]
"""How a recording is named, and the key of the dance that it is searched in, if not in all."""


def require_recordings(
    connection: sa.Connection, where: str, references: Iterable[Reference], nothing: str = ""
) -> dict[Reference, int]:
    """Return the keys of recordings by how they were named: by id, its beginning, or the file's name.

    A file's name that several recordings have is refused, unless one of them alone is of the dance named.
    """
    wanted = dict.fromkeys(references)
    texts = list(dict.fromkeys(name for name, _ in wanted))
    found: dict[str, list[tuple[int, int]]] = {}  # keys of recordings and their dances, by name
    for column in (recordings.c.file, recordings.c.recording_id):  # the id, asked last, wins
        query = sa.select(column, recordings.c.key, recordings.c.dance)
        rows: dict[str, list[tuple[int, int]]] = {}
        for name, *keys in connection.execute(query.where(is_among(connection, column, texts))):
            rows.setdefault(name, []).append((keys[0], keys[1]))
        found |= rows
    for name in texts:
        if name not in found and _BEGINNING_OF_ID.fullmatch(name):
            found[name] = _find_by_beginning(connection, name)
    within = list({of_dance for _, of_dance in wanted if of_dance is not None})
    of_dances = sa.select(dances.c.key, dances.c.name).where(is_among(connection, dances.c.key, within))
    places: dict[int | None, str] = {None: where, **dict(connection.execute(of_dances).all())}
    return {one: _only_one(found, one, places[one[1]], nothing) for one in wanted}


def _find_by_beginning(connection: sa.Connection, beginning: str) -> list[tuple[int, int]]:
    # Not LIKE, for which SQLite has no use of the index; all digits come before a g.
    own = recordings.c.recording_id
    query = sa.select(recordings.c.key, recordings.c.dance).where(own >= beginning, own < f"{beginning}g")
    return [(key, dance) for key, dance in connection.execute(query)]


def _only_one(
    found: Mapping[str, Sequence[tuple[int, int]]], wanted: Reference, where: str, nothing: str
) -> int:
    name, of_dance = wanted
    keys = [key for key, dance in found.get(name, ()) if of_dance in (None, dance)]
    if not keys:
        raise UnknownDanceError(f"{where} has no recording named {name!r}{nothing}")
    if len(keys) > 1:
        raise InputError(
            f"{len(keys)} recordings of {where} are named {name!r}; name the one by its id, which "
            f"'dancematch list --recordings --json' shows{nothing}"
        )
    return keys[0]
