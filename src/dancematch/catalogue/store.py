"""Where fingerprints live: one SQLite file, or any database SQLAlchemy reaches by URL.

Each dance is added or removed in one transaction: kill -9 at any moment loses at most
the dance being added. Several processes may read while one writes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from dancematch.catalogue.connection import connect, shown
from dancematch.catalogue.schema import VERSION, dances, facts, metadata, tracks
from dancematch.errors import (
    CatalogueError,
    DanceExistsError,
    InputError,
    ModelMismatchError,
    UnknownDanceError,
)
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, FloatArray, Motion

# A writer takes its turn at the start: two that both read first could never both go on.
_WRITE = "BEGIN IMMEDIATE"


@dataclass(frozen=True)
class Dance:
    """What the catalogue says of a dance it knows."""

    dance_id: str
    source: str
    content_hash: str
    seconds: float
    label: str | None = None
    bank: str | None = None
    added: str = ""
    dancers: int = 0


@dataclass(frozen=True)
class StoredTrack:
    """One dancer of a dance: the words, and the skeletons (on body15) if they are kept."""

    fingerprint: Fingerprint
    motion: Motion | None = None


@dataclass(frozen=True)
class NewWords:
    """The words that one dancer of a dance is to have from now on."""

    dance_id: str
    dancer: int
    fingerprint: Fingerprint


class Store:
    """The tables of one catalogue, opened for one model's words."""

    def __init__(self, where: str | Path, model_id: str | None, *, create: bool = True) -> None:
        """Open the catalogue at a file's path or a database URL; `create` it if it is not there.

        Without a `model_id` it must be there, and is opened for whatever model's words it holds.
        """
        self.model_id = model_id or ""
        create = create and model_id is not None
        self._engine = connect(str(where))
        self.where = shown(self._engine.url)
        is_file = self._engine.dialect.name == "sqlite"
        if is_file and not create and not Path(self.where).is_file():
            raise self._absent()
        try:
            self._prepare(create)
        except BaseException:
            self.close()
            raise

    def _absent(self) -> CatalogueError:
        return CatalogueError(f"there is no catalogue at {self.where}; 'dancematch add' makes one")

    def _prepare(self, create: bool) -> None:
        """Make the tables in an empty database; in any other, check that they are ours."""
        with self._transaction() as connection:  # whoever only reads need not wait for a writer
            empty = not sa.inspect(connection).get_table_names()
        if empty and not create:
            raise self._absent()
        if empty:
            self._pragma("journal_mode=WAL")  # kept in the file: readers go on while one process writes
        with self._transaction(_WRITE if empty else "BEGIN") as connection:
            existing = set(sa.inspect(connection).get_table_names())
            if not existing:
                self._make_tables(connection)
            elif not existing >= set(metadata.tables):
                raise CatalogueError(f"{self.where} is a database, but not a dancematch catalogue")
            self._check(connection)

    def _make_tables(self, connection: sa.Connection) -> None:
        metadata.create_all(connection)
        initial = {"version": str(VERSION), "model_id": self.model_id, "generation": "0"}
        connection.execute(sa.insert(facts), [{"name": n, "value": v} for n, v in initial.items()])

    def _check(self, connection: sa.Connection) -> None:
        version = self._fact(connection, "version")
        if version != str(VERSION):
            raise CatalogueError(
                f"{self.where} has catalogue version {version}, this dancematch reads {VERSION}; upgrade it"
            )
        self.model_id = self.model_id or self._fact(connection, "model_id")
        self._require_our_model(connection)

    def _require_our_model(self, connection: sa.Connection) -> None:
        """Refuse to go on with words of another model, which somebody may have made since we opened."""
        stored = self._fact(connection, "model_id")
        if stored != self.model_id:
            raise ModelMismatchError(
                f"{self.where} holds words of the model {stored}, not of {self.model_id}; open it with that "
                f"model, or make its words anew with this one: dancematch retokenise {self.where}"
            )

    @contextmanager
    def _transaction(self, begin: str = "BEGIN") -> Iterator[sa.Connection]:
        """One all-or-nothing piece of work; the database's complaints become ours.

        `begin` is how SQLite is to start it; other databases need no telling.
        """
        try:
            with self._engine.execution_options(begin=begin).begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except OperationalError as error:
            raise CatalogueError(f"the catalogue {self.where} cannot be used: {_reason(error)}") from None
        except DatabaseError as error:
            raise CatalogueError(
                f"{self.where} is not a catalogue, or it is damaged: {_reason(error)}"
            ) from None

    @staticmethod
    def _fact(connection: sa.Connection, name: str) -> str:
        value = connection.execute(sa.select(facts.c.value).where(facts.c.name == name)).scalar()
        return str(value)

    @property
    def generation(self) -> int:
        """Counts the changes: what was derived at another generation is out of date."""
        with self._transaction() as connection:
            return int(self._fact(connection, "generation"))

    @staticmethod
    def _next_generation(connection: sa.Connection) -> None:
        # Counted by the database itself: two writers who each read first might count as one.
        number = sa.cast(sa.cast(facts.c.value, sa.Integer) + 1, sa.String)
        connection.execute(sa.update(facts).where(facts.c.name == "generation").values(value=number))

    def find_content(self, content_hash: str) -> str | None:
        """The dance that was made from this very content, if it is here."""
        with self._transaction() as connection:
            return connection.execute(
                sa.select(dances.c.dance_id).where(dances.c.content_hash == content_hash)
            ).scalar()

    def has(self, dance_id: str) -> bool:
        """Whether a dance of that name is here."""
        with self._transaction() as connection:
            found = connection.execute(sa.select(dances.c.key).where(dances.c.dance_id == dance_id)).first()
        return found is not None

    def add(self, dance: Dance, recorded: Sequence[StoredTrack]) -> None:
        """Keep a dance of one dancer or more; its name and its content must be new."""
        if not recorded:
            raise InputError(f"{dance.dance_id!r} was not added: it has no dancer")
        if any(track.fingerprint.model_id != self.model_id for track in recorded):
            raise ModelMismatchError(f"{self.where} takes words of the model {self.model_id} only")
        row = {
            "dance_id": dance.dance_id, "label": dance.label, "bank": dance.bank, "source": dance.source,
            "content_hash": dance.content_hash, "seconds": dance.seconds,
            "added": datetime.now(UTC).isoformat(timespec="seconds"),
        }  # fmt: skip
        try:
            with self._transaction(_WRITE) as connection:
                self._next_generation(connection)  # first: from here on nobody else writes, in any database
                self._require_our_model(connection)
                key = connection.execute(sa.insert(dances).values(row).returning(dances.c.key)).scalar_one()
                numbered = enumerate(recorded, start=1)
                connection.execute(sa.insert(tracks), [_track_row(key, n, track) for n, track in numbered])
        except IntegrityError:
            raise DanceExistsError(
                f"{self.where} already has a dance named {dance.dance_id!r}, or this very content; "
                f"choose another name or remove it first"
            ) from None

    def remove(self, dance_id: str) -> None:
        """Forget a dance: its words and skeletons go with it."""
        with self._transaction(_WRITE) as connection:
            gone = connection.execute(sa.delete(dances).where(dances.c.dance_id == dance_id)).rowcount
            if not gone:
                raise UnknownDanceError(f"{self.where} has no dance named {dance_id!r}")
            self._next_generation(connection)
        self._empty_the_log()

    def _empty_the_log(self) -> None:
        """Let no removed dance live on in the log beside the file, where it stands as it was added."""
        # The dance is gone whether or not this succeeds; the last one to close empties the log too.
        with suppress(CatalogueError):
            self._pragma("wal_checkpoint(TRUNCATE)")

    def _pragma(self, setting: str) -> None:
        """Tell SQLite something that cannot be said within a transaction; no other database has it."""
        if self._engine.dialect.name == "sqlite":
            with self._transaction(begin="") as connection:
                connection.exec_driver_sql(f"PRAGMA {setting}")

    def dances(self) -> list[Dance]:
        """Every dance, by name."""
        dancers = sa.func.count(tracks.c.key).label("dancers")
        wanted = [column for column in dances.c if column.name != "key"]
        query = sa.select(*wanted, dancers).join(tracks).group_by(dances.c.key).order_by(dances.c.dance_id)
        with self._transaction() as connection:
            return [Dance(**row) for row in connection.execute(query).mappings()]

    def fingerprints(self) -> list[tuple[str, Fingerprint]]:
        """Every track's words with the name of their dance, in order of name and dancer."""
        wanted = [column for column in tracks.c if column.name not in ("joints", "joint_visibility")]
        query = (
            sa.select(dances.c.dance_id, *wanted).join(dances).order_by(dances.c.dance_id, tracks.c.dancer)
        )
        with self._transaction() as connection:
            rows = connection.execute(query).mappings().all()
            self._require_our_model(connection)  # afterwards: what is asked before may change in between
        return [(row["dance_id"], self._fingerprint(row)) for row in rows]

    def replace_words(self, model_id: str, made: Sequence[NewWords], *, generation: int) -> None:
        """Make this a catalogue of another model's words, all of them at once or none.

        `made` was made from what was here at `generation`; a dancer of whom it does not speak is
        forgotten, and so is a dance that has no dancer left.
        """
        if any(words.fingerprint.model_id != model_id for words in made):
            raise ModelMismatchError(f"only words of the model {model_id} were expected")
        with self._transaction(_WRITE) as connection:
            self._next_generation(connection)
            if self._fact(connection, "generation") != str(generation + 1):
                raise CatalogueError(
                    f"{self.where} was changed while its words were made anew; nothing is replaced, try again"
                )
            query = sa.select(dances.c.dance_id, tracks.c.dancer, tracks.c.key).join(dances)
            keys = {(name, dancer): key for name, dancer, key in connection.execute(query)}
            for words in made:
                key = keys.pop((words.dance_id, words.dancer))
                row = _words_row(words.fingerprint)
                connection.execute(sa.update(tracks).where(tracks.c.key == key).values(row))
            for key in keys.values():
                connection.execute(sa.delete(tracks).where(tracks.c.key == key))
            danced = sa.select(tracks.c.dance)
            connection.execute(sa.delete(dances).where(dances.c.key.not_in(danced)))
            connection.execute(sa.update(facts).where(facts.c.name == "model_id").values(value=model_id))
        self.model_id = model_id
        self._empty_the_log()

    def motions(self, dance_id: str) -> list[Motion]:
        """The skeletons of a dance, a dancer each; empty if they were not kept."""
        return [motion for motion in self.dancers(dance_id).values() if motion is not None]

    def dancers(self, dance_id: str) -> dict[int, Motion | None]:
        """Every dancer's skeletons by the dancer's number; None if they were not kept."""
        query = sa.select(tracks).join(dances).where(dances.c.dance_id == dance_id).order_by(tracks.c.dancer)
        with self._transaction() as connection:
            rows = connection.execute(query).mappings().all()
        try:
            return {row["dancer"]: None if row["joints"] is None else _motion(row) for row in rows}
        except (ValueError, TypeError, InputError):
            raise CatalogueError(f"{self.where}: the skeletons of {dance_id!r} are damaged") from None

    def _fingerprint(self, row: Any) -> Fingerprint:
        shape = (-1, row["channels"])
        try:
            words = np.frombuffer(row["words"], dtype="<u2").reshape(shape)
            visibility = _unpacked(row["visibility"], shape)
            return Fingerprint(
                words, row["vocabulary"], row["seconds_per_word"], self.model_id, row["start"], visibility
            )
        except (ValueError, TypeError, InputError):
            raise CatalogueError(f"{self.where}: the words of {row['dance_id']!r} are damaged") from None

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def _words_row(fingerprint: Fingerprint) -> dict[str, object]:
    return {
        "start": fingerprint.start,
        "seconds_per_word": fingerprint.seconds_per_word,
        "channels": fingerprint.words.shape[1],
        "vocabulary": fingerprint.vocabulary,
        "words": fingerprint.words.astype("<u2").tobytes(),
        "visibility": _packed(fingerprint.visibility),
    }


def _track_row(dance_key: int, dancer: int, track: StoredTrack) -> dict[str, object]:
    return {
        "dance": dance_key,
        "dancer": dancer,
        **_words_row(track.fingerprint),
        "fps": track.motion and track.motion.fps,
        "joints": track.motion and track.motion.joints.astype("<f2").tobytes(),
        "joint_visibility": track.motion and _packed(track.motion.visibility),
    }


def _packed(visibility: FloatArray) -> bytes:
    return np.round(visibility * 255).astype(np.uint8).tobytes()


def _unpacked(visibility: bytes, shape: tuple[int, ...]) -> FloatArray:
    return (np.frombuffer(visibility, dtype=np.uint8) / np.float32(255)).astype(np.float32).reshape(shape)


def _motion(row: Any) -> Motion:
    joints = np.frombuffer(row["joints"], dtype="<f2").reshape(-1, len(BODY15.joints), 3)
    visibility = _unpacked(row["joint_visibility"], joints.shape[:2])
    return Motion(joints.astype(np.float32), row["fps"], BODY15, visibility, row["start"])


def _reason(error: DatabaseError) -> str:
    return str(error.orig).strip().splitlines()[0]
