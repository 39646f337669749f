"""Many known dancers at once, side by side in arrays: how a catalogue of a million comes in.

A track is one dancer of a dance. `NewTrack` is one of them as a noun, `Tracks` are many.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.search.words.word_store import PackedWords, pack
from dancematch.types import SEEN_FROM, Fingerprint

_SEEN_LEVELS = np.arange(256) / np.float32(255) >= SEEN_FROM  # of visibilities kept as a byte each


@dataclass(frozen=True)
class NewTrack:
    """One dancer of a known dance, and what searches may ask of it."""

    key: int  # the caller's own number for it
    dance_id: str
    fingerprint: Fingerprint
    label: str | None = None
    collection: str | None = None
    period_seconds: float | None = None  # None = the dance does not repeat itself


@dataclass(frozen=True, eq=False)
class Tracks:
    """What `NewTrack` says, of many dancers: a row each."""

    keys: NDArray[np.int64]
    dance_ids: Sequence[str]
    labels: Sequence[str | None]
    collections: Sequence[str | None]
    periods: NDArray[np.float32]  # seconds; NaN = none
    volume: PackedWords

    def __len__(self) -> int:
        return len(self.keys)


def tracks_of(known: Sequence[NewTrack]) -> Tracks:
    """The same dancers, packed; at least one."""
    periods = [np.nan if one.period_seconds is None else one.period_seconds for one in known]
    return Tracks(
        np.array([one.key for one in known], dtype=np.int64),
        [one.dance_id for one in known],
        [one.label for one in known],
        [one.collection for one in known],
        np.array(periods, dtype=np.float32),
        pack([one.fingerprint for one in known]),
    )


def packed_volume(
    words: NDArray[np.uint16],
    visibility: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    clocks: NDArray[np.float64],
    bones: NDArray[np.int8],
    vocabulary: int,
) -> PackedWords:
    """Tracks end to end, visibilities as a byte each ([steps, channels], 255 = 1), as a shelf keeps them."""
    return PackedWords(
        words.astype(np.uint8) if vocabulary <= 256 else words,
        np.packbits(_SEEN_LEVELS[visibility], axis=1),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        clocks,
        bones,
    )
