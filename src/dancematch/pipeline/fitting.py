"""Learn from a labelled catalogue how much each metric of the search counts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dancematch.errors import InputError
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.catalogue import Catalogue
from dancematch.search.metrics.registry import METRICS
from dancematch.search.metrics.weight_fitting import (
    FittedWeights,
    RankingQuestion,
    first_is_right,
    fit_weights,
)
from dancematch.search.metrics.weights import ENGINES_OWN, WEIGHTS_DEFAULT
from dancematch.search.settings import DEFAULT_SETTINGS

LEARNABLE = tuple(dict.fromkeys((*ENGINES_OWN, *METRICS)))


@dataclass(frozen=True)
class Learnt(FittedWeights):
    """Weights, and what the default ones reach on the same questions."""

    default_rank1: float

    @property
    def gained(self) -> bool:
        """Whether more was answered rightly than with the default weights."""
        return self.rank1 > self.default_rank1


def learn_weights(
    catalogue: Catalogue,
    metrics: Sequence[str] = LEARNABLE,
    *,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Learnt:
    """Weights under which dances of one label find each other before any other dance.

    Every dance asks for the others of its label; a label that only one dance has says nothing.
    Costs a search by all metrics for each.
    """
    unknown = sorted(set(metrics) - set(LEARNABLE))
    if unknown or not metrics:
        named = ", ".join(unknown) or "none"
        raise InputError(f"weights can be learnt of {', '.join(LEARNABLE)}; got {named}")
    questions = list(_questions(catalogue, tuple({**dict.fromkeys(metrics), **WEIGHTS_DEFAULT}), on_progress))
    fitted = fit_weights(questions, metrics, seed=seed)
    hits = [first_is_right(one, dict(WEIGHTS_DEFAULT)) for one in questions if one.asks]
    return Learnt(fitted.weights, fitted.rank1, fitted.questions, float(np.mean(hits)))


def _too_few(catalogue: Catalogue, labels: Iterable[str | None], shared: set[str]) -> InputError:
    """What is missing, and how to give it."""
    labelled = any(label is not None for label in labels)
    there = (
        f"{len(shared)} label(s) in {catalogue.where} have as many"
        if labelled
        else f"no dance in {catalogue.where} has a label"
    )
    return InputError(
        f"weights are learnt from two labels or more with two performances or more each; {there}: add the "
        f"recordings of each dance under its name, as in 'dancematch add {catalogue.where} DIR/ --label NAME'"
    )


def _questions(
    catalogue: Catalogue, metrics: Sequence[str], on_progress: Progress | None
) -> Iterator[RankingQuestion]:
    from dancematch.search.engine import Query

    settings = replace(DEFAULT_SETTINGS, weights={name: 1 / len(metrics) for name in metrics})
    labels = {dance.dance_id: dance.label for dance in catalogue.dances()}
    shared = {label for label, count in Counter(labels.values()).items() if label is not None and count > 1}
    if len(shared) < 2:
        raise _too_few(catalogue, labels.values(), shared)
    asking = [(name, words) for name, words in catalogue.fingerprints() if labels[name] in shared]
    engine = catalogue.engine()
    for number, (name, words) in enumerate(asking, start=1):
        names, scores = engine.score_shortlist(Query(words), settings=settings)
        others = np.array([other != name for other in names])
        right = np.array([labels[other] == labels[name] for other in names])
        parts = {metric: scores.parts[metric][others] for metric in metrics}
        yield RankingQuestion(str(labels[name]), parts, right[others])
        if on_progress is not None:
            on_progress(number / len(asking))
