"""Stage one: which dances are worth a closer look, out of all.

Three ways lead onto the shortlist. By histogram, exactly: no dance that was left out has an entry
more like the clip than one that was taken. By three words in a row (`postings.py`), which finds short
clips that a histogram cannot tell apart. And, in a catalogue that is not too large for it, by synchrony
(`coarse_synchrony.py`), which finds what another person dances in other words at the same moments.

What is chosen depends on the entries alone, not on where they are: `choose` asks a `CandidateSource`,
which is this process's own `SearchIndex` here and may be the parts of one on many machines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dancematch.search.settings import ALL_DANCES, DanceFilter, Settings
from dancematch.search.stage1.coarse_synchrony import MOST_TRACKS, CoarseScores, coarse_scores
from dancematch.search.stage1.columns import Columns
from dancematch.search.stage1.postings import Postings, Tally
from dancematch.search.stage2.variant import Variant
from dancematch.search.thread_pool import parallel_map
from dancematch.search.words.entries import BACKGROUND_TRACK, Entries
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.tracks import bones_of

VOTED = 20  # tracks that each reading of the clip may add by three words in a row, and as many by synchrony
_SPARE = 4  # entries asked for, at first, for each dance that is wanted: a long one has many; never more

IntArray = NDArray[np.int64]


class IndexSize(NamedTuple):
    """How many there are."""

    entries: int  # strangers included
    strangers: int
    dances: int
    allowed: int  # dances that the search may find
    tracks: int


class RankedEntries(NamedTuple):
    """Entries by how like one reading they are, best first; equal ones in the order of their numbers."""

    entries: IntArray
    dances: IntArray  # `BACKGROUND_TRACK` for a stranger
    scores: NDArray[np.float32]


class ProposedSegments(NamedTuple):
    """Stretches that another way than the histogram speaks for, best first; equal ones in track order."""

    tracks: IntArray
    dances: IntArray
    firsts: IntArray
    lasts: IntArray
    scores: NDArray[np.float32]
    allowed: NDArray[np.bool_]  # whether the search may find them

    def at(self, places: Sequence[int] | NDArray[np.integer]) -> "ProposedSegments":
        """Some of them."""
        tracks, dances, firsts, lasts, scores, allowed = self
        where = np.asarray(places, dtype=np.intp)
        return ProposedSegments(
            tracks[where], dances[where], firsts[where], lasts[where], scores[where], allowed[where]
        )


class CandidateSource(Protocol):
    """All entries, as a search of one clip sees them; a list has an item a reading of the clip."""

    def census(self) -> IndexSize:
        """How many there are."""

    def nearest(self, size: int | None) -> list[RankedEntries]:
        """The entries most like the clip, at most `size`; all of them if that is None."""

    def voted(self) -> list[ProposedSegments]:
        """What three words in a row speak for, at most `VOTED`."""

    def synchronous(self) -> list[ProposedSegments]:
        """What synchrony speaks for, at most `VOTED`."""


class Proposal(NamedTuple):
    """Proposed dances by the numbers that their field gives them."""

    dances: IntArray
    entries: list[IntArray]  # a reading: the entry of each dance that is most like it
    voted: ProposedSegments | None  # further dances, the same stretch of each for every reading

    @classmethod
    def nobody(cls, readings: int) -> "Proposal":
        """No dance at all."""
        none = np.zeros(0, np.int64)
        return cls(none, [none] * readings, None)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Proposed dances: for each reading of the clip, the stretch most like it."""

    dances: IntArray
    stretches: list[SegmentBounds]  # a reading: one a dance

    def __len__(self) -> int:
        return len(self.dances)


class _Best(NamedTuple):
    """Each dance's best entry for one reading, best first."""

    dances: IntArray
    entries: IntArray
    scores: NDArray[np.float32]


@dataclass(frozen=True)
class SearchIndex:
    """All that is known of the dances, in the shapes that each way of looking needs."""

    entries: Entries
    shelf: WordStore
    columns: Columns
    postings: Postings


