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
from dancematch.search.settings import ALL_DANCES, DanceFilter, Settings
from dancematch.search.stage1.histogram import inverse_document_frequency
from dancematch.search.stage1.postings import Tally, tally_of_all
from dancematch.search.stage1.shortlist import (
    VOTED,
    IndexSize,
    Proposal,
    ProposedSegments,
    RankedEntries,
    choose,
)
from dancematch.search.stage2.ranking import Query, Shortlisted, rank
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.stage2.word_alignment import usual_similarity
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.search.words.word_usage import Usage, usage_of_all
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
    census: IndexSize
    usage: Usage
    rarity: WordStatistics
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
    state, usage = reports[0].state, usage_of_all([report.usage for report in reports])
    census = IndexSize(*(sum(column) for column in zip(*(report.census for report in reports), strict=True)))
    ask_all(parts, "prepare", state, usage)
    shape = codebook.similarity.shape[:2]
    words = inverse_document_frequency(usage.documents, usage.entries, settings.weighting).reshape(shape)
    rarity = WordStatistics(
        settings.weighting, words, usual_similarity(codebook, usage.totals.reshape(shape))
    )
    return View(state, census, usage, rarity, codebook, Cohort(background))


def _shelf(fetched: Mapping[int, Fetched], codebook: Codebook) -> tuple[WordStore, dict[int, int]]:
    """All tracks that were fetched on one shelf, and the number of each part's first."""
    volumes = {
        part: PackedWords(**vars(volume))  # frozen again after the way
        for part, (volume, *_) in fetched.items()
    }
    starts = np.cumsum([0, *(len(volume) for volume in volumes.values())]).tolist()
    shelf = WordStore(codebook.vocabulary, codebook.model_id, list(volumes.values()))
    return shelf, dict(zip(volumes, starts, strict=False))


class ShardedCandidates:
    """The entries of all parts as one search sees them, by their `numbers`."""

    def __init__(self, parts: Parts, view: View, asked: Asked) -> None:
        self._parts, self._view, self._asked = parts, view, asked
        self._tallies: list[Tally] = []
        self.searched = view.census.dances  # as far as filters go

    def census(self) -> IndexSize:
        """How many there are."""
        if self._asked.only == ALL_DANCES:
            return self._view.census
        counted = ask_all(self._parts, "counted", self._asked)
        self.searched = sum(one.searched for one in counted)
        return self._view.census._replace(allowed=sum(one.allowed for one in counted))

    def nearest(self, size: int | None) -> list[RankedEntries]:
        """The entries most like the clip, at most `size`; all of them if that is None."""
        found = ask_all(self._parts, "nearest", self._asked, size)
        self._tallies = [tally_of_all(of_one) for of_one in zip(*(one.tallies for one in found), strict=True)]
        return [_best_of(of_one, size) for of_one in zip(*(one.ranked for one in found), strict=True)]

    def voted(self) -> list[ProposedSegments]:
        """What three words in a row speak for, at most `VOTED`; after `nearest`, which counts them."""
        found = ask_all(self._parts, "voted", self._asked, self._tallies)
        return [_most_voted(of_one) for of_one in zip(*found, strict=True)]

    def synchronous(self) -> list[ProposedSegments]:
        """What synchrony speaks for, at most `VOTED`."""
        found = ask_all(self._parts, "synchronous", self._asked)
        return [_most_voted(of_one) for of_one in zip(*found, strict=True)]


def _best_of(parts: Sequence[RankedEntries], size: int | None) -> RankedEntries:
    entries, dances, scores = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((entries, -scores))[:size]
    return RankedEntries(entries[order], dances[order], scores[order])


def _most_voted(parts: Sequence[ProposedSegments]) -> ProposedSegments:
    every = ProposedSegments(*map(np.concatenate, zip(*parts, strict=True)))
    return every.at(np.lexsort((every.tracks, -every.scores))[:VOTED])


def search_shards(
    parts: Parts, view: View, queries: Sequence[Query], limit: int, settings: Settings, only: DanceFilter
) -> list[Match]:
    """As `Engine.search`, over all parts."""
    words = [query.fingerprint for query in queries]
    field = ShardedCandidates(parts, view, Asked(view.state, words, only))
    chosen = choose(field, len(queries), settings)
    if not len(chosen.dances):
        return []
    readings = [Variant(one, view.codebook, view.rarity) for one in words]
    shortlisted = _fetched(parts, view, chosen)
    return rank(queries, readings, shortlisted, view.cohort, field.searched, settings, limit)


def _fetched(parts: Parts, view: View, chosen: Proposal) -> Shortlisted:
    """The words of the chosen dances."""
    voted = chosen.voted.tracks if chosen.voted is not None else np.zeros(0, np.int64)
    numbers = np.unique(np.concatenate([*chosen.entries, voted]))
    holders = parts_of(numbers)
    questions = {int(part): (view.state, numbers[holders == part]) for part in np.unique(holders)}
    fetched: dict[int, Fetched] = parts.ask("fetch", questions)
    shelf, firsts = _shelf(fetched, view.codebook)
    names: list[str] = [name for one in fetched.values() for name in one.names]
    columns = np.zeros((3, len(numbers)), np.int64)
    for part, one in fetched.items():
        columns[:, holders == part] = one.placed
        columns[0, holders == part] += firsts[part]
    where = [np.searchsorted(numbers, entries) for entries in chosen.entries]
    stretches = [SegmentBounds(*columns[:, at]) for at in where]
    if chosen.voted is not None:
        more = SegmentBounds(
            columns[0, np.searchsorted(numbers, voted)], chosen.voted.firsts, chosen.voted.lasts
        )
        stretches = [SegmentBounds(*map(np.concatenate, zip(one, more, strict=True))) for one in stretches]
    facts = np.concatenate([one.facts for one in fetched.values()])
    return Shortlisted([names[track] for track in stretches[0].tracks.tolist()], stretches, shelf, facts)
