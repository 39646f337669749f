"""A search over all shards of a catalogue: the same matches as in one process.

What depends on all entries, the idf of words and of trigrams, is added up here and handed to the shards. The
best of all entries are the best of what the shards propose. Stage two runs here, by the same code as in one
process, on the words of the shortlist, a few hundred kilobytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dancematch.catalogue.sql.database import State
from dancematch.cluster.entry_numbers import shards_of
from dancematch.cluster.shard import FetchedTracks, ShardQuery, ShardReport
from dancematch.search.confidence.cohort import Cohort
from dancematch.search.query import Query
from dancematch.search.settings import ALL_DANCES, PROPOSED_TRACKS, DanceFilter, Settings
from dancematch.search.stage1.histogram import inverse_document_frequency
from dancematch.search.stage1.postings import Tally, add_tallies
from dancematch.search.stage1.shortlist import (
    IndexSize,
    Proposal,
    ProposedSegments,
    RankedEntries,
    shortlist_recordings,
)
from dancematch.search.stage2.ranking import Shortlist, rank
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.stage2.word_alignment import expected_similarity
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.search.words.word_usage import DocumentFrequencies, add_usages
from dancematch.tracks import PackedWords
from dancematch.types import Codebook, Fingerprint, Match


class Shards(Protocol):
    """All shards of a catalogue, wherever they are."""

    @property
    def count(self) -> int:
        """How many there are."""

    def ask(self, method: str, arguments: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        """Call a method of `Shard` on some shards, by number, all at once."""


def ask_all(shards: Shards, method: str, *arguments: Any) -> list[Any]:
    """What every shard answers, in order of number."""
    answers = shards.ask(method, dict.fromkeys(range(shards.count), arguments))
    return [answers[number] for number in range(shards.count)]


@dataclass(frozen=True, eq=False)
class ShardView:
    """All shards at one state of the catalogue."""

    state: State
    index_size: IndexSize
    usage: DocumentFrequencies
    statistics: WordStatistics
    codebook: Codebook
    cohort: Cohort


def prepare_shards(
    shards: Shards,
    reports: Sequence[ShardReport],
    codebook: Codebook,
    background: Sequence[Fingerprint],
    settings: Settings,
) -> ShardView:
    """Prepare all shards, which are at one state, for searches."""
    state, usage = reports[0].state, add_usages([report.usage for report in reports])
    index_size = IndexSize(
        *(sum(column) for column in zip(*(report.index_size for report in reports), strict=True))
    )
    ask_all(shards, "prepare", state, usage)
    shape = codebook.similarity.shape[:2]
    words = inverse_document_frequency(usage.documents, usage.entries, settings.weighting).reshape(shape)
    statistics = WordStatistics(
        settings.weighting, words, expected_similarity(codebook, usage.totals.reshape(shape))
    )
    return ShardView(state, index_size, usage, statistics, codebook, Cohort(background))


def _word_store(fetched: Mapping[int, FetchedTracks], codebook: Codebook) -> tuple[WordStore, dict[int, int]]:
    """One word store of all fetched tracks, and the number of the first track per shard."""
    packed = {
        shard: PackedWords(**vars(one.packed_words))  # arrays that come over the network are writeable
        for shard, one in fetched.items()
    }
    starts = np.cumsum([0, *(len(one) for one in packed.values())]).tolist()
    word_store = WordStore(codebook.vocabulary, codebook.model_id, list(packed.values()))
    return word_store, dict(zip(packed, starts, strict=False))


class ShardedCandidates:
    """The entries of all shards as one search sees them, by their `entry_numbers`."""

    def __init__(self, shards: Shards, view: ShardView, query: ShardQuery) -> None:
        self._shards, self._view, self._query = shards, view, query
        self._tallies: list[Tally] = []
        self.searched = view.index_size.dances  # as far as filters go

    def index_size(self) -> IndexSize:
        """How many there are."""
        size = self._view.index_size  # as far as the limit per dance goes
        if self._query.only == ALL_DANCES:
            return size if self._query.per_dance is not None else size._replace(allowed=size.recordings)
        counted = ask_all(self._shards, "count", self._query)
        self.searched = sum(one.searched for one in counted)
        return size._replace(allowed=sum(one.allowed for one in counted))

    def nearest_entries(self, size: int | None) -> list[RankedEntries]:
        """The entries most like the clip, at most `size`; all of them if that is None."""
        found = ask_all(self._shards, "nearest_entries", self._query, size)
        self._tallies = [add_tallies(of_one) for of_one in zip(*(one.tallies for one in found), strict=True)]
        return [_merge_ranked(of_one, size) for of_one in zip(*(one.ranked for one in found), strict=True)]

    def segments_by_trigrams(self) -> list[ProposedSegments]:
        """What three words in a row speak for, at most `PROPOSED_TRACKS`; after `nearest_entries`."""
        found = ask_all(self._shards, "segments_by_trigrams", self._query, self._tallies)
        return [_merge_segments(of_one) for of_one in zip(*found, strict=True)]

    def segments_by_synchrony(self) -> list[ProposedSegments]:
        """What synchrony speaks for, at most `PROPOSED_TRACKS`."""
        found = ask_all(self._shards, "segments_by_synchrony", self._query)
        return [_merge_segments(of_one) for of_one in zip(*found, strict=True)]

    def segments_by_descriptors(self) -> list[ProposedSegments]:
        """Return none: shards have no index of descriptors, since theirs would not find the same."""
        return []


def _merge_ranked(found: Sequence[RankedEntries], size: int | None) -> RankedEntries:
    every = RankedEntries(*map(np.concatenate, zip(*found, strict=True)))
    return every.at(np.lexsort((every.entries, -every.scores))[:size])


def _merge_segments(found: Sequence[ProposedSegments]) -> ProposedSegments:
    every = ProposedSegments(*map(np.concatenate, zip(*found, strict=True)))
    return every.at(np.lexsort((every.tracks, -every.scores))[:PROPOSED_TRACKS])


def search_shards(
    shards: Shards,
    view: ShardView,
    queries: Sequence[Query],
    limit: int,
    settings: Settings,
    only: DanceFilter,
) -> list[Match]:
    """As `Engine.search`, over all shards."""
    words = [query.fingerprint for query in queries]
    query = ShardQuery(view.state, words, only, settings.recordings_per_dance)
    source = ShardedCandidates(shards, view, query)
    proposal = shortlist_recordings(source, len(queries), settings)
    if not len(proposal.dances):
        return []
    variants = [Variant(one, view.codebook, view.statistics) for one in words]
    shortlisted = _fetch(shards, view, proposal)
    return rank(queries, variants, shortlisted, view.cohort, source.searched, settings, limit)


def _fetch(shards: Shards, view: ShardView, proposal: Proposal) -> Shortlist:
    """The words of the chosen recordings."""
    voted = proposal.further.tracks if proposal.further is not None else np.zeros(0, np.int64)
    numbers = np.unique(np.concatenate([*proposal.entries, voted]))
    holders = shards_of(numbers)
    questions = {int(shard): (view.state, numbers[holders == shard]) for shard in np.unique(holders)}
    fetched: dict[int, FetchedTracks] = shards.ask("fetch", questions)
    word_store, firsts = _word_store(fetched, view.codebook)
    names: list[str] = [name for one in fetched.values() for name in one.names]
    columns = np.zeros((3, len(numbers)), np.int64)
    for shard, one in fetched.items():
        columns[:, holders == shard] = one.bounds
        columns[0, holders == shard] += firsts[shard]
    where = [np.searchsorted(numbers, entries) for entries in proposal.entries]
    segments = [SegmentBounds(*columns[:, at]) for at in where]
    if proposal.further is not None:
        more = SegmentBounds(
            columns[0, np.searchsorted(numbers, voted)], proposal.further.firsts, proposal.further.lasts
        )
        segments = [one.append(more) for one in segments]
    facts = np.concatenate([one.facts for one in fetched.values()])
    return Shortlist([names[track] for track in segments[0].tracks.tolist()], segments, word_store, facts)
