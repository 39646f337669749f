"""A method on a task: what it reaches, how sure that is, and all that must be known to measure it again."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dancematch.errors import InputError
from dancematch.evaluation.measures.bootstrap import mean_interval
from dancematch.evaluation.measures.ranking import (
    RANK_SCORES,
    Numbers,
    average_precision,
    rank_distribution,
    rank_of,
    rank_scores,
    recall_at,
)
from dancematch.evaluation.measures.temporal_overlap import ENOUGH, temporal_iou
from dancematch.evaluation.methods.feature_comparison import REFERENCES, ClipComparison
from dancematch.evaluation.methods.word_comparison import (
    METHODS,
    ComparisonCache,
    QueryWords,
    WordComparison,
    WordMethod,
)
from dancematch.evaluation.suites.aist import chance_rank1
from dancematch.evaluation.suites.retrieval_tasks import QueryFacts, Task
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_model
from dancematch.types import Fingerprint, Motion

NO_MODEL = "none"  # the model_id of a method that uses no words
RECALL_AT = (1, 3, 5, 10)

Refit = Callable[[Sequence[Motion], PatchTokeniser], PatchTokeniser]
TrackProgress = Callable[[Iterable[Any], str, int], Iterable[Any]]  # things, what is done, how many


@dataclass(frozen=True)
class RetrievalResult:
    """What one method reached on one suite."""

    suite: str
    method: str
    mean_score: float
    match_rate: float
    rank1: float
    rank1_dance: float | None  # the first is the right clip or another take of its dance; where that differs
    mean_average_precision: float
    recall: Mapping[str, float]  # at k: a right answer among the first k
    rank_distribution: Mapping[str, float]
    temporal_iou: float | None  # of an excerpt's place in the right clip with the true one
    intervals: Mapping[str, tuple[float, float]]  # 95 %, dances drawn anew
    parts: Mapping[str, Mapping[str, float]]  # the same by kind of query, where there are several
    confusion: Mapping[str, Mapping[str, float]]  # by a query's genre, the genres of first answers
    queries: int
    chance: float  # rank1 of guessing
    seconds: float  # a model's first line has making its words in it
    model_id: str
    query_genres: list[str]
    unseen: list[str]  # of these, the ones the model was not fitted on
    seeds: list[int]
    facts: Mapping[str, int | float]  # what else says how it was asked


class RankedAnswer(NamedTuple):
    """What came of one question."""

    rank: int
    dance_rank: int | None  # another take is right too
    precision: float
    first: int  # the clip at rank 1
    iou: float | None


@dataclass(frozen=True)
class NamedComparison:
    """A comparison of a task's clips, with the name and model it is reported under."""

    method: str
    comparison: ClipComparison
    model_id: str = NO_MODEL
    trained_genres: Sequence[str] = ()


class EvaluationCache:
    """What the suites and methods of one run share: words, and comparisons of the same clips."""

    def __init__(self) -> None:
        self._words: dict[tuple[str, Motion], Fingerprint] = {}
        self._asked: dict[object, dict[int, QueryWords]] = {}
        self._ordered: dict[object, dict[int, Numbers]] = {}
        self.contenders: dict[object, NamedComparison] = {}

    def remembered(self, task: Task, model: PatchTokeniser, method: WordMethod) -> ComparisonCache:
        """What has been found out about the task's queries so far; shortlists of any length share it."""
        queries = tuple(task.known) if task.motion_of is None else task
        words = (queries, model.model_id, method.phases, method.soft)
        settings = method.settings
        order: tuple[object, ...] = ()
        if settings:
            order = (method.weighting, settings.ranked_by, settings.metrics, *settings.weights.items())
        return ComparisonCache(
            self._asked.setdefault(words, {}), self._ordered.setdefault((words, order), {})
        )

    def words(
        self, model: PatchTokeniser, motions: Sequence[Motion], track: TrackProgress
    ) -> list[Fingerprint]:
        """The motions in a model's words."""
        new = [motion for motion in motions if (model.model_id, motion) not in self._words]
        for motion in track(new, "words", len(new)):
            self._words[model.model_id, motion] = model.fingerprint(motion)
        return [self._words[model.model_id, motion] for motion in motions]


