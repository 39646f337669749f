"""The words of every known track, end to end: a million in memory or mapped from files.

Tracks are numbered in the order of their adding, and a number is never given twice. They lie in chunks that
do not change: a reader works on the chunks there were when it began, a writer replaces some by longer ones.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.tracks import PackedWords
from dancematch.types import BONE_NUMBERS, BoneArray, Fingerprint

CHUNK_TRACKS = 1 << 18  # a chunk of so many is not copied any more when tracks are added


class Segments(NamedTuple):
    """Words of several segments of tracks, end to end, as the kernels read them."""

    words: NDArray[Any]  # [steps, channels]
    seen: NDArray[np.uint8]  # [steps, channels] 1 = seen
    offsets: NDArray[np.int64]  # [segments + 1]

    def __len__(self) -> int:
        return len(self.offsets) - 1


class SegmentBounds(NamedTuple):
    """Segments by their place: words `firsts` to `lasts` (inclusive) of tracks."""

    tracks: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]

    def append(self, other: "SegmentBounds") -> "SegmentBounds":
        """Return both, one after the other."""
        return SegmentBounds(*map(np.concatenate, zip(self, other, strict=True)))


class Bones(NamedTuple):
    """The bone directions of several tracks, end to end."""

    values: BoneArray  # [steps, 20]
    offsets: NDArray[np.int64]  # [tracks + 1]


EMPTY = Segments(np.zeros((0, 1), np.uint8), np.zeros((0, 1), np.uint8), np.zeros(1, np.int64))
for _array in (EMPTY.words, EMPTY.offsets):  # as those of other segments: kernels are compiled for one kind
    _array.flags.writeable = False


def unpack_words(packed: PackedWords) -> Segments:
    """Return packed tracks, each as one segment."""
    channels = packed.words.shape[1]
    return Segments(packed.words, np.unpackbits(packed.seen, axis=1, count=channels), packed.offsets)


class WordStore:
    """All known tracks by number."""

    def __init__(self, vocabulary: int, model_id: str, chunks: Sequence[PackedWords] = ()) -> None:
        self.vocabulary, self._model_id = vocabulary, model_id
        self._writing = threading.Lock()
        self._chunks = _number_chunks(chunks)

    def __len__(self) -> int:
        return self._chunks.firsts[-1]

    @property
    def chunks(self) -> tuple[PackedWords, ...]:
        """All tracks, in some pieces."""
        return self._chunks.packed

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        arrays = [getattr(one, field.name) for one in self.chunks for field in fields(one)]
        return sum(array.nbytes for array in arrays)

    def append(self, packed: PackedWords) -> range:
        """Add tracks; returns their numbers."""
        with self._writing:
            first, chunks = len(self), list(self.chunks)
            # Joined with chunks of at most twice the size, so that a track is copied a logarithm of times.
            while chunks and len(chunks[-1]) <= 2 * len(packed) and len(chunks[-1]) < CHUNK_TRACKS:
                packed = chunks.pop().append(packed)
            self._chunks = _number_chunks([*chunks, packed])
            return range(first, len(self))

    def whole_tracks(self, tracks: NDArray[np.integer]) -> SegmentBounds:
        """Return the bounds of all of each track."""
        numbers = np.asarray(tracks, dtype=np.int64)
        chunks = self._chunks
        lasts = np.zeros_like(numbers)
        for chunk, chosen, inside in _by_chunk(chunks, numbers):
            lasts[chosen] = chunk.offsets[inside + 1] - chunk.offsets[inside] - 1
        return SegmentBounds(numbers, np.zeros_like(numbers), lasts)

    def read_track(self, track: int) -> Fingerprint:
        """Return one track as it was added, but for visibility: a word is seen or it is not."""
        packed, firsts = self._chunks
        place = bisect_right(firsts, track) - 1
        chunk, number = packed[place], track - firsts[place]
        first, end = chunk.offsets[number : number + 2].tolist()
        start, seconds_per_word = chunk.clocks[number]
        seen = np.unpackbits(chunk.seen[first:end], axis=1, count=chunk.words.shape[1])
        words = np.minimum(chunk.words[first:end], self.vocabulary - 1)  # a file may hold anything
        return Fingerprint(
            words, self.vocabulary, float(seconds_per_word), self._model_id,
            float(start), seen.astype(np.float32), chunk.bones[first:end],
        )  # fmt: skip

    def copy_tracks(self, tracks: NDArray[np.integer]) -> PackedWords:
        """Return some of the tracks, at least one, as arrays of their own."""
        numbers, chunks = np.asarray(tracks, dtype=np.int64), self._chunks
        words, seen, offsets = self.read_segments(self.whole_tracks(numbers))
        bones = self.read_bones(numbers).values
        clocks = np.zeros((len(numbers), 2))
        for chunk, chosen, inside in _by_chunk(chunks, numbers):
            clocks[chosen] = chunk.clocks[inside]
        return PackedWords(words, np.packbits(seen, axis=1), offsets, clocks, bones)

    def read_bones(self, tracks: NDArray[np.integer]) -> Bones:
        """Return the bone directions of whole tracks."""
        numbers, chunks = np.asarray(tracks, dtype=np.int64), self._chunks
        lengths = self.whole_tracks(numbers).lasts + 1
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        values = np.empty((offsets[-1], BONE_NUMBERS), np.int8)
        for chunk, chosen, inside in _by_chunk(chunks, numbers):
            _copy_bones(chunk.bones, chunk.offsets[inside], chosen, offsets, values)
        return Bones(values, offsets)

    def read_segments(self, bounds: SegmentBounds) -> Segments:
        """Return the words of segments."""
        chunks = self._chunks
        if not len(bounds.tracks):
            return EMPTY
        offsets = np.concatenate([[0], np.cumsum(bounds.lasts - bounds.firsts + 1)])
        channels, kind = chunks.packed[0].words.shape[1], chunks.packed[0].words.dtype
        words, seen = np.empty((offsets[-1], channels), kind), np.empty((offsets[-1], channels), np.uint8)
        for chunk, chosen, inside in _by_chunk(chunks, bounds.tracks):
            starts = chunk.offsets[inside] + bounds.firsts[chosen]
            _copy(chunk.words, chunk.seen, starts, chosen, offsets, self.vocabulary, words, seen)
        for array in (words, offsets):  # as a cohort's are: kernels are compiled for one kind
            array.flags.writeable = False
        return Segments(words, seen, offsets)


class _Chunks(NamedTuple):
    packed: tuple[PackedWords, ...]
    firsts: list[int]  # the number of each chunk's first track, and the next number to give


def _number_chunks(packed: Sequence[PackedWords]) -> _Chunks:
    return _Chunks(tuple(packed), list(accumulate(map(len, packed), initial=0)))


def _by_chunk(
    chunks: _Chunks, tracks: NDArray[np.int64]
) -> Iterator[tuple[PackedWords, NDArray[np.intp], NDArray[np.int64]]]:
    """Each chunk that holds some of the tracks, which of them, and their numbers in it."""
    if len(chunks.packed) == 1:
        yield chunks.packed[0], np.arange(len(tracks)), tracks
        return
    numbers = np.searchsorted(chunks.firsts, tracks, side="right") - 1
    order = np.argsort(numbers, kind="stable")
    cuts = np.flatnonzero(np.diff(numbers[order])) + 1
    for chosen in np.split(order, cuts) if len(order) else ():
        number = int(numbers[chosen[0]])
        yield chunks.packed[number], chosen, tracks[chosen] - chunks.firsts[number]


@kernel
def _copy(words, seen, starts, chosen, offsets, vocabulary, to_words, to_seen):  # type: ignore[no-untyped-def]
    """Copy segments to their places, one byte per bit of `seen`.

    A file may hold anything: a word beyond the vocabulary becomes its last, so that no table is read outside.
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


@kernel
def _copy_bones(bones, starts, chosen, offsets, values):  # type: ignore[no-untyped-def]
    """Copy the bones of tracks to their places."""
    numbers = bones.shape[1]
    source, target = bones.reshape(-1), values.reshape(-1)
    for number in range(len(chosen)):
        first, end = offsets[chosen[number]], offsets[chosen[number] + 1]
        ours, theirs = target[numbers * first : numbers * end], source[numbers * starts[number] :]
        for at in range(len(ours)):
            ours[at] = theirs[at]
