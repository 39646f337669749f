"""A method on a retrieval task: its figures, with intervals, and what is needed to measure them again."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.evaluation.measures.bootstrap import mean_interval
from dancematch.evaluation.measures.ranking import (
    RANK_SCORES,
    Numbers,
    Values,
    average_precision,
    rank_distribution,
    rank_of,
    recall_at,
    score_ranks,
)
from dancematch.evaluation.measures.temporal_overlap import ENOUGH, temporal_iou
from dancematch.evaluation.methods.feature_comparison import WORDLESS_METHODS, ClipComparison
from dancematch.evaluation.methods.word_comparison import ComparisonCache, QueryWords, WordComparison
from dancematch.evaluation.methods.word_methods import WordMethod, load_word_method
from dancematch.evaluation.suites.aist import chance_rank1
from dancematch.evaluation.suites.retrieval_tasks import QueryFacts, RetrievalTask
from dancematch.model.patches import PatchTokeniser
from dancematch.types import Fingerprint, Motion

NO_MODEL = "none"  # the model_id of a method without words
RECALL_AT = (1, 3, 5, 10)

Refit = Callable[[Sequence[Motion], PatchTokeniser], PatchTokeniser]
TrackProgress = Callable[[Iterable[Any], str, int], Iterable[Any]]  # items, what is done, how many


@dataclass(frozen=True)
class RetrievalResult:
    """The figures of one method on one suite."""

    suite: str
    method: str
    mean_score: float
    match_rate: float
    rank1: float
    rank1_dance: float | None  # any recording of the right dance at rank 1; None: no different from rank1
    mean_average_precision: float
    recall: Mapping[str, float]  # at k: a right answer among the first k
    rank_distribution: Mapping[str, float]
    temporal_iou: float | None  # of an excerpt's segment in the right clip with the true one
    intervals: Mapping[str, tuple[float, float]]  # 95 %, bootstrap over dances
    parts: Mapping[str, Mapping[str, float]]  # by kind of query, where there are several
    confusion: Mapping[str, Mapping[str, float]]  # by a query's genre, the genres of first answers
    queries: int
    chance: float  # rank1 of a random order
    seconds: float  # tokenising included, for the first line of a model
    model_id: str
    query_genres: list[str]
    unseen: list[str]  # of these, the genres that the model was not trained on
    seeds: list[int]
    facts: Mapping[str, int | float]  # other options of the suite


class RankedAnswer(NamedTuple):
    """The result of one query."""

    rank: int
    dance_rank: int | None  # of any recording of the right dance
    precision: float
    first: int  # the clip at rank 1
    iou: float | None

    @classmethod
    def of(cls, scores: Values, right: NDArray[np.bool_], candidates: NDArray[np.intp]) -> "RankedAnswer":
        """The answer that these scores of candidates give."""
        first = int(candidates[np.lexsort((right, -scores))[0]])
        return cls(rank_of(scores, right), None, average_precision(scores, right), first, None)


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
        self._fingerprints: dict[tuple[str, Motion], Fingerprint] = {}
        self._query_words: dict[object, dict[int, QueryWords]] = {}
        self._stage_two: dict[object, dict[int, Numbers]] = {}
        self.comparisons: dict[object, NamedComparison] = {}

    def comparison_cache(
        self, task: RetrievalTask, model: PatchTokeniser, method: WordMethod
    ) -> ComparisonCache:
        """The results so far about the task's queries; shortlists of any length share them."""
        queries = tuple(task.clips) if task.motion_of is None else task
        words = (queries, model.model_id, method.phases, method.soft)
        settings = method.settings
        order: tuple[object, ...] = ()
        if settings:
            order = (method.weighting, settings.ranked_by, settings.metrics, *settings.weights.items())
        return ComparisonCache(
            self._query_words.setdefault(words, {}), self._stage_two.setdefault((words, order), {})
        )

    def tokenise(
        self, model: PatchTokeniser, motions: Sequence[Motion], track: TrackProgress
    ) -> list[Fingerprint]:
        """The motions in a model's words."""
        new = [motion for motion in motions if (model.model_id, motion) not in self._fingerprints]
        for motion in track(new, "words", len(new)):
            self._fingerprints[model.model_id, motion] = model.fingerprint(motion)
        return [self._fingerprints[model.model_id, motion] for motion in motions]


def track_silently(items: Iterable[Any], _what: str, _count: int) -> Iterable[Any]:
    """The items, without progress."""
    return items


