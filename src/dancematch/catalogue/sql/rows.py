"""Records as rows of the tables, and back: how words and skeletons are packed into bytes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from dancematch.catalogue.records import NewRecording, StoredTrack, new_dance_id, require_new
from dancematch.catalogue.sql.checksums import Row, skeletons_checksum, words_checksum
from dancematch.catalogue.sql.schema import TRACK_COLUMNS, dances, exclusions, labels, recordings, tracks
from dancematch.errors import CatalogueError, InputError
from dancematch.skeletons import BODY15
from dancematch.types import BONE_NUMBERS, BONES_UNSEEN, BoneArray, Fingerprint, FloatArray, Motion, Span

_ROUNDING = 1e-6  # words
# What names and numbers are read as; bytes have checksums. Where there must be a value SQLite sees to it.
_READ_AS: tuple[tuple[type[sa.types.TypeEngine[Any]], set[type]], ...] = (
    (sa.String, {str, type(None)}),
    (sa.Float, {float, int, type(None)}),
    (sa.Integer, {int, type(None)}),
)
_KINDS: dict[str, set[type]] = {
    column.name: kinds
    for column in (*dances.c, *labels.c, *recordings.c, *tracks.c)
    for of_column, kinds in _READ_AS
    if isinstance(column.type, of_column)
}


def complete(new: NewRecording) -> NewRecording:
    """Return a new recording with id and times, if it passes the gate."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    dance, recording = new.dance, new.recording
    kept = sorted(set(dance.labels))
    dance = replace(
        dance,
        dance_id=dance.dance_id or new_dance_id(),
        labels=tuple(kept),
        added=dance.added or now,
    )
    made = replace(new, dance=dance, recording=replace(recording, added=recording.added or now))
    require_new(made)
    return made


