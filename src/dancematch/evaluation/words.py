"""Clips compared by their words, as a search would: any tokeniser, by histogram and in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.index.align import place, usual_similarity
from dancematch.index.engine import SHORTLIST, score_of, windows
from dancematch.index.histogram import (
    DEFAULT_WEIGHTING,
    SEEN,
    Histograms,
    Weighting,
    channels_seen,
    combine_channels,
    word_counts,
)
from dancematch.model.patches import PatchTokeniser, soft_assignment
from dancematch.motion import FPS, canonicalise, excerpt
from dancematch.types import Fingerprint, FloatArray, Motion

SOFT_WORDS = 3  # words that a soft patch is counted as


@dataclass(frozen=True)
class Method:
    """A model's words, a weighting, whether their order counts, and how a query's words are counted."""

    model: str | Path
    weighting: Weighting = DEFAULT_WEIGHTING
    in_order: bool = False  # stage two as well, as in a search
    phases: int = 1  # starting frames at which the query is put into words, all counted
    soft: bool = False  # a query's patch counts as its nearest words, by weight

    @property
    def suffix(self) -> str:
        """What tells the method's name from that of the plain search by histograms."""
        marks = {
            "-cosine": self.weighting == "cosine",
            "-two-stage": self.in_order,
            f"-phases{self.phases}": self.phases > 1,
            "-soft": self.soft,
        }
        return "".join(mark for mark, applies in marks.items() if applies)


METHODS: Mapping[str, Method] = {
    "kmeans": Method("floor"),
    "kmeans-two-stage": Method("floor", in_order=True),
    "kmeans-cosine": Method("floor", "cosine"),
    "kmeans-whole": Method("floor-whole"),
}


@dataclass(frozen=True)
class Asked:
    """A query in words."""

    fingerprint: Fingerprint
    counts: FloatArray  # [channels, words], over all phases


def ask(model: PatchTokeniser, motion: Motion, method: Method) -> Asked:
    """Put a query into words and count them as the method says."""
    phases = model.phases(motion, method.phases)
    counts = [word_counts(phase).astype(np.float32) for phase in phases]
    if method.soft:
        canonical = canonicalise(motion)
        end = len(canonical.joints) / FPS
        shifted = [excerpt(canonical, phase.start - canonical.start, end) for phase in phases]
        counts = [_soft_counts(model, *both) for both in zip(shifted, phases, strict=True)]
    return Asked(phases[0], np.sum(counts, axis=0))


def _soft_counts(model: PatchTokeniser, canonical: Motion, phase: Fingerprint) -> FloatArray:
    """The weight of each word in one phase of a query; `canonical` begins where the phase does."""
    words, weights = soft_assignment(model.latents(canonical), model.vectors, SOFT_WORDS)
    counts = np.zeros((words.shape[1], model.vocabulary), dtype=np.float32)
    seen = phase.visibility >= SEEN
    for channel, row in enumerate(counts):
        np.add.at(row, words[seen[:, channel], channel], weights[seen[:, channel], channel])
    return counts


class WordComparison:
    """The words of all clips, compared as a search would."""

    def __init__(
        self,
        model: PatchTokeniser,
        motions: Sequence[Motion],
        method: Method,
        *,
        motion_of: Callable[[int], Motion] | None = None,
        windowed: bool = False,
    ) -> None:
        """Enter the clips `motions`; a query is one of them, or what `motion_of` gives for its number.

        `windowed` enters long clips as overlapping windows too, as a catalogue does.
        """
        self._method, self._model = method, model
        self._motion_of = motion_of or motions.__getitem__
        self._known_already = motion_of is None and method.phases == 1 and not method.soft
        self._prints = [model.fingerprint(motion) for motion in motions]
        entries = [[one, *(windows(one) if windowed else ())] for one in self._prints]
        self._firsts = np.cumsum([0, *map(len, entries[:-1])])  # each clip's first entry
        flat = [entry for own in entries for entry in own]
        counts = [word_counts(entry) for entry in flat]
        self._seen = np.stack([channels_seen(entry) for entry in flat], axis=1)
        self._histograms = Histograms(counts, method.weighting)
        self._usual = usual_similarity(model.codebook, np.sum(counts, axis=0, dtype=np.int64))
        self._asked: dict[int, Asked] = {}
        self._rows: dict[int, FloatArray] = {}  # a query asks again in every draw

    def _ask(self, query: int) -> Asked:
        if query not in self._asked:
            self._asked[query] = (
                Asked(self._prints[query], word_counts(self._prints[query]).astype(np.float32))
                if self._known_already
                else ask(self._model, self._motion_of(query), self._method)
            )
        return self._asked[query]

    def _similarity(self, query: int) -> FloatArray:
        """How alike the query's words and those of each clip's best entry are."""
        if query not in self._rows:
            asked = self._ask(query)
            cosines = self._histograms.cosines(asked.counts)
            scores = combine_channels(cosines, channels_seen(asked.fingerprint), self._seen)
            self._rows[query] = np.maximum.reduceat(scores, self._firsts)
        return self._rows[query]

    def scores(self, query: int, candidates: NDArray[np.intp]) -> FloatArray:
        """How alike the query and each candidate are."""
        histogram = self._similarity(query)[candidates]
        if not self._method.in_order:
            return histogram
        spoken = self._ask(query).fingerprint
        scores = np.full_like(histogram, -1)  # what stage one does not propose comes last
        for number in np.argsort(-histogram, kind="stable")[:SHORTLIST]:
            other = self._prints[candidates[number]]
            found = place(spoken, other, self._model.codebook, self._usual)
            scores[number] = score_of(float(histogram[number]), found)
        return scores
