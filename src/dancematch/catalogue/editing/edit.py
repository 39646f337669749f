"""Edits of a catalogue: all of an edit in one transaction, and the last one undone."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from dancematch.catalogue.editing.images import (
    Images,
    SearchedDifferently,
    etags_of,
    parse_log,
    read_images,
    write_images,
)
from dancematch.catalogue.editing.requests import Edit, EditDance, EditRecording, Resolved, apply_edits
from dancematch.catalogue.editing.wording import describe_changes
from dancematch.catalogue.sql import bulk_insert, change_log
from dancematch.catalogue.sql.database import READ, WRITE, Database
from dancematch.catalogue.sql.full_disk import spends_ballast
from dancematch.catalogue.sql.outage import repeated
from dancematch.catalogue.sql.references import require_dances, require_recordings
from dancematch.catalogue.sql.schema import dances, edits, recordings, tracks
from dancematch.errors import CatalogueError, ChangedMeanwhileError, DanceExistsError, InputError

_TAKES_BACK = "undo-"  # with which the id of what took an edit back begins


@dataclass(frozen=True)
class Edited:
    """What an edit changed, or would change."""

    changes: tuple[str, ...]  # a sentence each
    dance_ids: tuple[str, ...] = ()  # of the dances that were touched and are there
    dry_run: bool = False
    edit_id: str | None = None  # by which it is undone; None if nothing was changed

    @property
    def takes_back(self) -> bool:
        """Whether this took an edit back; False if it was made, or made again."""
        return self.edit_id is not None and self.edit_id.startswith(_TAKES_BACK)


class CatalogueEditor:
    """Edits the catalogue of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.outage = database.outage
        self.release_ballast, self.restore_ballast = database.release_ballast, database.restore_ballast

    @repeated
    @spends_ballast
    def edit(
        self,
        wanted: Sequence[Edit],
        *,
        expected: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> Edited:
        """Make all edits or, if one cannot be made, none.

        `expected` has ETags by how dances are named: one that is not the dance's any more refuses the edit.
        A `dry_run` says what would change and changes nothing.
        """
        database = self._database
        with database.transaction(READ if dry_run else WRITE) as connection:
            generation = 0 if dry_run else database.next_generation(connection)
            before, resolved = self._resolve(connection, wanted, expected or {})
            after = apply_edits(before, wanted, resolved)
            _require_new_names(connection, before, after)
            changed, edit_id = after.without(before), None
            if not dry_run and (changed.dances or changed.recordings):
                edit_id = self._write(connection, before, after, generation)
        return _describe(before, after, dry_run, edit_id)

    @repeated
    @spends_ballast
    def undo(self, edit_id: str | None = None, *, dry_run: bool = False) -> Edited:
        """Take the last edit back, if it is the one of this id; undone again, it is made again."""
        database = self._database
        with database.transaction(READ if dry_run else WRITE) as connection:
            generation = 0 if dry_run else database.next_generation(connection)
            row = connection.execute(sa.select(edits.c.edit_id, edits.c.before, edits.c.after)).first()
            if row is None:
                raise InputError(
                    f"there is no edit to undo in {database.where}: none was made, or something was removed "
                    f"since"
                )
            if edit_id not in (None, row.edit_id):
                raise ChangedMeanwhileError(
                    "there has been another edit since, so this one is not undone; nothing was changed"
                )
            target, left = self._parse_log(row[1:])
            now, target = self._read_like(connection, left, target)
            taken = _find_taken_name(connection, now, target)
            if taken is not None:
                raise ChangedMeanwhileError(
                    f"the last edit of {database.where} cannot be undone: a dance was named {taken!r} since"
                )
            kind = "" if row.edit_id.startswith(_TAKES_BACK) else _TAKES_BACK
            made = None if dry_run else self._write(connection, now, target, generation, kind)
        return _describe(now, target, dry_run, made)

    def _parse_log(self, row: Iterable[str]) -> tuple[Images, Images]:
        """Return the images of before and after that were kept of the last edit."""
        try:
            return parse_log(row)
        except ValueError:
            raise CatalogueError(
                f"{self._database.where}: what was kept of the last edit is damaged, and it cannot be "
                f"undone; the next edit replaces it"
            ) from None

    def _resolve(
        self, connection: sa.Connection, wanted: Sequence[Edit], expected: Mapping[str, str]
    ) -> tuple[Images, Resolved]:
        """Read all that edits are about, and what the names in them mean."""
        where, nothing = self._database.where, "; nothing was changed"
        of_dances = [name for edit in wanted for name in _dances_named(edit)]
        keys = require_dances(connection, where, [*of_dances, *expected], nothing)
        named = {place: edit for place, edit in enumerate(wanted) if isinstance(edit, EditRecording)}
        within = {
            place: None if edit.of_dance is None else keys[edit.of_dance] for place, edit in named.items()
        }
        asked = {(edit.recording, within[place]): None for place, edit in named.items()}
        found = require_recordings(connection, where, asked, nothing)
        single = {place: found[edit.recording, within[place]] for place, edit in named.items()}
        owners = _read_pairs(connection, recordings.c.key, recordings.c.dance, set(single.values()))
        before = read_images(connection, list({*keys.values(), *owners.values()}))
        ids = _read_pairs(connection, dances.c.key, dances.c.dance_id, set(keys.values()))
        now = etags_of(before) if expected else {}
        for name, etag in expected.items():
            if now[ids[keys[name]]] != etag:
                raise ChangedMeanwhileError(f"{name!r} has been changed meanwhile; look at it again{nothing}")
        of_keys = _read_pairs(connection, recordings.c.key, recordings.c.recording_id, set(single.values()))
        return before, Resolved(
            {name: ids[key] for name, key in keys.items()},
            {place: of_keys[key] for place, key in single.items()},
        )

    def _write(
        self, connection: sa.Connection, before: Images, after: Images, generation: int, kind: str = ""
    ) -> str:
        """Write an edit and keep what undoes it; return its id, which begins with its kind."""
        database = self._database
        try:
            searched = write_images(connection, before, after)
        except IntegrityError:
            raise DanceExistsError(
                f"{database.where} was changed by another process meanwhile; nothing was changed, try again"
            ) from None
        self._log(connection, searched, generation)
        changed = after.without(before)
        old = Images(
            {key: before.dances.get(key) for key in changed.dances},
            {key: before.recordings[key] for key in changed.recordings},
        )
        connection.execute(sa.delete(edits))
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        edit_id = kind + uuid4().hex
        row = {"edit_id": edit_id, "moment": moment, "before": old.to_json(), "after": changed.to_json()}
        connection.execute(sa.insert(edits).values(row))
        return edit_id

    def _log(self, connection: sa.Connection, searched: SearchedDifferently, generation: int) -> None:
        """Log the tracks that a search has to read again."""
        if not searched.dance_ids and not searched.recording_ids:
            return
        of_dances = bulk_insert.is_among(connection, dances.c.dance_id, searched.dance_ids)
        single = bulk_insert.is_among(connection, recordings.c.recording_id, searched.recording_ids)
        of_dance = recordings.c.dance.in_(sa.select(dances.c.key).where(of_dances))
        which = sa.select(recordings.c.key).where(sa.or_(of_dance, single))
        change_log.log_changed(self._database, connection, tracks.c.recording.in_(which), generation)

    def _read_like(self, connection: sa.Connection, left: Images, target: Images) -> tuple[Images, Images]:
        """Return images of now and of what shall be, with all dances named; refused if they do not fit.

        `left` is what an edit left behind: it must still be so.
        """
        made = {key for key, one in left.dances.items() if one is None}  # which undoing makes
        owners = {one.dance_id for one in (*left.recordings.values(), *target.recordings.values())}
        wanted = ({key for key, one in left.dances.items() if one is not None} | owners) - made
        keys = _read_pairs(connection, dances.c.dance_id, dances.c.key, wanted)
        found = read_images(connection, list(keys.values()))
        gone = {key for key, one in target.dances.items() if one is None}
        stranded = [
            key
            for key, one in found.recordings.items()
            if one.dance_id in gone and key not in target.recordings
        ]
        kept = Images({**dict.fromkeys(made), **found.dances}, found.recordings)
        changed = left.without(kept)
        if len(keys) < len(wanted) or stranded or changed.dances or changed.recordings:
            raise ChangedMeanwhileError(
                f"the last edit of {self._database.where} cannot be undone: what it changed has been changed "
                f"again since"
            )
        own = {key: found.recordings[key] for key in left.recordings}
        return Images(kept.dances, own), Images({**kept.dances, **target.dances}, target.recordings)


def _require_new_names(connection: sa.Connection, before: Images, after: Images) -> None:
    """Refuse a name that another dance has."""
    taken = _find_taken_name(connection, before, after)
    if taken is None:
        return
    made = {one.name for key, one in after.dances.items() if one is not None and key not in before.dances}
    advice = "move the recording to it (--move-to)" if taken in made else "merge the two instead"
    raise DanceExistsError(
        f"another dance has the name {taken!r}; {advice}, or choose another name; nothing was changed"
    )


def _find_taken_name(connection: sa.Connection, before: Images, after: Images) -> str | None:
    """Return a new name that another dance has, among those that are edited or elsewhere."""
    names = Counter(one.name for one in after.dances.values() if one is not None)
    taken = [name for name, count in names.items() if count > 1]
    changed = [
        one.name
        for key, one in after.dances.items()
        if one is not None and ((old := before.dances.get(key)) is None or old.name != one.name)
    ]
    query = sa.select(dances.c.name, dances.c.dance_id)
    query = query.where(bulk_insert.is_among(connection, dances.c.name, changed))
    taken += [name for name, dance_id in connection.execute(query) if dance_id not in after.dances]
    return taken[0] if taken else None


def _describe(before: Images, after: Images, dry_run: bool, edit_id: str | None) -> Edited:
    there = tuple(key for key, one in after.dances.items() if one is not None)
    return Edited(tuple(describe_changes(before, after)), there, dry_run, edit_id)


def _dances_named(edit: Edit) -> Iterable[str]:
    named = (edit.dance, edit.merge_into) if isinstance(edit, EditDance) else (edit.move_to, edit.of_dance)
    return (name for name in named if name is not None)


def _read_pairs(
    connection: sa.Connection, column: "sa.Column[Any]", other: "sa.Column[Any]", values: Iterable[Any]
) -> dict[Any, Any]:
    """Return the values of another column by those of a column."""
    query = sa.select(column, other).where(bulk_insert.is_among(connection, column, list(values)))
    return dict(connection.execute(query).all())
