"""The words of every known dancer, end to end: a million at hand, in memory or mapped from files.

Tracks are numbered in the order of their coming, and a number is never given twice. They stand in
volumes that do not change: whoever reads works on those that stood when it began, whoever adds
puts longer ones in their place.
"""

import threading
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.index.histogram import SEEN
from dancematch.types import Fingerprint

VOLUME = 1 << 15  # tracks; a fuller volume is not copied any more when others come


class Stretches(NamedTuple):
    """Words of several stretches of tracks, end to end."""

    words: NDArray[Any]  # [steps, channels]
    seen: NDArray[np.uint8]  # [steps, channels] 1 = seen
    offsets: NDArray[np.int64]  # [stretches + 1]

    def __len__(self) -> int:
        return len(self.offsets) - 1


class Placed(NamedTuple):
    """Where stretches stand: words `firsts` to `lasts` (inclusive) of tracks."""

    tracks: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]


EMPTY = Stretches(np.zeros((0, 1), np.uint8), np.zeros((0, 1), np.uint8), np.zeros(1, np.int64))


@dataclass(frozen=True, eq=False)
class Volume:
    """Some tracks' words; the arrays may lie in files."""

    words: NDArray[Any]  # [steps, channels]: bytes where the vocabulary allows
    seen: NDArray[np.uint8]  # [steps, channels / 8]: a bit a channel
    offsets: NDArray[np.int64]  # [tracks + 1]
    clocks: NDArray[np.float64]  # [tracks, 2]: start and seconds a word

    def __len__(self) -> int:
        return len(self.clocks)

    def joined(self, other: "Volume") -> "Volume":
        """Both, one after the other."""
        return Volume(
            np.concatenate([self.words, other.words]),
            np.concatenate([self.seen, other.seen]),
            np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]),
            np.concatenate([self.clocks, other.clocks]),
        )


def pack(fingerprints: Sequence[Fingerprint]) -> Volume:
    """Fingerprints as they stand on the shelf."""
    narrow = np.uint8 if fingerprints[0].vocabulary <= 256 else np.uint16
    return Volume(
        np.concatenate([one.words for one in fingerprints]).astype(narrow),
        np.packbits(np.concatenate([one.visibility for one in fingerprints]) >= SEEN, axis=1),
        np.cumsum([0, *map(len, fingerprints)]).astype(np.int64),
        np.array([(one.start, one.seconds_per_word) for one in fingerprints], dtype=np.float64),
    )


def unpack(volume: Volume) -> Stretches:
    """A volume's tracks, each as one stretch."""
    channels = volume.words.shape[1]
    return Stretches(volume.words, np.unpackbits(volume.seen, axis=1, count=channels), volume.offsets)


class Shelf:
    """All known tracks by number."""

    def __init__(self, vocabulary: int, model_id: str, volumes: Sequence[Volume] = ()) -> None:
        self._vocabulary, self._model_id = vocabulary, model_id
        self._writing = threading.Lock()
        self._held = _held(volumes)

    def __len__(self) -> int:
        return self._held.firsts[-1]

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """What stands here now."""
        return self._held.volumes

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return sum(v.words.nbytes + v.seen.nbytes + v.offsets.nbytes + v.clocks.nbytes for v in self.volumes)

    def add(self, fingerprints: Sequence[Fingerprint]) -> range:
        """Put tracks at the end; returns their numbers."""
        with self._writing:
            first = len(self)
            if fingerprints:
                volumes, fresh = list(self.volumes), pack(fingerprints)
                # Joined with what is no longer than itself, so that a track is copied a logarithm of times.
                while volumes and len(volumes[-1]) <= 2 * len(fresh) and len(volumes[-1]) < VOLUME:
                    fresh = volumes.pop().joined(fresh)
                self._held = _held([*volumes, fresh])
            return range(first, len(self))

    def wholes(self, tracks: NDArray[np.integer]) -> Placed:
        """All of each track."""
        numbers = np.asarray(tracks, dtype=np.int64)
        lengths = [end - first for _, (first, end), _ in map(self._place, numbers.tolist())]
        return Placed(numbers, np.zeros_like(numbers), np.array(lengths, dtype=np.int64) - 1)

    def fingerprint(self, track: int) -> Fingerprint:
        """One track as it was added, but for visibility: a word is seen or it is not."""
        volume, (first, end), number = self._place(track)
        start, seconds_per_word = volume.clocks[number]
        seen = np.unpackbits(volume.seen[first:end], axis=1, count=volume.words.shape[1])
        return Fingerprint(
            volume.words[first:end], self._vocabulary, float(seconds_per_word), self._model_id,
            float(start), seen.astype(np.float32),
        )  # fmt: skip

    def stretches(self, placed: Placed) -> Stretches:
        """The words of stretches."""
        words, seen = [], []
        for track, first, last in zip(*(column.tolist() for column in placed), strict=True):
            volume, (begin, _), _ = self._place(track)
            words.append(volume.words[begin + first : begin + last + 1])
            seen.append(volume.seen[begin + first : begin + last + 1])
        if not words:
            return EMPTY
        flat = np.concatenate(words)
        shown = np.unpackbits(np.concatenate(seen), axis=1, count=flat.shape[1])
        return Stretches(flat, shown, np.cumsum([0, *map(len, words)]).astype(np.int64))

    def _place(self, track: int) -> tuple[Volume, tuple[int, int], int]:
        volumes, firsts = self._held
        number = bisect_right(firsts, track) - 1
        volume = volumes[number]
        inside = track - firsts[number]
        return volume, (int(volume.offsets[inside]), int(volume.offsets[inside + 1])), inside


class _Held(NamedTuple):
    volumes: tuple[Volume, ...]
    firsts: list[int]  # each volume's first number, and the next one to be given


def _held(volumes: Sequence[Volume]) -> _Held:
    return _Held(tuple(volumes), list(accumulate(map(len, volumes), initial=0)))
