"""A whole catalogue as plain arrays, some thousand tracks at a time: how a million are read in a minute.

The same tracks as `Store.everything` gives one noun each, in the order of their keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from dancematch.catalogue.database import Database, State
from dancematch.catalogue.records import ShardOf
from dancematch.catalogue.rows import excluded_words, fingerprint_of
from dancematch.catalogue.schema import dances, exclusions, tracks
from dancematch.errors import CatalogueError, InputError
from dancematch.types import BONE_NUMBERS, BONES_UNSEEN, Span

TRACKS = 1 << 14  # in one piece: short dances then fill a block of stage one each

_COLUMNS = (
    tracks.c.key, dances.c.dance_id, dances.c.label, dances.c.collection, tracks.c.dance, tracks.c.start,
    tracks.c.seconds_per_word, tracks.c.channels, tracks.c.vocabulary, tracks.c.words, tracks.c.visibility,
    tracks.c.bones, tracks.c.period_seconds,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class PackedTracks:
    """Some tracks side by side, their words end to end; those of excluded stretches are unseen."""

    vocabulary: int
    keys: NDArray[np.int64]
    dance_ids: Sequence[str]
    labels: Sequence[str | None]
    collections: Sequence[str | None]
    periods: NDArray[np.float32]  # seconds, NaN = none
    words: NDArray[np.uint16]  # [steps, channels]
    visibility: NDArray[np.uint8]  # [steps, channels] 255 = seen
    bones: NDArray[np.int8]  # [steps, 20]
    lengths: NDArray[np.int64]  # steps a track
    clocks: NDArray[np.float64]  # [tracks, 2]: start and seconds a word


def packed_tracks(database: Database, part: ShardOf | None = None) -> tuple[State, Iterator[PackedTracks]]:
    """The state of a catalogue, and all its tracks, or those of a part of it, as they are then.

    The pieces are read as they are asked for.
    """
    states: list[State] = []
    pieces = _pieces(database, states, part)
    first = list(islice(pieces, 1))
    return states[0], chain(first, pieces)


def _pieces(database: Database, states: list[State], part: ShardOf | None) -> Iterator[PackedTracks]:
    """All in one transaction; notes its state first."""
    with database.transaction() as connection:
        states.append(database.state(connection))
        database.require_ours(connection)
        excluded: dict[int, list[Span]] = {}
        for row in connection.execute(sa.select(exclusions)).mappings():
            excluded.setdefault(row["dance"], []).append(Span(row["start"], row["end"]))
        query = sa.select(*_COLUMNS).join(dances).order_by(tracks.c.key)
        if part is not None:
            query = query.where(tracks.c.dance % part.of == part.number)  # as `ShardOf.holds`
        found = connection.execution_options(yield_per=TRACKS).execute(query)
        for rows in found.partitions():
            yield _packed(database, rows, excluded)


def _packed(database: Database, rows: Sequence[Any], excluded: Mapping[int, Sequence[Span]]) -> PackedTracks:
    columns = dict(zip((column.name for column in _COLUMNS), zip(*rows, strict=True), strict=True))
    vocabulary, channels = columns["vocabulary"][0], columns["channels"][0]
    try:
        words = np.frombuffer(b"".join(columns["words"]), dtype="<u2").reshape(-1, channels)
        visibility = np.frombuffer(bytearray().join(columns["visibility"]), dtype=np.uint8)
        visibility = visibility.reshape(words.shape)
        lengths = np.array([len(one) for one in columns["words"]], dtype=np.int64) // (2 * channels)
        bones = _bones(columns["bones"], lengths)
        clocks = np.array([columns["start"], columns["seconds_per_word"]], dtype=np.float64).T.copy()
        periods = np.array(columns["period_seconds"], dtype=np.float32)  # None becomes NaN
    except (ValueError, TypeError):
        raise _damaged(database, rows) from None
    made = PackedTracks(
        vocabulary, np.array(columns["key"], dtype=np.int64), columns["dance_id"],
        columns["label"], columns["collection"], periods, words, visibility, bones, lengths, clocks,
    )  # fmt: skip
    if not _is_sound(made, columns):
        raise _damaged(database, rows)
    _hide(made, columns["dance"], excluded)
    return made


def _bones(stored: Sequence[bytes | None], lengths: NDArray[np.int64]) -> NDArray[np.int8]:
    """All tracks' bones end to end, unseen where a track has none; a ValueError if they do not fit."""
    sizes = [None if one is None else len(one) // BONE_NUMBERS for one in stored]
    if any(size not in (None, length) for size, length in zip(sizes, lengths.tolist(), strict=True)):
        raise ValueError
    unseen = bytes([BONES_UNSEEN & 0xFF]) * BONE_NUMBERS
    whole = bytearray().join(
        unseen * length if one is None else one for one, length in zip(stored, lengths.tolist(), strict=True)
    )
    return np.frombuffer(whole, dtype=np.int8).reshape(-1, BONE_NUMBERS)


def _is_sound(made: PackedTracks, columns: Mapping[str, Sequence[Any]]) -> bool:
    """Whether every track is what `rows.fingerprint_of` would take."""
    channels = made.words.shape[1]
    sizes = np.array([len(one) for one in columns["visibility"]], dtype=np.int64)
    return bool(
        len(set(columns["vocabulary"])) == len(set(columns["channels"])) == 1
        and (made.lengths > 0).all()
        and (sizes == made.lengths * channels).all()
        and made.words.max() < made.vocabulary
        and np.isfinite(made.clocks).all()
        and (made.clocks[:, 1] > 0).all()
    )


def _damaged(database: Database, rows: Sequence[Any]) -> CatalogueError:
    """What is wrong, by the name of the first dance whose words cannot be read."""
    names = [column.name for column in _COLUMNS]
    for row in rows:
        named = dict(zip(names, row, strict=True))
        try:
            fingerprint_of(named, database.model_id)
        except (ValueError, TypeError, InputError):
            return CatalogueError(f"{database.where}: the words of {named['dance_id']!r} are damaged")
    return CatalogueError(f"{database.where} holds words of several kinds: it is damaged")


def _hide(made: PackedTracks, whose: Sequence[int], excluded: Mapping[int, Sequence[Span]]) -> None:
    """Make what was excluded unseen."""
    if not excluded:
        return
    ends = np.cumsum(made.lengths).tolist()
    for number, dance in enumerate(whose):
        for span in excluded.get(dance, ()):
            first = ends[number] - int(made.lengths[number])
            own = made.visibility[first : ends[number]]
            hidden = excluded_words(span, *made.clocks[number].tolist())
            own[hidden] = 0
            made.bones[first : ends[number]][hidden] = BONES_UNSEEN
