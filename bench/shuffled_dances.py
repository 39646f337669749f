"""Any number of dances in real words, for the other benches: segments of the background, shuffled.

As in stage1.py: segments of a few dances of the shipped background in another order, some words
replaced by those of others; `REPLACED` comes near to how many words two dances of AIST++ share.
8.8 seconds each: one entry per dance. The same number gives the same dance, more or less replaced.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from dancematch.model.tokeniser import load_background, load_model
from dancematch.search.engine import Engine, Query
from dancematch.tracks import PackedTracks, pack_stored_words
from dancematch.types import Codebook, Fingerprint

MODELS = {"parts": ("network", 256), "whole": ("floor-whole", 512)}
STEPS = 66
PIECE = 1 << 14
REPLACED = 0.2
QUERY_REPLACED = 0.25
SECONDS_PER_WORD = 4 / 30
MIRRORED = 1 << 40  # the mirrored variant of a clip is another dance, which is not entered


@njit(cache=True)
def shuffle_words(pool, vocabulary, first, count, steps, replaced):
    """Words [count, steps, channels]."""
    channels, segment, reach = pool.shape[1], 12, 200
    words = np.empty((count, steps, channels), np.uint16)
    for number in range(count):
        state = np.uint64(first + number + 1) * np.uint64(0x9E3779B97F4A7C15)
        start = dance = 0
        for step in range(steps):
            if step % segment == 0:
                state = _next(state)
                if step == 0:
                    dance = np.int64((state >> np.uint64(20)) % np.uint64(len(pool) - reach - segment))
                    state = _next(state)
                start = dance + np.int64((state >> np.uint64(20)) % np.uint64(reach))
            for channel in range(channels):
                state = _next(state)
                at = start + step % segment
                if np.float64(state & np.uint64(0xFFFF)) < replaced * 65536:
                    at = np.int64((state >> np.uint64(20)) % np.uint64(len(pool)))
                words[number, step, channel] = pool[at, channel] % vocabulary
    return words


@njit(cache=True)
def shuffle_bones(pool, first, count, steps):
    """Directions of bones, [count, steps, numbers]: segments of the pool in another order."""
    segment = 12
    bones = np.empty((count, steps, pool.shape[1]), np.int8)
    for number in range(count):
        state, start = np.uint64(first + number + 1) * np.uint64(0x9E3779B97F4A7C15), 0
        for step in range(steps):
            if step % segment == 0:
                state = _next(state)
                start = np.int64((state >> np.uint64(20)) % np.uint64(len(pool) - segment))
            bones[number, step] = pool[start + step % segment]
    return bones


@njit(cache=True)
def _next(state):
    """Marsaglia's xorshift: one random number of 64 bits after the other."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@dataclass(frozen=True)
class ShuffledDances:
    """Dances in one model's words."""

    codebook: Codebook
    background: list[Fingerprint]
    pool: np.ndarray
    bones: np.ndarray  # of the same dances as the pool

    def words(self, first: int, count: int, replaced: float = REPLACED) -> np.ndarray:
        """The words of dances by number: [count, steps, channels]."""
        return shuffle_words(self.pool, self.codebook.vocabulary, first, count, STEPS, replaced)

    def fingerprint(self, words: np.ndarray, bones: np.ndarray | None = None) -> Fingerprint:
        """One dance's words as the noun."""
        vocabulary, model_id = self.codebook.vocabulary, self.codebook.model_id
        return Fingerprint(words, vocabulary, SECONDS_PER_WORD, model_id, bones=bones)

    def pieces(self, count: int) -> Iterator[PackedTracks]:
        """The first so many dances, packed, some at a time."""
        for first in range(0, count, PIECE):
            yield self.tracks(first, min(PIECE, count - first))

    def tracks(self, first: int, size: int) -> PackedTracks:
        """Some dances, packed."""
        names = [f"dance {number}" for number in range(first, first + size)]
        return self._pack(
            first, names, self.words(first, size), shuffle_bones(self.bones, first, size, STEPS)
        )

    def recordings(self, number: int, first_key: int, count: int) -> PackedTracks:
        """So many recordings of one dance, more and less replaced, packed."""
        shares = np.linspace(0.5, 1.5, count) * REPLACED
        words = np.concatenate([self.words(number, 1, share) for share in shares.tolist()])
        bones = np.repeat(shuffle_bones(self.bones, number, 1, STEPS), count, axis=0)
        return self._pack(first_key, [f"dance {number}"] * count, words, bones)

    def _pack(self, first: int, names: list[str], words: np.ndarray, bones: np.ndarray) -> PackedTracks:
        """Words and bones, [tracks, steps, ...] each, with keys from `first` on."""
        size, vocabulary = len(names), self.codebook.vocabulary
        words, bones = words.reshape(size * STEPS, -1), bones.reshape(size * STEPS, -1)
        clocks = np.tile([0.0, SECONDS_PER_WORD], (size, 1))
        seen = np.full(words.shape, 255, np.uint8)
        packed = pack_stored_words(words, seen, np.full(size, STEPS), clocks, bones, vocabulary)
        unlabelled: Sequence[tuple[str, ...]] = [()] * size
        nothing: Sequence[str | None] = [None] * size
        periods = np.full(size, np.nan, np.float32)
        ones = np.ones(size, np.int64)
        keys = np.arange(first, first + size)
        return PackedTracks(keys, names, ones, unlabelled, nothing, periods, keys, packed)

    def engine(self) -> Engine:
        """An engine without dances."""
        return Engine(self.codebook, background=self.background)

    def query(self, number: int, words: int, begin: int = 0) -> list[Query]:
        """A clip of a dance, as seen and mirrored."""
        part = slice(begin, begin + words)
        own, other = (
            self.fingerprint(
                self.words(n, 1, QUERY_REPLACED)[0, part], shuffle_bones(self.bones, n, 1, STEPS)[0, part]
            )
            for n in (number, number + MIRRORED)
        )
        return [Query(own), Query(other, mirrored=True)]


def load_shuffled_dances(words: str) -> ShuffledDances:
    """Dances in the words of a shipped model; those of the whole body are folded into 512."""
    name, vocabulary = MODELS[words]
    model = load_model(name)
    book = model.codebook
    folded = Codebook(
        book.model_id,
        book.channels,
        book.vectors[:, :vocabulary],
        book.similarity[:, :vocabulary, :vocabulary],
    )
    background = [
        Fingerprint(one.words % vocabulary, vocabulary, one.seconds_per_word, one.model_id, bones=one.bones)
        for one in load_background(model, name)
    ]
    pools = (np.concatenate(arrays) for arrays in zip(*((b.words, b.bones) for b in background), strict=True))
    return ShuffledDances(folded, background, *pools)
