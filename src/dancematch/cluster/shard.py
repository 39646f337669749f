"""One part of a catalogue, ready to be searched: what a machine of the cluster holds.

It says what it would say if it held everything (`spread.py` hands it what depends on all entries),
about the entries that it has. No Ray in here.
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
from dancematch.cluster.numbers import STRANGER, IntArray, keys_and_places, numbered
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.search.engine import Engine
from dancematch.search.settings import DanceFilter
from dancematch.search.stage1.postings import Tally
from dancematch.search.stage1.shortlist import IndexSize, LocalCandidates, ProposedSegments, RankedEntries
from dancematch.search.stage2.variant import Variant
from dancematch.search.words.entries import BACKGROUND_TRACK
from dancematch.search.words.word_store import SegmentBounds
from dancematch.search.words.word_usage import WordUsage
from dancematch.tracks import PackedWords
from dancematch.types import Codebook, Fingerprint


class StaleError(Exception):
    """The part is not at the state of the catalogue that was asked about."""


@dataclass(frozen=True)
class Source:
    """Where a catalogue is, and the model of its words."""

    where: str
    codebook: Codebook
    background: Sequence[Fingerprint]


class Report(NamedTuple):
    """What a part holds."""

    state: State
    usage: WordUsage
    index_size: IndexSize


@dataclass(frozen=True)
class Asked:
    """A search as all parts are asked about it, at one state of the catalogue."""

    state: State
    variants: Sequence[Fingerprint]
    only: DanceFilter


class Nearby(NamedTuple):
    """What a part proposes, a reading each; and how often the reading's trigrams occur in it."""

    ranked: list[RankedEntries]
    tallies: list[Tally]


class Counted(NamedTuple):
    """How many dances of a part a search may find, and how many it goes through for chance."""

    allowed: int
    searched: int


class Fetched(NamedTuple):
    """Some tracks, and stretches of them."""

    volume: PackedWords
    names: list[str]  # of each track's dance
    facts: NDArray[Any]  # of each track: `entries.FACTS`
    bounds: SegmentBounds  # tracks by their place in the volume


class Shard:
    """One part; opened by the first question."""

    def __init__(self, source: Source, part: ShardOf) -> None:
        self._source, self._part = source, part
        self._kept: CachedEngine | None = None
        self._forget()

    def _forget(self) -> None:
        """What was derived from the entries is out of date."""
        self._state: State | None = None  # for which words are weighed and all is ready
        self._dances = np.zeros(0, np.int64)

    def _opened(self) -> CachedEngine:
        if self._kept is None:
            source = self._source
            store = Store(source.where, source.codebook.model_id, create=False)
            # Entered once among all parts: they are entries like others.
            background = source.background if self._part.number == 0 else ()
            self._kept = CachedEngine(store, source.codebook, background, self._part)
            self._kept.current()
        return self._kept

    @property
    def _engine(self) -> Engine:
        return self._opened().latest()

    @staticmethod
    def process() -> int:
        """The number of the process that holds it."""
        return os.getpid()

    def report(self) -> Report:
        """What is here."""
        engine, entries = self._engine, self._engine.index.entries
        index_size = IndexSize(
            len(engine.index.columns), len(entries.background), entries.dances, entries.dances,
            entries.tracks_count,
        )  # fmt: skip
        return Report(self._opened().state, engine.usage(), index_size)

    def follow(self, changes: Changes) -> Report:
        """Go with the catalogue; what is known already may be told again."""
        self._forget()
        self._opened().follow(changes)
        return self.report()

    def prepare(self, state: State, usage: WordUsage) -> None:
        """Get ready for searches at a state, words weighed by what all parts use."""
        if self._opened().state != state:
            raise StaleError
        engine, entries = self._engine, self._engine.index.entries
        engine.weigh_among(usage)
        engine.search_state()  # norms are made now, and not by the first search
        tracks = entries.tracks
        keys = entries.keys_of(tracks)
        self._dances = np.full(len(entries.names), np.iinfo(np.int64).max)
        np.minimum.at(self._dances, entries.dances_of(tracks), keys)
        self._state = state

    def _require(self, state: State) -> None:
        if self._state != state:
            raise StaleError

    def counted(self, asked: Asked) -> Counted:
        """How many dances a search with a filter is about."""
        self._require(asked.state)
        entries = self._engine.index.entries
        allowed = entries.dances_among(entries.allowed(asked.only), asked.only)
        return Counted(allowed, entries.dances_searched(asked.only))

    def nearest(self, asked: Asked, size: int | None) -> Nearby:
        """The entries here that are most like the clip."""
        self._require(asked.state)
        ranked = [self._known_to_all(one) for one in self._field(asked).nearest_entries(size)]
        postings = self._engine.index.postings
        return Nearby(ranked, [postings.tally(words) for words in asked.variants])

    def voted(self, asked: Asked, tallies: Sequence[Tally]) -> list[ProposedSegments]:
        """What three words in a row speak for, their rarity given."""
        self._require(asked.state)
        return self._votes_known_to_all(self._field(asked).segments_by_trigrams(tallies))

    def synchronous(self, asked: Asked) -> list[ProposedSegments]:
        """What synchrony speaks for."""
        self._require(asked.state)
        return self._votes_known_to_all(self._field(asked).segments_by_synchrony())

    def _votes_known_to_all(self, votes: Sequence[ProposedSegments]) -> list[ProposedSegments]:
        """The same by the numbers that hold in all parts."""
        return [
            one._replace(tracks=self._track_numbers(one.tracks), dances=self._dances[one.dances])
            for one in votes
        ]

    def _field(self, asked: Asked) -> LocalCandidates:
        state = self._engine.search_state()
        variants = [Variant(words, state.codebook, state.statistics) for words in asked.variants]
        return LocalCandidates(state.index, variants, asked.only)

    def _known_to_all(self, ranked: RankedEntries) -> RankedEntries:
        """The same by the numbers that hold in all parts."""
        entries = self._engine.index.entries
        tracks, ours = entries.bounds(ranked.entries).tracks, ranked.dances != BACKGROUND_TRACK
        keys, dances = np.full(len(tracks), STRANGER, np.int64), ranked.dances.copy()
        keys[ours], dances[ours] = entries.keys_of(tracks[ours]), self._dances[dances[ours]]
        places = entries.places_of(ranked.entries)
        return RankedEntries(numbered(keys, places, self._part.number), dances, ranked.scores)

    def _track_numbers(self, tracks: IntArray) -> IntArray:
        keys = self._engine.index.entries.keys_of(tracks)
        return numbered(keys, np.zeros_like(keys), self._part.number)

    def fetch(self, state: State, numbers: IntArray) -> Fetched:
        """The stretches that entries stand for, and the tracks that they are of."""
        self._require(state)
        entries = self._engine.index.entries
        keys, places = keys_and_places(numbers)
        tracks = entries.tracks_with(keys)
        wanted, inside = np.unique(tracks, return_inverse=True)
        own, begins = entries.of_tracks(tracks)
        segments = entries.bounds(own[begins] + places)
        return self._fetched(wanted, segments._replace(tracks=inside.astype(np.int64)))

    def _fetched(self, tracks: IntArray, bounds: SegmentBounds) -> Fetched:
        index = self._engine.index
        names = [index.entries.names[dance] for dance in index.entries.dances_of(tracks).tolist()]
        return Fetched(index.word_store.copy_tracks(tracks), names, index.entries.facts[tracks], bounds)