@dataclass(frozen=True)
class Evaluator:
    """Runs tasks with methods.

    With `refit`, a method's tokeniser is fitted anew on the genres that are not queried, so that the
    queries' genres are unseen. `track` shows progress; `jobs` is the number of threads.
    """

    cache: EvaluationCache
    refit: Refit | None = None
    track: TrackProgress = track_silently
    jobs: int = 1

    def prepare(self, task: RetrievalTask, method: str | WordMethod) -> NamedComparison:
        """A named method, or a model's words with any search, ready to compare the task's clips."""
        if task.motion_of is not None:
            return self._prepare(task, method)
        key = (tuple(task.clips), method, tuple(task.genres) if self.refit else ())
        if key not in self.cache.comparisons:
            self.cache.comparisons[key] = self._prepare(task, method)
        return self.cache.comparisons[key]

    def _prepare(self, task: RetrievalTask, method: str | WordMethod) -> NamedComparison:
        motions = [clip.motion for clip in task.clips]
        if isinstance(method, str) and method in WORDLESS_METHODS:
            if method == "dtw" and task.of_excerpts:
                raise InputError(f"dtw compares whole clips, {task.suite} asks with excerpts; leave it out")
            return NamedComparison(method, WORDLESS_METHODS[method](motions, task.motion_of))
        chosen, model, name = load_word_method(method)
        if self.refit is not None:
            unasked = [clip.motion for clip in task.clips if clip.name.genre not in task.genres]
            model, name = self.refit(unasked, model), f"{name}-refitted"
        comparison = WordComparison(
            model, motions, chosen,
            prints=self.cache.tokenise(model, motions, self.track),
            motion_of=task.motion_of, windowed=task.of_excerpts,
            cache=self.cache.comparison_cache(task, model, chosen),
        )  # fmt: skip
        return NamedComparison(name, comparison, model.model_id, trained_genres(model))

    def evaluate(self, task: RetrievalTask, method: str | WordMethod) -> RetrievalResult:
        """The figures of one method on one task."""
        began = time.perf_counter()
        prepared = self.prepare(task, method)
        count = len(task.questions)

        def answer(number: int) -> RankedAnswer:
            return answer_question(prepared.comparison, task, number)

        with ThreadPoolExecutor(self.jobs) as threads:
            answers = threads.map(answer, range(count)) if self.jobs > 1 else map(answer, range(count))
            answered = list(self.track(answers, f"{task.suite}, {prepared.method}", count))
        return RetrievalResult(
            suite=task.suite,
            method=prepared.method,
            **compute_figures(task.about, answered),
            confusion=_count_confusions(task, answered),
            chance=round(chance_rank1(task.questions), 4),
            seconds=round(time.perf_counter() - began, 1),
            model_id=prepared.model_id,
            query_genres=task.genres,
            unseen=[one for one in task.genres if one not in prepared.trained_genres],
            seeds=[task.seed],
            facts=task.facts,
        )


def trained_genres(model: PatchTokeniser) -> list[str]:
    """The AIST++ genres that a model says it was trained on."""
    trained = model.trained_on.get("aist_genres", [])
    return trained if isinstance(trained, list) else []


def answer_question(comparison: ClipComparison, task: RetrievalTask, number: int) -> RankedAnswer:
    """The answer to one question of a task."""
    candidates, right, query = task.questions[number]
    scores = comparison.scores(query, candidates)
    true, found = task.about[number].span, None
    if true is not None and isinstance(comparison, WordComparison):
        found = comparison.locate(query, int(candidates[right][0]))
    return RankedAnswer.of(scores, right, candidates)._replace(
        dance_rank=rank_of(scores, task.same_dance[number]) if task.same_dance else None,
        iou=temporal_iou(found, true) if found and true else None,
    )


def compute_figures(about: Sequence[QueryFacts], answers: Sequence[RankedAnswer]) -> dict[str, Any]:
    """The fields of a result that are computed from the answers."""
    ranks = np.array([one.rank for one in answers])
    dance_ranks = [one.dance_rank for one in answers if one.dance_rank is not None]
    by_query = {
        "mean_score": score_ranks(ranks),
        "match_rate": ranks <= len(RANK_SCORES),
        "rank1": ranks == 1,
        "mean_average_precision": np.array([one.precision for one in answers]),
    }
    if all(one.iou is not None for one in answers):
        by_query["temporal_iou"] = np.array([one.iou for one in answers])
    if dance_ranks:
        by_query["rank1_dance"] = np.array(dance_ranks) == 1
    dances = [one.dance for one in about]
    intervals = {name: mean_interval(values, dances) for name, values in by_query.items()}
    return {
        "rank1_dance": None,
        "temporal_iou": None,
        **{name: _round(values.mean()) for name, values in by_query.items()},
        "recall": {str(k): _round(recall_at(ranks, k)) for k in RECALL_AT},
        "rank_distribution": {name: _round(share) for name, share in rank_distribution(ranks).items()},
        "intervals": {name: (_round(low), _round(high)) for name, (low, high) in intervals.items()},
        "parts": _compute_parts(about, answers),
        "queries": len(answers),
    }


def _compute_parts(
    about: Sequence[QueryFacts], answers: Sequence[RankedAnswer]
) -> dict[str, dict[str, float]]:
    """The main figures by kind of query; empty where all are of one kind."""
    parts = {}
    for part in sorted({one.part for one in about if one.part}):
        own = [one for one, facts in zip(answers, about, strict=True) if facts.part == part]
        ranks = [one.rank for one in own]
        overlaps = [one.iou for one in own if one.iou is not None]
        parts[part] = {
            "queries": len(own),
            "mean_score": _round(score_ranks(ranks).mean()),
            "match_rate": _round(recall_at(ranks, len(RANK_SCORES))),
            "rank1": _round(recall_at(ranks, 1)),
        }
        if overlaps:
            parts[part]["temporal_iou"] = _round(np.mean(overlaps))
            parts[part]["place_found"] = _round(np.mean(np.array(overlaps) >= ENOUGH))
    return parts


def _count_confusions(task: RetrievalTask, answers: Sequence[RankedAnswer]) -> dict[str, dict[str, float]]:
    """By genre of the query, the share of first answers of each genre."""
    answered: dict[str, list[str]] = {}
    for about, one in zip(task.about, answers, strict=True):
        answered.setdefault(about.genre, []).append(task.clips[one.first].name.genre)
    return {
        asked: {genre: _round(genres.count(genre) / len(genres)) for genre in sorted(set(genres))}
        for asked, genres in sorted(answered.items())
    }


def _round(value: float | np.floating[Any]) -> float:
    return round(float(value), 4)
