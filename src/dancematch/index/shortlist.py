"""Stage one: which dances are worth a closer look, out of all.

Two ways lead onto the shortlist. By histogram, exactly: no dance that was left out has an entry
more like the clip than one that was taken. And by three words in a row (`postings.py`), which
finds short clips that a histogram cannot tell apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.index.columns import Columns, Top
from dancematch.index.entries import NOBODY, Entries
from dancematch.index.hands import each
from dancematch.index.likeness import Reading
from dancematch.index.postings import Postings
from dancematch.index.settings import ANY, Only, Settings
from dancematch.index.shelf import Placed, Shelf

VOTED = 20  # dances that each reading of the clip may add by three words in a row
_SPARE = 4  # entries asked for, at first, for each dance that is wanted: a long one has many; never more

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Proposed dances: for each reading of the clip, the stretch most like it."""

    dances: IntArray
    stretches: list[Placed]  # a reading: one a dance

    def __len__(self) -> int:
        return len(self.dances)


class _Best(NamedTuple):
    """Each dance's best entry for one reading, best first."""

    dances: IntArray
    entries: IntArray
    scores: NDArray[np.float32]


@dataclass(frozen=True)
class Library:
    """All that is known of the dances, in the shapes that each way of looking needs."""

    entries: Entries
    shelf: Shelf
    columns: Columns
    postings: Postings


def propose(library: Library, readings: Sequence[Reading], settings: Settings, only: Only) -> Candidates:
    """The dances most like the clip in any of its readings."""
    allowed = library.entries.allowed(only)
    dances = library.entries.dances_among(allowed, only)
    wanted = settings.shortlisted(dances) if readings else 0
    if not wanted:
        none = np.zeros(0, np.int64)
        return Candidates(none, [Placed(none, none, none)] * len(readings))
    best = _nearest(library, readings, wanted, None if only == ANY else allowed)
    chosen = _most_alike(best, wanted)
    stretches = [library.entries.placed(_entry_of_each(one, best, chosen)) for one in best]
    candidates = Candidates(chosen, stretches)
    return candidates if wanted >= dances else _with_voted(candidates, library, readings, allowed)


def _nearest(
    library: Library, readings: Sequence[Reading], wanted: int, allowed: NDArray[np.bool_] | None
) -> list[_Best]:
    """Each reading's best entries, as many as it takes that no better dance can be among the rest."""
    columns, entries = library.columns, library.entries
    among = None if allowed is None else entries.entries_among(allowed)
    counts, seen = [one.counts for one in readings], [one.seen for one in readings]
    several = min(_SPARE, -(-len(columns) // max(1, entries.dances)))
    size = several * wanted + len(entries.strangers)
    while size < len(columns) // 2:
        tops = columns.top_of_each(counts, seen, size, among)
        best = [_by_dance(entries, top.rows, top.scores) for top in tops]
        beyond = max(float(top.scores[-1]) if len(top.rows) == size else -np.inf for top in tops)
        scores = _best_scores(best)[1]
        if beyond == -np.inf or (len(scores) >= wanted and np.partition(scores, -wanted)[-wanted] >= beyond):
            return best
        size *= 4
    every = [columns.scores(*one) for one in zip(counts, seen, strict=True)]
    if among is not None:
        every = [Top(top.rows[among[top.rows]], top.scores[among[top.rows]]) for top in every]
    return [_by_dance(entries, top.rows, top.scores) for top in every]


def _by_dance(entries: Entries, rows: IntArray, scores: NDArray[np.float32]) -> _Best:
    tracks = entries.placed(rows).tracks
    ours = tracks != NOBODY
    rows, scores, dances = rows[ours], scores[ours], entries.dances_of(tracks[ours])
    order = np.lexsort((rows, -scores, dances))  # the best of each dance first; equal ones by number
    sorted_dances = dances[order]
    firsts = order[np.flatnonzero(np.diff(sorted_dances, prepend=-1))]
    firsts = firsts[np.lexsort((rows[firsts], -scores[firsts]))]
    return _Best(dances[firsts].astype(np.int64), rows[firsts], scores[firsts])


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


def _with_voted(
    candidates: Candidates, library: Library, readings: Sequence[Reading], allowed: NDArray[np.bool_]
) -> Candidates:
    """The same and, where three words in a row speak for others, those too."""
    known = set(candidates.dances.tolist())
    dances, added = [], []
    every = each(lambda reading: library.postings.search(reading.fingerprint, VOTED), readings)
    for reading, votes in zip(readings, every, strict=True):
        lasts = library.shelf.wholes(votes.entries).lasts
        firsts = np.clip(votes.offsets, 0, lasts)
        ends = np.clip(votes.offsets + len(reading.fingerprint) - 1, firsts, lasts)
        whose = library.entries.dances_of(votes.entries).tolist()
        for dance, *stretch in zip(whose, votes.entries, firsts, ends, strict=True):
            if dance not in known and allowed[stretch[0]]:
                known.add(dance)
                dances.append(dance)
                added.append(stretch)
    if not added:
        return candidates
    more = np.array(added, dtype=np.int64).T
    stretches = [Placed(*map(np.concatenate, zip(one, more, strict=True))) for one in candidates.stretches]
    return Candidates(np.concatenate([candidates.dances, dances]).astype(np.int64), stretches)
