"""The words of every known dancer, end to end: a million at hand, in memory or mapped from files.

Tracks are numbered in the order of their coming, and a number is never given twice. They stand in
volumes that do not change: whoever reads works on those that stood when it began, whoever adds
puts longer ones in their place.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dancematch.tracks import PackedWords, pack_words
from dancematch.types import BONE_NUMBERS, BoneArray, Fingerprint

VOLUME = 1 << 18  # tracks; a fuller volume is not copied any more when others come


class Segments(NamedTuple):
    """Words of several stretches of tracks, end to end."""

    words: NDArray[Any]  # [steps, channels]
    seen: NDArray[np.uint8]  # [steps, channels] 1 = seen
    offsets: NDArray[np.int64]  # [stretches + 1]

    def __len__(self) -> int:
        return len(self.offsets) - 1


class SegmentBounds(NamedTuple):
    """Where stretches stand: words `firsts` to `lasts` (inclusive) of tracks."""

    tracks: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]


class Bones(NamedTuple):
    """How the bones of several tracks point, end to end."""

    values: BoneArray  # [steps, 20]
    offsets: NDArray[np.int64]  # [tracks + 1]


EMPTY = Segments(np.zeros((0, 1), np.uint8), np.zeros((0, 1), np.uint8), np.zeros(1, np.int64))


def unpack(volume: PackedWords) -> Segments:
    """A volume's tracks, each as one stretch."""
    channels = volume.words.shape[1]
    return Segments(volume.words, np.unpackbits(volume.seen, axis=1, count=channels), volume.offsets)


class WordStore:
    """All known tracks by number."""

    def __init__(self, vocabulary: int, model_id: str, volumes: Sequence[PackedWords] = ()) -> None:
        self.vocabulary, self._model_id = vocabulary, model_id
        self._writing = threading.Lock()
        self._held = _held(volumes)

    def __len__(self) -> int:
        return self._held.firsts[-1]

    @property
    def volumes(self) -> tuple[PackedWords, ...]:
        """What stands here now."""
        return self._held.volumes

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        arrays = [getattr(one, field.name) for one in self.volumes for field in fields(one)]
        return sum(array.nbytes for array in arrays)

    def add(self, fingerprints: Sequence[Fingerprint]) -> range:
        """Put tracks at the end; returns their numbers."""
        return self.put(pack_words(fingerprints)) if fingerprints else range(len(self), len(self))

    def put(self, fresh: PackedWords) -> range:
        """Put packed tracks at the end; returns their numbers."""
        with self._writing:
            first, volumes = len(self), list(self.volumes)
            # Joined with what is no longer than itself, so that a track is copied a logarithm of times.
            while volumes and len(volumes[-1]) <= 2 * len(fresh) and len(volumes[-1]) < VOLUME:
                fresh = volumes.pop().append(fresh)
            self._held = _held([*volumes, fresh])
            return range(first, len(self))

    def wholes(self, tracks: NDArray[np.integer]) -> SegmentBounds:
        """All of each track."""
        numbers = np.asarray(tracks, dtype=np.int64)
        held = self._held
        lasts = np.zeros_like(numbers)
        for volume, chosen, inside in _by_volume(held, numbers):
            lasts[chosen] = volume.offsets[inside + 1] - volume.offsets[inside] - 1
        return SegmentBounds(numbers, np.zeros_like(numbers), lasts)

    def fingerprint(self, track: int) -> Fingerprint:
        """One track as it was added, but for visibility: a word is seen or it is not."""
        volume, (first, end), number = self._place(track)
        start, seconds_per_word = volume.clocks[number]
        seen = np.unpackbits(volume.seen[first:end], axis=1, count=volume.words.shape[1])
        words = np.minimum(volume.words[first:end], self.vocabulary - 1)  # whatever a file holds
        return Fingerprint(
            words, self.vocabulary, float(seconds_per_word), self._model_id,
            float(start), seen.astype(np.float32), volume.bones[first:end],
        )  # fmt: skip

    def volume_of(self, tracks: NDArray[np.integer]) -> PackedWords:
        """Some of the tracks, at least one, copied."""
        numbers, held = np.asarray(tracks, dtype=np.int64), self._held
        words, seen, offsets = self.stretches(self.wholes(numbers))
        bones = self.bones(numbers).values
        clocks = np.zeros((len(numbers), 2))
        for volume, chosen, inside in _by_volume(held, numbers):
            clocks[chosen] = volume.clocks[inside]
        return PackedWords(words, np.packbits(seen, axis=1), offsets, clocks, bones)

    def bones(self, tracks: NDArray[np.integer]) -> "Bones":
        """How the bones of each track point, all of it."""
        numbers, held = np.asarray(tracks, dtype=np.int64), self._held
        lengths = self.wholes(numbers).lasts + 1
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        values = np.empty((offsets[-1], BONE_NUMBERS), np.int8)
        for volume, chosen, inside in _by_volume(held, numbers):
            for place, first in zip(chosen.tolist(), volume.offsets[inside].tolist(), strict=True):
                begin, end = offsets[place], offsets[place + 1]
                values[begin:end] = volume.bones[first : first + end - begin]
        return Bones(values, offsets)

    def stretches(self, placed: SegmentBounds) -> Segments:
        """The words of stretches."""
        held = self._held
        if not len(placed.tracks):
            return EMPTY
        offsets = np.concatenate([[0], np.cumsum(placed.lasts - placed.firsts + 1)])
        channels, kind = held.volumes[0].words.shape[1], held.volumes[0].words.dtype
        words, seen = np.empty((offsets[-1], channels), kind), np.empty((offsets[-1], channels), np.uint8)
        for volume, chosen, inside in _by_volume(held, placed.tracks):
            starts = volume.offsets[inside] + placed.firsts[chosen]
            _copy(volume.words, volume.seen, starts, chosen, offsets, self.vocabulary, words, seen)
        return Segments(words, seen, offsets)

    def _place(self, track: int) -> tuple[PackedWords, tuple[int, int], int]:
        volumes, firsts = self._held
        number = bisect_right(firsts, track) - 1
        volume = volumes[number]
        inside = track - firsts[number]
        return volume, (int(volume.offsets[inside]), int(volume.offsets[inside + 1])), inside


