"""A search over the parts of a catalogue: the same matches as over all of it in one process.

What depends on all entries is put together here and handed to the parts: how rare words are, how rare
three words in a row are. The best of all entries are the best of what the
parts propose. Stage two then runs here, by the very code of one process, on the words of the shortlist,
which are a few hundred kilobytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dancematch.catalogue.sql.database import State
from dancematch.cluster.numbers import parts_of
from dancematch.cluster.shard import Asked, Fetched, Report
from dancematch.search.confidence.cohort import Cohort
from dancematch.search.settings import ALL_DANCES, PROPOSED_TRACKS, DanceFilter, Settings
from dancematch.search.stage1.histogram import inverse_document_frequency
from dancematch.search.stage1.postings import Tally, add_tallies
from dancematch.search.stage1.shortlist import (
    IndexSize,
    Proposal,
    ProposedSegments,
    RankedEntries,
    shortlist_dances,
)
from dancematch.search.stage2.ranking import Query, Shortlist, rank
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.stage2.word_alignment import expected_similarity
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.search.words.word_usage import WordUsage, add_usages
from dancematch.tracks import PackedWords
from dancematch.types import Codebook, Fingerprint, Match


class Parts(Protocol):
    """All parts of a catalogue, wherever they are."""

    @property
    def count(self) -> int:
        """How many there are."""

    def ask(self, question: str, arguments: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        """Ask some parts, by their numbers, a question of `Shard`, all at once."""


def ask_all(parts: Parts, question: str, *arguments: Any) -> list[Any]:
    """What every part answers, in their order."""
    answers = parts.ask(question, dict.fromkeys(range(parts.count), arguments))
    return [answers[number] for number in range(parts.count)]


@dataclass(frozen=True, eq=False)
class View:
    """All parts at one state of the catalogue."""

    state: State
    index_size: IndexSize
    usage: WordUsage
    statistics: WordStatistics
    codebook: Codebook
    cohort: Cohort


def prepared(
    parts: Parts,
    reports: Sequence[Report],
    codebook: Codebook,
    background: Sequence[Fingerprint],
    settings: Settings,
) -> View:
    """Get all parts, which are at one state, ready for searches."""
    state, usage = reports[0].state, add_usages([report.usage for report in reports])
    index_size = IndexSize(
        *(sum(column) for column in zip(*(report.index_size for report in reports), strict=True))
    )
    ask_all(parts, "prepare", state, usage)
    shape = codebook.similarity.shape[:2]
    words = inverse_document_frequency(usage.documents, usage.entries, settings.weighting).reshape(shape)
    statistics = WordStatistics(
        settings.weighting, words, expected_similarity(codebook, usage.totals.reshape(shape))
    )
    return View(state, index_size, usage, statistics, codebook, Cohort(background))


def _word_store(fetched: Mapping[int, Fetched], codebook: Codebook) -> tuple[WordStore, dict[int, int]]:
    """All tracks that were fetched on one shelf, and the number of each part's first."""
    volumes = {
        part: PackedWords(**vars(volume))  # frozen again after the way
        for part, (volume, *_) in fetched.items()
    }
    starts = np.cumsum([0, *(len(volume) for volume in volumes.values())]).tolist()
    word_store = WordStore(codebook.vocabulary, codebook.model_id, list(volumes.values()))
    return word_store, dict(zip(volumes, starts, strict=False))


class ShardedCandidates:
    """The entries of all parts as one search sees them, by their `numbers`."""

    def __init__(self, parts: Parts, view: View, asked: Asked) -> None:
        self._parts, self._view, self._asked = parts, view, asked
        self._tallies: list[Tally] = []
        self.searched = view.index_size.dances  # as far as filters go

    def index_size(self) -> IndexSize:
        """How many there are."""
        if self._asked.only == ALL_DANCES:
            return self._view.index_size
        counted = ask_all(self._parts, "counted", self._asked)
        self.searched = sum(one.searched for one in counted)
        return self._view.index_size._replace(allowed=sum(one.allowed for one in counted))

    def nearest_entries(self, size: int | None) -> list[RankedEntries]:
        """The entries most like the clip, at most `size`; all of them if that is None."""
        found = ask_all(self._parts, "nearest", self._asked, size)
        self._tallies = [add_tallies(of_one) for of_one in zip(*(one.tallies for one in found), strict=True)]
        return [_best_of(of_one, size) for of_one in zip(*(one.ranked for one in found), strict=True)]

    def segments_by_trigrams(self) -> list[ProposedSegments]:
        """What three words in a row speak for, at most `PROPOSED_TRACKS`; after `nearest_entries`."""
        found = ask_all(self._parts, "voted", self._asked, self._tallies)
        return [_most_voted(of_one) for of_one in zip(*found, strict=True)]

    def segments_by_synchrony(self) -> list[ProposedSegments]:
        """What synchrony speaks for, at most `PROPOSED_TRACKS`."""
        found = ask_all(self._parts, "synchronous", self._asked)
        return [_most_voted(of_one) for of_one in zip(*found, strict=True)]


def _best_of(parts: Sequence[RankedEntries], size: int | None) -> RankedEntries:
    entries, dances, scores = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((entries, -scores))[:size]
    return RankedEntries(entries[order], dances[order], scores[order])


def _most_voted(parts: Sequence[ProposedSegments]) -> ProposedSegments:
    every = ProposedSegments(*map(np.concatenate, zip(*parts, strict=True)))
    return every.at(np.lexsort((every.tracks, -every.scores))[:PROPOSED_TRACKS])


def search_shards(
    parts: Parts, view: View, queries: Sequence[Query], limit: int, settings: Settings, only: DanceFilter
) -> list[Match]:
    """As `Engine.search`, over all parts."""
    words = [query.fingerprint for query in queries]
    source = ShardedCandidates(parts, view, Asked(view.state, words, only))
    proposal = shortlist_dances(source, len(queries), settings)
    if not len(proposal.dances):
        return []
    variants = [Variant(one, view.codebook, view.statistics) for one in words]
    shortlisted = _fetched(parts, view, proposal)
    return rank(queries, variants, shortlisted, view.cohort, source.searched, settings, limit)


def _fetched(parts: Parts, view: View, proposal: Proposal) -> Shortlist:
    """The words of the chosen dances."""
    voted = proposal.further.tracks if proposal.further is not None else np.zeros(0, np.int64)
    numbers = np.unique(np.concatenate([*proposal.entries, voted]))
    holders = parts_of(numbers)
    questions = {int(part): (view.state, numbers[holders == part]) for part in np.unique(holders)}
    fetched: dict[int, Fetched] = parts.ask("fetch", questions)
    word_store, firsts = _word_store(fetched, view.codebook)
    names: list[str] = [name for one in fetched.values() for name in one.names]
    columns = np.zeros((3, len(numbers)), np.int64)
    for part, one in fetched.items():
        columns[:, holders == part] = one.bounds
        columns[0, holders == part] += firsts[part]
    where = [np.searchsorted(numbers, entries) for entries in proposal.entries]
    segments = [SegmentBounds(*columns[:, at]) for at in where]
    if proposal.further is not None:
        more = SegmentBounds(
            columns[0, np.searchsorted(numbers, voted)], proposal.further.firsts, proposal.further.lasts
        )
        segments = [one.append(more) for one in segments]
    facts = np.concatenate([one.facts for one in fetched.values()])
    return Shortlist([names[track] for track in segments[0].tracks.tolist()], segments, word_store, facts)
