"""The methods of the suite `real` that run `dancematch search`: by words, by synchrony, or by both."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from dancematch.errors import NoDancerError
from dancematch.evaluation.methods.recogniser import CANDIDATES, Candidate, MotionRecording
from dancematch.model.tokeniser import load_background, load_model
from dancematch.pipeline.query import query_of_motions
from dancematch.pipeline.tokenise import words_in
from dancematch.search.confidence.verdict import Basis
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import DEFAULT_SETTINGS, DanceFilter
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Match


class SearchMethod:
    """Every dancer of a query, as seen and mirrored, among every dancer of the recordings."""

    def __init__(self, basis: Basis = "both", model: str | None = None) -> None:
        """Search in the words of the shipped model, or of one by its folder or name."""
        self.name = basis if model is None else f"{basis}-{model.rstrip('/').rpartition('/')[2]}"
        self.settings = replace(DEFAULT_SETTINGS, basis=basis)
        self._model = load_model(model)
        self._background = load_background(self._model, model)
        self._words: dict[str, list[Fingerprint]] = {}
        self._queries: dict[str, list[Query]] = {}

    def build(self, recordings: Sequence[MotionRecording]) -> "SearchRecogniser":
        """An engine in which each recording is a dance of its own, with every dancer seen in it."""
        engine = Engine(self._model.codebook, background=self._background)
        tracks = [
            (one.recording_id, dancer, words)
            for one in recordings
            for dancer, words in enumerate(self._words_of(one), start=1)
        ]
        engine.add([KnownTrack(key, *track) for key, track in enumerate(tracks)])
        return SearchRecogniser(self, engine)

    def _words_of(self, recording: MotionRecording) -> list[Fingerprint]:
        """The words of every dancer who is seen for long enough."""
        key = recording.recording_id
        if key not in self._words:
            with suppress(NoDancerError):
                self._words[key] = list(words_in(self._model, recording.motions, key).values())
        return self._words.setdefault(key, [])

    def queries(self, recording: MotionRecording) -> list[Query]:
        """Every dancer who is seen for long enough, as seen and mirrored."""
        key = recording.recording_id
        if key not in self._queries:
            with suppress(NoDancerError):
                dancers = query_of_motions(recording.motions, self._model, key).dancers
                self._queries[key] = [query for dancer in dancers for query in dancer.queries()]
        return self._queries.setdefault(key, [])


class SearchRecogniser:
    """An engine, and the words of queries."""

    def __init__(self, method: SearchMethod, engine: Engine) -> None:
        self._method, self._engine = method, engine

    def search(self, query: MotionRecording, without: frozenset[str] = frozenset()) -> list[Candidate]:
        """The best recordings; a match is what `dancematch search` would print.

        Word statistics are those of all recordings of the engine, including those `without`.
        """
        queries = self._method.queries(query)
        if not queries or not self._engine.tracks:
            return []
        settings, only = self._method.settings, DanceFilter(but=without)
        matches = self._engine.search(queries, limit=CANDIDATES, only=only, settings=settings)
        return [_candidate(match) for match in matches]


def _candidate(match: Match) -> Candidate:
    return Candidate(
        match.dance_id,
        score=match.score,
        confidence=match.log_ratio or 0.0,
        verdict=match.verdict,
        lag_seconds=match.reference.start - match.query.start,
        mirrored=match.mirrored,
        tempo=match.tempo,
        dancer=match.dancer,
    )
