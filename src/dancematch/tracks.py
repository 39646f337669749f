"""Tracks of known dances: one as a record, many as packed arrays.

A dance has recordings, a recording has tracks: one per dancer. The catalogue reads tracks in either form and
the search takes both:
`KnownTrack` where a few come at a time, `PackedTracks` where a million do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.types import BONE_NUMBERS, BONES_UNSEEN, SEEN_FROM, BoneArray, Fingerprint

_SEEN_LEVELS = np.arange(256) / np.float32(255) >= SEEN_FROM  # by visibility stored as a byte


@dataclass(frozen=True)
class KnownTrack:
    """One dancer of a recording of a known dance; words of excluded segments are unseen."""

    key: int  # unique in a catalogue
    dance_id: str  # never changes, whatever the dance is called
    dancer: int  # 1 = the most prominent
    fingerprint: Fingerprint
    labels: tuple[str, ...] = ()  # of the dance
    collection: str | None = None
    period_seconds: float | None = None  # None = the dance does not repeat itself
    period_strength: float = 0.0
    dance_key: int = field(default=0, compare=False)  # of the dance in the database
    recording_key: int = field(default=0, compare=False)  # of the recording in the database


@dataclass(frozen=True, eq=False)
class PackedWords:
    """Words of several tracks end to end; the arrays are read-only and may lie in files."""

    words: NDArray[Any]  # [steps, channels]: bytes where the vocabulary allows
    seen: NDArray[np.uint8]  # [steps, channels / 8]: one bit per channel
    offsets: NDArray[np.int64]  # [tracks + 1]
    clocks: NDArray[np.float64]  # [tracks, 2]: start and seconds per word
    bones: BoneArray  # [steps, 20]

    def __post_init__(self) -> None:
        for one in fields(self):
            getattr(self, one.name).flags.writeable = False

    def __len__(self) -> int:
        return len(self.clocks)

    def append(self, other: "PackedWords") -> "PackedWords":
        """Return the tracks of both, one after the other."""
        return PackedWords(
            np.concatenate([self.words, other.words]),
            np.concatenate([self.seen, other.seen]),
            np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]),
            np.concatenate([self.clocks, other.clocks]),
            np.concatenate([self.bones, other.bones]),
        )


@dataclass(frozen=True, eq=False)
class PackedTracks:
    """What `KnownTrack` says, of many tracks: one row each."""

    keys: NDArray[np.int64]
    dance_ids: Sequence[str]
    dancers: Sequence[int] | NDArray[np.integer]
    labels: Sequence[tuple[str, ...]]
    collections: Sequence[str | None]
    periods: NDArray[np.float32]  # seconds; NaN = none
    recording_keys: NDArray[np.int64]
    packed: PackedWords

    def __len__(self) -> int:
        return len(self.keys)


def pack_tracks(known: Sequence[KnownTrack]) -> PackedTracks:
    """Pack tracks, at least one."""
    periods = [np.nan if one.period_seconds is None else one.period_seconds for one in known]
    return PackedTracks(
        np.array([one.key for one in known], dtype=np.int64),
        [one.dance_id for one in known],
        [one.dancer for one in known],
        [one.labels for one in known],
        [one.collection for one in known],
        np.array(periods, dtype=np.float32),
        np.array([one.recording_key for one in known], dtype=np.int64),
        pack_words([one.fingerprint for one in known]),
    )


def pack_words(fingerprints: Sequence[Fingerprint]) -> PackedWords:
    """Pack fingerprints, at least one; of visibility only whether a word is seen is left."""
    return PackedWords(
        np.concatenate([one.words for one in fingerprints]).astype(
            word_type(fingerprints[0].vocabulary), copy=False
        ),
        np.packbits(np.concatenate([one.visibility for one in fingerprints]) >= SEEN_FROM, axis=1),
        np.cumsum([0, *map(len, fingerprints)]).astype(np.int64),
        np.array([(one.start, one.seconds_per_word) for one in fingerprints], dtype=np.float64),
        np.concatenate([bones_of(one) for one in fingerprints]),
    )


def pack_stored_words(
    words: NDArray[np.uint16],
    visibility: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    clocks: NDArray[np.float64],
    bones: BoneArray,
    vocabulary: int,
) -> PackedWords:
    """Pack tracks that lie end to end already, visibilities as bytes ([steps, channels], 255 = 1)."""
    return PackedWords(
        words.astype(word_type(vocabulary), copy=False),
        np.packbits(_SEEN_LEVELS[visibility], axis=1),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        clocks,
        bones,
    )


def word_type(vocabulary: int) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest number type that holds every word."""
    return np.uint8 if vocabulary <= 256 else np.uint16


def bones_of(fingerprint: Fingerprint) -> BoneArray:
    """Return the bone directions per word, [words, 20]; all unseen where they are not known."""
    if fingerprint.bones is not None:
        return fingerprint.bones
    return np.full((len(fingerprint), BONE_NUMBERS), BONES_UNSEEN, np.int8)
