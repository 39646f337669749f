"""Dances out of a catalogue's database, and into one, without being made into records.

Rows go some thousand per transaction: a million dances are copied in minutes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from dancematch.catalogue.sql import bulk_insert
from dancematch.catalogue.sql.database import WRITE
from dancematch.catalogue.sql.outage import repeated
from dancematch.catalogue.sql.schema import DANCE_COLUMNS, TRACK_COLUMNS, dances, exclusions, tracks
from dancematch.catalogue.store import Store
from dancematch.catalogue.transfer.dance_rows import (
    DIFFERS,
    Checksums,
    Copied,
    CopySource,
    DanceBatch,
    DanceRows,
    checksums_by_dancer,
)
from dancematch.catalogue.word_kinds import read_kind
from dancematch.errors import DanceExistsError

BATCH = 5000  # dancers, about, per transaction
_BYTES = 64 << 20  # of words and skeletons, about, per transaction
_FETCHED = 256  # rows per request

_FIRST_OF_TRACK = 1 + len(DANCE_COLUMNS)  # in a row of `_read_batches`
_WORDS, _JOINTS = (_FIRST_OF_TRACK + TRACK_COLUMNS.index(name) for name in ("words", "joints"))


@contextmanager
def open_database(where: str | Path) -> Iterator[CopySource]:
    """Open a catalogue to be copied; what is read of it is of one state."""
    store = Store(where, None, create=False)
    try:
        with store.transaction() as connection:
            store.require_ours(connection)
            total = connection.execute(sa.select(sa.func.count()).select_from(dances)).scalar_one()
            kind, batches = read_kind(connection), partial(_read_batches, connection)
            yield CopySource(store.where, store.model_id, total, kind, batches)
    finally:
        store.close()


def _read_batches(connection: sa.Connection, size: int) -> Iterator[DanceBatch]:
    """Read the dances in the order of their keys, in batches that fit into memory well."""
    query = sa.select(dances.c.key, *(dances.c[name] for name in DANCE_COLUMNS), *_plain_columns())
    query = query.join_from(dances, tracks, isouter=True).order_by(dances.c.key, tracks.c.dancer)
    found = connection.execution_options(yield_per=_FETCHED).execute(query)
    batch: dict[int, DanceRows] = {}
    count = volume = 0
    for row in chain.from_iterable(found.partitions()):
        if row[0] not in batch:
            if count >= size or volume >= _BYTES:
                yield _with_exclusions(connection, batch)
                batch, count, volume = {}, 0, 0
            batch[row[0]] = DanceRows(tuple(row[1:_FIRST_OF_TRACK]))
        if row[_WORDS] is not None:
            batch[row[0]].dancers.append(tuple(row[_FIRST_OF_TRACK:]))
            count += 1
            volume += len(row[_WORDS]) + len(row[_JOINTS] or b"")
    if batch:
        yield _with_exclusions(connection, batch)


def _plain_columns() -> "list[sa.ColumnElement[Any]]":
    """Return the columns of a track; SQLAlchemy does not convert their values."""
    return [sa.type_coerce(tracks.c[name], sa.types.NULLTYPE) for name in TRACK_COLUMNS]


def _with_exclusions(connection: sa.Connection, batch: dict[int, DanceRows]) -> DanceBatch:
    within = exclusions.c.dance.between(min(batch), max(batch))
    query = sa.select(exclusions).where(within).order_by(exclusions.c.start, exclusions.c.end)
    for row in connection.execute(query).mappings():
        batch[row["dance"]].excluded.append({name: row[name] for name in ("start", "end", "reason")})
    return DanceBatch(list(batch.values()))


class DatabaseTarget:
    """A catalogue's database to copy into; a new file is made with the first dance that is stored."""

    def __init__(self, where: str | Path, source: CopySource) -> None:
        self._store = Store(where, source.model_id, lazily=source.total > 0)
        self.where, self.batch_size = self._store.where, BATCH
        self.outage = self._store.outage
        with self._store.transaction() as connection:
            self.kind = read_kind(connection)

    def put(self, batch: Sequence[DanceRows]) -> Copied:
        """Store the dances whose content is not there yet; read all of them back and compare."""
        known = self._present(dances.c.content_hash, [dance.content for dance in batch])
        new = [dance for dance in batch if dance.content not in known]
        taken = self._present(dances.c.dance_id, [dance.name for dance in new])
        failed = dict.fromkeys(taken, f"is already the name of another dance in {self.where}")
        new = [dance for dance in new if dance.name not in taken]
        if new:
            self._insert(new)
        there = self._read_back(batch)
        expected = [dance for dance in batch if dance.name not in failed]
        differ = [dance.name for dance in expected if there.get(dance.content) != dance.stored_checksums()]
        return Copied(
            copied=len(new),
            skipped=len(known),
            fingerprints=sum(len(dance.dancers) for dance in new),
            verified=len(expected) - len(differ),
            failed=failed | dict.fromkeys(differ, f"{DIFFERS} {self.where}"),
        )

    def finish(self) -> None:
        """Nothing is left to do: every batch is committed."""

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    @repeated
    def _present(self, column: "sa.Column[str]", values: Sequence[str]) -> set[str]:
        """Return those of the values that a column of the dances has."""
        with self._store.transaction() as connection:
            query = sa.select(column).where(bulk_insert.is_among(connection, column, values))
            return set(connection.execute(query).scalars())

    @repeated
    def _insert(self, batch: Sequence[DanceRows]) -> None:
        """Insert the dances: all of them at once or none."""
        try:
            with self._store.transaction(WRITE) as connection:
                generation = self._store.next_generation(connection)
                self._store.require_ours(connection)
                keys = bulk_insert.insert_dances(connection, [dance.values for dance in batch])
                keyed = list(zip(keys, batch, strict=True))
                rows = ((key, values) for key, dance in keyed for values in dance.dancers)
                bulk_insert.insert_tracks(connection, generation, rows)
                excluded = [{"dance": key, **span} for key, dance in keyed for span in dance.excluded]
                if excluded:
                    connection.execute(sa.insert(exclusions), excluded)
        except IntegrityError:
            raise DanceExistsError(
                f"another process added some of the same dances to {self.where}; start again to go on"
            ) from None
        self._store.keep_ballast()

    @repeated
    def _read_back(self, batch: Sequence[DanceRows]) -> dict[str, Checksums]:
        """Compute the checksums of what is in the database, by content."""
        query = sa.select(*_plain_columns(), dances.c.content_hash).join_from(tracks, dances)
        found: dict[str, Checksums] = {}
        with self._store.transaction() as connection:
            contents = [dance.content for dance in batch]
            wanted = bulk_insert.is_among(connection, dances.c.content_hash, contents)
            for row in connection.execute(query.where(wanted)):
                found.setdefault(row[-1], {}).update(checksums_by_dancer([row]))
        return found
