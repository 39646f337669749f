"""Stage one: which dances go to stage two, out of all.

Three ways lead onto the shortlist. By histogram, exactly: no dance that is left out has an entry more similar
to the query than one that is taken. By three words in a row (`postings.py`), which finds short clips that a
histogram cannot tell apart. And, in a catalogue that is not too large for it, by synchrony
(`coarse_synchrony.py`), which finds what another person dances in other words at the same moments.

The result depends on the entries alone, not on where they are: `shortlist_dances` asks a `CandidateSource`,
which is the `SearchIndex` of this process or the shards of a cluster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dancematch.search.settings import ALL_DANCES, PROPOSED_TRACKS, DanceFilter, Settings
from dancematch.search.stage1.coarse_synchrony import CoarseScores, score_coarsely
from dancematch.search.stage1.columns import HistogramColumns
from dancematch.search.stage1.postings import Postings, Tally
from dancematch.search.stage2.variant import Variant
from dancematch.search.thread_pool import parallel_map
from dancematch.search.words.entries import BACKGROUND_TRACK, Entries
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.tracks import bones_of

_ENTRIES_PER_DANCE = 4  # asked for at first, at most: a long dance has many

IntArray = NDArray[np.int64]


class IndexSize(NamedTuple):
    """How much a search covers."""

    entries: int  # with the background's
    background: int  # entries
    dances: int
    allowed: int  # dances that the search may find
    tracks: int


class RankedEntries(NamedTuple):
    """Entries by their similarity to one variant, best first; equal ones in the order of their numbers."""

    entries: IntArray
    dances: IntArray  # `BACKGROUND_TRACK` for the background's
    scores: NDArray[np.float32]


class ProposedSegments(NamedTuple):
    """Segments found by trigrams or synchrony, best first; equal ones in the order of their tracks."""

    tracks: IntArray
    dances: IntArray
    firsts: IntArray
    lasts: IntArray
    scores: NDArray[np.float32]
    allowed: NDArray[np.bool_]  # whether the search may find them

    def at(self, places: Sequence[int] | NDArray[np.integer]) -> "ProposedSegments":
        """Return some of them."""
        where = np.asarray(places, dtype=np.intp)
        columns: Any = (column[where] for column in self)
        return ProposedSegments(*columns)


class CandidateSource(Protocol):
    """All entries, as one search reads them; lists have one item per variant of the query."""

    def index_size(self) -> IndexSize:
        """Return how much the search covers."""

    def nearest_entries(self, size: int | None) -> list[RankedEntries]:
        """Return the entries most similar to the query, at most `size`; all of them if that is None."""

    def segments_by_trigrams(self) -> list[ProposedSegments]:
        """Return the segments that share most trigrams with the query, at most `PROPOSED_TRACKS`."""

    def segments_by_synchrony(self) -> list[ProposedSegments]:
        """Return the segments most in synchrony with the query, at most `PROPOSED_TRACKS`."""


class Proposal(NamedTuple):
    """Proposed dances, by the numbers of their source."""

    dances: IntArray
    entries: list[IntArray]  # per variant: the most similar entry of each dance
    further: ProposedSegments | None  # of further dances, the same for every variant

    @classmethod
    def empty(cls, variants: int) -> "Proposal":
        """Propose no dance."""
        none = np.zeros(0, np.int64)
        return cls(none, [none] * variants, None)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Proposed dances, and the segment of each that is most similar to the query."""

    dances: IntArray
    segments: list[SegmentBounds]  # per variant: one segment per dance

    def __len__(self) -> int:
        return len(self.dances)


@dataclass(frozen=True)
class SearchIndex:
    """The known dances in all forms that the stages need."""

    entries: Entries
    word_store: WordStore
    columns: HistogramColumns
    postings: Postings