class _Held(NamedTuple):
    volumes: tuple[PackedWords, ...]
    firsts: list[int]  # each volume's first number, and the next one to be given


def _held(volumes: Sequence[PackedWords]) -> _Held:
    return _Held(tuple(volumes), list(accumulate(map(len, volumes), initial=0)))


def _by_volume(
    held: _Held, tracks: NDArray[np.int64]
) -> Iterator[tuple[PackedWords, NDArray[np.intp], NDArray[np.int64]]]:
    """Each volume that some of the tracks are in, which of them, and their numbers in it."""
    if len(held.volumes) == 1:
        yield held.volumes[0], np.arange(len(tracks)), tracks
        return
    numbers = np.searchsorted(held.firsts, tracks, side="right") - 1
    order = np.argsort(numbers, kind="stable")
    cuts = np.flatnonzero(np.diff(numbers[order])) + 1
    for chosen in np.split(order, cuts) if len(order) else ():
        number = int(numbers[chosen[0]])
        yield held.volumes[number], chosen, tracks[chosen] - held.firsts[number]


@njit(cache=True, nogil=True)
def _copy(words, seen, starts, chosen, offsets, vocabulary, to_words, to_seen):  # type: ignore[no-untyped-def]
    """Put stretches in their places, a byte for each bit of `seen`.

    A file may hold anything: a word beyond the vocabulary becomes its last, so that it harms no table.
    """
    most, channels, wide = words.dtype.type(vocabulary - 1), words.shape[1], seen.shape[1]
    source, target, bits = words.reshape(-1), to_words.reshape(-1), seen.reshape(-1)
    for number in range(len(chosen)):
        first, end = offsets[chosen[number]], offsets[chosen[number] + 1]
        ours, theirs = target[channels * first : channels * end], source[channels * starts[number] :]
        for at in range(len(ours)):
            ours[at] = min(theirs[at], most)
        shown = to_seen[first:end]
        shown[:] = 1  # as most are
        for byte in range(wide):
            count = min(8, channels - 8 * byte)
            everything = 256 - (256 >> count)
            for step in range(end - first):
                eight = bits[wide * (starts[number] + step) + byte]
                if eight != everything:
                    for bit in range(count):
                        shown[step, 8 * byte + bit] = (eight >> (7 - bit)) & 1
