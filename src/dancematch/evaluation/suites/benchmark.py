"""Labelled clips as questions: which dance is this, among performances by other people?

Each clip of the split `test` asks for its label among the clips of the split `train`, which no
performer of the queries has danced in. As in a search, every dancer in a clip is compared, as seen
and mirrored, with every dancer of the others; the best of them is the clips' likeness.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.evaluation.measures.ranking import average_precision, rank_of
from dancematch.evaluation.methods.feature_comparison import REFERENCES, ClipComparison
from dancematch.evaluation.methods.word_comparison import METHODS, WordComparison, WordMethod
from dancematch.evaluation.suites.retrieval import (
    NO_MODEL,
    RankedAnswer,
    RetrievalResult,
    TrackProgress,
    figures,
    named,
    untold,
)
from dancematch.evaluation.suites.retrieval_tasks import QueryFacts
from dancematch.model.tokeniser import load_model
from dancematch.motion import mirror
from dancematch.types import FloatArray, Motion

SUITE = "benchmark"
QUERIES, REFERENCE = "test", "train"


@dataclass(frozen=True, eq=False)
class LabelledClip:
    """A clip of a benchmark: what is danced, by whom, and everybody who is seen in it."""

    label_id: str
    performer: str
    split: str
    motions: tuple[Motion, ...]
    kind: str = ""  # figures are told by kind of query too, where there are several


class BenchmarkSuite:
    """The questions of a release: the clips that ask, and those that may be the answer."""

    def __init__(self, clips: Sequence[LabelledClip]) -> None:
        self.references = [clip for clip in clips if clip.split == REFERENCE]
        self._labels = np.array([clip.label_id for clip in self.references])
        asked = [clip for clip in clips if clip.split == QUERIES]
        self.queries = [clip for clip in asked if clip.label_id in self._labels]
        self.unanswerable = len(asked) - len(self.queries)  # nobody else dances what they show
        if not self.queries:
            raise InputError(
                f"there is nothing to ask: no clip of the split {QUERIES} has a label that occurs in"
                f" {REFERENCE}; two performers of a dance are needed at least"
            )
        strangers = {clip.performer for clip in self.references}
        if not strangers.isdisjoint(clip.performer for clip in self.queries):
            raise InputError(f"a performer is in both splits, {QUERIES} and {REFERENCE}: build it anew")

    def right(self, query: LabelledClip) -> NDArray[np.bool_]:
        """Which references have the query's label."""
        return np.asarray(self._labels == query.label_id)

    @property
    def chance(self) -> float:
        """How often the first of a random order is right."""
        return float(np.mean([self.right(query).mean() for query in self.queries]))

    def evaluate(self, method: str | WordMethod, *, track: TrackProgress = untold) -> RetrievalResult:
        """What a method reaches; `track` passes things on and may show progress."""
        began = time.perf_counter()
        likeness, name, model_id = self._likeness(method)
        count = len(self.queries)
        answers = [
            _answer(likeness.scores(number), self.right(self.queries[number]))
            for number in track(range(count), f"{SUITE}, {name}", count)
        ]
        about = [QueryFacts("", query.label_id, query.kind) for query in self.queries]
        return RetrievalResult(
            suite=SUITE,
            method=name,
            **figures(about, answers),
            confusion={},
            chance=round(self.chance, 4),
            seconds=round(time.perf_counter() - began, 1),
            model_id=model_id,
            query_genres=[],
            unseen=[],
            seeds=[],
            facts={
                "labels": len({query.label_id for query in self.queries}),
                "references": len(self.references),
                "unanswerable": self.unanswerable,
            },
        )

    def _likeness(self, method: str | WordMethod) -> tuple["BestTrackComparison", str, str]:
        """The clips made ready for a method, what it is called, and its model."""
        readings = QueryVariants(self.queries)
        tracks = [motion for clip in self.references for motion in clip.motions]
        firsts = np.cumsum([0, *(len(clip.motions) for clip in self.references[:-1])])
        if isinstance(method, str) and method in REFERENCES:
            compared: ClipComparison = REFERENCES[method](tracks, readings.motion)
            return BestTrackComparison(compared, readings, firsts, len(tracks)), method, NO_MODEL
        if isinstance(method, str) and method not in METHODS:
            raise InputError(f"methods: {', '.join((*METHODS, *REFERENCES))}; got {method!r}")
        chosen = METHODS[method] if isinstance(method, str) else method
        model = load_model(chosen.model)
        compared = WordComparison(model, tracks, chosen, motion_of=readings.motion, windowed=True)
        name = method if isinstance(method, str) else named(model, chosen)
        return BestTrackComparison(compared, readings, firsts, len(tracks)), name, model.model_id


class QueryVariants:
    """All ways to read the queries: every dancer, as seen and mirrored, numbered one after the other."""

    def __init__(self, queries: Sequence[LabelledClip]) -> None:
        self._motions = [motion for query in queries for motion in query.motions]
        self._firsts = np.cumsum([0, *(2 * len(query.motions) for query in queries)])

    def of(self, query: int) -> range:
        """The numbers of a query's readings."""
        return range(int(self._firsts[query]), int(self._firsts[query + 1]))

    def motion(self, reading: int) -> Motion:
        """The motion of a reading."""
        dancer, mirrored = divmod(reading, 2)
        return mirror(self._motions[dancer]) if mirrored else self._motions[dancer]


@dataclass(frozen=True)
class BestTrackComparison:
    """How alike clips are: the best of all readings of one and all dancers of the other."""

    comparison: ClipComparison
    readings: QueryVariants
    firsts: NDArray[np.intp]  # each reference's first track
    tracks: int

    def scores(self, query: int) -> FloatArray:
        """How alike the query and each reference are."""
        every = np.arange(self.tracks)
        read = [self.comparison.scores(reading, every) for reading in self.readings.of(query)]
        return np.asarray(np.maximum.reduceat(np.max(read, axis=0), self.firsts), dtype=np.float32)


def _answer(scores: FloatArray, right: NDArray[np.bool_]) -> RankedAnswer:
    return RankedAnswer(
        rank=rank_of(scores, right),
        dance_rank=None,
        precision=average_precision(scores, right),
        first=int(np.lexsort((right, -scores))[0]),
        iou=None,
    )
