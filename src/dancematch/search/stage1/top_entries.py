"""The entries of all blocks with the highest scores, exactly, from upper bounds (`bounds.py`).

Somewhat more entries than are asked for are kept by their bounds, and scored. No other entry has a higher
bound than the lowest of theirs; if that is below the last score that is asked for, the best are among them.
Otherwise more are kept. Where bounds are worth nothing, because sixteen bits are too few for the query or
because nearly all entries are asked for, every entry is scored.

Entries are scored from their words, where these can be read: in the columns of a block the counts of one
entry lie far apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.search import thread_pool
from dancematch.search.stage1.blocks import EntryBlock
from dancematch.search.stage1.bounds import can_bound, round_up_weights, search_bounds
from dancematch.search.stage1.norms import Norms
from dancematch.search.stage1.scan import PLACES, QueryCells, score, score_places, score_words, spread_weights
from dancematch.search.words.word_store import Segments
from dancematch.types import FloatArray

BLOCKS_PER_THREAD = 4  # fewer are not worth another thread
_MARGIN = 4  # one in so many more is kept by its bound than is asked for
_WIDENING = 4  # times as many are kept where that was too few


class TopEntries(NamedTuple):
    """The most similar entries, best first; equal ones in the order of their numbers."""

    rows: NDArray[np.int64]
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class OpenBlock:
    """A block with its norms, and which of its entries may be found: [N]."""

    block: EntryBlock
    norms: Norms
    open: NDArray[np.bool_]


# The entries, by number, whose words can be read: [rows]; and these words.
ReadWords = Callable[[NDArray[np.int64]], tuple[NDArray[np.bool_], Segments]]


@dataclass(frozen=True, eq=False)
class Scanned:
    """What one search goes through."""

    blocks: Sequence[OpenBlock]
    queries: Sequence[QueryCells]
    cells: tuple[int, int]  # channels, and words per channel
    codes: NDArray[np.uint8]  # [256] of counts, rising
    read_words: ReadWords | None = None

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The position of each block's first entry, and their number."""
        return np.cumsum([0, *(len(one.block) for one in self.blocks)])

    @property
    def can_bound(self) -> bool:
        """Whether sixteen bits are enough for every query."""
        return all(can_bound(query, int(self.codes[-1])) for query in self.queries)


class _Kept(NamedTuple):
    """The entries with the highest bounds for one query, and the lowest of these bounds."""

    positions: NDArray[np.int64]  # rising, counted over all blocks
    least: float  # -inf if they are all


def find_top(scanned: Scanned, size: int) -> list[TopEntries]:
    """Return the `size` entries most similar to each query."""
    kept = size + size // _MARGIN + _MARGIN
    while kept < scanned.starts[-1] and scanned.can_bound:
        bounded = _highest_bounds(scanned, kept)
        tasks = list(zip(scanned.queries, bounded, strict=True))
        found = thread_pool.parallel_map(lambda task: _score_kept(scanned, *task), tasks)
        tops = [_best(one, size) for one in found]
        if all(_is_certain(top, one, size) for top, one in zip(tops, bounded, strict=True)):
            return tops
        kept *= _WIDENING
    return [_best(score_all(scanned.blocks, query), size) for query in scanned.queries]


def score_all(blocks: Sequence[OpenBlock], query: QueryCells) -> TopEntries:
    """Return the score of every entry that may be found, in the order of their numbers."""
    sums = np.zeros(PLACES, np.int32)
    ids, scores = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    for one in blocks:
        ids.append(one.block.ids[one.open])
        scores.append(score(_known(one), query, sums)[one.open])
    return TopEntries(np.concatenate(ids), np.concatenate(scores))


def _known(one: OpenBlock) -> tuple[object, ...]:
    return one.block.occurrences, one.norms.inverse, one.norms.complete


def _highest_bounds(scanned: Scanned, size: int) -> list[_Kept]:
    """Each query's entries with the highest bounds; blocks, or else queries, are dealt out to the threads."""
    threads, blocks = thread_pool.thread_count(), scanned.blocks
    shares = max(1, min(threads, len(blocks) // BLOCKS_PER_THREAD))
    groups = min(len(scanned.queries), max(1, threads // shares))

    def search(task: tuple[int, int]) -> tuple[FloatArray, NDArray[np.int64]]:
        group, share = task
        cells = round_up_weights(scanned.queries[group::groups], int(scanned.codes[-1]))
        shape = len(cells[2]), size
        best = np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int64)
        sums = np.zeros(PLACES, np.uint16)
        for number in range(share, len(blocks), shares):
            one, start = blocks[number], int(scanned.starts[number])
            known = one.block.occurrences, one.norms.coarse, one.norms.complete
            search_bounds(known, cells, sums, (one.open, start), best)
        return best

    tasks = [(group, share) for group in range(groups) for share in range(shares)]
    found = dict(zip(tasks, thread_pool.parallel_map(search, tasks), strict=True))
    return [
        _merge([[part[number // groups] for part in found[number % groups, s]] for s in range(shares)], size)
        for number in range(len(scanned.queries))
    ]


def _merge(parts: Sequence[Sequence[NDArray[Any]]], size: int) -> _Kept:
    """The highest of the bounds, with their positions, that threads found in different blocks."""
    bounds, positions = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.lexsort((positions, -bounds))[:size]
    if positions[order[-1]] < 0:
        return _Kept(np.sort(positions[positions >= 0]), -np.inf)
    return _Kept(np.sort(positions[order]), float(bounds[order[-1]]))


def _score_kept(scanned: Scanned, query: QueryCells, kept: _Kept) -> TopEntries:
    """The scores of what one query kept, from words as far as these can be read."""
    blocks, starts, positions = scanned.blocks, scanned.starts, kept.positions
    numbers = np.searchsorted(starts, positions, side="right") - 1
    places, scores = positions - starts[numbers], np.zeros(len(positions), np.float32)
    cuts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    parts = [(int(numbers[at]), slice(at, end)) for at, end in pairwise([*cuts, len(numbers)])]
    rows = np.concatenate([np.zeros(0, np.int64), *(blocks[n].block.ids[places[own]] for n, own in parts)])
    readable = np.zeros(len(rows), np.bool_)
    if scanned.read_words is not None and len(rows):
        inverse = np.concatenate([blocks[n].norms.inverse.T[places[own]] for n, own in parts])  # [rows, C]
        readable, words = scanned.read_words(rows)
        weights = spread_weights(query, scanned.cells)
        scores[readable] = score_words(tuple(words), query, weights, scanned.codes, inverse[readable])
    sums = np.zeros(PLACES, np.int32)
    for number, own in parts:
        left = np.flatnonzero(~readable[own]) + own.start
        if len(left):
            scores[left] = score_places(_known(blocks[number]), query, places[left], sums)
    return TopEntries(rows, scores)


def _is_certain(top: TopEntries, kept: _Kept, size: int) -> bool:
    """Whether no entry that was not kept can be among the best; an equal one could by its number."""
    return kept.least == -np.inf or (len(top.scores) == size and kept.least < float(top.scores[-1]))


def _best(found: TopEntries, size: int) -> TopEntries:
    order = np.lexsort((found.rows, -found.scores))[:size]
    return TopEntries(found.rows[order], found.scores[order])
