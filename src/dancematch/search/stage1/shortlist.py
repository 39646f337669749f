"""Stage one: which recordings go to stage two, out of all.

Several ways lead onto the shortlist. By histogram, exactly: no recording that is left out has an entry more
similar to the query than one that is taken, unless its dance has as many as it may have (`dance_limit.py`),
all of them at least as similar. By three words in a row (`postings.py`), which finds short clips that a
histogram cannot tell apart. And by synchrony, which finds what another person dances in other words at the
same moments: with every track (`coarse_synchrony.py`) or, in a catalogue that is too large for that, by
descriptors in an approximate index (`descriptor_index.py`), if there is one.

The result depends on the entries alone, not on where they are: `shortlist_recordings` asks a
`CandidateSource`, which is the `SearchIndex` of this process or the shards of a cluster.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dancematch.search.settings import ALL_DANCES, PROPOSED_TRACKS, DanceFilter, Settings
from dancematch.search.stage1.coarse_synchrony import CoarseScores, score_coarsely
from dancematch.search.stage1.columns import HistogramColumns
from dancematch.search.stage1.dance_limit import within_limit
from dancematch.search.stage1.descriptor_index import DescriptorIndex, DescriptorVotes
from dancematch.search.stage1.postings import Postings, Tally
from dancematch.search.stage2.variant import Variant
from dancematch.search.thread_pool import parallel_map
from dancematch.search.words.entries import BACKGROUND_TRACK, Entries
from dancematch.search.words.word_store import SegmentBounds, Segments, WordStore
from dancematch.tracks import bones_of

_ENTRIES_PER_RECORDING = 4  # asked for at first, at most: a long one has many
_WIDENING = 8  # times as many tracks are asked for where one dance has most of them

IntArray = NDArray[np.int64]


class IndexSize(NamedTuple):
    """How much a search covers."""

    entries: int  # with the background's
    background: int  # entries
    dances: int
    recordings: int
    allowed: int  # recordings that the shortlist may take
    tracks: int


class RankedEntries(NamedTuple):
    """Entries by their similarity to one variant, best first; equal ones in the order of their numbers."""

    entries: IntArray
    recordings: IntArray  # `BACKGROUND_TRACK` for the background's
    dances: IntArray  # the same
    scores: NDArray[np.float32]

    def at(self, places: NDArray[Any]) -> "RankedEntries":
        """Return some of them, by place or mask."""
        columns: Any = (column[places] for column in self)
        return RankedEntries(*columns)


class ProposedSegments(NamedTuple):
    """Segments found by trigrams or synchrony, best first; equal ones in the order of their tracks."""

    tracks: IntArray
    recordings: IntArray
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

    def segments_by_descriptors(self) -> list[ProposedSegments]:
        """Return the segments that descriptors vote for, at most `PROPOSED_TRACKS`; none without an index."""


class Proposal(NamedTuple):
    """Proposed recordings, by the numbers of their source."""

    dances: IntArray  # of each recording
    entries: list[IntArray]  # per variant: the most similar entry of each recording
    further: ProposedSegments | None  # of further recordings, the same for every variant

    @classmethod
    def empty(cls, variants: int) -> "Proposal":
        """Propose no recording."""
        none = np.zeros(0, np.int64)
        return cls(none, [none] * variants, None)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Proposed recordings, and the segment of each that is most similar to the query."""

    dances: IntArray  # of each recording
    segments: list[SegmentBounds]  # per variant: one segment per recording

    def __len__(self) -> int:
        return len(self.dances)


@dataclass(frozen=True)
class SearchIndex:
    """The known dances in all forms that the stages need."""

    entries: Entries
    word_store: WordStore
    columns: HistogramColumns
    postings: Postings
    descriptors: DescriptorIndex = field(default_factory=DescriptorIndex)


