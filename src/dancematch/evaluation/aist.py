"""The AIST++ suites: same genre (the paper's protocol) and same choreography by another dancer.

A suite asks, for each query, which clips it may be compared with and which of those are
right answers; a method says how alike two clips are.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError
from dancematch.evaluation.metrics import score_ranks
from dancematch.formats.aist_names import AistName, parse_name, sequences
from dancematch.index.align import place, usual_similarity
from dancematch.index.engine import SHORTLIST, score_of
from dancematch.index.histogram import Histograms, Weighting, channels_seen, combine_channels, word_counts
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_model
from dancematch.types import FloatArray, Motion

GENRE_CLIPS = 20  # clips a genre and draw
GENRE_DRAWS = 20


@dataclass(frozen=True)
class Clip:
    """A sequence and what its name says."""

    name: AistName
    motion: Motion


@dataclass(frozen=True)
class Result:
    """What one method reached on one suite."""

    suite: str
    method: str
    mean_score: float
    match_rate: float
    rank1: float
    queries: int
    chance: float  # rank1 of guessing
    seconds: float
    model_id: str
    query_genres: list[str]
    unseen_genres: list[str]  # of these, the ones the model was not fitted on
    seed: int


Question = tuple[NDArray[np.intp], NDArray[np.bool_], int]  # candidates, which are right, query


def load_clips(folder: str | Path) -> list[Clip]:
    """Every sequence of a folder in the public AIST++ layout that is not on the ignore list."""
    paths = list(sequences(Path(folder)))
    if not paths:
        raise InputError(f"there is no AIST++ sequence (g??_s??_cAll_d??_m???_ch??.pkl) below {folder}")
    named = [(parse_name(path.stem), path) for path in paths]
    return [Clip(name, formats.read(path)[0]) for name, path in named if name]


def cross_dancer(names: Sequence[AistName], genres: Sequence[str], _seed: int) -> Iterator[Question]:
    """Each basic clip of `genres` against the basic clips of all other dancers: same choreography?"""
    basic = np.array([name.kind == "BM" for name in names])
    dancers = np.array([(name.genre + name.dancer) for name in names])
    dances = np.array(["/".join(name.choreography) for name in names])
    for query in np.flatnonzero(basic & np.isin([name.genre for name in names], genres)):
        candidates = np.flatnonzero(basic & (dancers != dancers[query]))
        right = dances[candidates] == dances[query]
        if right.any():
            yield candidates, right, int(query)


def genre(names: Sequence[AistName], genres: Sequence[str], seed: int) -> Iterator[Question]:
    """The paper's protocol: twenty clips a genre drawn at random, each against all others: same genre?"""
    every = np.array([name.genre for name in names])
    rng = np.random.default_rng(seed)
    for _ in range(GENRE_DRAWS):
        drawn = np.concatenate([_draw(np.flatnonzero(every == one), rng) for one in np.unique(every)])
        for query in drawn[np.isin(every[drawn], genres)]:
            candidates = drawn[drawn != query]
            right = every[candidates] == every[query]
            if right.any():
                yield candidates, right, int(query)


