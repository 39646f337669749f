"""Which tracks of a large catalogue move like the query: descriptors in an approximate index, and votes.

Each descriptor of the query (`descriptors.py`) finds the most similar ones of all tracks, in an inverted file
with product quantisation (faiss, the extra `scale`). A hit votes for one track and one time lag; hits that
agree on both add up, as in audio fingerprinting.

The index is built once there are too many tracks for the exact pass (`coarse_synchrony.py`), which takes
minutes and is done beside searches; from then on tracks are added as they come. Removed tracks stay in it
until it is built again and must be left out of what it finds. faiss is not searched while tracks are added.
"""

import math
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.search.kernels.kernel import kernel
from dancematch.search.stage1.descriptors import (
    DIMENSIONS,
    HOP,
    LENGTH,
    QUERY_HOP,
    Descriptors,
    describe_tracks,
)
from dancematch.search.thread_pool import thread_count
from dancematch.search.words.word_store import Bones
from dancematch.tracks import PackedWords
from dancematch.types import BoneArray, FloatArray

CODE_PARTS = 30  # of a descriptor, four bits each
CELL_DESCRIPTORS = 4096  # per cell of the inverted file, about
SAMPLED = 64  # descriptors per cell that the index is trained on
PROBED = 24  # cells that a descriptor of the query is compared with
NEIGHBOURS = 256  # hits of each
MOST_DESCRIPTORS = 64  # of one variant of the query
LAG_STEPS = 3  # that lags of one alignment may differ by
FLOOR = 0.3  # similarity from which a hit counts
_STEP_BITS = 16  # of an id: the descriptor's first step; the rest is the track
_PIECE = 1 << 13  # tracks that are described at once
_FEWEST = 1000  # descriptors that are worth an index


class DescriptorVotes(NamedTuple):
    """Tracks that were voted for, best first; equal ones in the order of their numbers."""

    tracks: NDArray[np.int64]
    offsets: NDArray[np.int64]  # steps of the track at which the query begins, may be negative
    scores: FloatArray


def can_index() -> bool:
    """Return whether faiss is installed."""
    return find_spec("faiss") is not None


