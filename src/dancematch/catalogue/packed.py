"""A whole catalogue as plain arrays, some thousand tracks at a time: a million are read in a minute.

The same tracks as `Store.everything` gives one by one, in the order of their keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from dancematch.catalogue.records import ShardOf
from dancematch.catalogue.sql.checksums import OF_WORDS, checksum_of_words, words_checksum
from dancematch.catalogue.sql.database import Database, State
from dancematch.catalogue.sql.rows import (
    damaged_words,
    excluded_words,
    fingerprint_of,
    read_excluded_spans,
    read_labels,
    require_labels,
    require_values,
)
from dancematch.catalogue.sql.schema import dances, recordings, tracks
from dancematch.errors import CatalogueError, InputError
from dancematch.tracks import PackedTracks, pack_stored_words
from dancematch.types import BONE_NUMBERS, BONES_UNSEEN, Span

TRACKS = 1 << 14  # in one piece: short dances then fill a block of stage one each

_COLUMNS = (
    tracks.c.key, dances.c.name, dances.c.dance_id, tracks.c.dancer, dances.c.collection, recordings.c.dance,
    tracks.c.recording,
    tracks.c.start, tracks.c.seconds_per_word, tracks.c.channels, tracks.c.vocabulary, tracks.c.words,
    tracks.c.visibility, tracks.c.bones, tracks.c.period_seconds, tracks.c.words_checksum,
)  # fmt: skip


def read_packed_tracks(
    database: Database, shard: ShardOf | None = None
) -> tuple[State, Iterator[PackedTracks]]:
    """Return the state of a catalogue, and an iterator over its tracks, or a shard's, in that state."""
    states: list[State] = []
    pieces = _read_pieces(database, states, shard)
    first = list(islice(pieces, 1))
    return states[0], chain(first, pieces)


def _read_pieces(database: Database, states: list[State], shard: ShardOf | None) -> Iterator[PackedTracks]:
    """Read everything in one transaction; its state is appended to `states` first."""
    with database.transaction() as connection:
        states.append(database.state(connection))
        database.require_ours(connection)
        excluded = read_excluded_spans(connection, database.where)
        labelled = read_labels(connection)
        query = sa.select(*_COLUMNS).select_from(tracks.join(recordings).join(dances)).order_by(tracks.c.key)
        if shard is not None:
            query = query.where(recordings.c.dance % shard.of == shard.number)  # as `ShardOf.holds`
        with connection.execution_options(yield_per=TRACKS).execute(query) as found:
            for rows in found.partitions():
                yield _pack(database, rows, excluded, labelled)


def _pack(
    database: Database,
    rows: Sequence[Any],
    excluded: Mapping[int, Sequence[Span]],
    labelled: Mapping[int, tuple[str, ...]],
) -> PackedTracks:
    columns = dict(zip((column.name for column in _COLUMNS), zip(*rows, strict=True), strict=True))
    require_values(columns, database.where)
    of_tracks = [labelled.get(dance, ()) for dance in columns["dance"]]
    for name, some in zip(columns["name"], of_tracks, strict=True):
        require_labels(name, some, database.where)
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
    checksums = tuple(map(checksum_of_words, *(columns[name] for name in OF_WORDS)))
    if checksums != columns["words_checksum"] or not _is_sound(columns, words, lengths, clocks):
        raise _damaged(database, rows)
    ends = np.cumsum(lengths)
    for recording, clock, end, length in zip(columns["recording"], clocks, ends, lengths, strict=True):
        for span in excluded.get(recording, ()):
            hidden = excluded_words(span, *clock.tolist())
            visibility[end - length : end][hidden] = 0
            bones[end - length : end][hidden] = BONES_UNSEEN
    return PackedTracks(
        np.array(columns["key"], dtype=np.int64), columns["dance_id"], columns["dancer"],
        of_tracks, columns["collection"], periods,
        np.array(columns["recording"], dtype=np.int64),
        pack_stored_words(words, visibility, lengths, clocks, bones, vocabulary),
    )  # fmt: skip


def _bones(stored: Sequence[bytes | None], lengths: NDArray[np.int64]) -> NDArray[np.int8]:
    """Join all tracks' bones, unseen where a track has none; a ValueError if they do not fit."""
    sizes = [None if one is None else len(one) // BONE_NUMBERS for one in stored]
    if any(size not in (None, length) for size, length in zip(sizes, lengths.tolist(), strict=True)):
        raise ValueError
    unseen = bytes([BONES_UNSEEN & 0xFF]) * BONE_NUMBERS
    whole = bytearray().join(
        unseen * length if one is None else one for one, length in zip(stored, lengths.tolist(), strict=True)
    )
    return np.frombuffer(whole, dtype=np.int8).reshape(-1, BONE_NUMBERS)


def _is_sound(
    columns: Mapping[str, Sequence[Any]],
    words: NDArray[np.uint16],
    lengths: NDArray[np.int64],
    clocks: NDArray[np.float64],
) -> bool:
    """Whether every track is one that `rows.fingerprint_of` would accept."""
    sizes = np.array([len(one) for one in columns["visibility"]], dtype=np.int64)
    return bool(
        len(set(columns["vocabulary"])) == len(set(columns["channels"])) == 1
        and (lengths > 0).all()
        and (sizes == lengths * words.shape[1]).all()
        and words.max() < columns["vocabulary"][0]
        and np.isfinite(clocks).all()
        and (clocks[:, 1] > 0).all()
    )


def _damaged(database: Database, rows: Sequence[Any]) -> CatalogueError:
    """Build the error, with the name of the first dance whose words cannot be read."""
    names = [column.name for column in _COLUMNS]
    for row in rows:
        named = dict(zip(names, row, strict=True))
        try:
            fingerprint_of(named, database.model_id)
        except (ValueError, TypeError, InputError):
            return damaged_words(database.where, named["name"])
        if words_checksum(named) != named["words_checksum"]:
            return damaged_words(database.where, named["name"])
    return CatalogueError(f"{database.where} holds words of several kinds: it is damaged")