def read_labels(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> dict[int, tuple[str, ...]]:
    """Read the labels of dances, in order, by the key of the dance; one without labels has no item."""
    found: dict[int, list[str]] = {}
    query = sa.select(labels.c.dance, labels.c.label).where(*which)
    for dance, label in connection.execute(query):
        found.setdefault(dance, []).append(label)
    return {dance: tuple(sorted(some, key=str)) for dance, some in found.items()}


def read_excluded_spans(connection: sa.Connection, where: str) -> dict[int, list[Span]]:
    """Read all excluded segments, by the key of their recording."""
    excluded: dict[int, list[Span]] = {}
    for row in connection.execute(sa.select(exclusions)).mappings():
        try:
            excluded.setdefault(row["recording"], []).append(Span(row["start"], row["end"]))
        except (TypeError, InputError):
            raise CatalogueError(
                f"{where}: an excluded segment is damaged; 'dancematch doctor' says more, and "
                f"'dancematch edit {where} DANCE --clear-exclusions' removes it"
            ) from None
    return excluded


def require_values(columns: Mapping[str, Sequence[Any]], where: str) -> None:
    """Refuse names and numbers that are not of their column's kind: SQLite keeps any value in any column.

    `columns` has the values of some rows by column, those of `name` among them.
    """
    for name, kinds in _KINDS.items():
        values = columns.get(name, ())
        if not kinds.issuperset(map(type, values)):
            place = next(place for place, value in enumerate(values) if type(value) not in kinds)
            raise CatalogueError(
                f"{where}: the {name} of the dance {columns['name'][place]!r} is not of its column's "
                f"kind: {str(values[place])[:60]!r}; 'dancematch doctor' says more: remove that dance, or "
                f"put a backup back"
            )


def require_labels(name: str, labelled: Sequence[Any], where: str) -> None:
    """The same for the labels of a dance."""
    if not all(type(label) is str for label in labelled):
        require_values({"label": labelled, "name": (name,) * len(labelled)}, where)


def require_row(row: sa.RowMapping, where: str) -> None:
    """The same for one row."""
    require_values({str(name): (value,) for name, value in row.items()}, where)


def damaged_words(where: str, name: str) -> CatalogueError:
    """Build the error of a dance whose words are not those that were added."""
    return CatalogueError(
        f"{where}: the words of {name!r} are damaged, and no search can use them; "
        f"'dancematch doctor' says more: remove that dance and add its recording again"
    )


def words_row(fingerprint: Fingerprint) -> dict[str, Any]:
    """Return the columns that hold a fingerprint."""
    row = {
        "start": fingerprint.start,
        "seconds_per_word": fingerprint.seconds_per_word,
        "channels": fingerprint.words.shape[1],
        "vocabulary": fingerprint.vocabulary,
        "words": fingerprint.words.astype("<u2").tobytes(),
        "visibility": _pack_visibility(fingerprint.visibility),
        "bones": None if fingerprint.bones is None else fingerprint.bones.tobytes(),
    }
    return row | {"words_checksum": words_checksum(row)}


def track_row(position: int, track: StoredTrack) -> tuple[Any, ...]:
    """Return the values of `TRACK_COLUMNS` of one dancer."""
    row = {
        "dancer": track.dancer or position,
        **words_row(track.fingerprint),
        "fps": track.motion and track.motion.fps,
        "joints": track.motion and _pack_joints(track.motion.joints),
        "joint_visibility": track.motion and _pack_visibility(track.motion.visibility),
        "period_seconds": track.period_seconds,
        "period_strength": track.period_strength,
    }
    row["skeletons_checksum"] = skeletons_checksum(row)
    return tuple(row[name] for name in TRACK_COLUMNS)


def _pack_joints(joints: FloatArray) -> bytes:
    """Pack joints in half precision; one that is too far away for it becomes NaN, that is unseen."""
    representable = np.abs(joints) <= np.finfo(np.float16).max
    return np.where(representable, joints, np.nan).astype("<f2").tobytes()


def fingerprint_of(row: Row, model_id: str, excluded: Sequence[Span] = ()) -> Fingerprint:
    """Read the fingerprint in a row of `tracks`; words of `excluded` segments are unseen.

    Fails with a ValueError, TypeError or InputError if the row is damaged; the checksum is the caller's to
    compare.
    """
    words = np.frombuffer(row["words"], dtype="<u2").reshape(-1, row["channels"])
    visibility = _unpack_visibility(row["visibility"], words.shape)
    visibility.flags.writeable = False
    made = Fingerprint(
        words, row["vocabulary"], row["seconds_per_word"], model_id, row["start"], visibility, _bones(row)
    )
    return _hide_segments(made, excluded) if excluded else made


def _hide_segments(fingerprint: Fingerprint, excluded: Iterable[Span]) -> Fingerprint:
    """Return the same words; those that a segment touches are unseen."""
    visibility = fingerprint.visibility.copy()
    bones = None if fingerprint.bones is None else fingerprint.bones.copy()
    for span in excluded:
        hidden = excluded_words(span, fingerprint.start, fingerprint.seconds_per_word)
        visibility[hidden] = 0
        if bones is not None:
            bones[hidden] = BONES_UNSEEN
    return replace(fingerprint, visibility=visibility, bones=bones)


def _bones(row: Row) -> BoneArray | None:
    if row["bones"] is None:
        return None
    return np.frombuffer(row["bones"], dtype=np.int8).reshape(-1, BONE_NUMBERS)


def excluded_words(span: Span, start: float, seconds_per_word: float) -> slice:
    """Return the words that a segment touches; a border moved by rounding touches nothing."""
    first, last = (span.start - start) / seconds_per_word, (span.end - start) / seconds_per_word
    return slice(max(0, math.floor(first + _ROUNDING)), max(0, math.ceil(last - _ROUNDING)))


def motion_of(row: Row) -> Motion | None:
    """Read the skeletons in a row of `tracks`; None if they were not kept. Fails as `fingerprint_of` does."""
    if row["joints"] is None:
        return None
    joints = np.frombuffer(row["joints"], dtype="<f2").reshape(-1, len(BODY15.joints), 3)
    visibility = _unpack_visibility(row["joint_visibility"], joints.shape[:2])
    return Motion(joints.astype(np.float32), row["fps"], BODY15, visibility, row["start"])


def _pack_visibility(visibility: FloatArray) -> bytes:
    return np.round(visibility * 255).astype(np.uint8).tobytes()


def _unpack_visibility(visibility: bytes, shape: tuple[int, ...]) -> FloatArray:
    return (np.frombuffer(visibility, dtype=np.uint8) / np.float32(255)).astype(np.float32).reshape(shape)
