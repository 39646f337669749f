"""Fingerprint -> Match: the search itself.

Every dance is entered as a whole and, when it is long, as overlapping windows too: the
histogram of three minutes does not show the five seconds somebody danced of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.errors import ModelMismatchError
from dancematch.index.align import place
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
    query: Query
    entry: _Entry
    score: float
    evalue: float
    parts: dict[str, float]


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
        known = [entry.fingerprint for entry in self._entries]
        everything = [*known, *(self._checked(fingerprint) for fingerprint in background)]
        self._seen = np.stack([channels_seen(f) for f in everything], axis=1) if everything else None
        self._histograms = Histograms([word_counts(f) for f in everything], weighting) if everything else None
        names = [entry.dance_id for entry in self._entries]
        self._dance_ids, self._dance_of = np.unique(np.array(names, dtype=object), return_inverse=True)

    def _checked(self, fingerprint: Fingerprint) -> Fingerprint:
        if fingerprint.model_id != self._codebook.model_id:
            raise ModelMismatchError(
                f"these words are of the model {fingerprint.model_id}, "
                f"expected {self._codebook.model_id}; fingerprint the dance again with this model"
            )
        return fingerprint

    def search(self, queries: Sequence[Query], *, limit: int = LIMIT) -> list[Match]:
        """The dances most like the clip, best first; each by its best reading and place."""
        best: dict[str, _Candidate] = {}
        for query in queries:
            for candidate in self._candidates(query):
                known = best.get(candidate.entry.dance_id)
                if known is None or candidate.score > known.score:
                    best[candidate.entry.dance_id] = candidate
        ranked = sorted(best.values(), key=lambda found: (-found.score, found.entry.dance_id))
        return [self._match(candidate) for candidate in ranked[:limit]]

    def _candidates(self, query: Query) -> Iterator[_Candidate]:
        """Every dance's best entry for one reading of the clip."""
        if not self._entries or self._histograms is None or self._seen is None:
            return
        fingerprint = self._checked(query.fingerprint)
        seen = channels_seen(fingerprint)
        cosines = self._histograms.cosines(word_counts(fingerprint))  # [C, N + background]
        scores = combine_channels(cosines, seen, self._seen)
        known, unrelated = scores[: len(self._entries)], scores[len(self._entries) :]
        champions = self._best_entry_of_each_dance(known)
        for number, entry in enumerate(champions):
            rivals = known[np.delete(champions, number)]
            yield _Candidate(
                query,
                self._entries[entry],
                score=float(known[entry]),
                evalue=evalue(float(known[entry]), [unrelated, rivals], len(champions)),
                parts=self._parts(cosines[:, entry], seen),
            )

    def _match(self, found: _Candidate) -> Match:
        placement = place(found.query.fingerprint, found.entry.whole, self._codebook)
        return Match(
            dance_id=found.entry.dance_id,
            score=found.score,
            query=placement.query,
            reference=placement.reference,
            mirrored=found.query.mirrored,
            tempo=placement.tempo,
            dancer=found.query.dancer,
            evalue=found.evalue,
            parts=found.parts,
        )

    def _best_entry_of_each_dance(self, scores: FloatArray) -> np.ndarray:
        order = np.lexsort((-scores, self._dance_of))
        _, firsts = np.unique(self._dance_of[order], return_index=True)
        return order[firsts]

    def _parts(self, cosines: FloatArray, seen: FloatArray) -> dict[str, float]:
        """Each body part's share of the evidence; a part the query does not show is left out."""
        return {
            name: float(cosine)
            for name, cosine, shown in zip(self._codebook.channels, cosines, seen, strict=True)
            if shown > 0
        }