def _draw(places: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    return rng.choice(places, min(GENRE_CLIPS, len(places)), replace=False)


SUITES: Mapping[str, Callable[[Sequence[AistName], Sequence[str], int], Iterator[Question]]] = {
    "aist-genre": genre,
    "aist-cross-dancer": cross_dancer,
}


@dataclass(frozen=True)
class Method:
    """A way to compare clips: a shipped model's words, a weighting, and whether their order counts."""

    model: str
    weighting: Weighting = "sqrt-idf"
    in_order: bool = False  # stage two as well, as in a search


METHODS: Mapping[str, Method] = {
    "kmeans": Method("floor"),
    "kmeans-two-stage": Method("floor", in_order=True),
    "kmeans-cosine": Method("floor", "cosine"),
    "kmeans-whole": Method("floor-whole"),
}

Refit = Callable[[Sequence[Motion], PatchTokeniser], PatchTokeniser]


class Comparison:
    """The words of all clips, compared as a search would."""

    def __init__(self, model: PatchTokeniser, motions: Sequence[Motion], method: Method) -> None:
        self._method = method
        self._codebook = model.codebook
        self._prints = [model.fingerprint(motion) for motion in motions]
        self._counts = [word_counts(fingerprint) for fingerprint in self._prints]
        self._seen = np.stack([channels_seen(fingerprint) for fingerprint in self._prints], axis=1)
        self._histograms = Histograms(self._counts, method.weighting)
        self._rows: dict[int, FloatArray] = {}  # a query asks again in every draw
        self._usual = usual_similarity(self._codebook, np.sum(self._counts, axis=0, dtype=np.int64))

    def _similarity(self, query: int) -> FloatArray:
        if query not in self._rows:
            cosines = self._histograms.cosines(self._counts[query])
            self._rows[query] = combine_channels(cosines, self._seen[:, query], self._seen)
        return self._rows[query]

    def scores(self, query: int, candidates: NDArray[np.intp]) -> FloatArray:
        """How alike the query and each candidate are."""
        histogram = self._similarity(query)[candidates]
        if not self._method.in_order:
            return histogram
        scores = np.full_like(histogram, -1)  # what stage one does not propose comes last
        for number in np.argsort(-histogram, kind="stable")[:SHORTLIST]:
            other = self._prints[candidates[number]]
            found = place(self._prints[query], other, self._codebook, self._usual)
            scores[number] = score_of(float(histogram[number]), found)
        return scores

    def rank(self, question: Question) -> int:
        """The rank of the best right answer; a tie counts against us."""
        candidates, right, query = question
        scores = self.scores(query, candidates)
        return 1 + int((scores[~right] >= scores[right].max()).sum())


def chance_rank1(questions: Sequence[Question]) -> float:
    """How often the first of a random order is right."""
    return float(np.mean([right.mean() for _, right, _ in questions]))


def evaluate(
    suite: str,
    clips: Sequence[Clip],
    method: str,
    *,
    query_genres: Sequence[str] | None = None,
    refit: Refit | None = None,
    seed: int = 0,
    track: Callable[[Sequence[Question]], Iterable[Question]] = lambda questions: questions,
) -> Result:
    """Run one suite with one method.

    With `refit`, the method's tokeniser is fitted anew on the genres that are not queried,
    so that the queries' genres are unseen. `track` passes the questions on and may show progress.
    """
    if method not in METHODS or suite not in SUITES:
        raise InputError(
            f"suites: {', '.join(SUITES)}; methods: {', '.join(METHODS)}; got {suite!r}, {method!r}"
        )
    genres = _known_genres(clips, query_genres)
    began = time.perf_counter()
    model = load_model(METHODS[method].model)
    if refit is not None:
        model = refit([clip.motion for clip in clips if clip.name.genre not in genres], model)
    trained = model.trained_on.get("aist_genres", [])
    comparison = Comparison(model, [clip.motion for clip in clips], METHODS[method])
    questions = list(SUITES[suite]([clip.name for clip in clips], genres, seed))
    if not questions:
        raise InputError(f"{suite} has no query among the genres {', '.join(genres)}")
    scores = score_ranks([comparison.rank(question) for question in track(questions)])
    return Result(
        suite=suite,
        method=f"{method}-refitted" if refit else method,
        mean_score=round(scores.mean_score, 4),
        match_rate=round(scores.match_rate, 4),
        rank1=round(scores.rank1, 4),
        queries=scores.queries,
        chance=round(chance_rank1(questions), 4),
        seconds=round(time.perf_counter() - began, 1),
        model_id=model.model_id,
        query_genres=genres,
        unseen_genres=[one for one in genres if one not in (trained if isinstance(trained, list) else [])],
        seed=seed,
    )


def _known_genres(clips: Sequence[Clip], wanted: Sequence[str] | None) -> list[str]:
    there = sorted({clip.name.genre for clip in clips})
    missing = sorted(set(wanted or there) - set(there))
    if missing:
        raise InputError(
            f"there is no clip of the genre(s) {', '.join(missing)}; there are {', '.join(there)}"
        )
    return sorted(set(wanted or there))