def untold(things: Iterable[Any], _what: str, _count: int) -> Iterable[Any]:
    """Pass things on and say nothing."""
    return things


@dataclass(frozen=True)
class Evaluator:
    """Runs tasks with methods.

    With `refit`, a method's tokeniser is fitted anew on the genres that are not queried, so that the
    queries' genres are unseen. `track` passes things on and may show progress; `jobs` is how many
    questions are asked side by side.
    """

    memory: EvaluationCache
    refit: Refit | None = None
    track: TrackProgress = untold
    jobs: int = 1

    def contend(self, task: Task, method: str | WordMethod) -> NamedComparison:
        """Make ready a named method, or a model's words compared in any way."""
        if task.motion_of is not None:
            return self._contend(task, method)
        key = (tuple(task.known), method, tuple(task.genres) if self.refit else ())
        if key not in self.memory.contenders:
            self.memory.contenders[key] = self._contend(task, method)
        return self.memory.contenders[key]

    def _contend(self, task: Task, method: str | WordMethod) -> NamedComparison:
        motions = [clip.motion for clip in task.known]
        if isinstance(method, str) and method in REFERENCES:
            if method == "dtw" and task.of_excerpts:
                raise InputError(f"dtw compares whole clips, {task.suite} asks with excerpts; leave it out")
            return NamedComparison(method, REFERENCES[method](motions, task.motion_of))
        chosen, model, name = with_words(method)
        if self.refit is not None:
            unasked = [clip.motion for clip in task.known if clip.name.genre not in task.genres]
            model, name = self.refit(unasked, model), f"{name}-refitted"
        compared = WordComparison(
            model, motions, chosen,
            prints=self.memory.words(model, motions, self.track),
            motion_of=task.motion_of, windowed=task.of_excerpts,
            remembered=self.memory.remembered(task, model, chosen),
        )  # fmt: skip
        return NamedComparison(name, compared, model.model_id, trained_genres(model))

    def evaluate(self, task: Task, method: str | WordMethod) -> RetrievalResult:
        """Run one task with one method."""
        began = time.perf_counter()
        contender = self.contend(task, method)
        count = len(task.questions)

        def ask(number: int) -> RankedAnswer:
            return answer(contender.comparison, task, number)

        with ThreadPoolExecutor(self.jobs) as hands:
            asked = hands.map(ask, range(count)) if self.jobs > 1 else map(ask, range(count))
            answers = list(self.track(asked, f"{task.suite}, {contender.method}", count))
        return RetrievalResult(
            suite=task.suite,
            method=contender.method,
            **figures(task.about, answers),
            confusion=_confusion(task, answers),
            chance=round(chance_rank1(task.questions), 4),
            seconds=round(time.perf_counter() - began, 1),
            model_id=contender.model_id,
            query_genres=task.genres,
            unseen=[one for one in task.genres if one not in contender.trained_genres],
            seeds=[task.seed],
            facts=task.facts,
        )


def evaluate(task: Task, method: str | WordMethod, *, refit: Refit | None = None) -> RetrievalResult:
    """Run one task with one method, by itself."""
    return Evaluator(EvaluationCache(), refit).evaluate(task, method)


def with_words(method: str | WordMethod) -> tuple[WordMethod, PatchTokeniser, str]:
    """A method that compares words: itself, its model, and the name it is reported under."""
    if isinstance(method, str) and method not in METHODS:
        raise InputError(f"methods: {', '.join((*METHODS, *REFERENCES))}; got {method!r}")
    chosen = METHODS[method] if isinstance(method, str) else method
    model = load_model(chosen.model)
    return chosen, model, method if isinstance(method, str) else named(model, chosen)


def named(model: PatchTokeniser, method: WordMethod) -> str:
    """What a model's words, so compared, are called: its kind, its layout if not the floor's, the rest."""
    usual = load_model(METHODS["kmeans"].model).layout
    layout = "" if model.layout == usual else f"-{model.layout}"
    return f"{model.kind}{layout}{method.suffix}"