class LocalCandidates:
    """The entries of this process's index, by its own numbers."""

    def __init__(self, index: SearchIndex, variants: Sequence[Variant], only: DanceFilter) -> None:
        self._index, self._variants, self._only = index, variants, only
        self._allowed = index.entries.allowed(only)

    def index_size(self) -> IndexSize:
        """Return how much the search covers."""
        entries = self._index.entries
        allowed = entries.dances_among(self._allowed, self._only)
        columns, tracks = self._index.columns, entries.tracks_count
        return IndexSize(len(columns), len(entries.background), entries.dances, allowed, tracks)

    def nearest_entries(self, size: int | None) -> list[RankedEntries]:
        """Return the entries most similar to the query, at most `size`; all of them if that is None."""
        columns, variants = self._index.columns, self._variants
        among = None if self._only == ALL_DANCES else self._index.entries.entries_among(self._allowed)
        if size is not None:
            counts, seen = [one.counts for one in variants], [one.seen for one in variants]
            return [self._ranked(*top) for top in columns.top_of_each(counts, seen, size, among)]
        every = [columns.scores(one.counts, one.seen) for one in variants]
        if among is not None:
            every = [type(top)(top.rows[among[top.rows]], top.scores[among[top.rows]]) for top in every]
        return [self._ranked(*top) for top in every]

    def _ranked(self, rows: IntArray, scores: NDArray[np.float32]) -> RankedEntries:
        entries = self._index.entries
        tracks = entries.bounds(rows).tracks
        dances = np.full(len(rows), BACKGROUND_TRACK, np.int64)
        dances[tracks != BACKGROUND_TRACK] = entries.dances_of(tracks[tracks != BACKGROUND_TRACK])
        return RankedEntries(rows, dances, scores)

    def segments_by_trigrams(self, tallies: Sequence[Tally] | None = None) -> list[ProposedSegments]:
        """Return the segments that share most trigrams with the query, whose counts `tallies` may give."""
        given: Sequence[Tally | None] = tallies or [None] * len(self._variants)
        return parallel_map(
            lambda one: self._search_postings(*one), list(zip(self._variants, given, strict=True))
        )

    def _search_postings(self, variant: Variant, tally: Tally | None) -> ProposedSegments:
        votes = self._index.postings.search(variant.fingerprint, PROPOSED_TRACKS, tally)
        # A track may have been added since `_allowed` was computed.
        allowed = np.append(self._allowed, False)[np.minimum(votes.entries, len(self._allowed))]
        return self._segments(variant, votes.entries, votes.offsets, votes.scores, allowed)

    def segments_by_synchrony(self) -> list[ProposedSegments]:
        """Return the segments most in synchrony with the query."""
        tracks = np.flatnonzero(self._allowed)
        bones = [bones_of(one.fingerprint) for one in self._variants]
        step = self._variants[0].fingerprint.seconds_per_word
        found = score_coarsely(bones, self._index.word_store.chunks, step)
        return [self._best(*one, tracks) for one in zip(self._variants, found, strict=True)]

    def _best(self, variant: Variant, found: CoarseScores, tracks: IntArray) -> ProposedSegments:
        """The tracks that move most like one variant; equal ones in the order of their numbers."""
        scores, most = found.scores[tracks], PROPOSED_TRACKS
        least = np.partition(scores, -most)[-most] if len(scores) > most else 0
        near = np.flatnonzero((scores >= least) & (scores > 0))
        best = tracks[near[np.argsort(-scores[near], kind="stable")[:most]]]
        allowed = np.ones(len(best), np.bool_)
        return self._segments(variant, best, found.offsets[best], found.scores[best], allowed)

    def _segments(
        self,
        variant: Variant,
        tracks: IntArray,
        offsets: IntArray,
        scores: NDArray[np.float32],
        allowed: NDArray[np.bool_],
    ) -> ProposedSegments:
        """The segments of tracks that the query covers if it begins at these offsets."""
        index = self._index
        lasts = index.word_store.whole_tracks(tracks).lasts
        firsts = np.clip(offsets, 0, lasts)
        ends = np.clip(offsets + len(variant.fingerprint) - 1, firsts, lasts)
        dances = index.entries.dances_of(tracks).astype(np.int64)
        return ProposedSegments(tracks, dances, firsts, ends, scores, allowed)


