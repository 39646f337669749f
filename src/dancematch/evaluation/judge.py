"""A method on a task: what it reaches, and all that must be known to measure it again."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.evaluation.aist import Clip, Question, chance_rank1
from dancematch.evaluation.continuous import REFERENCES, Comparison
from dancematch.evaluation.metrics import score_ranks
from dancematch.evaluation.tasks import Task
from dancematch.evaluation.words import METHODS, Method, WordComparison
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_model
from dancematch.types import FloatArray, Motion

NO_MODEL = "none"  # the model_id of a method that uses no words

Refit = Callable[[Sequence[Motion], PatchTokeniser], PatchTokeniser]
Track = Callable[[Sequence[Question]], Iterable[Question]]


@dataclass(frozen=True)
class Result:
    """What one method reached on one suite."""

    suite: str
    method: str
    mean_score: float
    match_rate: float
    rank1: float
    rank1_dance: float | None  # the first is the right clip or another take of its dance; where that differs
    queries: int
    chance: float  # rank1 of guessing
    seconds: float
    model_id: str
    query_genres: list[str]
    unseen_genres: list[str]  # of these, the ones the model was not fitted on
    seed: int


@dataclass(frozen=True)
class Contender:
    """A comparison of a task's clips, with the name and model it is reported under."""

    method: str
    comparison: Comparison
    model_id: str = NO_MODEL
    trained_genres: Sequence[str] = ()


def contend(
    task: Task, clips: Sequence[Clip], method: str | Method, *, refit: Refit | None = None
) -> Contender:
    """Make ready a named method, or a model's words compared in any way.

    With `refit`, the method's tokeniser is fitted anew on the genres that are not queried,
    so that the queries' genres are unseen.
    """
    motions = [clip.motion for clip in clips]
    if isinstance(method, str) and method in REFERENCES:
        if method == "dtw" and task.of_excerpts:
            raise InputError(f"dtw compares whole clips, {task.suite} asks with excerpts; leave it out")
        return Contender(method, REFERENCES[method](motions, task.motion_of))
    if isinstance(method, str) and method not in METHODS:
        raise InputError(f"methods: {', '.join((*METHODS, *REFERENCES))}; got {method!r}")
    chosen = METHODS[method] if isinstance(method, str) else method
    model = load_model(chosen.model)
    name = named(model, chosen)
    if refit is not None:
        model = refit([clip.motion for clip in clips if clip.name.genre not in task.genres], model)
        name = f"{name}-refitted"
    compared = WordComparison(model, motions, chosen, motion_of=task.motion_of, windowed=task.of_excerpts)
    trained = model.trained_on.get("aist_genres", [])
    return Contender(name, compared, model.model_id, trained if isinstance(trained, list) else [])


def named(model: PatchTokeniser, method: Method) -> str:
    """What a model's words, so compared, are called: its kind, its layout if not the floor's, the rest."""
    usual = load_model(METHODS["kmeans"].model).layout
    layout = "" if model.layout == usual else f"-{model.layout}"
    return f"{model.kind}{layout}{method.suffix}"


def rank_of(scores: FloatArray, right: NDArray[np.bool_]) -> int:
    """The rank of the best right answer; a tie counts against us."""
    return 1 + int((scores[~right] >= scores[right].max()).sum())


def evaluate(
    task: Task,
    clips: Sequence[Clip],
    method: str | Method,
    *,
    refit: Refit | None = None,
    track: Track = lambda questions: questions,
) -> Result:
    """Run one task with one method; `track` passes the questions on and may show progress."""
    began = time.perf_counter()
    contender = contend(task, clips, method, refit=refit)
    ranks, dance_ranks = [], []
    for number, (candidates, right, query) in enumerate(track(task.questions)):
        scores = contender.comparison.scores(query, candidates)
        ranks.append(rank_of(scores, right))
        if task.of_excerpts:
            dance_ranks.append(rank_of(scores, task.takes[number]))
    scored = score_ranks(ranks)
    return Result(
        suite=task.suite,
        method=contender.method,
        mean_score=round(scored.mean_score, 4),
        match_rate=round(scored.match_rate, 4),
        rank1=round(scored.rank1, 4),
        rank1_dance=round(score_ranks(dance_ranks).rank1, 4) if dance_ranks else None,
        queries=scored.queries,
        chance=round(chance_rank1(task.questions), 4),
        seconds=round(time.perf_counter() - began, 1),
        model_id=contender.model_id,
        query_genres=task.genres,
        unseen_genres=[one for one in task.genres if one not in contender.trained_genres],
        seed=task.seed,
    )