class LocalCandidates:
    """The entries of a library, by its own numbers."""

    def __init__(self, library: SearchIndex, readings: Sequence[Variant], only: DanceFilter) -> None:
        self._library, self._readings, self._only = library, readings, only
        self._allowed = library.entries.allowed(only)

    def census(self) -> IndexSize:
        """How many there are."""
        entries = self._library.entries
        allowed = entries.dances_among(self._allowed, self._only)
        columns, tracks = self._library.columns, entries.tracks_count
        return IndexSize(len(columns), len(entries.strangers), entries.dances, allowed, tracks)

    def nearest(self, size: int | None) -> list[RankedEntries]:
        """The entries most like the clip, at most `size`; all of them if that is None."""
        columns, readings = self._library.columns, self._readings
        among = None if self._only == ALL_DANCES else self._library.entries.entries_among(self._allowed)
        if size is not None:
            counts, seen = [one.counts for one in readings], [one.seen for one in readings]
            return [self._ranked(*top) for top in columns.top_of_each(counts, seen, size, among)]
        every = [columns.scores(one.counts, one.seen) for one in readings]
        if among is not None:
            every = [type(top)(top.rows[among[top.rows]], top.scores[among[top.rows]]) for top in every]
        return [self._ranked(*top) for top in every]

    def _ranked(self, rows: IntArray, scores: NDArray[np.float32]) -> RankedEntries:
        entries = self._library.entries
        tracks = entries.placed(rows).tracks
        dances = np.full(len(rows), BACKGROUND_TRACK, np.int64)
        dances[tracks != BACKGROUND_TRACK] = entries.dances_of(tracks[tracks != BACKGROUND_TRACK])
        return RankedEntries(rows, dances, scores)

    def voted(self, tallies: Sequence[Tally] | None = None) -> list[ProposedSegments]:
        """What three words in a row speak for, at most `VOTED`; how rare they are, `tallies` may say."""
        numbers = range(len(self._readings))
        return parallel_map(
            lambda n: self._voted(self._readings[n], tallies[n] if tallies else None), numbers
        )

    def _voted(self, reading: Variant, tally: Tally | None) -> ProposedSegments:
        votes = self._library.postings.search(reading.fingerprint, VOTED, tally)
        # A track may have come since it was asked who is allowed.
        allowed = np.append(self._allowed, False)[np.minimum(votes.entries, len(self._allowed))]
        return self._stretches(reading, votes.entries, votes.offsets, votes.scores, allowed)

    def synchronous(self) -> list[ProposedSegments]:
        """What synchrony speaks for, at most `VOTED`."""
        tracks = np.flatnonzero(self._allowed)
        bones = [bones_of(one.fingerprint) for one in self._readings]
        step = self._readings[0].fingerprint.seconds_per_word
        found = coarse_scores(bones, self._library.shelf.volumes, step)
        return [self._best(*one, tracks) for one in zip(self._readings, found, strict=True)]

    def _best(self, reading: Variant, found: CoarseScores, tracks: IntArray) -> ProposedSegments:
        """The tracks that move most like one reading; equal ones in the order of their numbers."""
        scores = found.scores[tracks]
        least = np.partition(scores, -VOTED)[-VOTED] if len(scores) > VOTED else 0
        near = np.flatnonzero((scores >= least) & (scores > 0))
        best = tracks[near[np.argsort(-scores[near], kind="stable")[:VOTED]]]
        allowed = np.ones(len(best), np.bool_)
        return self._stretches(reading, best, found.offsets[best], found.scores[best], allowed)

    def _stretches(
        self,
        reading: Variant,
        tracks: IntArray,
        offsets: IntArray,
        scores: NDArray[np.float32],
        allowed: NDArray[np.bool_],
    ) -> ProposedSegments:
        """The stretches of tracks that the clip covers if it begins at these offsets."""
        library = self._library
        lasts = library.shelf.wholes(tracks).lasts
        firsts = np.clip(offsets, 0, lasts)
        ends = np.clip(offsets + len(reading.fingerprint) - 1, firsts, lasts)
        dances = library.entries.dances_of(tracks).astype(np.int64)
        return ProposedSegments(tracks, dances, firsts, ends, scores, allowed)


