"""Fingerprint -> Match: the search itself, in two stages.

Stage one compares word histograms with every entry; stage two looks at the best dances'
words in their order, says where the clip lies in them and at what tempo.

Every dance is entered as a whole and, when it is long, as overlapping windows too: the
histogram of three minutes does not show the five seconds somebody danced of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.errors import ModelMismatchError
from dancematch.index.align import Placement, place, usual_similarity
from dancematch.index.calibrate import evalue
from dancematch.index.histogram import (
    DEFAULT_WEIGHTING,
    Histograms,
    Weighting,
    channels_seen,
    combine_channels,
    word_counts,
)
from dancematch.types import Codebook, Fingerprint, FloatArray, Match

LIMIT = 10  # matches a search returns
SHORTLIST = 30  # dances that stage two looks at
ORDER_WEIGHT = 0.5  # of stage two in the score; the rest is stage one's
PEERS = 60  # dances of the catalogue that help to judge a score
WINDOW_SECONDS = 6.0
WINDOW_STEP_SECONDS = 2.0
WINDOWED_FROM_SECONDS = 9.0  # a shorter dance is found well enough as a whole


@dataclass(frozen=True)
class Query:
    """One way to read the clip that is searched for."""

    fingerprint: Fingerprint
    mirrored: bool = False
    dancer: int = 1


@dataclass(frozen=True)
class _Entry:
    dance_id: str
    fingerprint: Fingerprint  # the whole dance's, or a window's
    whole: Fingerprint


@dataclass(frozen=True)
class _Candidate:
    """A dance that stage one proposes for one reading of the clip."""

    query: Query
    entry: _Entry
    histogram: float  # the cosine, 0..1
    parts: dict[str, float]  # the same by channel


@dataclass(frozen=True)
class _Ranked:
    """A candidate that stage two has looked at."""

    candidate: _Candidate
    placement: Placement

    @property
    def score(self) -> float:
        return score_of(self.candidate.histogram, self.placement)


@dataclass(frozen=True)
class _Crowd:
    """What other dances score against one reading of the clip."""

    background: FloatArray
    peers: dict[str, float]  # dances of the catalogue, by name
    dances: int  # how many the catalogue has

    def evalue(self, found: _Ranked, readings: int) -> float:
        """How many dances would score as well by chance, all readings of the clip tried."""
        own = found.candidate.entry.dance_id
        peers = np.array([score for name, score in self.peers.items() if name != own])
        return evalue(found.score, self.background, peers, self.dances * readings)


def score_of(histogram: float, placement: Placement) -> float:
    """What both stages say together: 0 nothing in common, 1 the same words in the same order."""
    return (1 - ORDER_WEIGHT) * histogram + ORDER_WEIGHT * max(0.0, placement.agreement)


def windows(fingerprint: Fingerprint) -> Iterator[Fingerprint]:
    """The overlapping stretches a long fingerprint is also known by; none for a short one."""
    length = round(WINDOW_SECONDS / fingerprint.seconds_per_word)
    step = round(WINDOW_STEP_SECONDS / fingerprint.seconds_per_word)
    total = len(fingerprint)
    if total * fingerprint.seconds_per_word < WINDOWED_FROM_SECONDS:
        return
    for first in (*range(0, total - length, step), total - length):
        yield fingerprint.stretch(first, first + length - 1)


class Engine:
    """The dances of a catalogue, ready to be searched."""

    def __init__(
        self,
        codebook: Codebook,
        dances: Iterable[tuple[str, Fingerprint]],
        *,
        background: Sequence[Fingerprint] = (),
        weighting: Weighting = DEFAULT_WEIGHTING,
    ) -> None:
        """Enter `dances`, of which one may come several times (once a dancer or take)."""
        self._codebook = codebook
        self._entries = [
            _Entry(dance_id, part, whole)
            for dance_id, whole in dances
            for part in (self._checked(whole), *windows(whole))
        ]
        self._background = [self._checked(fingerprint) for fingerprint in background]
        names = [entry.dance_id for entry in self._entries]
        _, self._dance_of = np.unique(np.array(names, dtype=object), return_inverse=True)
        if self._entries:
            known = [entry.fingerprint for entry in self._entries] + self._background
            self._seen = np.stack([channels_seen(fingerprint) for fingerprint in known], axis=1)
            counts = [word_counts(fingerprint) for fingerprint in known]
            self._histograms = Histograms(counts, weighting)
            self._usual = usual_similarity(codebook, np.sum(counts, axis=0, dtype=np.int64))

    def _checked(self, fingerprint: Fingerprint) -> Fingerprint:
        if fingerprint.model_id != self._codebook.model_id:
            raise ModelMismatchError(
                f"these words are of the model {fingerprint.model_id}, "
                f"expected {self._codebook.model_id}; fingerprint the dance again with this model"
            )
        return fingerprint

    def search(self, queries: Sequence[Query], *, limit: int = LIMIT) -> list[Match]:
        """The dances most like the clip, best first; each by its best reading and place."""
        candidates = self._shortlist(queries)  # stage one: histograms
        ranked = self._rerank(candidates)  # stage two: order in time
        if not ranked:
            return []
        crowds: dict[int, _Crowd] = {}
        matches = []
        for found in ranked[:limit]:
            query = found.candidate.query
            if id(query) not in crowds:
                crowds[id(query)] = self._crowd(query.fingerprint)
            matches.append(self._match(found, crowds[id(query)], len(queries)))
        return matches

    def _shortlist(self, queries: Sequence[Query]) -> list[list[_Candidate]]:
        """The dances whose words are most like the clip's, each with all readings of the clip."""
        by_dance: dict[str, list[_Candidate]] = {}
        for query in queries if self._entries else ():
            for candidate in self._candidates(query):
                by_dance.setdefault(candidate.entry.dance_id, []).append(candidate)
        nearest = sorted(by_dance.values(), key=lambda readings: -max(c.histogram for c in readings))
        return nearest[:SHORTLIST]

    def _candidates(self, query: Query) -> Iterator[_Candidate]:
        """Every dance's best entry for one reading of the clip."""
        seen = channels_seen(self._checked(query.fingerprint))
        cosines, scores = self._compare(query.fingerprint)
        for entry in self._best_entry_of_each_dance(scores[: len(self._entries)]):
            parts = {
                name: float(cosine)
                for name, cosine, shown in zip(self._codebook.channels, cosines[:, entry], seen, strict=True)
                if shown > 0
            }
            yield _Candidate(query, self._entries[entry], float(scores[entry]), parts)

    def _compare(self, query: Fingerprint) -> tuple[FloatArray, FloatArray]:
        """Cosines by channel, [C, N + background], and together, [N + background]."""
        cosines = self._histograms.cosines(word_counts(query))
        return cosines, combine_channels(cosines, channels_seen(query), self._seen)

    def _rerank(self, candidates: list[list[_Candidate]]) -> list[_Ranked]:
        """Place every reading in every dance; a dance keeps the reading whose order in time fits best."""
        ranked = []
        for readings in candidates:
            by_dancer: dict[int, list[_Ranked]] = {}
            for candidate in readings:
                placement = self._place(candidate.query.fingerprint, candidate.entry.whole)
                by_dancer.setdefault(candidate.query.dancer, []).append(_Ranked(candidate, placement))
            # Between mirrored and not, order decides: a dance that repeats its moves on the other side
            # has its own mirror's histogram. Between dancers, the score: a few words agree with anything.
            best = [max(own, key=lambda found: found.placement.agreement) for own in by_dancer.values()]
            ranked.append(max(best, key=lambda found: found.score))
        return sorted(ranked, key=lambda found: (-found.score, found.candidate.entry.dance_id))

    def _place(self, query: Fingerprint, reference: Fingerprint) -> Placement:
        return place(query, reference, self._codebook, self._usual)

    def _crowd(self, query: Fingerprint) -> _Crowd:
        """What other dances score against one reading of the clip."""
        _, scores = self._compare(query)
        known = len(self._entries)
        background = [
            score_of(float(histogram), self._place(query, other))
            for histogram, other in zip(scores[known:], self._background, strict=True)
        ]
        champions = self._best_entry_of_each_dance(scores[:known])
        chosen = [int(entry) for entry in champions[:: -(-len(champions) // PEERS)]]
        peers = {
            self._entries[entry].dance_id: score_of(
                float(scores[entry]), self._place(query, self._entries[entry].whole)
            )
            for entry in chosen
        }
        return _Crowd(np.array(background), peers, len(champions))

    def _match(self, found: _Ranked, crowd: _Crowd, readings: int) -> Match:
        candidate, placement = found.candidate, found.placement
        return Match(
            dance_id=candidate.entry.dance_id,
            score=found.score,
            query=placement.query,
            reference=placement.reference,
            mirrored=candidate.query.mirrored,
            tempo=placement.tempo,
            dancer=candidate.query.dancer,
            evalue=crowd.evalue(found, readings),
            parts={"histogram": candidate.histogram, "order": placement.agreement, **candidate.parts},
        )

    def _best_entry_of_each_dance(self, scores: FloatArray) -> np.ndarray:
        order = np.lexsort((-scores, self._dance_of))
        _, firsts = np.unique(self._dance_of[order], return_index=True)
        return order[firsts]
