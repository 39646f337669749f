"""The dances of a catalogue and their recordings: add, remove, and read them.

Each recording, or batch of recordings, is added or removed in one transaction: kill -9 at any moment loses at
most what is being added. Several processes may read while one writes, and writers take turns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from dancematch.catalogue.listing import conditions, read_dances, read_recordings
from dancematch.catalogue.records import (
    Changes,
    Dance,
    Exclusion,
    NewRecording,
    Recording,
    StoredTrack,
    require_name,
)
from dancematch.catalogue.sql import bulk_insert, change_log
from dancematch.catalogue.sql.checksums import skeletons_checksum
from dancematch.catalogue.sql.database import WRITE, Database
from dancematch.catalogue.sql.full_disk import spends_ballast
from dancematch.catalogue.sql.new_dances import join_dances
from dancematch.catalogue.sql.outage import repeated
from dancematch.catalogue.sql.references import find_dances, require_dances, require_recordings
from dancematch.catalogue.sql.rows import (
    complete,
    motion_of,
    track_row,
    words_row,
)
from dancematch.catalogue.sql.schema import (
    RECORDING_COLUMNS,
    dances,
    edits,
    exclusions,
    recordings,
    tracks,
)
from dancematch.catalogue.stats import stored_bytes
from dancematch.catalogue.track_reading import read_tracks
from dancematch.catalogue.word_kinds import read_kind, require_one_kind
from dancematch.errors import (
    CatalogueError,
    DanceExistsError,
    DiskFullError,
    InputError,
    ModelMismatchError,
)
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Motion

__all__ = ["Changes", "Dance", "Exclusion", "NewRecording", "Recording", "Store", "StoredTrack"]

T = TypeVar("T")

_PER_STATEMENT = 500  # keys in one statement: databases take only so many


class Store(Database):
    """The dances of one catalogue, opened for one model's words."""

    @repeated
    def find_recording(self, recording_id: str) -> Recording | None:
        """Return the recording of this content, if it is here."""
        with self.transaction() as connection:
            found = read_recordings(self, connection, recordings.c.recording_id == recording_id)
        return found[0] if found else None

    @repeated
    def count_recordings(self, dance_id: str) -> int:
        """Return how many recordings a dance has."""
        query = sa.select(sa.func.count()).select_from(recordings.join(dances))
        with self.transaction() as connection:
            return int(connection.execute(query.where(dances.c.dance_id == dance_id)).scalar_one())

    @repeated
    def has(self, name: str) -> bool:
        """Whether a dance of that name is here."""
        with self.transaction() as connection:
            found = connection.execute(sa.select(dances.c.key).where(dances.c.name == name)).first()
        return found is not None

    def has_any(self, *, label: str | None = None, collection: str | None = None) -> bool:
        """Whether there is any dance, or any of that label and collection."""
        with self.transaction() as connection:
            some = sa.select(dances.c.key).where(*conditions(label, collection)).limit(1)
            return connection.execute(some).first() is not None

    def require_any(self, label: str | None, collection: str | None) -> None:
        """Refuse a label or a collection that no dance has; None is not checked."""
        for what, name in (("label", label), ("collection", collection)):
            if name is not None and not self.has_any(**{what: name}):
                raise InputError(
                    f"no dance in {self.where} has the {what} {name!r}; 'dancematch list' names all"
                )

    def add(self, new: NewRecording, dancers: Sequence[StoredTrack], *, join: bool = False) -> None:
        """Store a recording of one dancer or more; its content must be new.

        Its dance must be new too unless it may `join` one of its name: labels are then added to that dance,
        and a collection or notes must be those it has.
        """
        self.add_many([(new, dancers)], join=join)

    @repeated
    def add_many(
        self, batch: Sequence[tuple[NewRecording, Sequence[StoredTrack]]], *, join: bool = False
    ) -> None:
        """Store recordings, and segments of them that never match: all at once or nothing."""
        for new, dancers in batch:
            if not dancers:
                raise InputError(f"{new.dance.name!r} was not added: it has no dancer")
            if any(track.fingerprint.model_id != self.model_id for track in dancers):
                raise ModelMismatchError(f"{self.where} takes words of the model {self.model_id} only")
        if not batch:
            return
        made = [complete(new) for new, _ in batch]  # before the transaction, which makes the file
        try:
            with self.transaction(WRITE) as connection:
                generation = self.next_generation(connection)
                self.require_ours(connection)
                named = [(new.dance.name, dancers) for new, dancers in batch]
                require_one_kind(self.where, named, read_kind(connection))
                of_dances = join_dances(self, connection, [new.dance for new in made], generation, join)
                self._insert_recordings(
                    connection, made, of_dances, [tracks for _, tracks in batch], generation
                )
        except IntegrityError:
            raise self._explain_conflict(made) from None
        self.keep_ballast()

    @staticmethod
    def _insert_recordings(
        connection: sa.Connection,
        batch: Sequence[NewRecording],
        of_dances: Sequence[int],
        stored: Sequence[Sequence[StoredTrack]],
        generation: int,
    ) -> None:
        values = [
            tuple({**vars(new.recording), "poster": new.poster}[name] for name in RECORDING_COLUMNS)
            for new in batch
        ]
        keys = bulk_insert.insert_recordings(connection, list(zip(of_dances, values, strict=True)))
        rows = (
            (key, track_row(place, track))
            for key, dancers in zip(keys, stored, strict=True)
            for place, track in enumerate(dancers, start=1)
        )
        bulk_insert.insert_tracks(connection, generation, rows)
        excluded = [
            {"recording": key, "start": one.start, "end": one.end, "reason": one.reason}
            for key, new in zip(keys, batch, strict=True)
            for one in new.excluded
        ]
        if excluded:
            connection.execute(sa.insert(exclusions), excluded)

    def _explain_conflict(self, batch: Sequence[NewRecording]) -> DanceExistsError:
        """Return why a batch was refused: the first recording whose content, or dance, exists already."""
        contents: dict[str, str] = {}
        named: set[str] = set()
        for new in batch:
            name, content = new.dance.name, new.recording.recording_id
            known = self.find_recording(content)
            known_as = contents.get(content) or (known.dance if known else None)
            if known_as is not None:
                return DanceExistsError(
                    f"{self.where} already has this very content as {known_as!r}; {name!r} was not added"
                )
            if name in named or self.has(name):
                return DanceExistsError(
                    f"{self.where} already has a dance named {name!r}, of other content; choose another name"
                )
            named.add(name)
            contents[content] = name
        return DanceExistsError(
            f"another process added and removed one of these dances in {self.where}; try again"
        )

    def remove(self, dance: str) -> None:
        """Remove a dance, by name or id, with its recordings: their words, skeletons and all else."""
        self.remove_many([dance])

    def remove_many(self, named: Iterable[str]) -> None:
        """Remove dances: all of them or, if one is unknown, none; a full disk is no reason to fail."""
        self._remove_or_say(list(named), ())

    def remove_recordings(self, named: Iterable[str]) -> None:
        """Remove recordings, by id or file name, all of them or none; a dance goes with its last one."""
        self._remove_or_say((), list(named))

    def _remove_or_say(self, of_dances: Sequence[str], single: Sequence[str]) -> None:
        try:
            self._remove(of_dances, single)
        except DiskFullError:  # what is overwritten goes into the log first
            with self.transaction() as connection:
                keys = self._recording_keys(connection, of_dances, single)
                needed = stored_bytes(connection, keys) / 1e6 + 1
            raise DiskFullError(
                f"{self.where}: the disk is full, and to remove these dances takes about "
                f"{needed:.0f} MB for a moment; nothing was removed: make so "
                f"much room, or remove fewer at a time"
            ) from None

    @repeated
    @spends_ballast
    def _remove(self, of_dances: Sequence[str], single: Sequence[str]) -> None:
        with self.transaction(WRITE) as connection:
            generation = self.next_generation(connection)
            keys = self._recording_keys(connection, of_dances, single)
            owners = sa.select(recordings.c.dance).where(
                bulk_insert.is_among(connection, recordings.c.key, keys)
            )
            emptied = connection.execute(owners.distinct()).scalars().all()
            for some in _split(keys):
                change_log.log_removed(self, connection, tracks.c.recording.in_(some), generation)
                connection.execute(sa.delete(recordings).where(recordings.c.key.in_(some)))
            _remove_empty_dances(connection, bulk_insert.is_among(connection, dances.c.key, emptied))
            connection.execute(sa.delete(edits))  # which names what is removed
        self.truncate_log()

    def _recording_keys(
        self, connection: sa.Connection, of_dances: Sequence[str], single: Sequence[str]
    ) -> list[int]:
        """Return the keys of the recordings of dances, and of single ones; what is unknown is refused."""
        nothing = "; nothing was removed"
        keys = require_dances(connection, self.where, of_dances, nothing).values()
        wanted = bulk_insert.is_among(connection, recordings.c.dance, list(keys))
        whole = connection.execute(sa.select(recordings.c.key).where(wanted)).scalars().all()
        asked = [(name, None) for name in single]
        return [*whole, *require_recordings(connection, self.where, asked, nothing).values()]

    @repeated
    def dances(self, *, label: str | None = None, collection: str | None = None) -> list[Dance]:
        """Return every dance, or those of a label or collection, by name."""
        with self.transaction() as connection:
            return read_dances(self, connection, *conditions(label, collection))

    @repeated
    def recordings(self, *, label: str | None = None, collection: str | None = None) -> list[Recording]:
        """Return every recording, or those of dances of a label or collection, by the name of the dance."""
        with self.transaction() as connection:
            return read_recordings(self, connection, *conditions(label, collection))

    def fingerprints(
        self, *, label: str | None = None, collection: str | None = None
    ) -> list[tuple[str, Fingerprint]]:
        """Return every track's words with the id of their dance, in order of its name.

        Only dances of a label or collection if one is given; words of excluded segments are unseen.
        """
        return [
            (known.dance_id, known.fingerprint)
            for known in self.everything(label=label, collection=collection).added
        ]

    def everything(self, *, label: str | None = None, collection: str | None = None) -> Changes:
        """Return all tracks, in order of the dance's name, and the generation to ask for changes from."""
        with self.transaction() as connection:
            now, token = self.state(connection)
            added = read_tracks(self, connection, tracks.c.generation <= now, *conditions(label, collection))
        return Changes(now, (), added, token)

    def tracks(self, named: Iterable[str]) -> list[KnownTrack]:
        """Return every dancer of these dances, by name or id, in order of name; unknown ones have none."""
        with self.transaction() as connection:
            keys = [key for key in find_dances(connection, named).values() if key is not None]
            return list(read_tracks(self, connection, bulk_insert.is_among(connection, dances.c.key, keys)))

    def recording_tracks(self, recording_id: str) -> list[KnownTrack]:
        """Return every dancer of a recording."""
        with self.transaction() as connection:
            return list(read_tracks(self, connection, recordings.c.recording_id == recording_id))

    def changes(self, since: int, token: str | None = None) -> Changes | None:
        """Return what was added and removed since a generation; None if that is too long ago, or unknown.

        With its `token`, None also if this catalogue, perhaps restored from a backup, had another state
        at that generation. After None, start again from `everything`.
        """
        with self.transaction() as connection:
            now, latest = self.state(connection)
            removed = change_log.removed_since(self, connection, since, now)
            known = token is None or (token and token == self.token(connection, since))
            if removed is None or not known:
                return None
            added = read_tracks(self, connection, tracks.c.generation > since, tracks.c.generation <= now)
        return Changes(now, removed, added, latest)

    @repeated
    def replace_words(
        self, model_id: str, made: Sequence[tuple[str, StoredTrack]], *, generation: int
    ) -> None:
        """Make this a catalogue of another model's words, all of them at once or none.

        `made` has, by the recording's id, new words and periods of a dancer; it was made from what was here
        at `generation`. A dancer without new words is removed, and so is a recording without dancers.
        """
        if any(track.fingerprint.model_id != model_id for _, track in made):
            raise ModelMismatchError(f"only words of the model {model_id} were expected")
        require_one_kind(self.where, [(name, [track]) for name, track in made])
        require_name(model_id, "model_id")
        with self.transaction(WRITE) as connection:
            now = self.next_generation(connection)
            if now != generation + 1:
                raise CatalogueError(f"{self.where} was changed meanwhile; no words are replaced, try again")
            keys = self._track_keys(connection)
            for recording_id, track in made:
                key = keys.pop((recording_id, track.dancer))
                periods = {"period_seconds": track.period_seconds, "period_strength": track.period_strength}
                row = words_row(track.fingerprint) | periods
                connection.execute(sa.update(tracks).where(tracks.c.key == key).values(row))
            for some in _split(keys.values()):
                connection.execute(sa.delete(tracks).where(tracks.c.key.in_(some)))
            danced = sa.select(tracks.c.recording)
            connection.execute(sa.delete(recordings).where(recordings.c.key.not_in(danced)))
            _remove_empty_dances(connection)
            if keys:
                connection.execute(sa.delete(edits))  # which may name what is removed
            self.set_fact(connection, "model_id", model_id)
            self.set_fact(connection, "recalibration", "")  # which was fitted on the old words
            change_log.restart_log(self, connection, now)
        self.model_id = model_id
        self.truncate_log()

    @staticmethod
    def _track_keys(connection: sa.Connection) -> dict[tuple[str, int], int]:
        query = sa.select(recordings.c.recording_id, tracks.c.dancer, tracks.c.key).join(recordings)
        return {(recording, dancer): key for recording, dancer, key in connection.execute(query)}

    @repeated
    def exclusions(self, dance: str | None = None) -> list[Exclusion]:
        """Return the excluded segments of one dance, by name or id, or all, by name and time."""
        wanted = (exclusions.c.start, exclusions.c.end, exclusions.c.reason)
        named = (dances.c.name.label("dance"), recordings.c.file, recordings.c.recording_id)
        query = sa.select(*named, *wanted).select_from(exclusions.join(recordings).join(dances))
        with self.transaction() as connection:
            if dance is not None:
                key = require_dances(connection, self.where, [dance])[dance]
                query = query.where(dances.c.key == key)
            rows = connection.execute(query).mappings().all()
        return sorted((Exclusion(**row) for row in rows), key=lambda e: (e.dance, e.file, e.start, e.end))

    @repeated
    def dancers(self, recording_id: str) -> dict[int, Motion | None]:
        """Return every dancer's skeletons by the dancer's number; None if they were not kept."""
        named = sa.select(dances.c.name, tracks).select_from(tracks.join(recordings).join(dances))
        query = named.where(recordings.c.recording_id == recording_id).order_by(tracks.c.dancer)
        with self.transaction() as connection:
            rows = connection.execute(query).mappings().all()
        try:
            motions = {row["dancer"]: motion_of(row) for row in rows}
        except (ValueError, TypeError, InputError):
            motions = None
        if motions is None or any(skeletons_checksum(row) != row["skeletons_checksum"] for row in rows):
            raise CatalogueError(
                f"{self.where}: the skeletons of {rows[0]['name']!r} are damaged; 'dancematch doctor' says "
                f"more: remove that recording and add it again"
            )
        return motions

    def motions(self, dance: str) -> Mapping[str, dict[int, Motion | None]]:
        """Return the skeletons of every recording of a dance, by the recording's id and the dancer."""
        with self.transaction() as connection:
            key = require_dances(connection, self.where, [dance])[dance]
            query = sa.select(recordings.c.recording_id).where(recordings.c.dance == key)
            ids = connection.execute(query.order_by(recordings.c.key)).scalars().all()
        return {recording_id: self.dancers(recording_id) for recording_id in ids}


def _remove_empty_dances(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> None:
    """Remove dances that have no recording, all of them or those of a condition."""
    recorded = sa.select(recordings.c.key).where(recordings.c.dance == dances.c.key)
    connection.execute(sa.delete(dances).where(~sa.exists(recorded), *which))


def _split(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in groups that one statement may name."""
    left = iter(items)
    while some := list(islice(left, _PER_STATEMENT)):
        yield some