def find_candidates(
    index: SearchIndex, variants: Sequence[Variant], settings: Settings, only: DanceFilter
) -> Candidates:
    """Return the dances of an index that are most similar to any variant of the query."""
    proposal = shortlist_dances(LocalCandidates(index, variants, only), len(variants), settings)
    segments = [index.entries.bounds(entries) for entries in proposal.entries]
    further = proposal.further
    if further is None:
        return Candidates(proposal.dances, segments)
    bounds = SegmentBounds(further.tracks, further.firsts, further.lasts)
    return Candidates(
        np.concatenate([proposal.dances, further.dances]), [one.append(bounds) for one in segments]
    )


def shortlist_dances(source: CandidateSource, variants: int, settings: Settings) -> Proposal:
    """Return the dances of a source that are most similar to any of so many variants of the query."""
    size = source.index_size()
    wanted = settings.shortlist_size(size.allowed) if variants else 0
    if not wanted:
        return Proposal.empty(variants)
    best = _nearest_by_dance(source, size, wanted)
    dances = _most_similar(best, wanted)
    entries = [_entry_of_each(one, best, dances) for one in best]
    if wanted >= size.allowed:
        return Proposal(dances, entries, None)
    further = source.segments_by_trigrams()
    if settings.adds_synchrony(size.tracks):
        further = further + source.segments_by_synchrony()
    return Proposal(dances, entries, _further_dances(further, dances))


def _nearest_by_dance(source: CandidateSource, index: IndexSize, wanted: int) -> list[RankedEntries]:
    """Each variant's best entry per dance, of so many entries that no better dance can be among the rest."""
    several = min(_ENTRIES_PER_DANCE, -(-index.entries // max(1, index.dances)))
    size = several * wanted + index.background
    while size < index.entries // 2:
        tops = source.nearest_entries(size)
        best = [_best_by_dance(top) for top in tops]
        beyond = max(float(top.scores[-1]) if len(top.entries) == size else -np.inf for top in tops)
        scores = _best_scores(best)[1]
        if beyond == -np.inf or (len(scores) >= wanted and np.partition(scores, -wanted)[-wanted] >= beyond):
            return best
        size *= 4
    return [_best_by_dance(top) for top in source.nearest_entries(None)]


def _best_by_dance(top: RankedEntries) -> RankedEntries:
    rows, dances, scores = (column[top.dances != BACKGROUND_TRACK] for column in top)
    order = np.lexsort((rows, -scores, dances))  # the best of each dance first; equal ones by number
    firsts = order[np.flatnonzero(np.diff(dances[order], prepend=-1))]
    firsts = firsts[np.lexsort((rows[firsts], -scores[firsts]))]
    return RankedEntries(rows[firsts], dances[firsts], scores[firsts])


def _best_scores(best: Sequence[RankedEntries]) -> tuple[IntArray, NDArray[np.float32]]:
    """Every dance in any of the lists, and its best score."""
    dances, places = np.unique(np.concatenate([one.dances for one in best]), return_inverse=True)
    scores = np.full(len(dances), -np.inf, np.float32)
    np.maximum.at(scores, places, np.concatenate([one.scores for one in best]))
    return dances, scores


def _most_similar(best: Sequence[RankedEntries], wanted: int) -> IntArray:
    dances, scores = _best_scores(best)
    return dances[np.lexsort((dances, -scores))[:wanted]]


def _entry_of_each(own: RankedEntries, best: Sequence[RankedEntries], dances: IntArray) -> IntArray:
    """The variant's own best entry of each dance or, where its list has none, another variant's."""
    found = np.full(len(dances), -1, np.int64)
    for one in (own, *reversed(best)):
        if not len(one.dances):
            continue
        order = np.argsort(one.dances)
        at = order[np.searchsorted(one.dances, dances, sorter=order).clip(max=len(order) - 1)]
        there = (one.dances[at] == dances) & (found < 0)
        found[there] = one.entries[at[there]]
    return found


def _further_dances(lists: Sequence[ProposedSegments], dances: IntArray) -> ProposedSegments | None:
    """The best segment of each dance that may be found and is not among `dances`."""
    every = ProposedSegments(*map(np.concatenate, zip(*lists, strict=True)))
    known, places = set(dances.tolist()), []
    for place, dance in enumerate(every.dances.tolist()):
        if dance not in known and every.allowed[place]:
            known.add(dance)
            places.append(place)
    return every.at(places) if places else None
