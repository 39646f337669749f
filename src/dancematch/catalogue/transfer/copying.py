"""All dances of one catalogue into another, wherever either is: between files, servers, or one and the other.

Rows go as they are, without being made into nouns, some thousand in a transaction; while these are
written the next are read. Before they go the
checksums tell whether they are what was added once; afterwards they are read back and compared. What is
there already is left alone, but compared as well: a copy that was interrupted goes on, and one that is
repeated is a check.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from dancematch.catalogue.sql import bulk_insert
from dancematch.catalogue.sql.checksums import (
    OF_SKELETONS,
    OF_WORDS,
    checksum_of_skeletons,
    checksum_of_words,
)
from dancematch.catalogue.sql.database import WRITE
from dancematch.catalogue.sql.schema import dances, exclusions, tracks
from dancematch.catalogue.store import Store
from dancematch.errors import DanceExistsError, InputError

BATCH = 5000  # dancers, about: in one transaction
_BYTES = 64 << 20  # of words and skeletons, about: in one transaction
_AT_ONCE = 256  # rows that are asked for at a time

Checksums = dict[int, tuple[int | None, int | None]]  # of words and skeletons, by dancer


@dataclass(frozen=True)
class Copied:
    """What became of some dances that were to be copied."""

    total: int  # dances of the source
    copied: int = 0
    skipped: int = 0  # there already
    fingerprints: int = 0  # copied, one a dancer
    verified: int = 0  # dances that are in the target as they are in the source
    failed: dict[str, str] = field(default_factory=dict)  # dances that are not, and why

    def __add__(self, other: "Copied") -> "Copied":
        return Copied(
            other.total,
            self.copied + other.copied,
            self.skipped + other.skipped,
            self.fingerprints + other.fingerprints,
            self.verified + other.verified,
            self.failed | other.failed,
        )


@dataclass(slots=True)
class _Row:
    """A dance of the source as its database says it."""

    key: int
    values: tuple[Any, ...]  # of bulk_insert.OF_DANCE
    dancers: list[tuple[Any, ...]] = field(default_factory=list)  # of bulk_insert.OF_TRACK

    @property
    def name(self) -> str:
        return str(self.values[_NAME])

    @property
    def content(self) -> str:
        return str(self.values[_CONTENT])

    def checksums(self) -> Checksums:
        """What is noted of the dancers, if it is so."""
        return {row[_DANCER]: (row[_WORDS], row[_SKELETONS]) for row in self.dancers}


_NAME, _CONTENT = bulk_insert.OF_DANCE.index("dance_id"), bulk_insert.OF_DANCE.index("content_hash")
_DANCER = bulk_insert.OF_TRACK.index("dancer")
_words_of = itemgetter(*(bulk_insert.OF_TRACK.index(name) for name in OF_WORDS))
_skeletons_of = itemgetter(*(bulk_insert.OF_TRACK.index(name) for name in OF_SKELETONS))
_WORDS, _SKELETONS = (
    bulk_insert.OF_TRACK.index("words_checksum"),
    bulk_insert.OF_TRACK.index("skeletons_checksum"),
)


def copy_catalogue(source: Store, where: str | Path) -> Iterator[Copied]:
    """Copy every dance into the catalogue at `where`, made if it is not there, telling of some at a time.

    Words, skeletons, labels, collections, periods, exclusions, checksums and when it was added go along. What
    others add to the source meanwhile is left to the next time.
    """
    target = Store(where, source.model_id)
    try:
        if target.where == source.where:
            raise InputError(f"{source.where} cannot be copied into itself; name another target")
        # The same state to the end.
        with source.transaction() as connection, ThreadPoolExecutor(1, "dancematch-copy") as hand:
            source.require_ours(connection)
            total = connection.execute(sa.select(sa.func.count()).select_from(dances)).scalar_one()
            yield Copied(total)
            under_way: Future[Copied] | None = None
            for batch in _batches(connection):
                if under_way is not None:
                    yield under_way.result()
                under_way = hand.submit(_copy_batch, target, batch, _excluded(connection, batch), total)
            if under_way is not None:
                yield under_way.result()
    finally:
        target.close()


def _batches(connection: sa.Connection) -> Iterator[list[_Row]]:
    """The dances of the source in the order of their keys, so many at a time as fit into memory well."""
    of_dance = [dances.c[name] for name in ("key", *bulk_insert.OF_DANCE)]
    of_track = _plain_columns()
    query = sa.select(*of_dance, *of_track).join_from(dances, tracks, isouter=True)
    found = connection.execution_options(yield_per=_AT_ONCE).execute(
        query.order_by(dances.c.key, tracks.c.dancer)
    )
    batch: list[_Row] = []
    count = size = 0
    split = len(of_dance)
    words, joints = split + bulk_insert.OF_TRACK.index("words"), split + bulk_insert.OF_TRACK.index("joints")
    for row in chain.from_iterable(found.partitions()):
        if not batch or batch[-1].key != row[0]:
            if count >= BATCH or size >= _BYTES:
                yield batch
                batch, count, size = [], 0, 0
            batch.append(_Row(row[0], tuple(row[1:split])))
        if row[split + _DANCER] is not None:
            batch[-1].dancers.append(tuple(row[split:]))
            count += 1
            size += len(row[words]) + len(row[joints] or b"")
    if batch:
        yield batch


def _plain_columns() -> "list[sa.ColumnElement[Any]]":
    """The columns of a track, their values as the driver gives them: SQLAlchemy looks at none."""
    return [sa.type_coerce(tracks.c[name], sa.types.NULLTYPE) for name in bulk_insert.OF_TRACK]


def _excluded(connection: sa.Connection, batch: Sequence[_Row]) -> list[dict[str, Any]]:
    """The excluded stretches of these dances."""
    within = exclusions.c.dance.between(batch[0].key, batch[-1].key)
    return [dict(row) for row in connection.execute(sa.select(exclusions).where(within)).mappings()]


def _copy_batch(
    target: Store, batch: Sequence[_Row], excluded: Sequence[dict[str, Any]], total: int
) -> Copied:
    failed = {row.name: "is damaged; 'dancematch doctor' says more" for row in batch if not _is_sound(row)}
    sound = [row for row in batch if row.name not in failed]
    known = _present(target, dances.c.content_hash, [row.content for row in sound])
    new = [row for row in sound if row.content not in known]
    taken = _present(target, dances.c.dance_id, [row.name for row in new])
    failed |= dict.fromkeys(taken, f"is already the name of another dance in {target.where}")
    new = [row for row in new if row.name not in taken]
    if new:
        _insert(target, new, excluded)
    there = _read_back(target, sound)
    expected = [row for row in sound if row.name not in failed]
    differ = [row.name for row in expected if there.get(row.content) != row.checksums()]
    failed |= dict.fromkeys(differ, f"is there, but is not the same in {target.where}")
    return Copied(
        total, len(new), len(known), sum(len(row.dancers) for row in new), len(expected) - len(differ), failed
    )


def _is_sound(row: _Row) -> bool:
    """Whether a dance has dancers, and they are what their checksums say."""
    return bool(row.dancers) and row.checksums() == {
        values[_DANCER]: _checksums(values) for values in row.dancers
    }


def _checksums(values: Sequence[Any]) -> tuple[int | None, int | None]:
    """Of the values of `bulk_insert.OF_TRACK`, made anew."""
    return checksum_of_words(*_words_of(values)), checksum_of_skeletons(*_skeletons_of(values))


def _present(target: Store, column: "sa.Column[str]", values: Sequence[str]) -> set[str]:
    """Those of the values that a column of the target's dances has."""
    with target.transaction() as connection:
        query = sa.select(column).where(bulk_insert.among(connection, column, values))
        return set(connection.execute(query).scalars())


