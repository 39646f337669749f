"""What a catalogue's dances are entered as: each dancer's words as a whole and, when long, in windows too.

The histogram of three minutes does not show the five seconds somebody danced of it. Entries are
numbered as stage one numbers them; an entry says which track it is of, and which words of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.index.settings import Only
from dancematch.index.shelf import Placed
from dancematch.types import Fingerprint

WINDOW_SECONDS = 6.0
WINDOW_STEP_SECONDS = 2.0
WINDOWED_FROM_SECONDS = 9.0  # a shorter dance is found well enough as a whole


def window_bounds(fingerprint: Fingerprint) -> Iterator[tuple[int, int]]:
    """First and last word of each window of a long fingerprint; none for a short one."""
    length = round(WINDOW_SECONDS / fingerprint.seconds_per_word)
    step = round(WINDOW_STEP_SECONDS / fingerprint.seconds_per_word)
    total = len(fingerprint)
    if total * fingerprint.seconds_per_word < WINDOWED_FROM_SECONDS:
        return
    for first in (*range(0, total - length, step), total - length):
        yield first, first + length - 1


def windows(fingerprint: Fingerprint) -> Iterator[Fingerprint]:
    """The overlapping stretches a long fingerprint is also known by; none for a short one."""
    for first, last in window_bounds(fingerprint):
        yield fingerprint.stretch(first, last)


class Grown:
    """A numpy array that takes more rows at its end; what was read of it before stays as it was."""

    def __init__(self, start: NDArray[Any]) -> None:
        self._buffer, self._count = start, len(start)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[Any]:
        """All rows so far."""
        return self._buffer[: self._count]

    def extend(self, rows: NDArray[Any]) -> None:
        """Put rows at the end; the space doubles when it is used up."""
        total = self._count + len(rows)
        if total > len(self._buffer):
            larger = np.empty((max(total, 2 * self._count), *self._buffer.shape[1:]), self._buffer.dtype)
            larger[: self._count] = self.rows
            self._buffer = larger
        self._buffer[self._count : total] = rows
        self._count = total


@dataclass(frozen=True)
class Known:
    """One dancer of a known dance, and what searches may ask of it."""

    key: int  # the caller's own number for it
    dance_id: str
    fingerprint: Fingerprint
    label: str | None = None
    bank: str | None = None
    period_seconds: float | None = None  # None = the dance does not repeat itself, or nobody has looked


_FACTS = np.dtype(
    [("key", np.int64), ("dance", np.int32), ("label", np.int32), ("bank", np.int32), ("period", np.float32)]
)
_ENTRY = np.dtype([("track", np.int32), ("first", np.int32), ("last", np.int32)])
NOBODY = -1  # the track of an entry that is no dance of the catalogue
_NAMELESS = -1  # a dance without a label or bank


class Entries:
    """The tracks and entries of a catalogue; those of removed dances keep their numbers."""

    def __init__(self) -> None:
        self._facts = Grown(np.zeros(0, _FACTS))
        self._alive = Grown(np.zeros(0, np.bool_))
        self._entries = Grown(np.zeros(0, _ENTRY))
        self.names: list[str] = []  # dances by number
        self._numbers: dict[str, int] = {}
        self._texts: dict[str, int] = {}  # labels and banks
        self._by_key: dict[int, int] = {}
        self.strangers = range(0)  # the entries of nobody: always the first

    def add_strangers(self, fingerprints: Sequence[Fingerprint]) -> None:
        """Enter clips that are no dances of the catalogue."""
        rows = [(NOBODY, 0, len(fingerprint) - 1) for fingerprint in fingerprints]
        self.strangers = range(len(rows))
        self._entries.extend(np.array(rows, dtype=_ENTRY))

    def add(self, known: Sequence[Known]) -> list[Fingerprint]:
        """Enter dancers; returns what stage one is to enter, in the order of the entries' numbers."""
        facts, rows, shown = [], [], []
        for track, one in enumerate(known, start=len(self._facts)):
            period = np.nan if one.period_seconds is None else one.period_seconds
            dance = self._numbers.setdefault(one.dance_id, len(self.names))
            if dance == len(self.names):
                self.names.append(one.dance_id)
            facts.append((one.key, dance, self._text(one.label), self._text(one.bank), period))
            self._by_key[one.key] = track
            for first, last in ((0, len(one.fingerprint) - 1), *window_bounds(one.fingerprint)):
                rows.append((track, first, last))
                shown.append(one.fingerprint.stretch(first, last))
        self._facts.extend(np.array(facts, dtype=_FACTS))
        self._alive.extend(np.ones(len(known), np.bool_))
        self._entries.extend(np.array(rows, dtype=_ENTRY))
        return shown

    def _text(self, text: str | None) -> int:
        return _NAMELESS if text is None else self._texts.setdefault(text, len(self._texts))

    def remove(self, keys: Sequence[int]) -> list[int]:
        """Forget dancers, those of them that are known; returns the numbers of their tracks."""
        tracks = [self._by_key.pop(key) for key in keys if key in self._by_key]
        self._alive.rows[tracks] = False
        return tracks

    def of_track(self, track: int) -> NDArray[np.intp]:
        """The numbers of a track's entries, the whole first."""
        tracks = self._entries.rows["track"]
        return np.arange(np.searchsorted(tracks, track), np.searchsorted(tracks, track, side="right"))

    def placed(self, entries: NDArray[np.integer]) -> Placed:
        """Where the entries' words stand."""
        rows = self._entries.rows[entries]
        return Placed(*(rows[name].astype(np.int64) for name in ("track", "first", "last")))

    def dances_of(self, tracks: NDArray[np.integer]) -> NDArray[np.int32]:
        """The numbers of the tracks' dances."""
        return np.asarray(self._facts.rows["dance"][tracks])

    @property
    def tracks(self) -> NDArray[np.intp]:
        """The numbers of all tracks that are there."""
        return np.flatnonzero(self._alive.rows)

    @property
    def dances(self) -> int:
        """How many dances are there."""
        return len(np.unique(self.dances_of(self.tracks)))

    def allowed(self, only: Only) -> NDArray[np.bool_]:
        """Whether a search for `only` may find each track."""
        facts, allowed = self._facts.rows, self._alive.rows.copy()
        for name in ("label", "bank"):
            text = getattr(only, name)
            if text is not None:
                allowed &= facts[name] == self._texts.get(text, len(self._texts))
        if only.periodic is not None:
            allowed &= np.isfinite(facts["period"]) == only.periodic
        return allowed