class DescriptorIndex:
    """The descriptors of all tracks; empty until it is built."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: Any = None  # faiss.IndexIVF
        self.trained = 0  # tracks there were when it was built, or too few of them moved

    @property
    def ready(self) -> bool:
        """Whether it can be searched."""
        return self._index is not None

    @property
    def descriptors(self) -> int:
        """How many it holds."""
        return int(self._index.ntotal) if self.ready else 0

    def build(self, chunks: Sequence[PackedWords]) -> "DescriptorIndex":
        """Return a new index of all tracks of the chunks, in their order."""
        made, sample = DescriptorIndex(), _draw_sample(chunks)
        made.trained = sum(map(len, chunks))
        if len(sample) < _FEWEST:
            return made
        made._index = _train(sample, sum(_count(chunk) for chunk in chunks))
        first = 0
        for chunk in chunks:
            made.add(chunk, first)
            first += len(chunk)
        return made

    def add(self, packed: PackedWords, first: int) -> None:
        """Add tracks, numbered from `first` on; nothing if it is not built."""
        if not self.ready:
            return
        for begin in range(0, len(packed), _PIECE):
            found = _describe_some(packed, begin, min(begin + _PIECE, len(packed)))
            kept = found.firsts < 1 << _STEP_BITS
            ids = ((found.tracks + first + begin) << _STEP_BITS) + found.firsts
            if kept.any():
                with self._lock:
                    self._index.add_with_ids(found.values[kept], ids[kept])

    def take(self, other: "DescriptorIndex") -> None:
        """Become the other index."""
        with self._lock:
            self._index, self.trained = other._index, other.trained

    def search(self, queries: Sequence[BoneArray]) -> list[DescriptorVotes]:
        """Return what the descriptors of each variant of a query vote for."""
        described = [describe_query(bones) for bones in queries]
        values = np.concatenate([one.values for one in described])
        if not self.ready or not len(values):
            return [_no_votes() for _ in queries]
        similar, ids = self._nearest(values)
        ends = np.cumsum([len(one.values) for one in described])
        hits = zip(described, np.split(similar, ends[:-1]), np.split(ids, ends[:-1]), strict=True)
        return [count_votes(one.firsts, values, found) for one, values, found in hits]

    def _nearest(self, values: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
        import faiss

        with self._lock:
            faiss.omp_set_num_threads(thread_count())
            found: tuple[FloatArray, NDArray[np.int64]] = self._index.search(values, NEIGHBOURS)
        return found

    def pack(self) -> NDArray[np.uint8]:
        """Return the index as bytes; none if it is not built."""
        if not self.ready:
            return np.zeros(0, np.uint8)
        import faiss

        with self._lock:
            packed: NDArray[np.uint8] = faiss.serialize_index(self._index)
        return packed

    @classmethod
    def unpack(cls, packed: NDArray[np.uint8], trained: int) -> "DescriptorIndex":
        """Return the index of `pack`; an empty one where faiss is not installed."""
        made = cls()
        if len(packed) and can_index():
            import faiss

            made._index, made.trained = faiss.deserialize_index(np.array(packed)), trained
        return made


def describe_query(bones: BoneArray) -> Descriptors:
    """Return the descriptors of one variant of a query, so many at most.

    The hop is odd: one descriptor in eight then begins at the very step at which one of the track's does.
    """
    hop = max(QUERY_HOP, -(-(len(bones) - LENGTH) // MOST_DESCRIPTORS) | 1)
    return describe_tracks(Bones(bones, np.array([0, len(bones)])), hop)


def count_votes(firsts: NDArray[np.int64], similar: FloatArray, ids: NDArray[np.int64]) -> DescriptorVotes:
    """Return the votes of hits [descriptors, neighbours]; an id below 0 is none.

    A track has the best sum of any lag, over its own descriptors that were hit: how far each is beyond
    `FLOOR`, squared.
    """
    hit = (ids >= 0) & (similar > FLOOR)
    if not hit.any():
        return _no_votes()
    tracks, steps = ids[hit] >> _STEP_BITS, ids[hit] & ((1 << _STEP_BITS) - 1)
    lags = steps - np.broadcast_to(firsts[:, None], ids.shape)[hit]
    order = np.lexsort((steps, lags, tracks))
    weights = (similar[hit][order] - np.float32(FLOOR)) ** 2
    begins = np.flatnonzero(np.diff(tracks[order], prepend=-1))
    bounds = np.append(begins, len(order))
    offsets, scores = _best_lags(lags[order], steps[order], weights, bounds)
    voted = tracks[order][begins]
    best = np.lexsort((voted, -scores))
    return DescriptorVotes(voted[best], offsets[best], scores[best])


def _no_votes() -> DescriptorVotes:
    return DescriptorVotes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))


def _count(packed: PackedWords) -> int:
    return int(np.maximum((np.diff(packed.offsets) - LENGTH) // HOP + 1, 0).sum())


def _describe_some(packed: PackedWords, begin: int, end: int) -> Descriptors:
    bounds = packed.offsets[begin : end + 1]
    return describe_tracks(Bones(packed.bones[bounds[0] : bounds[-1]], bounds - bounds[0]), HOP)


def _cells(descriptors: int) -> int:
    return max(16, 1 << round(math.log2(max(1, descriptors / CELL_DESCRIPTORS))))


def _draw_sample(chunks: Sequence[PackedWords]) -> FloatArray:
    """Descriptors of tracks all over the chunks, as many as training takes."""
    wanted = SAMPLED * _cells(sum(map(_count, chunks)))
    each = max(1, sum(map(_count, chunks)) // max(1, wanted))
    rng, parts = np.random.default_rng(0), [np.zeros((0, DIMENSIONS), np.float32)]
    for chunk in chunks:
        for begin in range(0, len(chunk), _PIECE):
            # Whole tracks, some in a row: reading one here and one there costs as much as reading all.
            end = min(begin + _PIECE, len(chunk))
            start = int(rng.integers(begin, max(begin + 1, end - (end - begin) // each + 1)))
            parts.append(_describe_some(chunk, start, min(end, start + max(1, (end - begin) // each))).values)
    return np.concatenate(parts)


def _train(sample: FloatArray, descriptors: int) -> Any:
    import faiss

    cells = min(_cells(descriptors), max(1, len(sample) // 39))  # faiss wants 39 per cell
    index: Any = faiss.index_factory(DIMENSIONS, f"IVF{cells},PQ{CODE_PARTS}x4fs", faiss.METRIC_INNER_PRODUCT)
    index.nprobe = PROBED
    index.train(sample)
    return index


@kernel
def _best_lags(lags, steps, weights, bounds):  # type: ignore[no-untyped-def]
    """The lag with the largest sum per track, and the sum; hits are sorted by track and lag."""
    offsets = np.zeros(len(bounds) - 1, np.int64)
    scores = np.zeros(len(bounds) - 1, np.float32)
    for track in range(len(bounds) - 1):
        first, end = bounds[track], bounds[track + 1]
        for anchor in range(first, end):
            total = np.float32(0)
            last = anchor
            while last < end and lags[last] <= lags[anchor] + LAG_STEPS:
                best = True  # of the hits at its step, the first where equal
                other = anchor
                while best and other < end and lags[other] <= lags[anchor] + LAG_STEPS:
                    same = steps[other] == steps[last]
                    if same and (
                        weights[other] > weights[last] or (weights[other] == weights[last] and other < last)
                    ):
                        best = False
                    other += 1
                if best:
                    total += weights[last]
                last += 1
            if total > scores[track]:
                scores[track], offsets[track] = total, lags[anchor] + LAG_STEPS // 2
    return offsets, scores