def _insert(target: Store, batch: Sequence[_Row], excluded: Sequence[dict[str, Any]]) -> None:
    """Put dances into the target: all of them at once or nothing."""
    try:
        with target.transaction(WRITE) as connection:
            generation = target.next_generation(connection)
            target.require_ours(connection)
            keys = bulk_insert.insert_dances(connection, [row.values for row in batch])
            new = dict(zip((row.key for row in batch), keys, strict=True))
            dancers = ((new[row.key], values) for row in batch for values in row.dancers)
            bulk_insert.insert_tracks(connection, generation, dancers)
            stretches = [row | {"dance": new[row["dance"]]} for row in excluded if row["dance"] in new]
            if stretches:
                connection.execute(sa.insert(exclusions), stretches)
    except IntegrityError:
        raise DanceExistsError(
            f"somebody added some of the same dances to {target.where} meanwhile; start again to go on"
        ) from None


def _read_back(target: Store, batch: Sequence[_Row]) -> dict[str, Checksums]:
    """The checksums of what is in the target, made anew, by content and dancer."""
    query = sa.select(*_plain_columns(), dances.c.content_hash).join_from(tracks, dances)
    found: dict[str, Checksums] = {}
    with target.transaction() as connection:
        wanted = bulk_insert.among(connection, dances.c.content_hash, [row.content for row in batch])
        for values in connection.execute(query.where(wanted)).all():
            found.setdefault(values[-1], {})[values[_DANCER]] = _checksums(values)
    return found
