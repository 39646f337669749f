"""What people say of some dances and recordings, as plain values: read, compared, and written back.

An edit is the difference of two images: of what there is, and of what there shall be. Undoing it is the same
difference the other way round, so that one writer serves every kind of edit.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from dancematch.catalogue.sql import bulk_insert
from dancematch.catalogue.sql.rows import read_labels
from dancematch.catalogue.sql.schema import DANCE_COLUMNS, dances, exclusions, labels, recordings


@dataclass(frozen=True)
class ExcludedSegment:
    """A segment of a recording that never matches."""

    start: float
    end: float
    reason: str | None = None


@dataclass(frozen=True)
class DanceImage:
    """What people say of a dance."""

    dance_id: str
    name: str
    labels: tuple[str, ...]
    collection: str | None
    notes: str | None
    added: str


@dataclass(frozen=True)
class RecordingImage:
    """What people say of a recording."""

    recording_id: str
    file: str
    seconds: float
    dance_id: str
    performer: str | None
    url: str | None
    date: str | None
    excluded: tuple[ExcludedSegment, ...]


@dataclass(frozen=True)
class Images:
    """Some dances and recordings by their ids; a dance that is None is not there."""

    dances: Mapping[str, DanceImage | None] = field(default_factory=dict)
    recordings: Mapping[str, RecordingImage] = field(default_factory=dict)

    def without(self, other: "Images") -> "Images":
        """Return what is not the same in another image."""
        return Images(
            {key: one for key, one in self.dances.items() if other.dances.get(key) != one},
            {key: one for key, one in self.recordings.items() if other.recordings.get(key) != one},
        )

    def to_json(self) -> str:
        """Return it as text, to be kept."""
        return json.dumps({"dances": dict(self.dances), "recordings": dict(self.recordings)}, default=vars)

    @classmethod
    def from_json(cls, text: str) -> "Images":
        """Return what `to_json` wrote."""
        read = json.loads(text)
        return cls(
            {key: None if one is None else _dance_of(one) for key, one in read["dances"].items()},
            {key: _recording_of(one) for key, one in read["recordings"].items()},
        )


def parse_log(row: Iterable[str]) -> tuple[Images, Images]:
    """Return the images of before and after that were kept of an edit; damaged ones are a `ValueError`."""
    try:
        before, after = (Images.from_json(text) for text in row)
    except (KeyError, TypeError, AttributeError):
        raise ValueError("no images") from None
    return before, after


def _dance_of(values: dict[str, Any]) -> DanceImage:
    return DanceImage(**values | {"labels": tuple(values["labels"])})


def _recording_of(values: dict[str, Any]) -> RecordingImage:
    excluded = tuple(ExcludedSegment(**one) for one in values["excluded"])
    return RecordingImage(**values | {"excluded": excluded})


def read_images(connection: sa.Connection, dance_keys: Sequence[int]) -> Images:
    """Read dances with all of their recordings."""
    chosen = bulk_insert.is_among(connection, dances.c.key, dance_keys)
    of_chosen = bulk_insert.is_among(connection, recordings.c.dance, dance_keys)
    labelled = read_labels(connection, bulk_insert.is_among(connection, labels.c.dance, dance_keys))
    named: dict[int, str] = {}
    found: dict[str, DanceImage | None] = {}
    for row in connection.execute(sa.select(dances).where(chosen)).mappings():
        named[row["key"]] = row["dance_id"]
        own = {name: row[name] for name in ("dance_id", "name", "collection", "notes", "added")}
        found[row["dance_id"]] = DanceImage(**own, labels=labelled.get(row["key"], ()))
    within = sa.select(recordings.c.key).where(of_chosen)
    excluded: dict[int, list[ExcludedSegment]] = {}
    for key, *segment in connection.execute(
        sa.select(exclusions).where(exclusions.c.recording.in_(within)).order_by(exclusions.c.start)
    ):
        excluded.setdefault(key, []).append(ExcludedSegment(*segment))
    plain = ("recording_id", "file", "seconds", "performer", "url", "date")
    columns = [recordings.c[name] for name in ("key", "dance", *plain)]
    recorded = {}
    for row in connection.execute(sa.select(*columns).where(of_chosen).order_by(recordings.c.key)).mappings():
        own = {name: row[name] for name in plain}
        segments = tuple(excluded.get(row["key"], ()))
        recorded[row["recording_id"]] = RecordingImage(**own, dance_id=named[row["dance"]], excluded=segments)
    return Images(found, recorded)


def etag_of(images: Images, dance_id: str) -> str:
    """Return a text that changes whenever anything that people say of a dance or its recordings does."""
    own = {key: one for key, one in images.recordings.items() if one.dance_id == dance_id}
    return _hash_dance(dance_id, images.dances[dance_id], own)


def etags_of(images: Images) -> dict[str, str]:
    """Return the same text of every dance that is there, by its id."""
    own: dict[str, dict[str, RecordingImage]] = {}
    for key, one in images.recordings.items():
        own.setdefault(one.dance_id, {})[key] = one
    return {
        key: _hash_dance(key, dance, own.get(key, {}))
        for key, dance in images.dances.items()
        if dance is not None
    }


def _hash_dance(dance_id: str, dance: DanceImage | None, own: Mapping[str, RecordingImage]) -> str:
    text = Images({dance_id: dance}, dict(sorted(own.items()))).to_json()
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write_images(connection: sa.Connection, before: Images, after: Images) -> "SearchedDifferently":
    """Write the difference of two images of the same things; return what a search has to learn of it."""
    changed, old = after.without(before), before.without(after)
    gone = [key for key, one in changed.dances.items() if one is None]
    new = [one for key, one in changed.dances.items() if one is not None and before.dances.get(key) is None]
    kept = [one for key, one in changed.dances.items() if one is not None and before.dances.get(key)]
    renamed = [one.dance_id for one in kept if one.name != old.dances[one.dance_id].name]  # type: ignore[union-attr]
    # Names are unique at every moment: two that change places pass through others.
    _free_names(connection, [*gone, *renamed])
    if new:
        values = [tuple(getattr(one, name) for name in DANCE_COLUMNS) for one in new]
        bulk_insert.insert_dances(connection, values)
    _write_dances(connection, kept)
    _write_labels(connection, [one for one in (*kept, *new) if one.labels != _labels_of(old, one.dance_id)])
    _write_recordings(connection, list(changed.recordings.values()), old.recordings)
    if gone:
        wanted = bulk_insert.is_among(connection, dances.c.dance_id, gone)
        connection.execute(sa.delete(dances).where(wanted))
    return _searched_differently(before, changed)


@dataclass(frozen=True)
class SearchedDifferently:
    """What a search has to learn of a change: a rename, notes and the like are none of its business."""

    dance_ids: tuple[str, ...]
    recording_ids: tuple[str, ...]


def _searched_differently(before: Images, changed: Images) -> SearchedDifferently:
    of_dances = [
        key
        for key, one in changed.dances.items()
        if one is not None
        and (old := before.dances.get(key)) is not None
        and (one.labels, one.collection) != (old.labels, old.collection)
    ]
    single = [key for key, one in changed.recordings.items() if _place(one) != _place(before.recordings[key])]
    return SearchedDifferently(tuple(of_dances), tuple(single))


def _place(recording: RecordingImage) -> tuple[Any, ...]:
    """Return what a search knows of a recording: the dance it is of, and what of it never matches."""
    return recording.dance_id, [(segment.start, segment.end) for segment in recording.excluded]


def _labels_of(images: Images, dance_id: str) -> tuple[str, ...]:
    dance = images.dances.get(dance_id)
    return () if dance is None else dance.labels


def _free_names(connection: sa.Connection, dance_ids: Sequence[str]) -> None:
    """Give dances names that no dance can have, for as long as the transaction lasts."""
    if dance_ids:
        wanted = bulk_insert.is_among(connection, dances.c.dance_id, dance_ids)
        connection.execute(sa.update(dances).where(wanted).values(name="\x1f" + dances.c.dance_id))


def _write_dances(connection: sa.Connection, kept: Sequence[DanceImage]) -> None:
    if kept:
        names = ("name", "collection", "notes")
        rows = [
            {f"new_{name}": getattr(one, name) for name in names} | {"which": one.dance_id} for one in kept
        ]
        values: dict[str, Any] = {name: sa.bindparam(f"new_{name}") for name in names}
        statement = sa.update(dances).where(dances.c.dance_id == sa.bindparam("which")).values(values)
        connection.execute(statement, rows)


def _write_labels(connection: sa.Connection, changed: Sequence[DanceImage]) -> None:
    if not changed:
        return
    keys = _dance_keys(connection, [one.dance_id for one in changed])
    connection.execute(
        sa.delete(labels).where(bulk_insert.is_among(connection, labels.c.dance, list(keys.values())))
    )
    bulk_insert.insert_labels(
        connection, [(keys[one.dance_id], label) for one in changed for label in one.labels]
    )


def _dance_keys(connection: sa.Connection, dance_ids: Sequence[str]) -> dict[str, int]:
    wanted = bulk_insert.is_among(connection, dances.c.dance_id, dance_ids)
    query = sa.select(dances.c.dance_id, dances.c.key).where(wanted)
    return dict(connection.execute(query).all())


def _write_recordings(
    connection: sa.Connection, changed: Sequence[RecordingImage], old: Mapping[str, RecordingImage]
) -> None:
    if not changed:
        return
    keys = _dance_keys(connection, [one.dance_id for one in changed])
    rows = [
        {"which": one.recording_id, "new_dance": keys[one.dance_id], "new_performer": one.performer,
         "new_url": one.url, "new_date": one.date}
        for one in changed
    ]  # fmt: skip
    values: dict[str, Any] = {
        name: sa.bindparam(f"new_{name}") for name in ("dance", "performer", "url", "date")
    }
    statement = sa.update(recordings).where(recordings.c.recording_id == sa.bindparam("which")).values(values)
    connection.execute(statement, rows)
    _write_exclusions(connection, [one for one in changed if one.excluded != old[one.recording_id].excluded])


def _write_exclusions(connection: sa.Connection, changed: Sequence[RecordingImage]) -> None:
    if not changed:
        return
    ids = [one.recording_id for one in changed]
    query = sa.select(recordings.c.recording_id, recordings.c.key)
    query = query.where(bulk_insert.is_among(connection, recordings.c.recording_id, ids))
    keys = dict(connection.execute(query).all())
    connection.execute(
        sa.delete(exclusions).where(
            bulk_insert.is_among(connection, exclusions.c.recording, list(keys.values()))
        )
    )
    rows = [{"recording": keys[one.recording_id], **vars(each)} for one in changed for each in one.excluded]
    if rows:
        connection.execute(sa.insert(exclusions), rows)
