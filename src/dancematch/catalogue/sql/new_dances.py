"""The dances of new recordings: made, or found under the same name."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from dancematch.catalogue.records import MAX_LABELS, Dance
from dancematch.catalogue.sql import bulk_insert, change_log
from dancematch.catalogue.sql.database import Database
from dancematch.catalogue.sql.rows import read_labels
from dancematch.catalogue.sql.schema import DANCE_COLUMNS, dances, labels, recordings, tracks
from dancematch.errors import InputError


def join_dances(
    database: Database, connection: sa.Connection, of_each: Sequence[Dance], generation: int, join: bool
) -> list[int]:
    """Return the key of each recording's dance; those that are not there are made.

    If recordings may not `join` a dance of their name, the database's own constraint refuses a second one.
    """
    if not join:
        return _insert(connection, of_each)
    known = _find(connection, [dance.name for dance in of_each])
    first = {dance.name: dance for dance in reversed(of_each)}
    new = [dance for name, dance in first.items() if name not in known]
    keys = dict(zip([dance.name for dance in new], _insert(connection, new), strict=True))
    known |= _find(connection, list(keys))
    changed = {
        known[dance.name]["key"] for dance in of_each if _complete(connection, dance, known[dance.name])
    }
    changed |= _add_labels(connection, of_each, {name: row["key"] for name, row in known.items()})
    if changed:  # tracks are searched by label and collection
        of_dances = bulk_insert.is_among(connection, recordings.c.dance, list(changed))
        within = sa.select(recordings.c.key).where(of_dances)
        change_log.log_changed(database, connection, tracks.c.recording.in_(within), generation)
    return [known[dance.name]["key"] for dance in of_each]


def _insert(connection: sa.Connection, new: Sequence[Dance]) -> list[int]:
    if not new:
        return []
    values = [tuple(getattr(dance, name) for name in DANCE_COLUMNS) for dance in new]
    keys = bulk_insert.insert_dances(connection, values)
    labelled = [(key, label) for key, dance in zip(keys, new, strict=True) for label in dance.labels]
    bulk_insert.insert_labels(connection, labelled)
    return keys


def _find(connection: sa.Connection, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    columns = (dances.c.key, dances.c.name, dances.c.collection, dances.c.notes)
    query = sa.select(*columns).where(bulk_insert.is_among(connection, dances.c.name, names))
    return {row["name"]: dict(row) for row in connection.execute(query).mappings()}


def _complete(connection: sa.Connection, new: Dance, known: dict[str, Any]) -> bool:
    """Give a dance the collection and notes that it has not got; return whether the collection is new.

    What contradicts those it has is refused; `known` has afterwards what the dance has.
    """
    require_agreement(new, known)
    missing = {
        what: given
        for what in ("collection", "notes")
        if (given := getattr(new, what)) is not None and known[what] is None
    }
    if missing:
        connection.execute(sa.update(dances).where(dances.c.key == known["key"]).values(missing))
        known |= missing
    return "collection" in missing


def require_agreement(new: Dance, known: Mapping[str, Any]) -> None:
    """Refuse another collection, or other notes, than a dance has."""
    for what in ("collection", "notes"):
        given, there = getattr(new, what), known[what]
        if given is not None and there is not None and given != there:
            raise InputError(
                f"{new.name!r} is there already, and its {what} is {there[:60]!r}, not {given[:60]!r}; "
                f"nothing was added: leave the {what} out, or change it with 'dancematch edit'"
            )


def _add_labels(connection: sa.Connection, of_each: Sequence[Dance], keys: dict[str, int]) -> set[int]:
    """Add labels that dances do not have yet; return the keys of the dances that got any."""
    has = read_labels(connection, bulk_insert.is_among(connection, labels.c.dance, list(keys.values())))
    given = dict.fromkeys((keys[dance.name], label) for dance in of_each for label in dance.labels)
    new = [(key, label) for key, label in given if label not in has.get(key, ())]
    for key, count in Counter(key for key, _ in new).items():
        if len(has.get(key, ())) + count > MAX_LABELS:
            raise InputError(f"a dance has at most {MAX_LABELS} labels; nothing was added")
    bulk_insert.insert_labels(connection, new)
    return {key for key, _ in new}
