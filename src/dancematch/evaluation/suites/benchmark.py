"""The suite `benchmark`: which dance is a labelled clip, among performances by other people?

Each clip of the split `test` asks for its label among the clips of the split `train`, in which none of the
queries' performers dances. As in a search, every dancer of a query, as seen and mirrored, is compared with
every dancer of a reference; the best pair is the score of the two clips.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.benchmark.release import Release, ReleaseEntry
from dancematch.errors import InputError
from dancematch.evaluation.methods.feature_comparison import WORDLESS_METHODS, ClipComparison
from dancematch.evaluation.methods.word_comparison import WordComparison
from dancematch.evaluation.methods.word_methods import WordMethod, load_word_method
from dancematch.evaluation.suites.retrieval import (
    NO_MODEL,
    RankedAnswer,
    RetrievalResult,
    TrackProgress,
    compute_figures,
    track_silently,
)
from dancematch.evaluation.suites.retrieval_tasks import QueryFacts
from dancematch.motion import mirror
from dancematch.types import FloatArray, Motion

SUITE = "benchmark"
QUERIES, REFERENCES = "test", "train"


@dataclass(frozen=True, eq=False)
class LabelledClip:
    """A clip of a benchmark: its dance, its performer, and everybody who is seen in it."""

    label_id: str
    performer: str
    split: str
    motions: tuple[Motion, ...]
    kind: str = ""  # figures are given by kind of query too, where there are several


def read_clips(release: Release, track: TrackProgress = track_silently) -> list[LabelledClip]:
    """The clips of a release; the kind of a rendered one is who else is in the frame."""
    entries: Iterable[ReleaseEntry] = track(release.entries, "reading", len(release.entries))
    return [
        LabelledClip(
            entry.label_id, entry.performer, entry.split, tuple(release.motions(entry)),
            kind=str((entry.conditions or {}).get("company", "")),
        )
        for entry in entries
    ]  # fmt: skip


class BenchmarkSuite:
    """The questions of a release: query clips, and the references that may be the answer."""

    def __init__(self, clips: Sequence[LabelledClip]) -> None:
        self.references = [clip for clip in clips if clip.split == REFERENCES]
        self._labels = np.array([clip.label_id for clip in self.references])
        asked = [clip for clip in clips if clip.split == QUERIES]
        self.queries = [clip for clip in asked if clip.label_id in self._labels]
        self.unanswerable = len(asked) - len(self.queries)  # no other performer dances what they show
        if not self.queries:
            raise InputError(
                f"there is nothing to ask: no clip of the split {QUERIES} has a label that occurs in"
                f" {REFERENCES}; at least two performers of a dance are needed"
            )
        performers = {clip.performer for clip in self.references}
        if not performers.isdisjoint(clip.performer for clip in self.queries):
            raise InputError(f"a performer is in both splits, {QUERIES} and {REFERENCES}: build it anew")

    def evaluate(self, method: str | WordMethod, *, track: TrackProgress = track_silently) -> RetrievalResult:
        """The figures of one method."""
        began = time.perf_counter()
        comparison, name, model_id = self.prepare(method)
        count = len(self.queries)
        right = [np.asarray(self._labels == query.label_id) for query in self.queries]
        every = np.arange(len(self.references))
        answers = [
            RankedAnswer.of(comparison.scores(number), right[number], every)
            for number in track(range(count), f"{SUITE}, {name}", count)
        ]
        about = [QueryFacts("", query.label_id, query.kind) for query in self.queries]
        return RetrievalResult(
            suite=SUITE,
            method=name,
            **compute_figures(about, answers),
            confusion={},
            chance=round(float(np.mean([one.mean() for one in right])), 4),
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

    def prepare(self, method: str | WordMethod) -> tuple["BestTrackComparison", str, str]:
        """The comparison of the clips, its name, and its model's id."""
        variants = QueryVariants(self.queries)
        tracks = [motion for clip in self.references for motion in clip.motions]
        firsts = np.cumsum([0, *(len(clip.motions) for clip in self.references[:-1])])
        if isinstance(method, str) and method in WORDLESS_METHODS:
            wordless: ClipComparison = WORDLESS_METHODS[method](tracks, variants.motion)
            return BestTrackComparison(wordless, variants, firsts, len(tracks)), method, NO_MODEL
        chosen, model, name = load_word_method(method)
        words = WordComparison(model, tracks, chosen, motion_of=variants.motion, windowed=True)
        return BestTrackComparison(words, variants, firsts, len(tracks)), name, model.model_id


class QueryVariants:
    """All variants of the queries: every dancer, as seen and mirrored, numbered consecutively."""

    def __init__(self, queries: Sequence[LabelledClip]) -> None:
        self._motions = [motion for query in queries for motion in query.motions]
        self._firsts = np.cumsum([0, *(2 * len(query.motions) for query in queries)])

    def of(self, query: int) -> range:
        """The numbers of a query's variants."""
        return range(int(self._firsts[query]), int(self._firsts[query + 1]))

    def motion(self, variant: int) -> Motion:
        """The motion of a variant."""
        dancer, mirrored = divmod(variant, 2)
        return mirror(self._motions[dancer]) if mirrored else self._motions[dancer]


@dataclass(frozen=True)
class BestTrackComparison:
    """Clips scored by the best pair of a variant of the query and a dancer of the reference."""

    comparison: ClipComparison
    variants: QueryVariants
    firsts: NDArray[np.intp]  # each reference's first track
    tracks: int

    def scores(self, query: int) -> FloatArray:
        """The score of each reference."""
        every = np.arange(self.tracks)
        by_variant = [self.comparison.scores(variant, every) for variant in self.variants.of(query)]
        return np.asarray(np.maximum.reduceat(np.max(by_variant, axis=0), self.firsts), dtype=np.float32)
