"""The dances of a catalogue: add, remove, exclude, and read them.

Each dance, or batch of dances, is added or removed in one transaction: kill -9 at any moment loses at most
what is being added. Several processes may read while one writes, and writers take turns.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from dancematch.catalogue.listing import conditions, select_dances, sort_dances
from dancematch.catalogue.records import (
    MAX_REASON_LENGTH,
    Changes,
    Dance,
    Exclusion,
    StoredTrack,
    require_name,
)
from dancematch.catalogue.sql import bulk_insert, change_log
from dancematch.catalogue.sql.checksums import skeletons_checksum, words_checksum
from dancematch.catalogue.sql.database import WRITE, Database
from dancematch.catalogue.sql.full_disk import spends_ballast
from dancematch.catalogue.sql.outage import repeated
from dancematch.catalogue.sql.rows import (
    damaged_words,
    dance_row,
    fingerprint_of,
    motion_of,
    read_excluded_spans,
    require_row,
    track_row,
    words_row,
)
from dancematch.catalogue.sql.schema import dances, exclusions, tracks
from dancematch.catalogue.stats import stored_bytes
from dancematch.catalogue.word_kinds import read_kind, require_one_kind
from dancematch.errors import (
    CatalogueError,
    DanceExistsError,
    DiskFullError,
    InputError,
    ModelMismatchError,
    UnknownDanceError,
)
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Motion, Span

__all__ = ["Changes", "Dance", "Exclusion", "Store", "StoredTrack"]

T = TypeVar("T")

_PER_STATEMENT = 500  # names in one statement: databases take only so many
_WORDS = [column for column in tracks.c if column.name not in ("joints", "joint_visibility")]


class Store(Database):
    """The dances of one catalogue, opened for one model's words."""

    @repeated
    def find_content(self, content_hash: str) -> str | None:
        """Return the name of the dance with this content, if it is here."""
        with self.transaction() as connection:
            return connection.execute(
                sa.select(dances.c.dance_id).where(dances.c.content_hash == content_hash)
            ).scalar()

    @repeated
    def has(self, dance_id: str) -> bool:
        """Whether a dance of that name is here."""
        with self.transaction() as connection:
            found = connection.execute(sa.select(dances.c.key).where(dances.c.dance_id == dance_id)).first()
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

    def add(self, dance: Dance, dancers: Sequence[StoredTrack]) -> None:
        """Store a dance of one dancer or more; its name and its content must be new."""
        self.add_many([(dance, dancers)])

    @repeated
    def add_many(
        self, batch: Sequence[tuple[Dance, Sequence[StoredTrack]]], excluded: Iterable[Exclusion] = ()
    ) -> None:
        """Store dances, and segments of them that never match: all at once or nothing."""
        for dance, dancers in batch:
            if not dancers:
                raise InputError(f"{dance.dance_id!r} was not added: it has no dancer")
            if any(track.fingerprint.model_id != self.model_id for track in dancers):
                raise ModelMismatchError(f"{self.where} takes words of the model {self.model_id} only")
        if not batch:
            return
        made = [dance_row(dance) for dance, _ in batch]  # before the transaction, which makes the file
        try:
            with self.transaction(WRITE) as connection:
                generation = self.next_generation(connection)
                self.require_ours(connection)
                require_one_kind(self.where, batch, read_kind(connection))
                keys = bulk_insert.insert_dances(connection, made)
                rows = (
                    (key, track_row(place, track))
                    for key, (_, dancers) in zip(keys, batch, strict=True)
                    for place, track in enumerate(dancers, start=1)
                )
                bulk_insert.insert_tracks(connection, generation, rows)
                named = {dance.dance_id: key for key, (dance, _) in zip(keys, batch, strict=True)}
                for exclusion in excluded:
                    _insert_exclusion(connection, named[exclusion.dance_id], exclusion)
        except IntegrityError:
            raise self._explain_conflict([dance for dance, _ in batch]) from None
        self.keep_ballast()

    def _explain_conflict(self, batch: Sequence[Dance]) -> DanceExistsError:
        """Return why a batch was refused: the first dance whose content or name exists already."""
        contents: dict[str, str] = {}
        named: set[str] = set()
        for dance in batch:
            name = dance.dance_id
            known_as = contents.get(dance.content_hash) or self.find_content(dance.content_hash)
            if known_as is not None:
                return DanceExistsError(
                    f"{self.where} already has this very content as {known_as!r}; {name!r} was not added"
                )
            if name in named or self.has(name):
                return DanceExistsError(
                    f"{self.where} already has a dance named {name!r}, of other content; "
                    f"choose another name or remove it first"
                )
            named.add(name)
            contents[dance.content_hash] = name
        return DanceExistsError(
            f"another process added and removed one of these dances in {self.where}; try again"
        )

    def remove(self, dance_id: str) -> None:
        """Remove a dance with its words and skeletons."""
        self.remove_many([dance_id])

    def remove_many(self, dance_ids: Iterable[str]) -> None:
        """Remove dances: all of them or, if one is unknown, none; a full disk is no reason to fail."""
        names = list(dance_ids)
        try:
            self._remove(names)
        except DiskFullError:  # what is overwritten goes into the log first
            raise DiskFullError(
                f"{self.where}: the disk is full, and to remove these dances takes about "
                f"{stored_bytes(self, names) / 1e6 + 1:.0f} MB for a moment; nothing was removed: make so "
                f"much room, or remove fewer at a time"
            ) from None

    @repeated
    @spends_ballast
    def _remove(self, dance_ids: Sequence[str]) -> None:
        with self.transaction(WRITE) as connection:
            generation = self.next_generation(connection)
            keys = self._keys(connection, dance_ids)
            unknown = [name for name, key in keys.items() if key is None]
            if unknown:
                raise UnknownDanceError(
                    f"{self.where} has no dance named {unknown[0]!r}; nothing was removed"
                )
            for some in _split(keys.values()):
                change_log.log_removed(self, connection, tracks.c.dance.in_(some), generation)
                connection.execute(sa.delete(dances).where(dances.c.key.in_(some)))
        self.truncate_log()

    @staticmethod
    def _keys(connection: sa.Connection, dance_ids: Iterable[str]) -> dict[str, int | None]:
        """Return the keys of dances by name; None for an unknown one."""
        keys: dict[str, int | None] = dict.fromkeys(dance_ids)
        for some in _split(list(keys)):
            query = sa.select(dances.c.dance_id, dances.c.key).where(dances.c.dance_id.in_(some))
            keys |= {row.dance_id: row.key for row in connection.execute(query)}
        return keys

    @repeated
    def dances(self, *, label: str | None = None, collection: str | None = None) -> list[Dance]:
        """Return every dance, or those of a label or collection, by name."""
        with self.transaction() as connection:
            rows = connection.execute(select_dances().where(*conditions(label, collection))).mappings().all()
        return sort_dances(rows, self.where)

    def fingerprints(
        self, *, label: str | None = None, collection: str | None = None
    ) -> list[tuple[str, Fingerprint]]:
        """Return every track's words with the name of their dance, in order of name and dancer.

        Only dances of a label or collection if one is given; words of excluded segments are unseen.
        """
        return [
            (known.dance_id, known.fingerprint)
            for known in self.everything(label=label, collection=collection).added
        ]

    def everything(self, *, label: str | None = None, collection: str | None = None) -> Changes:
        """Return all tracks, in order of name and dancer, and the generation to ask for changes from."""
        with self.transaction() as connection:
            now, token = self.state(connection)
            added = self._read_tracks(connection, tracks.c.generation <= now, *conditions(label, collection))
        return Changes(now, (), added, token)

    def tracks(self, dance_ids: Iterable[str]) -> list[KnownTrack]:
        """Return every dancer of these dances, in order of name and dancer; unknown names have none."""
        with self.transaction() as connection:
            parts = [
                self._read_tracks(connection, dances.c.dance_id.in_(some))
                for some in _split(sorted(dance_ids))
            ]
        return [track for part in parts for track in part]

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
            added = self._read_tracks(connection, tracks.c.generation > since, tracks.c.generation <= now)
        return Changes(now, removed, added, latest)

    def _read_tracks(
        self, connection: sa.Connection, *which: sa.ColumnElement[bool]
    ) -> tuple[KnownTrack, ...]:
        query = sa.select(dances.c.dance_id, dances.c.label, dances.c.collection, *_WORDS).join(dances)
        rows = connection.execute(query.where(*which)).mappings().all()
        excluded = read_excluded_spans(connection, self.where)
        self.require_ours(connection)  # afterwards: it may change in between
        for row in rows:
            require_row(row, self.where)
        rows = sorted(rows, key=lambda row: (row["dance_id"], row["dancer"]))
        return tuple(self._read_track(row, excluded.get(row["dance"], ())) for row in rows)

    def _read_track(self, row: sa.RowMapping, excluded: Sequence[Span]) -> KnownTrack:
        try:
            words = fingerprint_of(row, self.model_id, excluded)
        except (ValueError, TypeError, InputError):
            raise damaged_words(self.where, row["dance_id"]) from None
        if words_checksum(row) != row["words_checksum"]:
            raise damaged_words(self.where, row["dance_id"])
        names = ("key", "dance_id", "dancer", "label", "collection", "period_seconds", "period_strength")
        return KnownTrack(fingerprint=words, dance_key=row["dance"], **{name: row[name] for name in names})

    @repeated
    def replace_words(
        self, model_id: str, made: Sequence[tuple[str, StoredTrack]], *, generation: int
    ) -> None:
        """Make this a catalogue of another model's words, all of them at once or none.

        `made` names the dance and has new words and periods of a dancer; it was made from what was here at
        `generation`. A dancer without new words is removed, and so is a dance without dancers.
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
            for dance_id, track in made:
                key = keys.pop((dance_id, track.dancer))
                periods = {"period_seconds": track.period_seconds, "period_strength": track.period_strength}
                row = words_row(track.fingerprint) | periods
                connection.execute(sa.update(tracks).where(tracks.c.key == key).values(row))
            for key in keys.values():
                connection.execute(sa.delete(tracks).where(tracks.c.key == key))
            danced = sa.select(tracks.c.dance)
            connection.execute(sa.delete(dances).where(dances.c.key.not_in(danced)))
            self.set_fact(connection, "model_id", model_id)
            change_log.restart_log(self, connection, now)
        self.model_id = model_id
        self.truncate_log()

    @staticmethod
    def _track_keys(connection: sa.Connection) -> dict[tuple[str, int], int]:
        query = sa.select(dances.c.dance_id, tracks.c.dancer, tracks.c.key).join(dances)
        return {(name, dancer): key for name, dancer, key in connection.execute(query)}

    @repeated
    @spends_ballast
    def exclude(self, dance_id: str, span: Span, reason: str | None = None) -> Exclusion:
        """Exclude a segment of a dance from matching; return the segment that is excluded now.

        It is clipped to the end of the dance and merged with those that it overlaps. The reason of a segment
        that it covers is replaced; the reason of one that it covers partly is kept beside its own.
        """
        with self.transaction(WRITE) as connection:
            generation = self.next_generation(connection)
            key = self._key(connection, dance_id)
            seconds = connection.execute(sa.select(dances.c.seconds).where(dances.c.key == key)).scalar_one()
            if span.start >= seconds:
                raise InputError(
                    f"a segment from {span.start:.1f} s on is not in {dance_id!r}, it lasts {seconds:.1f} s"
                )
            made = Exclusion(dance_id, span.start, min(span.end, seconds), reason)
            of_dance = exclusions.c.dance == key
            overlapping = (of_dance, exclusions.c.start < made.end, exclusions.c.end > made.start)
            before = sa.select(exclusions.c.start, exclusions.c.end, exclusions.c.reason).where(*overlapping)
            rows = connection.execute(before.order_by(exclusions.c.start)).mappings().all()
            made = _merge(made, [Exclusion(dance_id, **row) for row in rows])
            connection.execute(sa.delete(exclusions).where(*overlapping))
            _insert_exclusion(connection, key, made)
            change_log.log_changed(self, connection, tracks.c.dance == key, generation)
        return made

    @repeated
    @spends_ballast
    def clear_exclusions(self, dance_id: str) -> int:
        """Clear a dance's exclusions; return how many there were."""
        with self.transaction(WRITE) as connection:
            generation = self.next_generation(connection)
            key = self._key(connection, dance_id)
            cleared = connection.execute(sa.delete(exclusions).where(exclusions.c.dance == key)).rowcount
            if cleared:
                change_log.log_changed(self, connection, tracks.c.dance == key, generation)
        return cleared

    @repeated
    def exclusions(self, dance_id: str | None = None) -> list[Exclusion]:
        """Return the excluded segments of one dance or all, by name and time."""
        wanted = (exclusions.c.start, exclusions.c.end, exclusions.c.reason)
        query = sa.select(dances.c.dance_id, *wanted).select_from(exclusions.join(dances))
        with self.transaction() as connection:
            if dance_id is not None:
                query = query.where(dances.c.key == self._key(connection, dance_id))
            rows = connection.execute(query).mappings().all()
        return sorted((Exclusion(**row) for row in rows), key=lambda e: (e.dance_id, e.start, e.end))

    def _key(self, connection: sa.Connection, dance_id: str) -> int:
        key = self._keys(connection, [dance_id])[dance_id]
        if key is None:
            raise UnknownDanceError(f"{self.where} has no dance named {dance_id!r}")
        return key

    def motions(self, dance_id: str) -> list[Motion]:
        """Return the skeletons of a dance, one motion per dancer; empty if they were not kept."""
        return [motion for motion in self.dancers(dance_id).values() if motion is not None]

    @repeated
    def dancers(self, dance_id: str) -> dict[int, Motion | None]:
        """Return every dancer's skeletons by the dancer's number; None if they were not kept."""
        query = sa.select(tracks).join(dances).where(dances.c.dance_id == dance_id).order_by(tracks.c.dancer)
        with self.transaction() as connection:
            rows = connection.execute(query).mappings().all()
        try:
            motions = {row["dancer"]: motion_of(row) for row in rows}
        except (ValueError, TypeError, InputError):
            motions = None
        if motions is None or any(skeletons_checksum(row) != row["skeletons_checksum"] for row in rows):
            raise CatalogueError(
                f"{self.where}: the skeletons of {dance_id!r} are damaged; 'dancematch doctor' says more: "
                f"remove that dance and add its recording again"
            )
        return motions


def _split(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in groups that one statement may name."""
    left = iter(items)
    while some := list(islice(left, _PER_STATEMENT)):
        yield some


def _merge(made: Exclusion, before: Sequence[Exclusion]) -> Exclusion:
    """Merge a segment with earlier ones that it overlaps."""
    partly = [one for one in before if one.start < made.start or one.end > made.end]
    reasons = dict.fromkeys(one.reason for one in (*partly, made) if one.reason)
    start, end = min(one.start for one in (*partly, made)), max(one.end for one in (*partly, made))
    reason = "; ".join(reasons)
    if len(reason) > MAX_REASON_LENGTH:
        reason = reason[: MAX_REASON_LENGTH - 3] + "..."
    return Exclusion(made.dance_id, start, end, reason or None)


def _insert_exclusion(connection: sa.Connection, key: int, exclusion: Exclusion) -> None:
    row = {"dance": key, "start": exclusion.start, "end": exclusion.end, "reason": exclusion.reason}
    connection.execute(sa.insert(exclusions).values(row))