def propose(
    library: SearchIndex, readings: Sequence[Variant], settings: Settings, only: DanceFilter
) -> Candidates:
    """The dances most like the clip in any of its readings."""
    chosen = choose(LocalCandidates(library, readings, only), len(readings), settings)
    stretches = [library.entries.placed(entries) for entries in chosen.entries]
    if chosen.voted is None:
        return Candidates(chosen.dances, stretches)
    more = chosen.voted.tracks, chosen.voted.firsts, chosen.voted.lasts
    stretches = [SegmentBounds(*map(np.concatenate, zip(one, more, strict=True))) for one in stretches]
    return Candidates(np.concatenate([chosen.dances, chosen.voted.dances]), stretches)


def choose(field: CandidateSource, readings: int, settings: Settings) -> Proposal:
    """The dances of a field that are most like the clip in any of its readings."""
    census = field.census()
    wanted = settings.shortlisted(census.allowed) if readings else 0
    if not wanted:
        return Proposal.nobody(readings)
    best = _nearest(field, census, wanted)
    dances = _most_alike(best, wanted)
    entries = [_entry_of_each(one, best, dances) for one in best]
    if wanted >= census.allowed:
        return Proposal(dances, entries, None)
    votes = field.voted() + (field.synchronous() if _by_synchrony(census, settings) else [])
    return Proposal(dances, entries, _newcomers(votes, dances))


def _by_synchrony(census: IndexSize, settings: Settings) -> bool:
    return settings.ranked_by == "likelihood" and census.tracks <= MOST_TRACKS


def _nearest(field: CandidateSource, census: IndexSize, wanted: int) -> list[_Best]:
    """Each reading's best entries, as many as it takes that no better dance can be among the rest."""
    several = min(_SPARE, -(-census.entries // max(1, census.dances)))
    size = several * wanted + census.strangers
    while size < census.entries // 2:
        tops = field.nearest(size)
        best = [_by_dance(top) for top in tops]
        beyond = max(float(top.scores[-1]) if len(top.entries) == size else -np.inf for top in tops)
        scores = _best_scores(best)[1]
        if beyond == -np.inf or (len(scores) >= wanted and np.partition(scores, -wanted)[-wanted] >= beyond):
            return best
        size *= 4
    return [_by_dance(top) for top in field.nearest(None)]


def _by_dance(top: RankedEntries) -> _Best:
    ours = top.dances != BACKGROUND_TRACK
    rows, dances, scores = (column[ours] for column in top)
    order = np.lexsort((rows, -scores, dances))  # the best of each dance first; equal ones by number
    sorted_dances = dances[order]
    firsts = order[np.flatnonzero(np.diff(sorted_dances, prepend=-1))]
    firsts = firsts[np.lexsort((rows[firsts], -scores[firsts]))]
    return _Best(dances[firsts], rows[firsts], scores[firsts])


def _best_scores(best: Sequence[_Best]) -> tuple[IntArray, NDArray[np.float32]]:
    """Every dance in any of the lists, and its best score."""
    dances, places = np.unique(np.concatenate([one.dances for one in best]), return_inverse=True)
    scores = np.full(len(dances), -np.inf, np.float32)
    np.maximum.at(scores, places, np.concatenate([one.scores for one in best]))
    return dances, scores


def _most_alike(best: Sequence[_Best], wanted: int) -> IntArray:
    dances, scores = _best_scores(best)
    return dances[np.lexsort((dances, -scores))[:wanted]]


def _entry_of_each(own: _Best, best: Sequence[_Best], chosen: IntArray) -> IntArray:
    """The reading's own best entry of each dance or, where it has none in its list, another reading's."""
    found = np.full(len(chosen), -1, np.int64)
    for one in (own, *reversed(best)):
        if not len(one.dances):
            continue
        order = np.argsort(one.dances)
        at = order[np.searchsorted(one.dances, chosen, sorter=order).clip(max=len(order) - 1)]
        there = (one.dances[at] == chosen) & (found < 0)
        found[there] = one.entries[at[there]]
    return found


def _newcomers(every: Sequence[ProposedSegments], dances: IntArray) -> ProposedSegments | None:
    """Of what each reading votes for, the dances that may be found and are not chosen already."""
    all_votes = ProposedSegments(*map(np.concatenate, zip(*every, strict=True)))
    known, places = set(dances.tolist()), []
    for place, dance in enumerate(all_votes.dances.tolist()):
        if dance not in known and all_votes.allowed[place]:
            known.add(dance)
            places.append(place)
    return all_votes.at(places) if places else None
