"""Recordings out of a catalogue's database, and into one, without being made into records.

Rows go some thousand per transaction: a million dances are copied in minutes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from dancematch.catalogue.sql.rows import read_labels
from dancematch.catalogue.sql.schema import (
    DANCE_COLUMNS,
    RECORDING_COLUMNS,
    REVIEW_COLUMNS,
    TRACK_COLUMNS,
    dances,
    exclusions,
    labels,
    recordings,
    reviews,
    tracks,
)
from dancematch.catalogue.store import Store
from dancematch.catalogue.transfer.recording_rows import (
    DIFFERS,
    Checksums,
    Copied,
    CopySource,
    RecordingBatch,
    RecordingRows,
    checksums_by_dancer,
    name_recordings,
)
from dancematch.catalogue.word_kinds import read_kind
from dancematch.errors import DanceExistsError

BATCH = 5000  # dancers, about, per transaction
_BYTES = 64 << 20  # of words and skeletons, about, per transaction
_FETCHED = 256  # rows per request

# In a row of `_read_batches`: keys of recording and dance, then both with their tracks.
_FIRST_OF_DANCE = 2 + len(RECORDING_COLUMNS)
_FIRST_OF_TRACK = _FIRST_OF_DANCE + len(DANCE_COLUMNS)
_POSTER = 2 + RECORDING_COLUMNS.index("poster")
_WORDS, _JOINTS = (_FIRST_OF_TRACK + TRACK_COLUMNS.index(name) for name in ("words", "joints"))


@contextmanager
def open_database(where: str | Path) -> Iterator[CopySource]:
    """Open a catalogue to be copied; what is read of it is of one state."""
    store = Store(where, None, create=False)
    try:
        with store.transaction() as connection:
            store.require_ours(connection)
            total = connection.execute(sa.select(sa.func.count()).select_from(recordings)).scalar_one()
            kind, batches = read_kind(connection), partial(_read_batches, connection)
            yield CopySource(store.where, store.model_id, total, kind, batches)
    finally:
        store.close()


def _read_batches(
    connection: sa.Connection, size: int, *which: sa.ColumnElement[bool]
) -> Iterator[RecordingBatch]:
    """Read the recordings in the order of their keys, in batches that fit into memory well."""
    query = sa.select(
        recordings.c.key,
        recordings.c.dance,
        *(recordings.c[name] for name in RECORDING_COLUMNS),
        *(dances.c[name] for name in DANCE_COLUMNS),
        *_plain_columns(),
    ).select_from(recordings.join(dances).join(tracks, isouter=True))
    query = query.where(*which).order_by(recordings.c.key, tracks.c.dancer)
    some = sa.select(recordings.c.dance).where(*which)
    labelled = read_labels(connection, *([labels.c.dance.in_(some)] if which else []))
    with connection.execution_options(yield_per=_FETCHED).execute(query) as found:
        yield from _make_batches(connection, chain.from_iterable(found.partitions()), labelled, size)


def _make_batches(
    connection: sa.Connection,
    rows: Iterable[Sequence[Any]],
    labelled: Mapping[int, tuple[str, ...]],
    size: int,
) -> Iterator[RecordingBatch]:
    """Put rows of recordings with their tracks together, in batches of about `size` dancers."""
    batch: dict[int, RecordingRows] = {}
    count = volume = 0
    for row in rows:
        if row[0] not in batch:
            if count >= size or volume >= _BYTES:
                yield _with_segments_and_reviews(connection, batch)
                batch, count, volume = {}, 0, 0
            own, dance = tuple(row[2:_FIRST_OF_DANCE]), tuple(row[_FIRST_OF_DANCE:_FIRST_OF_TRACK])
            batch[row[0]] = RecordingRows(own, dance, labelled.get(row[1], ()))
            volume += len(row[_POSTER] or b"")
        if row[_WORDS] is not None:
            batch[row[0]].dancers.append(tuple(row[_FIRST_OF_TRACK:]))
            count += 1
            volume += len(row[_WORDS]) + len(row[_JOINTS] or b"")
    if batch:
        yield _with_segments_and_reviews(connection, batch)


def _plain_columns() -> "list[sa.ColumnElement[Any]]":
    """Return the columns of a track; SQLAlchemy does not convert their values."""
    return [sa.type_coerce(tracks.c[name], sa.types.NULLTYPE) for name in TRACK_COLUMNS]


def _with_segments_and_reviews(connection: sa.Connection, batch: dict[int, RecordingRows]) -> RecordingBatch:
    within = exclusions.c.recording.between(min(batch), max(batch))
    query = sa.select(exclusions).where(within).order_by(exclusions.c.start, exclusions.c.end)
    for row in connection.execute(query).mappings():
        if row["recording"] in batch:
            segment = {name: row[name] for name in ("start", "end", "reason")}
            batch[row["recording"]].excluded.append(segment)
    within = reviews.c.recording.between(min(batch), max(batch))
    for row in connection.execute(sa.select(reviews).where(within).order_by(reviews.c.key)).mappings():
        if row["recording"] in batch:
            batch[row["recording"]].reviews.append({name: row[name] for name in REVIEW_COLUMNS})
    return RecordingBatch(list(batch.values()))


class DatabaseTarget:
    """A catalogue's database to copy into; a new file is made with the first recording that is stored."""

    def __init__(self, where: str | Path, source: CopySource) -> None:
        self._store = Store(where, source.model_id, lazily=source.total > 0)
        self.where, self.batch_size = self._store.where, BATCH
        self.outage = self._store.outage
        with self._store.transaction() as connection:
            self.kind = read_kind(connection)

    def put(self, batch: Sequence[RecordingRows]) -> Copied:
        """Store the recordings whose content is not there yet; read all of them back and compare."""
        there = self._present(recordings.c.recording_id, [one.content for one in batch])
        new = [one for one in batch if one.content not in there]
        refused = self._find_conflicts(new)
        new = [one for one in new if one not in refused]
        if new:
            self._insert(new)
        read = self._read_back(batch)
        for one in batch:
            if one not in refused and (why := self._find_difference(one, read)):
                refused[one] = why
        return Copied(
            copied=len(new),
            skipped=len(there),
            fingerprints=sum(len(one.dancers) for one in new),
            verified=len(batch) - len(refused),
            failed=name_recordings(refused),
        )

    def _find_conflicts(self, new: Sequence[RecordingRows]) -> dict[RecordingRows, str]:
        """Return new recordings that cannot be stored, and why: a foreign folder may say anything."""
        ids, contents = self._read_dance_ids([one.name for one in new]), set[str]()
        refused: dict[RecordingRows, str] = {}
        for one in new:
            if ids.setdefault(one.name, one.dance_id) != one.dance_id:
                refused[one] = f"{one.name!r} is already the name of another dance in {self.where}"
            elif one.content in contents:
                refused[one] = "is named twice in the catalogue that is copied"
            contents.add(one.content)
        return refused

    def _find_difference(self, one: RecordingRows, read: dict[str, tuple[RecordingRows, Checksums]]) -> str:
        """Return how what is in the target differs from what was to be copied; empty if it does not."""
        if one.content not in read or read[one.content][1] != one.stored_checksums():
            return f"{DIFFERS} {self.where}"
        there = read[one.content][0]
        if there.dance_id == one.dance_id and there.said != one.said:
            called = f", where it is called {there.name!r}" if there.name != one.name else ""
            return (
                f"is there, but names, labels or segments are not the same in {self.where}{called}; "
                f"copy to a new name, or remove it there first"
            )
        return ""

    def finish(self) -> None:
        """Nothing is left to do: every batch is committed."""

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    @repeated
    def _present(self, column: "sa.Column[str]", values: Sequence[str]) -> set[str]:
        """Return those of the values that a column has."""
        with self._store.transaction() as connection:
            query = sa.select(column).where(bulk_insert.is_among(connection, column, values))
            return set(connection.execute(query).scalars())

    @repeated
    def _read_dance_ids(self, names: Sequence[str]) -> dict[str, str]:
        """Return the ids of the target's dances of these names."""
        with self._store.transaction() as connection:
            wanted = bulk_insert.is_among(connection, dances.c.name, list(dict.fromkeys(names)))
            query = sa.select(dances.c.name, dances.c.dance_id).where(wanted)
            return dict(connection.execute(query).all())

    @repeated
    def _insert(self, batch: Sequence[RecordingRows]) -> None:
        """Insert the recordings: all of them at once or none."""
        try:
            with self._store.transaction(WRITE) as connection:
                generation = self._store.next_generation(connection)
                self._store.require_ours(connection)
                of_dances = _insert_dances(connection, batch)
                values = [(of_dances[one.dance_id], one.values) for one in batch]
                keys = bulk_insert.insert_recordings(connection, values)
                keyed = list(zip(keys, batch, strict=True))
                rows = ((key, track) for key, one in keyed for track in one.dancers)
                bulk_insert.insert_tracks(connection, generation, rows)
                excluded = [{"recording": key, **span} for key, one in keyed for span in one.excluded]
                if excluded:
                    connection.execute(sa.insert(exclusions), excluded)
                decided = [{"recording": key, **review} for key, one in keyed for review in one.reviews]
                if decided:
                    connection.execute(sa.insert(reviews), decided)
        except IntegrityError:
            raise DanceExistsError(
                f"another process added some of the same dances to {self.where}; start again to go on"
            ) from None
        self._store.keep_ballast()

    @repeated
    def _read_back(self, batch: Sequence[RecordingRows]) -> dict[str, tuple[RecordingRows, Checksums]]:
        """Read what is in the database, with its checksums, by the recording's id."""
        found: dict[str, tuple[RecordingRows, Checksums]] = {}
        with self._store.transaction() as connection:
            contents = [one.content for one in batch]
            wanted = bulk_insert.is_among(connection, recordings.c.recording_id, contents)
            for some in _read_batches(connection, BATCH, wanted):
                for one in some.recordings:
                    found[one.content] = one, checksums_by_dancer(one.dancers)
        return found


def _insert_dances(connection: sa.Connection, batch: Sequence[RecordingRows]) -> dict[str, int]:
    """Insert the dances that are not there yet; return the keys of all by id."""
    ids = list(dict.fromkeys(one.dance_id for one in batch))
    wanted = bulk_insert.is_among(connection, dances.c.dance_id, ids)
    keys = dict(connection.execute(sa.select(dances.c.dance_id, dances.c.key).where(wanted)).all())
    new = {one.dance_id: one for one in batch if one.dance_id not in keys}
    if new:
        made = bulk_insert.insert_dances(connection, [one.dance for one in new.values()])
        of_labels = [
            (key, label) for key, one in zip(made, new.values(), strict=True) for label in one.labels
        ]
        bulk_insert.insert_labels(connection, of_labels)
        keys |= dict(zip(new, made, strict=True))
    return keys
