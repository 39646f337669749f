"""Learn from a labelled catalogue how much each metric of the search counts."""

from collections.abc import Iterator, Sequence
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
    """Weights under which recordings of one dance find each other before those of any other.

    Every recording asks for the others of its dance; a dance of one recording says nothing.
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


def _too_few(catalogue: Catalogue, dances: int) -> InputError:
    """What is missing, and how to give it."""
    return InputError(
        f"weights are learnt from two dances or more with two recordings or more each; {catalogue.where} has "
        f"{dances} such: add the recordings of each dance under its name, as in "
        f"'dancematch add {catalogue.where} DIR/ --dance NAME', or merge dances with 'dancematch edit'"
    )


def _questions(
    catalogue: Catalogue, metrics: Sequence[str], on_progress: Progress | None
) -> Iterator[RankingQuestion]:
    from dancematch.search.query import Query

    settings = replace(DEFAULT_SETTINGS, weights={name: 1 / len(metrics) for name in metrics})
    names = {dance.dance_id: dance.name for dance in catalogue.dances() if dance.recordings > 1}
    if len(names) < 2:
        raise _too_few(catalogue, len(names))
    asking = [track for track in catalogue.tracks(names) if track.dance_id in names]
    engine = catalogue.engine()
    for number, track in enumerate(asking, start=1):
        found = engine.score_shortlist(Query(track.fingerprint), settings=settings)
        own = [one.key for one in asking if one.recording_key == track.recording_key]
        others = ~np.isin(found.track_keys, own)
        right = np.array([other == track.dance_id for other in found.dance_ids])
        parts = {metric: found.scores.parts[metric][others] for metric in metrics}
        yield RankingQuestion(names[track.dance_id], parts, right[others])
        if on_progress is not None:
            on_progress(number / len(asking))