class LocalCandidates:
    """The entries of this process's index, by its own numbers."""

    def __init__(
        self, index: SearchIndex, variants: Sequence[Variant], only: DanceFilter, per_dance: int | None
    ) -> None:
        """Of one dance at most `per_dance` recordings come onto the shortlist; None = any number."""
        self._index, self._variants, self._only, self._per_dance = index, variants, only, per_dance
        self._allowed = index.entries.allowed(only)

    def index_size(self) -> IndexSize:
        """Return how much the search covers."""
        entries, columns = self._index.entries, self._index.columns
        allowed = entries.recordings_among(self._allowed, self._only, self._per_dance)
        counts = entries.dances, entries.recordings, allowed, entries.tracks_count
        return IndexSize(len(columns), len(entries.background), *counts)

    def nearest_entries(self, size: int | None) -> list[RankedEntries]:
        """Return the entries most similar to the query, at most `size`; all of them if that is None."""
        columns, variants = self._index.columns, self._variants
        among = None if self._only == ALL_DANCES else self._index.entries.entries_among(self._allowed)
        if size is not None:
            counts, seen = [one.counts for one in variants], [one.seen for one in variants]
            tops = columns.top_of_each(counts, seen, size, among, self._read_words)
            return [self._ranked(*top) for top in tops]
        every = [columns.scores(one.counts, one.seen) for one in variants]
        if among is not None:
            every = [type(top)(top.rows[among[top.rows]], top.scores[among[top.rows]]) for top in every]
        return [self._ranked(*top) for top in every]

    def _read_words(self, rows: IntArray) -> tuple[NDArray[np.bool_], Segments]:
        """Which entries are not the background's, and their words."""
        bounds = self._index.entries.bounds(rows)
        ours = bounds.tracks != BACKGROUND_TRACK
        return ours, self._index.word_store.read_segments(SegmentBounds(*(part[ours] for part in bounds)))

    def _ranked(self, rows: IntArray, scores: NDArray[np.float32]) -> RankedEntries:
        entries = self._index.entries
        tracks = entries.bounds(rows).tracks
        ours = tracks != BACKGROUND_TRACK
        recordings, dances = np.full((2, len(rows)), BACKGROUND_TRACK, np.int64)
        recordings[ours], dances[ours] = entries.recordings_of(tracks[ours]), entries.dances_of(tracks[ours])
        return RankedEntries(rows, recordings, dances, scores)

    def segments_by_trigrams(self, tallies: Sequence[Tally] | None = None) -> list[ProposedSegments]:
        """Return the segments that share most trigrams with the query, whose counts `tallies` may give."""
        given: Sequence[Tally | None] = tallies or [None] * len(self._variants)
        return parallel_map(
            lambda one: self._search_postings(*one), list(zip(self._variants, given, strict=True))
        )

    def _search_postings(self, variant: Variant, tally: Tally | None) -> ProposedSegments:
        most, postings = PROPOSED_TRACKS, self._index.postings
        while True:
            votes = postings.search(variant.fingerprint, most, tally)
            places = self._within_limit(votes.entries, PROPOSED_TRACKS)
            if len(places) == PROPOSED_TRACKS or len(votes.entries) < most:
                break
            most *= _WIDENING
        tracks = votes.entries[places]
        allowed = self._are_allowed(tracks)
        return self._segments(variant, tracks, votes.offsets[places], votes.scores[places], allowed)

    def _are_allowed(self, tracks: IntArray) -> NDArray[np.bool_]:
        """Whether the search may find tracks; one may have been added since `_allowed` was computed."""
        return np.append(self._allowed, False)[np.minimum(tracks, len(self._allowed))]

    def _within_limit(self, tracks: IntArray, most: int) -> NDArray[np.intp]:
        """The places of the first tracks, best first, without those that one dance has too many of."""
        entries = self._index.entries
        dances, recordings = entries.dances_of(tracks), entries.recordings_of(tracks)
        return np.flatnonzero(within_limit(dances, recordings, self._per_dance))[:most]

    def segments_by_descriptors(self) -> list[ProposedSegments]:
        """Return the segments that descriptors vote for."""
        found = self._index.descriptors.search([bones_of(one.fingerprint) for one in self._variants])
        return [self._most_voted(*one) for one in zip(self._variants, found, strict=True)]

    def _most_voted(self, variant: Variant, votes: DescriptorVotes) -> ProposedSegments:
        """The tracks with most votes for one variant, without removed ones."""
        kept = np.flatnonzero(self._are_allowed(votes.tracks))
        kept = kept[self._within_limit(votes.tracks[kept], PROPOSED_TRACKS)]
        tracks = votes.tracks[kept]
        allowed = np.ones(len(tracks), np.bool_)
        return self._segments(variant, tracks, votes.offsets[kept], votes.scores[kept], allowed)

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
        while True:
            least = np.partition(scores, -most)[-most] if len(scores) > most else 0
            near = np.flatnonzero((scores >= least) & (scores > 0))
            best = tracks[near[np.argsort(-scores[near], kind="stable")[:most]]]
            places = self._within_limit(best, PROPOSED_TRACKS)
            if len(places) == PROPOSED_TRACKS or len(best) < most:
                break
            most *= _WIDENING
        best = best[places]
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
        recordings = index.entries.recordings_of(tracks).astype(np.int64)
        dances = index.entries.dances_of(tracks).astype(np.int64)
        return ProposedSegments(tracks, recordings, dances, firsts, ends, scores, allowed)


def find_candidates(
    index: SearchIndex, variants: Sequence[Variant], settings: Settings, only: DanceFilter
) -> Candidates:
    """Return the recordings of an index that are most similar to any variant of the query."""
    source = LocalCandidates(index, variants, only, settings.recordings_per_dance)
    proposal = shortlist_recordings(source, len(variants), settings)
    segments = [index.entries.bounds(entries) for entries in proposal.entries]
    further = proposal.further
    if further is None:
        return Candidates(proposal.dances, segments)
    bounds = SegmentBounds(further.tracks, further.firsts, further.lasts)
    return Candidates(
        np.concatenate([proposal.dances, further.dances]), [one.append(bounds) for one in segments]
    )


