"""Fingerprint -> Match: the search itself, in two stages.

Stage one compares word histograms with every entry, and looks up where three words in a row occur;
stage two looks at the best dances' words in their order, says where the clip lies in them and at
what tempo. Dances come and go while others search.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.errors import ModelMismatchError
from dancematch.index.align import TEMPI, usual_similarity
from dancematch.index.calibrate import evalue
from dancematch.index.columns import Columns
from dancematch.index.entries import Entries, Known
from dancematch.index.judge import Judged, judge
from dancematch.index.likeness import Rarity, Reading
from dancematch.index.postings import Postings, choose_channels
from dancematch.index.settings import ANY, DEFAULT, LIMIT, Only, Settings
from dancematch.index.shelf import EMPTY, Placed, Shelf, pack, unpack
from dancematch.index.shortlist import Candidates, Library, propose
from dancematch.types import Codebook, Fingerprint, FloatArray, Match

PEERS = 60  # dances of the catalogue that help to judge a score
PASSAGES = 8  # of a match


@dataclass(frozen=True)
class Query:
    """One way to read the clip that is searched for."""

    fingerprint: Fingerprint
    mirrored: bool = False
    dancer: int = 1


@dataclass(frozen=True)
class _Found:
    """A dance that stage two has looked at, by the reading of the clip that fits it best."""

    reading: int
    candidate: int
    name: str
    score: float


@dataclass(frozen=True)
class _Crowd:
    """What other dances score against one reading of the clip."""

    background: FloatArray
    peers: dict[str, float]  # dances of the catalogue, by name
    dances: int  # how many the catalogue has

    def evalue(self, found: _Found, readings: int) -> float:
        """How many dances would score as well by chance, all readings of the clip tried."""
        peers = np.array([score for name, score in self.peers.items() if name != found.name])
        return evalue(found.score, self.background, peers, self.dances * readings)


class Engine:
    """The dances of a catalogue, ready to be searched."""

    def __init__(
        self,
        codebook: Codebook,
        dances: Iterable[tuple[str, Fingerprint]] = (),
        *,
        background: Sequence[Fingerprint] = (),
        settings: Settings = DEFAULT,
    ) -> None:
        """Enter `dances`, of which one may come several times (once a dancer or take).

        `background` are clips of no dance here: what they score says what chance gives.
        """
        self._codebook, self._settings = codebook, settings
        self._writing = threading.Lock()
        self._library = Library(
            Entries(),
            Shelf(codebook.vocabulary, codebook.model_id),
            Columns(len(codebook.channels), codebook.vocabulary, settings.weighting),
            Postings(codebook.vocabulary, choose_channels(codebook.channels)),
        )
        self._rarity: Rarity | None = None  # made anew after a change
        self._strangers = [self._checked(one) for one in background]
        self._background = unpack(pack(background)) if background else EMPTY
        self._library.entries.add_strangers(background)
        self._library.columns.append_fingerprints(background)
        self.add([Known(key, name, words) for key, (name, words) in enumerate(dances)])

    def _checked(self, fingerprint: Fingerprint) -> Fingerprint:
        if fingerprint.model_id != self._codebook.model_id:
            raise ModelMismatchError(
                f"these words are of the model {fingerprint.model_id}, "
                f"expected {self._codebook.model_id}; fingerprint the dance again with this model"
            )
        return fingerprint

    def add(self, known: Sequence[Known]) -> None:
        """Enter dancers of dances; searches find them from now on."""
        words = [self._checked(one.fingerprint) for one in known]
        with self._writing:
            # A search meets a dance in stage one first; all else about it must stand by then.
            self._library.shelf.add(words)
            shown = self._library.entries.add(known)
            self._library.postings.append(words)
            self._library.columns.append_fingerprints(shown)
            self._rarity = None

    def remove(self, keys: Sequence[int]) -> None:
        """Forget dancers by the keys they were entered with."""
        with self._writing:
            tracks = self._library.entries.remove(keys)
            entries = [entry for track in tracks for entry in self._library.entries.of_track(track).tolist()]
            self._library.columns.delete(entries)
            self._library.postings.delete(tracks)
            self._rarity = None

    def search(
        self,
        queries: Sequence[Query],
        *,
        limit: int = LIMIT,
        settings: Settings | None = None,
        only: Only = ANY,
    ) -> list[Match]:
        """The dances most like the clip, best first; each by its best reading and place.

        `settings` may weigh the metrics and cut the shortlist otherwise than the engine's own; how
        words are weighted in histograms stays the engine's.
        """
        chosen, rarity = settings or self._settings, self._worth()
        readings = [Reading(self._checked(query.fingerprint), self._codebook, rarity) for query in queries]
        candidates = propose(self._library, readings, chosen, only)  # stage one: histograms, words in a row
        looked = [
            self._look_at(reading, stretches, chosen)  # stage two: order in time
            for reading, stretches in zip(readings, candidates.stretches, strict=True)
        ]
        found = self._ranked(queries, candidates, looked)[:limit]
        crowds = {number: self._crowd(readings[number], chosen) for number in {one.reading for one in found}}
        return [
            self._match(
                one, queries[one.reading], readings[one.reading],
                track=int(candidates.stretches[one.reading].tracks[one.candidate]),
                looked=looked[one.reading],
                evalue=crowds[one.reading].evalue(one, len(queries)),
            )
            for one in found
        ]  # fmt: skip

    def _worth(self) -> Rarity:
        """What words are worth among the entries as they are now."""
        rarity = self._rarity
        if rarity is None:
            columns = self._library.columns
            usual = usual_similarity(self._codebook, columns.word_totals())
            rarity = self._rarity = Rarity(self._settings.weighting, columns.rarity(), usual)
        return rarity

    def _look_at(self, reading: Reading, placed: Placed, settings: Settings) -> Judged:
        """What both stages say of stretches of known dances for one reading of the clip."""
        shelf = self._library.shelf
        wholes = shelf.stretches(shelf.wholes(placed.tracks))
        return judge(reading, shelf.stretches(placed), wholes, settings)

    def _ranked(
        self, queries: Sequence[Query], candidates: Candidates, looked: Sequence[Judged]
    ) -> list[_Found]:
        """The dances, best first, each by the reading that fits it best."""
        if not len(candidates):
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
        chosen = scores.argmax(axis=0)
        found = [
            _Found(int(reading), number, self._library.entries.names[dance], float(scores[reading, number]))
            for number, (reading, dance) in enumerate(zip(chosen, candidates.dances.tolist(), strict=True))
        ]
        return sorted(found, key=lambda one: (-one.score, one.name))

    def _crowd(self, reading: Reading, settings: Settings) -> _Crowd:
        """What other dances score against one reading of the clip."""
        background = judge(reading, self._background, self._background, settings).scores
        entries = self._library.entries
        tracks = entries.tracks
        chosen = tracks[:: -(-len(tracks) // PEERS)]
        own = [entries.of_track(track) for track in chosen.tolist()]  # the whole and its windows
        shelf = self._library.shelf
        shown = reading.histogram(reading.cosines(shelf.stretches(entries.placed(np.concatenate(own)))))
        starts = np.cumsum([0, *map(len, own[:-1])])
        best = [
            first + int(shown[first : first + len(rows)].argmax())
            for first, rows in zip(starts, own, strict=True)
        ]
        judged = self._look_at(reading, entries.placed(np.concatenate(own)[best]), settings).scores
        names = [entries.names[dance] for dance in entries.dances_of(chosen).tolist()]
        return _Crowd(background, dict(zip(names, judged.tolist(), strict=True)), entries.dances)

    def _match(
        self, found: _Found, query: Query, reading: Reading, *, track: int, looked: Judged, evalue: float
    ) -> Match:
        reference, number = self._library.shelf.fingerprint(track), found.candidate
        lines = looked.lines
        in_query, in_reference = reading.spans(
            reference, int(lines.offsets[number]), int(lines.tempi[number])
        )
        by_channel = {
            name: max(0.0, float(cosine))
            for name, cosine, shown in zip(
                self._codebook.channels, looked.cosines[:, number], reading.seen, strict=True
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
