"""Stage one at scale: the word histograms of a million entries, searched exactly and from memory.

The scores are those of `histogram.py`, from columns that entries are added to and removed from. Entries lie
in immutable blocks (`blocks.py`). A reader works on one snapshot, a tuple of blocks; a writer replaces it.
Small blocks at the end are joined, each with one of about its size, so that adding an entry costs little.

A word's idf, and with it every norm, depends on all entries. The first query after a change computes both, by
correcting those before the change (`norms.py`): the scores are always those of columns freshly built of the
same entries, to the last bit. Adding costs none of it. Where these entries are those of one shard, the usage
of all shards decides instead (`weigh_among`).
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dancematch.errors import InputError, ModelMismatchError
from dancematch.search.stage1 import blocks as block_parts
from dancematch.search.stage1.blocks import ROWS, EntryBlock, freeze
from dancematch.search.stage1.columns_cache import Contents, load_folder, save_folder
from dancematch.search.stage1.histogram import (
    DEFAULT_WEIGHTING,
    Weighting,
    count_codes,
    require_weighting,
    word_counts,
)
from dancematch.search.stage1.norms import Weights
from dancematch.search.stage1.scan import QueryCells
from dancematch.search.stage1.snapshot import Snapshot
from dancematch.search.stage1.top_entries import (
    OpenBlock,
    ReadWords,
    Scanned,
    TopEntries,
    find_top,
    score_all,
)
from dancematch.search.words.word_usage import DocumentFrequencies
from dancematch.types import Fingerprint, FloatArray

DEAD_SHARE = 0.25  # of a block's entries; above it the block is rebuilt without them


class HistogramColumns:
    """The word counts of entries by column; entries may be added and removed while others search."""

    def __init__(
        self,
        channels: int,
        vocabulary: int,
        weighting: Weighting = DEFAULT_WEIGHTING,
        *,
        model_id: str = "",
    ) -> None:
        if channels < 1 or vocabulary < 1:
            raise InputError(f"columns need channels and words, got {channels} and {vocabulary}")
        self.channels, self.vocabulary, self.model_id = channels, vocabulary, model_id
        self.weighting = require_weighting(weighting)
        self._writing = threading.Lock()
        self._next_id = 0
        self._snapshot = self._showing(())

    def _showing(self, blocks: tuple[EntryBlock, ...], stored: Weights | None = None) -> Snapshot:
        return Snapshot(blocks, self.channels, self.channels * self.vocabulary, self.weighting, stored)

    def _show(self, blocks: Sequence[EntryBlock]) -> None:
        """Replace the snapshot."""
        self._snapshot = replace(self._showing(tuple(blocks)), earlier=self._snapshot.latest)

    def __len__(self) -> int:
        return self._snapshot.entries

    @property
    def next_id(self) -> int:
        """The number of the next entry."""
        return self._next_id

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of all entries, rising."""
        blocks = self._snapshot.blocks
        return np.concatenate([np.zeros(0, np.int64), *(block.ids[block.alive] for block in blocks)])

    @property
    def nbytes(self) -> int:
        """Memory of all arrays, with the norms that queries need."""
        return sum(block.nbytes + norms.nbytes for block, norms in self._snapshot.parts())

    def word_totals(self) -> NDArray[np.int64]:
        """Return about how often each word comes in all entries, of all shards: [channels, words].

        In units of its own; damped counts are the largest that are counted.
        """
        snapshot = self._snapshot
        usage = snapshot.among or snapshot.usage
        return np.asarray(usage.totals.reshape(self.channels, self.vocabulary))

    def idf(self) -> FloatArray:
        """Return the idf of each word: [channels, words]."""
        return np.asarray(self._snapshot.weights.idf.reshape(self.channels, self.vocabulary))

    def usage(self) -> DocumentFrequencies:
        """Return how often the entries here have each word."""
        return self._snapshot.usage

    def weigh_among(self, usage: DocumentFrequencies) -> None:
        """Take the idf from the usage of all shards, of which this is one; until the next change."""
        with self._writing:
            snapshot = self._snapshot
            self._snapshot = replace(snapshot, stored=None, among=usage, earlier=snapshot.latest)

    def append(self, counts: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Add entries [n, channels, words]; returns their numbers, none of which is ever given twice."""
        wanted = (self.channels, self.vocabulary)
        if counts.dtype != np.uint8 or counts.ndim != 3 or counts.shape[1:] != wanted:
            raise InputError(
                f"counts must be bytes [entries, {wanted[0]}, {wanted[1]}], "
                f"got {counts.dtype} {list(counts.shape)}"
            )
        flat = count_codes(self.weighting)[counts].reshape(len(counts), self.channels * self.vocabulary)
        with self._writing:
            ids = np.arange(self._next_id, self._next_id + len(counts))
            blocks = list(self._snapshot.blocks)
            for first in range(0, len(counts), ROWS):
                part = slice(first, first + ROWS)
                _push(blocks, block_parts.encode(flat[part], ids[part].copy()))
            self._next_id += len(counts)
            self._show(blocks)
        return ids

    def append_words(
        self,
        words: NDArray[Any],
        seen: NDArray[np.uint8],
        firsts: NDArray[np.int64],
        lasts: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Add segments of words [steps, channels], from first to last step; `seen`: one bit per channel."""
        with self._writing:
            ids = np.arange(self._next_id, self._next_id + len(firsts))
            blocks, codes = list(self._snapshot.blocks), count_codes(self.weighting)
            for first in range(0, len(firsts), ROWS):
                part = slice(first, first + ROWS)
                bounds = (firsts[part], lasts[part], self.vocabulary)
                _push(blocks, block_parts.encode_words(words, seen, bounds, ids[part].copy(), codes))
            self._next_id += len(firsts)
            self._show(blocks)
        return ids

    def append_fingerprints(self, fingerprints: Sequence[Fingerprint]) -> NDArray[np.int64]:
        """Add entries by their words."""
        for fingerprint in fingerprints:
            if self.model_id and fingerprint.model_id != self.model_id:
                raise ModelMismatchError(
                    f"these words are of the model {fingerprint.model_id}, expected {self.model_id}; "
                    f"put the dance into words of this model"
                )
        none = np.zeros((0, self.channels, self.vocabulary), np.uint8)
        counts = [word_counts(fingerprint) for fingerprint in fingerprints]
        return self.append(np.stack(counts) if counts else none)

    def delete(self, rows: Iterable[int]) -> None:
        """Remove entries by their numbers: all of them, or none if one is not there."""
        with self._writing:
            snapshot = self._snapshot
            doomed: dict[int, list[int]] = {}
            for row in set(rows):
                number, place = snapshot.find(row)
                doomed.setdefault(number, []).append(place)
            blocks: list[EntryBlock] = []
            for number, block in enumerate(snapshot.blocks):
                _push(blocks, _thin(block, doomed[number]) if number in doomed else block)
            self._show(blocks)

    def top(self, query: ArrayLike, seen: ArrayLike, size: int) -> TopEntries:
        """Return the entries most similar to a query's counts [channels, words], exactly.

        `seen` says how much the query shows of each channel (`channels_seen`); the score is
        `combine_channels` of the cosines. The counts may be in parts.
        """
        return self.top_of_each([query], [seen], size)[0]

    def top_of_each(
        self,
        queries: Sequence[ArrayLike],
        seen: Sequence[ArrayLike],
        size: int,
        among: NDArray[np.bool_] | None = None,
        read_words: ReadWords | None = None,
    ) -> list[TopEntries]:
        """Return `top` for several queries at once, all of one snapshot.

        `among` says of each number whether its entry may be found; one that it does not reach may not. With
        `read_words` the best are scored from their words, which is faster and the same.
        """
        if size < 1:
            raise InputError(f"at least one entry must be asked for, got {size}")
        snapshot = self._snapshot
        query_cells = [
            self._query_cells(snapshot, query, shown) for query, shown in zip(queries, seen, strict=True)
        ]
        blocks = [OpenBlock(block, norms, _open(block, among)) for block, norms in snapshot.parts()]
        kept = min(size, max(1, snapshot.entries))
        cells = self.channels, self.vocabulary
        return find_top(Scanned(blocks, query_cells, cells, count_codes(self.weighting), read_words), kept)

    def scores(self, query: ArrayLike, seen: ArrayLike) -> TopEntries:
        """Return the score of every entry, in the order of their numbers."""
        snapshot = self._snapshot
        blocks = [OpenBlock(block, norms, block.alive) for block, norms in snapshot.parts()]
        return score_all(blocks, self._query_cells(snapshot, query, seen))

    def _query_cells(self, snapshot: Snapshot, query: ArrayLike, seen: ArrayLike) -> QueryCells:
        counts, shown = np.asarray(query), np.asarray(seen, np.float32)
        if counts.shape != (self.channels, self.vocabulary) or shown.shape != (self.channels,):
            raise InputError(
                f"a query needs counts [{self.channels}, {self.vocabulary}] and {self.channels} shares, "
                f"got {list(counts.shape)} and {list(shown.shape)}"
            )
        if not all(np.isfinite(values).all() and (values >= 0).all() for values in (counts, shown)):
            raise InputError("a query's counts and shares must be finite and not below 0")
        return snapshot.query_cells(counts, shown)

    def contents(self, stamp: str) -> Contents:
        """Return everything, as the index cache holds it under `stamp`."""
        with self._writing:
            snapshot, next_id = self._snapshot, self._next_id
        about = {
            "channels": self.channels,
            "vocabulary": self.vocabulary,
            "weighting": self.weighting,
            "model_id": self.model_id,
            "stamp": stamp,
            "next_id": next_id,
        }
        return Contents(about, snapshot.blocks, snapshot.weights)

    def save(self, folder: str | Path, stamp: str) -> None:
        """Write a folder, in place of an earlier one; all of it or nothing. `load` asks for the `stamp`."""
        save_folder(Path(folder), self.contents(stamp))

    @classmethod
    def load(cls, folder: str | Path, stamp: str) -> Self | None:
        """Return the columns with this stamp, left on disk and mapped; None if there are none."""
        contents = load_folder(Path(folder), stamp)
        if contents is None:
            return None
        about = contents.about
        try:
            made = cls(about["channels"], about["vocabulary"], about["weighting"], model_id=about["model_id"])
        except InputError:
            return None
        made._next_id = about["next_id"]
        made._snapshot = made._showing(contents.blocks, contents.weights)
        return made


def _push(blocks: list[EntryBlock], block: EntryBlock) -> None:
    """Append a block, joined with the small ones before it that fit into one with it."""
    while blocks and len(blocks[-1]) <= 2 * len(block) and len(blocks[-1]) + len(block) <= ROWS:
        block = block_parts.join(blocks.pop(), block)
    if len(block):
        blocks.append(block)


def _thin(block: EntryBlock, places: list[int]) -> EntryBlock:
    block = block.without(np.array(places))
    return block_parts.compact(block) if block.living < (1 - DEAD_SHARE) * len(block) else block


def _open(block: EntryBlock, among: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Which of a block's entries are not deleted and may be found."""
    if among is None:
        return block.alive
    reached = block.ids < len(among)
    return freeze(block.alive & reached & among[np.where(reached, block.ids, 0)])
