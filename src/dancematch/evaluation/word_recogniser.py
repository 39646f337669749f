"""The method `words` of the suite `real`: motion words in two stages, as `dancematch search` runs them."""

import math
from collections.abc import Sequence
from contextlib import suppress

from dancematch.errors import NoDancerError
from dancematch.evaluation.recognisers import CANDIDATES, Candidate, Recording
from dancematch.index.calibrate import MAX_EVALUE
from dancematch.index.engine import Engine, Query
from dancematch.index.settings import Only
from dancematch.model.tokeniser import load_background, load_model
from dancematch.pipeline.readings import readings_of
from dancematch.pipeline.words import words_in
from dancematch.types import Fingerprint, Match

_LEAST_EVALUE = 1e-300  # has a logarithm
_MOST_EVALUE = 1e9


class WordMethod:
    """Every dancer of a query, as seen and mirrored, among every dancer of the recordings."""

    def __init__(self, model: str | None = None) -> None:
        """Search in the words of the shipped model, or of one by its folder or name."""
        self.name = "words" if model is None else f"words-{model.rstrip('/').rpartition('/')[2]}"
        self._model = load_model(model)
        self._background = load_background(self._model, model)
        self._words: dict[str, list[Fingerprint]] = {}
        self._queries: dict[str, list[Query]] = {}

    def build(self, recordings: Sequence[Recording]) -> "WordRecogniser":
        """Make an engine; each recording is a dance to it, as each file is in a user's catalogue."""
        known = [(one.recording_id, words) for one in recordings for words in self._words_of(one)]
        return WordRecogniser(self, Engine(self._model.codebook, known, background=self._background))

    def _words_of(self, recording: Recording) -> list[Fingerprint]:
        """The words of every dancer who is seen for long enough; none if nobody is."""
        key = recording.recording_id
        if key not in self._words:
            with suppress(NoDancerError):
                self._words[key] = list(words_in(self._model, recording.motions, key).values())
        return self._words.setdefault(key, [])

    def queries(self, recording: Recording) -> list[Query]:
        """Every dancer as seen and mirrored; none if nobody is seen for long enough."""
        key = recording.recording_id
        if key not in self._queries:
            with suppress(NoDancerError):
                dancers = readings_of(recording.motions, self._model, key)
                self._queries[key] = [query for dancer in dancers for query in dancer.queries()]
        return self._queries.setdefault(key, [])


class WordRecogniser:
    """An engine, and the words of queries."""

    def __init__(self, method: WordMethod, engine: Engine) -> None:
        self._method, self._engine = method, engine

    def search(self, query: Recording, without: frozenset[str] = frozenset()) -> list[Candidate]:
        """The best recordings; a match is what `dancematch search` would print.

        Rare words are told by all recordings of the engine, those `without` which it searches included.
        """
        queries = self._method.queries(query)
        if not queries or not self._engine.tracks:
            return []
        matches = self._engine.search(queries, limit=CANDIDATES, only=Only(but=without))
        return [_candidate(match) for match in matches]


def _candidate(match: Match) -> Candidate:
    evalue = _MOST_EVALUE if match.evalue is None else match.evalue
    return Candidate(
        match.dance_id,
        score=match.score,
        confidence=-math.log10(min(max(evalue, _LEAST_EVALUE), _MOST_EVALUE)),
        verdict="match" if evalue <= MAX_EVALUE else "no match",
        lag_seconds=match.reference.start - match.query.start,
        mirrored=match.mirrored,
        tempo=match.tempo,
        dancer=match.dancer,
    )
