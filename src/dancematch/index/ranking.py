"""Stage two and the verdict: shortlisted dances in order, with how sure each is.

It needs the words of the shortlist and of a few peers, and nothing else of a catalogue: where those
came from, the library of this process or parts of one on other machines, makes no difference.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dancematch.index.align import TEMPI
from dancematch.index.calibrate import Judging, Tail, evalues, tail_of
from dancematch.index.hands import each
from dancematch.index.judge import Judged, judge
from dancematch.index.likeness import Rarity, Reading
from dancematch.index.settings import Settings
from dancematch.index.shelf import Placed, Shelf, Stretches
from dancematch.index.takes import are_takes, dances_among, histograms
from dancematch.types import Fingerprint, FloatArray, Match

PEERS = 60  # dances of the catalogue that help to judge a score
PASSAGES = 8  # of a match


@dataclass(frozen=True)
class Query:
    """One way to read the clip that is searched for."""

    fingerprint: Fingerprint
    mirrored: bool = False
    dancer: int = 1


@dataclass(frozen=True, eq=False)
class Shortlisted:
    """Dances to be looked at closely."""

    names: Sequence[str]
    stretches: Sequence[Placed]  # a reading: one a dance, on the shelf
    shelf: Shelf


@dataclass(frozen=True, eq=False)
class Peers:
    """A few dances of the catalogue, evenly chosen, as a yardstick."""

    names: Sequence[str]  # a track each
    entries: Placed  # track by track the whole and its windows, on the shelf
    begins: NDArray[np.int64]  # where each track's entries begin
    shelf: Shelf
    rarity: Rarity

    @cached_property
    def _histograms(self) -> FloatArray:
        return histograms(
            self.shelf.stretches(self.shelf.wholes(self.entries.tracks[self.begins])), self.rarity
        )

    @cached_property
    def _alike(self) -> FloatArray:
        return self._histograms @ self._histograms.T

    @cached_property
    def takes(self) -> dict[str, int]:
        """The same number for takes of one dance, by name."""
        return dict(zip(self.names, dances_among(self._alike).tolist(), strict=True))

    def takes_of(self, dances: Stretches) -> list[frozenset[str]]:
        """Of each dance, the peers that are takes of it."""
        if not len(self.names):
            return [frozenset()] * (len(dances.offsets) - 1)
        likeness = histograms(dances, self.rarity) @ self._histograms.T
        taken = [np.flatnonzero(are_takes(one, self._alike)).tolist() for one in likeness]
        return [frozenset(self.names[peer] for peer in peers) for peers in taken]


@dataclass(frozen=True)
class _Found:
    """A dance that stage two has looked at, by the reading of the clip that fits it best."""

    reading: int
    candidate: int
    name: str
    score: float
    evidence: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """What other dances score against one reading of the clip."""

    background: FloatArray
    peers: dict[str, float]  # dances of the catalogue, by name
    takes: Mapping[str, int]  # of each peer: the same number for takes of one dance
    dances: int  # how many the catalogue has

    @cached_property
    def _tail(self) -> Tail | None:
        return tail_of(self.background)

    def evalues(self, scores: FloatArray, readings: int, but: Collection[str]) -> FloatArray:
        """How many dances would score as well by chance, all readings of the clip tried.

        `but` some peers: nobody is a judge of himself, nor of another take of his dance.
        """
        names = [name for name in self.peers if name not in but]
        judging = Judging(
            np.array([self.peers[name] for name in names], np.float32),
            np.array([self.takes[name] for name in names], np.int64),
        )
        return evalues(scores, self._tail, judging, self.dances * readings)


@dataclass(frozen=True, eq=False)
class Judges:
    """What scores are judged by: clips of no dance here, and dances that are here."""

    background: Stretches
    peers: Peers
    dances: int  # how many the catalogue has
    but: frozenset[str] = frozenset()  # peers that count as if they were not there


def rank(
    queries: Sequence[Query],
    readings: Sequence[Reading],
    shortlisted: Shortlisted,
    judges: Judges,
    settings: Settings,
    limit: int,
) -> list[Match]:
    """The shortlisted dances most like the clip, best first; each by its best reading and place."""
    looked = each(
        lambda number: look_at(readings[number], shortlisted.shelf, shortlisted.stretches[number], settings),
        range(len(readings)),
    )
    found = _ranked(queries, shortlisted.names, looked, limit)
    tracks = [int(shortlisted.stretches[one.reading].tracks[one.candidate]) for one in found]
    chances = _chances(found, tracks, readings, shortlisted.shelf, judges, settings)
    return [
        _match(
            one, queries[one.reading], readings[one.reading],
            reference=shortlisted.shelf.fingerprint(track), looked=looked[one.reading], evalue=chance,
        )
        for one, track, chance in zip(found, tracks, chances, strict=True)
    ]  # fmt: skip


def _chances(
    found: Sequence[_Found],
    tracks: Sequence[int],
    readings: Sequence[Reading],
    shelf: Shelf,
    judges: Judges,
    settings: Settings,
) -> list[float]:
    """The E-value of each dance that was found, whose track on the shelf is told."""
    best = sorted({one.reading for one in found})
    crowds = dict(
        zip(best, each(lambda number: crowd(readings[number], judges, settings), best), strict=True)
    )
    takes = judges.peers.takes_of(shelf.stretches(shelf.wholes(np.array(tracks, np.int64))))
    return [
        float(crowds[one.reading].evalues(np.array([one.evidence]), len(readings), own | {one.name})[0])
        for one, own in zip(found, takes, strict=True)
    ]


def look_at(reading: Reading, shelf: Shelf, placed: Placed, settings: Settings) -> Judged:
    """What both stages say of stretches of known dances for one reading of the clip."""
    stretches, whole = shelf.stretches(placed), shelf.wholes(placed.tracks)
    same = not placed.firsts.any() and np.array_equal(placed.lasts, whole.lasts)
    return judge(reading, stretches, stretches if same else shelf.stretches(whole), settings)


def crowd(reading: Reading, judges: Judges, settings: Settings) -> Crowd:
    """What other dances score against one reading of the clip."""
    background = judge(reading, judges.background, judges.background, settings).evidence
    peers = judges.peers
    shown = reading.histogram(reading.cosines(peers.shelf.stretches(peers.entries)))
    tops = np.maximum.reduceat(shown, peers.begins)
    best = np.flatnonzero(shown == np.repeat(tops, np.diff(peers.begins, append=len(shown))))
    best = best[best.searchsorted(peers.begins)]  # of equal ones the first
    chosen = Placed(*(column[best] for column in peers.entries))
    judged = look_at(reading, peers.shelf, chosen, settings).evidence
    scores = dict(zip(peers.names, judged.tolist(), strict=True))
    for name in judges.but & scores.keys():
        del scores[name]  # as if it were not there
    return Crowd(background, scores, peers.takes, judges.dances)


def _ranked(
    queries: Sequence[Query], names: Sequence[str], looked: Sequence[Judged], limit: int
) -> list[_Found]:
    """The best dances in their order, each by the reading that fits it best."""
    if not len(names):
        return []
    agreements = np.stack([one.lines.agreements for one in looked])  # [readings, dances]
    scores = np.stack([one.scores for one in looked])
    # Between mirrored and not, order decides: a dance that repeats its moves on the other side
    # has its own mirror's histogram. Between dancers, the score: a few words agree with anything.
    dancers = np.array([query.dancer for query in queries])
    for dancer in np.unique(dancers):
        own = np.flatnonzero(dancers == dancer)
        best = own[agreements[own].argmax(axis=0)]
        scores[own] = np.where(own[:, None] == best, scores[own], -np.inf)
    chosen, best_scores = scores.argmax(axis=0).tolist(), scores.max(axis=0).tolist()
    order = sorted(range(len(names)), key=lambda number: (-best_scores[number], names[number]))
    return [
        _Found(
            chosen[number],
            number,
            names[number],
            score=best_scores[number],
            evidence=float(looked[chosen[number]].evidence[number]),
        )
        for number in order[:limit]
    ]


def _match(
    found: _Found, query: Query, reading: Reading, *, reference: Fingerprint, looked: Judged, evalue: float
) -> Match:
    number, lines = found.candidate, looked.lines
    in_query, in_reference = reading.spans(reference, int(lines.offsets[number]), int(lines.tempi[number]))
    by_channel = {
        name: max(0.0, float(cosine))
        for name, cosine, shown in zip(
            reading.codebook.channels, looked.cosines[:, number], reading.seen, strict=True
        )
        if shown > 0
    }
    parts = {name: float(values[number]) for name, values in looked.parts.items()}
    return Match(
        dance_id=found.name,
        score=found.score,
        query=in_query,
        reference=in_reference,
        mirrored=query.mirrored,
        tempo=TEMPI[lines.tempi[number]],
        dancer=query.dancer,
        evalue=evalue,
        parts={**parts, "order": float(lines.agreements[number]), **by_channel},
        passages=reading.passages(reference, PASSAGES),
    )
