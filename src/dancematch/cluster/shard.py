"""One shard of a catalogue, ready to be searched: what one node of the cluster holds.

It scores its entries as if it held the whole catalogue: `sharded_search.py` hands it what depends on all
entries. No Ray in here.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.catalogue.records import Changes, ShardOf
from dancematch.catalogue.sql.database import State
from dancematch.catalogue.store import Store
from dancematch.cluster.entry_numbers import BACKGROUND_KEY, IntArray, number_entries, split_numbers
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.search.engine import Engine
from dancematch.search.settings import ALL_DANCES, RECORDINGS_PER_DANCE, DanceFilter
from dancematch.search.stage1.postings import Tally
from dancematch.search.stage1.shortlist import IndexSize, LocalCandidates, ProposedSegments, RankedEntries
from dancematch.search.stage2.variant import Variant
from dancematch.search.words.entries import BACKGROUND_TRACK
from dancematch.search.words.word_store import SegmentBounds
from dancematch.search.words.word_usage import DocumentFrequencies
from dancematch.tracks import PackedWords
from dancematch.types import Codebook, Fingerprint


class StaleError(Exception):
    """The shard is not at the state of the catalogue that the search is about."""


@dataclass(frozen=True)
class CatalogueSource:
    """Where a catalogue is, and the model of its words."""

    where: str
    codebook: Codebook
    background: Sequence[Fingerprint]


class ShardReport(NamedTuple):
    """What a shard holds."""

    state: State
    usage: DocumentFrequencies
    index_size: IndexSize


@dataclass(frozen=True)
class ShardQuery:
    """A search as it is sent to all shards, at one state of the catalogue."""

    state: State
    variants: Sequence[Fingerprint]
    only: DanceFilter
    per_dance: int | None  # recordings of one dance on the shortlist, at most


class ShardCandidates(NamedTuple):
    """What a shard proposes, and how often the query's trigrams occur in it; one item per variant."""

    ranked: list[RankedEntries]
    tallies: list[Tally]


class ShardCounts(NamedTuple):
    """How many recordings of a shard the shortlist may take, and how many dances the search covers."""

    allowed: int
    searched: int


class FetchedTracks(NamedTuple):
    """Some tracks, and segments of them."""

    packed_words: PackedWords
    names: list[str]  # of each track's dance
    facts: NDArray[Any]  # of each track: `entries.FACTS`
    bounds: SegmentBounds  # tracks by their place in `packed_words`


