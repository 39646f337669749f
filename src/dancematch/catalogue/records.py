"""What goes into a catalogue and comes out of it."""

import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple

from dancematch.errors import InputError
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Motion, Span

_NO_TEXT = {"Cc", "Cs", "Zl", "Zp"}  # control characters, halves of characters, breaks of lines


def require_name(name: str) -> None:
    """Refuse a dance's name that cannot be read or typed."""
    if not name.strip():
        raise InputError(f"a dance needs a name that can be seen, got {name!r}; give another id")
    if any(unicodedata.category(letter) in _NO_TEXT for letter in name):
        raise InputError(
            f"a dance's name is one line without control characters, got {name!r}; give another id"
        )


@dataclass(frozen=True)
class Dance:
    """One dance of a catalogue."""

    dance_id: str
    source: str
    content_hash: str
    seconds: float
    label: str | None = None
    collection: str | None = None
    added: str = ""  # UTC, ISO 8601; empty: now
    dancers: int = 0
    period_seconds: float | None = None  # of the most prominent dancer, if the dance repeats itself
    period_strength: float | None = None


@dataclass(frozen=True)
class StoredTrack:
    """One dancer of a dance to be stored: the words, and the skeletons (on body15) if they are kept."""

    fingerprint: Fingerprint
    motion: Motion | None = None
    period_seconds: float | None = None  # None if the dance does not repeat itself
    period_strength: float = 0.0
    dancer: int = 0  # from 1 on; 0 = by the place in the list


class ShardOf(NamedTuple):
    """One of several equal shards of a catalogue; a dance is wholly in one of them."""

    number: int  # from 0
    of: int

    def holds(self, dance_key: int) -> bool:
        """Whether a dance, by its key in the database, is in this shard."""
        return dance_key % self.of == self.number


@dataclass(frozen=True)
class Changes:
    """How to bring data derived from a catalogue up to date: remove, then add."""

    generation: int  # that the data are of afterwards
    removed: tuple[int, ...]  # keys; some may have been added and removed in between
    added: tuple[KnownTrack, ...]
    token: str = field(default="", compare=False)  # of that generation


@dataclass(frozen=True)
class Exclusion:
    """A segment of a dance that never matches."""

    dance_id: str
    start: float
    end: float
    reason: str | None = None

    def __post_init__(self) -> None:
        Span(self.start, self.end)
