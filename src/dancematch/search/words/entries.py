"""The entries of stage one: each track as a whole and, when long, in overlapping windows too.

The histogram of three minutes does not show the five seconds of it that a query covers. Entries are numbered
as stage one numbers them; each is a segment of a track.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.search.settings import ALL_DANCES, DanceFilter
from dancematch.search.words.label_sets import LabelSets
from dancematch.search.words.word_store import SegmentBounds
from dancematch.tracks import PackedTracks
from dancematch.types import Fingerprint

WINDOW_SECONDS = 6.0
WINDOW_STEP_SECONDS = 2.0
WINDOWED_FROM_SECONDS = 9.0  # a shorter dance is found well enough as a whole


def window_bounds(fingerprint: Fingerprint) -> Iterator[tuple[int, int]]:
    """Yield first and last word of each window of a long fingerprint; nothing for a short one."""
    return _window_bounds(len(fingerprint), fingerprint.seconds_per_word)


def _window_bounds(total: int, seconds_per_word: float) -> Iterator[tuple[int, int]]:
    length = round(WINDOW_SECONDS / seconds_per_word)
    step = round(WINDOW_STEP_SECONDS / seconds_per_word)
    if total * seconds_per_word < WINDOWED_FROM_SECONDS:
        return
    for first in (*range(0, total - length, step), total - length):
        yield first, first + length - 1


class GrowingArray:
    """A numpy array that rows are appended to; what was read of it before stays as it was."""

    def __init__(self, start: NDArray[Any]) -> None:
        self._buffer, self._count = start, len(start)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[Any]:
        """All rows so far."""
        return self._buffer[: self._count]

    def extend(self, rows: NDArray[Any]) -> None:
        """Append rows; the space doubles when it is used up."""
        total = self._count + len(rows)
        if total > len(self._buffer):
            larger = np.empty((max(total, 2 * self._count), *self._buffer.shape[1:]), self._buffer.dtype)
            larger[: self._count] = self.rows
            self._buffer = larger
        self._buffer[self._count : total] = rows
        self._count = total


FACTS = np.dtype(
    [
        ("key", np.int64),
        ("dance", np.int32),
        ("recording", np.int32),
        ("recording_key", np.int64),
        ("dancer", np.int32),
        ("labels", np.int32),
        ("collection", np.int32),
        ("period", np.float32),
    ]
)
ENTRY = np.dtype([("track", np.int32), ("first", np.int32), ("last", np.int32)])
BACKGROUND_TRACK = -1  # the track of an entry that is no dance of the catalogue
_NO_COLLECTION = -1


class StoredEntries(NamedTuple):
    """Entries as the index cache holds them."""

    facts: NDArray[Any]  # [tracks] `FACTS`
    alive: NDArray[np.bool_]  # [tracks]
    entries: NDArray[Any]  # [entries] `ENTRY`
    names: list[str]  # of dances
    collections: list[str]
    label_sets: list[list[str]]


class Entries:
    """The tracks and entries of a catalogue; those of removed dances keep their numbers.

    Dances and recordings are numbered in the order of their first track. A recording is one key of one dance:
    tracks of the same key and dance are of one recording.
    """

    def __init__(self) -> None:
        self._facts = GrowingArray(np.zeros(0, FACTS))
        self._alive = GrowingArray(np.zeros(0, np.bool_))
        self._entries = GrowingArray(np.zeros(0, ENTRY))
        self._recording_dances = GrowingArray(np.zeros(0, np.int32))  # per recording: its dance
        self._track_counts = GrowingArray(np.zeros(0, np.int32))  # per recording: tracks that are there
        self._recording_counts = GrowingArray(np.zeros(0, np.int32))  # per dance: recordings that are there
        self.names: list[str] = []  # dances by number
        self._collections: dict[str, int] = {}
        self._label_sets = LabelSets()
        self.dances = 0  # how many are there
        self.recordings = 0  # how many are there
        self._limited: dict[int | None, int] = {}  # recordings by the limit per dance; new with each change
        self.background = range(0)  # entries of unrelated dances: always the first

    # A search needs neither of these two: after opening, the first change makes them.

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _by_key(self) -> dict[int, int]:
        tracks = self.tracks
        return dict(zip(self._facts.rows["key"][tracks].tolist(), tracks.tolist(), strict=True))

    def add_background(self, fingerprints: Sequence[Fingerprint]) -> None:
        """Add clips that are no dances of the catalogue."""
        rows = [(BACKGROUND_TRACK, 0, len(fingerprint) - 1) for fingerprint in fingerprints]
        self.background = range(len(rows))
        self._entries.extend(np.array(rows, dtype=ENTRY))

    def add(self, tracks: PackedTracks) -> SegmentBounds:
        """Add tracks; returns the segments of their entries, in the order of the entries' numbers."""
        numbers, by_key = self._numbers, self._by_key
        first, known = len(self._facts), len(self.names)
        facts = np.zeros(len(tracks), FACTS)
        facts["key"], facts["period"] = tracks.keys, tracks.periods
        for name in tracks.dance_ids:
            if name not in numbers:
                numbers[name] = len(numbers)
                self.names.append(name)
        facts["dance"] = [numbers[name] for name in tracks.dance_ids]
        facts["recording_key"] = tracks.recording_keys
        facts["recording"] = self._number_recordings(facts["dance"], facts["recording_key"], known)
        facts["dancer"] = tracks.dancers
        facts["labels"] = [self._label_sets.number(labels) for labels in tracks.labels]
        facts["collection"] = [self._number_collection(name) for name in tracks.collections]
        by_key.update(zip(tracks.keys.tolist(), range(first, first + len(tracks)), strict=True))
        rows = _entries_of(tracks, first)
        # A concurrent search finds a track as soon as it is alive; all else must be there by then.
        self._entries.extend(rows)
        self._recording_counts.extend(np.zeros(len(numbers) - known, np.int32))
        self._facts.extend(facts)
        self._alive.extend(np.ones(len(tracks), np.bool_))
        self._count(facts["recording"], 1)
        return _bounds_of(rows)

    def _number_recordings(
        self, dances: NDArray[np.integer], keys: NDArray[np.integer], known: int
    ) -> list[int]:
        """The numbers of the recordings with these keys; new ones get the next.

        Only dances below `known` can have recordings already.
        """
        facts, earlier = self._facts.rows, np.unique(dances[dances < known])
        facts = facts[np.isin(facts["dance"], earlier)] if len(earlier) else facts[:0]
        pairs = zip(facts["dance"].tolist(), facts["recording_key"].tolist(), strict=True)
        numbers = dict(zip(pairs, facts["recording"].tolist(), strict=True))
        found, new = list[int](), list[int]()
        for pair in zip(dances.tolist(), keys.tolist(), strict=True):
            if pair not in numbers:
                numbers[pair] = len(self._recording_dances) + len(new)
                new.append(pair[0])
            found.append(numbers[pair])
        self._track_counts.extend(np.zeros(len(new), np.int32))
        self._recording_dances.extend(np.array(new, np.int32))
        return found

    def _count(self, recordings: NDArray[np.integer], change: int) -> None:
        """Count tracks of recordings as added or removed."""
        tracks, touched = self._track_counts.rows, np.unique(recordings)
        before = tracks[touched] > 0
        np.add.at(tracks, recordings, change)
        after = (tracks[touched] > 0).astype(np.int32)
        np.add.at(self._recording_counts.rows, self._recording_dances.rows[touched], after - before)
        self._count_all()

    def _count_all(self) -> None:
        self.dances = int(np.count_nonzero(self._recording_counts.rows))
        self.recordings = int(np.count_nonzero(self._track_counts.rows))
        self._limited = {}

    def _number_collection(self, name: str | None) -> int:
        return _NO_COLLECTION if name is None else self._collections.setdefault(name, len(self._collections))

    def remove(self, keys: Sequence[int]) -> dict[int, int]:
        """Remove tracks, those of them that are known; returns track numbers by key."""
        known = {key: self._by_key.pop(key) for key in dict.fromkeys(keys) if key in self._by_key}
        tracks = list(known.values())
        if tracks:
            self._alive.rows[tracks] = False
            self._count(self.recordings_of(np.array(tracks)), -1)
        return known

    def of_tracks(self, tracks: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of tracks' entries, the whole track first, and where each track begins."""
        known = self._entries.rows["track"]
        wanted = tracks.astype(known.dtype)  # of another type, the whole column would be copied
        firsts = np.searchsorted(known, wanted)
        sizes = np.searchsorted(known, wanted, side="right") - firsts
        begins = np.cumsum(sizes) - sizes
        return np.repeat(firsts - begins, sizes) + np.arange(sizes.sum()), begins

    @property
    def facts(self) -> NDArray[Any]:
        """What is known of each track, by its number: [tracks] `FACTS`."""
        return self._facts.rows

    def keys_of(self, tracks: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the keys of tracks."""
        return np.asarray(self._facts.rows["key"][tracks])

    def tracks_with(self, keys: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the numbers of the tracks with these keys, which must all be there."""
        return np.array([self._by_key[key] for key in keys.tolist()], dtype=np.int64)

    def places_of(self, entries: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return which of its track's entries each entry is: 0 is the whole."""
        known = self._entries.rows["track"]
        return np.asarray(entries - np.searchsorted(known, known[entries]), dtype=np.int64)

    def bounds(self, entries: NDArray[np.integer]) -> SegmentBounds:
        """Return the segments that entries are of."""
        return _bounds_of(self._entries.rows[entries])

    def dances_of(self, tracks: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the numbers of the tracks' dances."""
        return np.asarray(self._facts.rows["dance"][tracks])

    def recordings_of(self, tracks: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the numbers of the tracks' recordings."""
        return np.asarray(self._facts.rows["recording"][tracks])

    @property
    def tracks_count(self) -> int:
        """How many tracks are there."""
        return int(np.count_nonzero(self._alive.rows))

    @property
    def tracks(self) -> NDArray[np.intp]:
        """The numbers of all tracks that are there."""
        return np.flatnonzero(self._alive.rows)

    def allowed(self, only: DanceFilter) -> NDArray[np.bool_]:
        """Return whether a search for `only` may find each track."""
        facts, allowed = self._facts.rows, self._alive.rows.copy()
        if only.label is not None:
            allowed &= np.isin(facts["labels"], self._label_sets.with_label(only.label))
        if only.collection is not None:
            allowed &= facts["collection"] == self._collections.get(only.collection, len(self._collections))
        if only.periodic is not None:
            allowed &= np.isfinite(facts["period"]) == only.periodic
        if only.but:
            allowed &= ~np.isin(facts["dance"], self.dances_named(only.but))
        if only.among is not None:
            allowed &= np.isin(facts["dance"], self.dances_named(only.among))
        return allowed

    def dances_named(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of those dances that are there."""
        numbers = [self._numbers[name] for name in names if name in self._numbers]
        return [number for number in numbers if self._recording_counts.rows[number]]

    def dances_searched(self, only: DanceFilter) -> int:
        """Return how many dances an E-value counts: those the filters leave, whatever `among` says."""
        filters = replace(only, among=None)
        return self.dances if filters == ALL_DANCES else self.dances_among(self.allowed(filters), filters)

    def dances_among(self, allowed: NDArray[np.bool_], only: DanceFilter) -> int:
        """Return how many dances the allowed tracks are of."""
        if only == ALL_DANCES:
            return self.dances
        return int(np.count_nonzero(np.bincount(self.dances_of(np.flatnonzero(allowed)))))

    def recordings_among(self, allowed: NDArray[np.bool_], only: DanceFilter, per_dance: int | None) -> int:
        """Return how many recordings the allowed tracks are of, counting at most `per_dance` of one dance."""
        if only == ALL_DANCES:
            limited = self._limited
            if per_dance not in limited:
                limited[per_dance] = _sum_limited(self._recording_counts.rows, per_dance)
            return limited[per_dance]
        recordings = np.flatnonzero(np.bincount(self.recordings_of(np.flatnonzero(allowed))))
        return _sum_limited(np.bincount(self._recording_dances.rows[recordings]), per_dance)

    def entries_among(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether each entry is of an allowed track."""
        tracks = self._entries.rows["track"]
        return np.append(allowed, False)[np.where(tracks < len(allowed), tracks, BACKGROUND_TRACK)]

    @property
    def stored(self) -> StoredEntries:
        """All of it, as the index cache holds it."""
        rows = (self._facts.rows, self._alive.rows.copy(), self._entries.rows)
        return StoredEntries(*rows, list(self.names), list(self._collections), self._label_sets.stored)

    @classmethod
    def restore(cls, stored: StoredEntries, background: int) -> "Entries":
        """Return stored entries, the first `background` of which are of unrelated dances."""
        made = cls()
        made._facts, made._alive = GrowingArray(stored.facts), GrowingArray(stored.alive.copy())
        made._entries, made.names = GrowingArray(stored.entries), stored.names
        made._collections = {name: number for number, name in enumerate(stored.collections)}
        made._label_sets = LabelSets(stored.label_sets)
        recordings, dances = stored.facts["recording"], stored.facts["dance"]
        of_each = np.zeros(int(recordings.max(initial=-1)) + 1, np.int32)
        of_each[recordings] = dances
        tracks = np.bincount(recordings[stored.alive], minlength=len(of_each))
        counts = np.bincount(of_each[tracks > 0], minlength=len(made.names))
        made._recording_dances = GrowingArray(of_each)
        made._track_counts = GrowingArray(tracks.astype(np.int32))
        made._recording_counts = GrowingArray(counts.astype(np.int32))
        made._count_all()
        made.background = range(background)
        return made


def _sum_limited(counts: NDArray[np.integer], most: int | None) -> int:
    return int((counts if most is None else np.minimum(counts, most)).sum())


def _bounds_of(rows: NDArray[Any]) -> SegmentBounds:
    return SegmentBounds(*(rows[name].astype(np.int64) for name in ("track", "first", "last")))


def _entries_of(tracks: PackedTracks, first: int) -> NDArray[Any]:
    """The entries of tracks that are numbered from `first` on."""
    lengths, clocks = np.diff(tracks.packed.offsets), tracks.packed.clocks[:, 1]
    rows = np.zeros(len(tracks), ENTRY)
    rows["track"], rows["last"] = np.arange(first, first + len(tracks)), lengths - 1
    parts, done = [], 0
    for long in np.flatnonzero(lengths * clocks >= WINDOWED_FROM_SECONDS).tolist():
        bounds = _window_bounds(int(lengths[long]), float(clocks[long]))
        windows_ = np.array([(first + long, *bound) for bound in bounds], dtype=ENTRY)
        parts += [rows[done : long + 1], windows_]
        done = long + 1
    return np.concatenate([*parts, rows[done:]])