def trained_genres(model: PatchTokeniser) -> list[str]:
    """The AIST++ genres that a model says it was trained on."""
    trained = model.trained_on.get("aist_genres", [])
    return trained if isinstance(trained, list) else []


def answer(comparison: ClipComparison, task: Task, number: int) -> RankedAnswer:
    """Ask one question."""
    candidates, right, query = task.questions[number]
    scores = comparison.scores(query, candidates)
    true, found = task.about[number].place, None
    if true is not None and isinstance(comparison, WordComparison):
        found = comparison.place(query, int(candidates[right][0]))
    return RankedAnswer(
        rank=rank_of(scores, right),
        dance_rank=rank_of(scores, task.takes[number]) if task.takes else None,
        precision=average_precision(scores, right),
        first=int(candidates[np.lexsort((right, -scores))[0]]),
        iou=temporal_iou(found, true) if found and true else None,
    )


def figures(about: Sequence[QueryFacts], answers: Sequence[RankedAnswer]) -> dict[str, Any]:
    """What is computed from the answers."""
    ranks = np.array([one.rank for one in answers])
    of_dances = [one.dance_rank for one in answers if one.dance_rank is not None]
    by_query = {
        "mean_score": rank_scores(ranks),
        "match_rate": ranks <= len(RANK_SCORES),
        "rank1": ranks == 1,
        "mean_average_precision": np.array([one.precision for one in answers]),
    }
    if all(one.iou is not None for one in answers):
        by_query["temporal_iou"] = np.array([one.iou for one in answers])
    if of_dances:
        by_query["rank1_dance"] = np.array(of_dances) == 1
    clusters = [one.dance for one in about]
    found: dict[str, Any] = {"rank1_dance": None, "temporal_iou": None}
    found |= {name: _rounded(values.mean()) for name, values in by_query.items()}
    intervals = {name: mean_interval(values, clusters) for name, values in by_query.items()}
    return {
        **found,
        "recall": {str(k): _rounded(recall_at(ranks, k)) for k in RECALL_AT},
        "rank_distribution": {name: _rounded(share) for name, share in rank_distribution(ranks).items()},
        "intervals": {name: (_rounded(low), _rounded(high)) for name, (low, high) in intervals.items()},
        "parts": _parts(about, answers),
        "queries": len(answers),
    }


def _parts(about: Sequence[QueryFacts], answers: Sequence[RankedAnswer]) -> dict[str, dict[str, float]]:
    """The main figures by kind of query; nothing where all are of one kind."""
    parts = {}
    for part in sorted({one.part for one in about if one.part}):
        own = [one for one, said in zip(answers, about, strict=True) if said.part == part]
        ranks = [one.rank for one in own]
        overlaps = [one.iou for one in own if one.iou is not None]
        parts[part] = {
            "queries": len(own),
            "mean_score": _rounded(rank_scores(ranks).mean()),
            "match_rate": _rounded(recall_at(ranks, len(RANK_SCORES))),
            "rank1": _rounded(recall_at(ranks, 1)),
        }
        if overlaps:
            parts[part]["temporal_iou"] = _rounded(np.mean(overlaps))
            parts[part]["place_found"] = _rounded(np.mean(np.array(overlaps) >= ENOUGH))
    return parts


def _confusion(task: Task, answers: Sequence[RankedAnswer]) -> dict[str, dict[str, float]]:
    """Of the queries of a genre, the share whose first answer is of each genre."""
    found: dict[str, list[str]] = {}
    for about, one in zip(task.about, answers, strict=True):
        found.setdefault(about.genre, []).append(task.known[one.first].name.genre)
    return {
        asked: {genre: _rounded(said.count(genre) / len(said)) for genre in sorted(set(said))}
        for asked, said in sorted(found.items())
    }


def _rounded(value: float | np.floating[Any]) -> float:
    return round(float(value), 4)