def shortlist_recordings(source: CandidateSource, variants: int, settings: Settings) -> Proposal:
    """Return the recordings of a source that are most similar to any of so many variants of the query."""
    size, per_dance = source.index_size(), settings.recordings_per_dance
    wanted = settings.shortlist_size(size.allowed) if variants else 0
    if not wanted:
        return Proposal.empty(variants)
    best = _nearest_by_recording(source, size, wanted, per_dance)
    chosen = _most_similar(best, wanted, per_dance)
    entries = [_entry_of_each(one, best, chosen.recordings) for one in best]
    if wanted >= size.allowed:
        return Proposal(chosen.dances, entries, None)
    further = source.segments_by_trigrams()
    if settings.adds_synchrony(size.tracks):
        further = further + source.segments_by_synchrony()
    elif settings.ranked_by == "likelihood":
        further = [*further, *source.segments_by_descriptors()]
    return Proposal(chosen.dances, entries, _further_recordings(further, chosen, per_dance))


def _nearest_by_recording(
    source: CandidateSource, index: IndexSize, wanted: int, per_dance: int | None
) -> list[RankedEntries]:
    """Each variant's best entry per recording, of so many entries that none better is among the rest."""
    several = min(_ENTRIES_PER_RECORDING, -(-index.entries // max(1, index.recordings)))
    size = several * wanted + index.background
    while size < index.entries // 2:
        tops = source.nearest_entries(size)
        best = [_best_by_recording(top) for top in tops]
        beyond = max(float(top.scores[-1]) if len(top.entries) == size else -np.inf for top in tops)
        if beyond == -np.inf:
            return best
        scores = _most_similar(best, wanted, per_dance).scores
        if len(scores) == wanted and scores[-1] >= beyond:
            return best
        size *= 4
    return [_best_by_recording(top) for top in source.nearest_entries(None)]


def _best_by_recording(top: RankedEntries) -> RankedEntries:
    ours = top.at(top.recordings != BACKGROUND_TRACK)
    # The best entry of each recording first; equal ones by number.
    order = np.lexsort((ours.entries, -ours.scores, ours.recordings))
    firsts = order[np.flatnonzero(np.diff(ours.recordings[order], prepend=-1))]
    return ours.at(firsts[np.lexsort((ours.entries[firsts], -ours.scores[firsts]))])


class _Chosen(NamedTuple):
    """Recordings by their best score for any variant, best first; equal ones in the order of numbers."""

    recordings: IntArray
    dances: IntArray
    scores: NDArray[np.float32]


def _most_similar(best: Sequence[RankedEntries], wanted: int, per_dance: int | None) -> _Chosen:
    """The most similar recordings, so many in all, and of one dance at most `per_dance`."""
    every = np.concatenate([one.recordings for one in best])
    recordings, firsts, places = np.unique(every, return_index=True, return_inverse=True)
    dances = np.concatenate([one.dances for one in best])[firsts]
    scores = np.full(len(recordings), -np.inf, np.float32)
    np.maximum.at(scores, places, np.concatenate([one.scores for one in best]))
    order = np.lexsort((recordings, -scores))
    order = order[within_limit(dances[order], recordings[order], per_dance)][:wanted]
    return _Chosen(recordings[order], dances[order], scores[order])


def _entry_of_each(own: RankedEntries, best: Sequence[RankedEntries], recordings: IntArray) -> IntArray:
    """The variant's own best entry of each recording or, where its list has none, another variant's."""
    found = np.full(len(recordings), -1, np.int64)
    for one in (own, *reversed(best)):
        if not len(one.recordings):
            continue
        order = np.argsort(one.recordings)
        at = order[np.searchsorted(one.recordings, recordings, sorter=order).clip(max=len(order) - 1)]
        there = (one.recordings[at] == recordings) & (found < 0)
        found[there] = one.entries[at[there]]
    return found


def _further_recordings(
    lists: Sequence[ProposedSegments], chosen: _Chosen, per_dance: int | None
) -> ProposedSegments | None:
    """The best segment of each recording that may be found, is not chosen and is within its dance's limit."""
    every = ProposedSegments(*map(np.concatenate, zip(*lists, strict=True)))
    known, counts, places = set(chosen.recordings.tolist()), Counter(chosen.dances.tolist()), []
    for place, (recording, dance) in enumerate(
        zip(every.recordings.tolist(), every.dances.tolist(), strict=True)
    ):
        full = per_dance is not None and counts[dance] >= per_dance
        if recording not in known and not full and every.allowed[place]:
            known.add(recording)
            counts[dance] += 1
            places.append(place)
    return every.at(places) if places else None
