"""Fingerprint -> Match: the search itself, in two stages.

Stage one compares word histograms with every entry, and looks up where three words in a row occur;
stage two looks at the best dances' words in their order, says where the clip lies in them and at
what tempo. Dances come and go while others search.
"""

import threading
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from dancematch.errors import InputError, ModelMismatchError
from dancematch.index.align import TEMPI, usual_similarity
from dancematch.index.calibrate import evalue, evalues
from dancematch.index.columns import Columns
from dancematch.index.entries import (
    WINDOW_SECONDS,
    WINDOW_STEP_SECONDS,
    WINDOWED_FROM_SECONDS,
    Entries,
)
from dancematch.index.hands import each
from dancematch.index.judge import Judged, judge
from dancematch.index.library_folder import load_library, save_library
from dancematch.index.likeness import Rarity, Reading
from dancematch.index.postings import Postings, choose_channels
from dancematch.index.settings import ANY, DEFAULT, LIMIT, Only, Settings
from dancematch.index.shelf import EMPTY, Placed, Shelf, pack, unpack
from dancematch.index.shortlist import Candidates, Library, propose
from dancematch.index.tracks import Known, Tracks, tracks_of
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
    evidence: float


@dataclass(frozen=True)
class _Crowd:
    """What other dances score against one reading of the clip."""

    background: FloatArray
    peers: dict[str, float]  # dances of the catalogue, by name
    dances: int  # how many the catalogue has

    def evalues(self, found: Sequence[_Found], readings: int) -> dict[str, float]:
        """How many dances would score as well by chance, all readings of the clip tried: by name."""
        trials = self.dances * readings
        others = [one for one in found if one.name not in self.peers]
        scores, peers = np.array([one.evidence for one in others]), np.array(list(self.peers.values()))
        result = dict(
            zip((one.name for one in others), evalues(scores, self.background, peers, trials), strict=True)
        )
        for one in found:
            if one.name in self.peers:  # nobody is a judge of himself
                peers = np.array([score for name, score in self.peers.items() if name != one.name])
                result[one.name] = evalue(one.evidence, self.background, peers, trials)
        return result


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
        for one in background:
            self._checked(one)
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

    @property
    def tracks(self) -> int:
        """How many dancers are there."""
        return len(self._library.entries.tracks)

    def add(self, known: Sequence[Known]) -> None:
        """Enter dancers of dances; searches find them from now on."""
        for one in known:
            self._checked(one.fingerprint)
        if known:
            self.enter(tracks_of(known))

    def enter(self, tracks: Tracks) -> None:
        """Enter many dancers at once, packed; their words must be of this engine's model."""
        channels = len(self._codebook.channels)
        if tracks.volume.words.shape[1] != channels:
            raise InputError(
                f"words of {channels} channels were expected, got {tracks.volume.words.shape[1]}"
            )
        with self._writing:
            # A search meets a dance in stage one first; all else about it must stand by then.
            library, volume = self._library, tracks.volume
            numbers = library.shelf.put(volume)
            entries = library.entries.add(tracks)
            library.postings.enter(volume)
            begins = volume.offsets[entries.tracks - numbers.start]
            bounds = begins + entries.firsts, begins + entries.lasts
            library.columns.append_words(volume.words, volume.seen, *bounds)
            self._rarity = None

    def remove(self, keys: Sequence[int]) -> set[int]:
        """Forget dancers by the keys they were entered with; returns the keys of those who were here."""
        if not keys:
            return set()
        with self._writing:
            known = self._library.entries.remove(keys)
            tracks = list(known.values())
            if tracks:
                entries, _ = self._library.entries.of_tracks(np.array(tracks))
                self._library.columns.delete(entries.tolist())
                self._library.postings.delete(tracks)
                self._rarity = None
            return set(known)

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
        looked = each(  # stage two: order in time
            lambda number: self._look_at(readings[number], candidates.stretches[number], chosen),
            range(len(readings)),
        )
        found = self._ranked(queries, candidates, looked)[:limit]
        best = sorted({one.reading for one in found})
        crowds = each(lambda number: self._crowd(readings[number], chosen), best)
        chance = {
            name: float(value)
            for number, crowd in zip(best, crowds, strict=True)
            for name, value in crowd.evalues(
                [one for one in found if one.reading == number], len(queries)
            ).items()
        }
        return [
            self._match(
                one, queries[one.reading], readings[one.reading],
                track=int(candidates.stretches[one.reading].tracks[one.candidate]),
                looked=looked[one.reading],
                evalue=chance[one.name],
            )
            for one in found
        ]  # fmt: skip

    def judged(self, query: Query, *, settings: Settings | None = None) -> tuple[list[str], Judged]:
        """The dances that stage one proposes for one reading of a clip, and what each metric says of them."""
        chosen = settings or self._settings
        reading = Reading(self._checked(query.fingerprint), self._codebook, self._worth())
        candidates = propose(self._library, [reading], chosen, ANY)
        names = [self._library.entries.names[dance] for dance in candidates.dances.tolist()]
        return names, self._look_at(reading, candidates.stretches[0], chosen)

    def save(self, folder: str | Path, stamp: str) -> None:
        """Keep everything in a folder, in place of what `save` wrote there before; all of it or nothing.

        `stamp` says which state of the catalogue this is: `load` asks for it. Searches go on meanwhile,
        changes wait.
        """
        with self._writing:
            save_library(Path(folder), stamp, self._model(), self._library)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        stamp: str,
        codebook: Codebook,
        *,
        background: Sequence[Fingerprint] = (),
        settings: Settings = DEFAULT,
    ) -> Self | None:
        """What `save` wrote under this very stamp, left on disk and mapped.

        None if there is none, or it is damaged, or was made for other words, another background or weighting.
        """
        made = cls(codebook, background=background, settings=settings)
        library = load_library(Path(folder), stamp, made._model())
        if library is None:
            return None
        made._library = library
        return made

    def _model(self) -> dict[str, Any]:
        """What the arrays depend on beside the dances."""
        postings = self._library.postings
        return {
            "model_id": self._codebook.model_id,
            "channels": list(self._codebook.channels),
            "vocabulary": self._codebook.vocabulary,
            "weighting": self._settings.weighting,
            "postings": postings.channels.tolist(),
            "windows": [WINDOW_SECONDS, WINDOW_STEP_SECONDS, WINDOWED_FROM_SECONDS],
            "background": zlib.crc32(self._background.words.tobytes() + self._background.seen.tobytes()),
        }

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
        stretches, whole = shelf.stretches(placed), shelf.wholes(placed.tracks)
        same = not placed.firsts.any() and np.array_equal(placed.lasts, whole.lasts)
        return judge(reading, stretches, stretches if same else shelf.stretches(whole), settings)

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
            _Found(
                int(reading),
                number,
                self._library.entries.names[dance],
                score=float(scores[reading, number]),
                evidence=float(looked[reading].evidence[number]),
            )
            for number, (reading, dance) in enumerate(zip(chosen, candidates.dances.tolist(), strict=True))
        ]
        return sorted(found, key=lambda one: (-one.score, one.name))

    def _crowd(self, reading: Reading, settings: Settings) -> _Crowd:
        """What other dances score against one reading of the clip."""
        background = judge(reading, self._background, self._background, settings).evidence
        entries, shelf = self._library.entries, self._library.shelf
        chosen = entries.sample(PEERS)
        own, begins = entries.of_tracks(chosen)  # the whole and its windows
        shown = reading.histogram(reading.cosines(shelf.stretches(entries.placed(own))))
        best = [
            first + int(part.argmax())
            for first, part in zip(begins, np.split(shown, begins[1:]), strict=True)
        ]
        judged = self._look_at(reading, entries.placed(own[best]), settings).evidence
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