class Shard:
    """One shard; opened by the first call."""

    def __init__(self, source: CatalogueSource, shard: ShardOf) -> None:
        self._source, self._shard = source, shard
        self._cached_engine: CachedEngine | None = None
        self._invalidate()

    def _invalidate(self) -> None:
        """Drop what was derived from the entries."""
        self._state: State | None = None  # that searches are prepared for
        # By number: the smallest key of the tracks. In one process, numbers are in that order.
        self._dances = np.zeros(0, np.int64)
        self._recordings = np.zeros(0, np.int64)

    def _open(self) -> CachedEngine:
        if self._cached_engine is None:
            source = self._source
            store = Store(source.where, source.codebook.model_id, create=False)
            # Entered in one shard only: they are entries like others.
            background = source.background if self._shard.number == 0 else ()
            self._cached_engine = CachedEngine(store, source.codebook, background, self._shard)
            self._cached_engine.current()
        return self._cached_engine

    @property
    def _engine(self) -> Engine:
        return self._open().latest()

    @staticmethod
    def process() -> int:
        """The number of the process that holds the shard."""
        return os.getpid()

    def report(self) -> ShardReport:
        """What the shard holds."""
        engine, entries = self._engine, self._engine.index.entries
        allowed = entries.recordings_among(entries.allowed(ALL_DANCES), ALL_DANCES, RECORDINGS_PER_DANCE)
        index_size = IndexSize(
            len(engine.index.columns), len(entries.background), entries.dances, entries.recordings,
            allowed, entries.tracks_count,
        )  # fmt: skip
        return ShardReport(self._open().state, engine.usage(), index_size)

    def apply_changes(self, changes: Changes) -> ShardReport:
        """Apply changes of the catalogue; some may have been applied before."""
        self._invalidate()
        self._open().follow(changes)
        return self.report()

    def prepare(self, state: State, usage: DocumentFrequencies) -> None:
        """Prepare for searches at a state, with the word usage of all shards."""
        if self._open().state != state:
            raise StaleError
        engine, entries = self._engine, self._engine.index.entries
        engine.weigh_among(usage)
        engine.search_state()  # computes the norms now, not in the first search
        tracks = entries.tracks
        keys = entries.keys_of(tracks)
        self._dances = _least_keys(entries.dances_of(tracks), keys)
        self._recordings = _least_keys(entries.recordings_of(tracks), keys)
        self._state = state

    def _require(self, state: State) -> None:
        if self._state != state:
            raise StaleError

    def count(self, query: ShardQuery) -> ShardCounts:
        """How much a filter and the limit per dance leave."""
        self._require(query.state)
        entries = self._engine.index.entries
        allowed = entries.recordings_among(entries.allowed(query.only), query.only, query.per_dance)
        return ShardCounts(allowed, entries.dances_searched(query.only))

    def nearest_entries(self, query: ShardQuery, size: int | None) -> ShardCandidates:
        """The entries of this shard that are most like the query."""
        self._require(query.state)
        ranked = [self._number_ranked(one) for one in self._candidates(query).nearest_entries(size)]
        postings = self._engine.index.postings
        return ShardCandidates(ranked, [postings.tally(words) for words in query.variants])

    def segments_by_trigrams(self, query: ShardQuery, tallies: Sequence[Tally]) -> list[ProposedSegments]:
        """The segments that trigrams propose, with the tallies of all shards."""
        self._require(query.state)
        return self._number_segments(self._candidates(query).segments_by_trigrams(tallies))

    def segments_by_synchrony(self, query: ShardQuery) -> list[ProposedSegments]:
        """The segments that synchrony proposes."""
        self._require(query.state)
        return self._number_segments(self._candidates(query).segments_by_synchrony())

    def _number_segments(self, segments: Sequence[ProposedSegments]) -> list[ProposedSegments]:
        """The same by the numbers that hold in all shards."""
        return [
            one._replace(
                tracks=self._number_tracks(one.tracks),
                recordings=self._recordings[one.recordings],
                dances=self._dances[one.dances],
            )
            for one in segments
        ]

    def _candidates(self, query: ShardQuery) -> LocalCandidates:
        state = self._engine.search_state()
        variants = [Variant(words, state.codebook, state.statistics) for words in query.variants]
        return LocalCandidates(state.index, variants, query.only, query.per_dance)

    def _number_ranked(self, ranked: RankedEntries) -> RankedEntries:
        """The same by the numbers that hold in all shards."""
        entries = self._engine.index.entries
        tracks, ours = entries.bounds(ranked.entries).tracks, ranked.dances != BACKGROUND_TRACK
        keys, dances = np.full(len(tracks), BACKGROUND_KEY, np.int64), ranked.dances.copy()
        recordings = ranked.recordings.copy()
        keys[ours], dances[ours] = entries.keys_of(tracks[ours]), self._dances[dances[ours]]
        recordings[ours] = self._recordings[recordings[ours]]
        numbers = number_entries(keys, entries.places_of(ranked.entries), self._shard.number)
        return RankedEntries(numbers, recordings, dances, ranked.scores)

    def _number_tracks(self, tracks: IntArray) -> IntArray:
        keys = self._engine.index.entries.keys_of(tracks)
        return number_entries(keys, np.zeros_like(keys), self._shard.number)

    def fetch(self, state: State, numbers: IntArray) -> FetchedTracks:
        """The segments of entries, and the tracks that they are in."""
        self._require(state)
        entries = self._engine.index.entries
        keys, places = split_numbers(numbers)
        tracks = entries.tracks_with(keys)
        wanted, inside = np.unique(tracks, return_inverse=True)
        own, begins = entries.of_tracks(tracks)
        segments = entries.bounds(own[begins] + places)
        return self._fetch(wanted, segments._replace(tracks=inside.astype(np.int64)))

    def _fetch(self, tracks: IntArray, bounds: SegmentBounds) -> FetchedTracks:
        index = self._engine.index
        names = [index.entries.names[dance] for dance in index.entries.dances_of(tracks).tolist()]
        return FetchedTracks(index.word_store.copy_tracks(tracks), names, index.entries.facts[tracks], bounds)


def _least_keys(numbers: NDArray[np.integer], keys: IntArray) -> IntArray:
    """The least key per number."""
    least = np.full(int(numbers.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, numbers, keys)
    return least
