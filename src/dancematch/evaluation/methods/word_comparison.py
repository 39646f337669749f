"""Clips compared by their words, as a search would: any tokeniser, by histogram and in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.directions import bone_directions
from dancematch.evaluation.measures.ranking import Numbers, Values
from dancematch.model.patches import PatchTokeniser, soft_assignment
from dancematch.model.tokeniser import load_background
from dancematch.motion import FPS, canonicalise, excerpt
from dancematch.search.confidence.cohort import Cohort
from dancematch.search.metrics.registry import combine
from dancematch.search.settings import DEFAULT_SETTINGS, SETTINGS, Settings
from dancematch.search.stage1.histogram import (
    DEFAULT_WEIGHTING,
    Histograms,
    Weighting,
    channels_seen,
    combine_channels,
    word_counts,
)
from dancematch.search.stage2.ranking import score_variants
from dancematch.search.stage2.scoring import score_segments
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.stage2.word_alignment import expected_similarity
from dancematch.search.words.entries import window_bounds
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.tracks import pack_words
from dancematch.types import SEEN_FROM, Fingerprint, FloatArray, Motion, Span

SOFT_WORDS = 3  # words that a soft patch is counted as


@dataclass(frozen=True)
class WordMethod:
    """A model's words, a weighting, whether their order counts, and how a query's words are counted."""

    model: str | Path
    weighting: Weighting = DEFAULT_WEIGHTING
    settings: Settings | None = None  # of stage two; None = histograms alone
    phases: int = 1  # starting frames at which the query is put into words, all counted
    soft: bool = False  # a query's patch counts as its nearest words, by weight

    @property
    def _search(self) -> str:
        return next((name for name, settings in SEARCHES.items() if settings is self.settings), "two-stage")

    @property
    def suffix(self) -> str:
        """What tells the method's name from that of the plain search by histograms."""
        marks = {
            "-cosine": self.weighting == "cosine",
            f"-{self._search}": self.settings is not None,
            f"-phases{self.phases}": self.phases > 1,
            "-soft": self.soft,
        }
        return "".join(mark for mark, applies in marks.items() if applies)


# How stage two searches; None = histograms alone.
SEARCHES: Mapping[str, Settings | None] = {
    "histogram": None,
    "two-stage": replace(DEFAULT_SETTINGS, ranked_by="score"),
    "likelihood": DEFAULT_SETTINGS,  # as `dancematch search`: words and synchrony
    "brute-force": replace(DEFAULT_SETTINGS, shortlist="all", ranked_by="score"),
    "paper": SETTINGS["paper"],
}

METHODS: Mapping[str, WordMethod] = {
    "stage1": WordMethod("network"),
    "two-stage": WordMethod("network", settings=SEARCHES["two-stage"]),
    "likelihood": WordMethod("network", settings=SEARCHES["likelihood"]),
    "brute-force": WordMethod("network", settings=SEARCHES["brute-force"]),
    "paper": WordMethod("network", "cosine", settings=SEARCHES["paper"]),
    "kmeans": WordMethod("floor"),
    "kmeans-two-stage": WordMethod("floor", settings=SEARCHES["two-stage"]),
    "kmeans-cosine": WordMethod("floor", "cosine"),
    "kmeans-whole": WordMethod("floor-whole"),
}


@dataclass(frozen=True)
class QueryWords:
    """A query in words."""

    fingerprint: Fingerprint
    counts: FloatArray  # [channels, words], over all phases


@dataclass(frozen=True)
class ComparisonCache:
    """What comparisons of the same clips by the same words may share, a query at a time."""

    asked: dict[int, QueryWords] = field(default_factory=dict)
    ordered: dict[int, Numbers] = field(default_factory=dict)  # what stage two said; NaN: not asked yet


def ask(model: PatchTokeniser, motion: Motion, method: WordMethod) -> QueryWords:
    """Put a query into words and count them as the method says."""
    phases = model.phases(motion, method.phases)
    counts = [word_counts(phase).astype(np.float32) for phase in phases]
    if method.soft:
        canonical = canonicalise(motion)
        end = len(canonical.joints) / FPS
        shifted = [excerpt(canonical, phase.start - canonical.start, end) for phase in phases]
        counts = [_soft_counts(model, *both) for both in zip(shifted, phases, strict=True)]
    bones = bone_directions(motion, model.patch_frames)[: len(phases[0])]
    return QueryWords(replace(phases[0], bones=bones), np.sum(counts, axis=0))


def _soft_counts(model: PatchTokeniser, canonical: Motion, phase: Fingerprint) -> FloatArray:
    """The weight of each word in one phase of a query; `canonical` begins where the phase does."""
    words, weights = soft_assignment(model.latents(canonical), model.vectors, SOFT_WORDS)
    counts = np.zeros((words.shape[1], model.vocabulary), dtype=np.float32)
    seen = phase.visibility >= SEEN_FROM
    for channel, row in enumerate(counts):
        np.add.at(row, words[seen[:, channel], channel], weights[seen[:, channel], channel])
    return counts


class WordComparison:
    """The words of all clips, compared as a search would; what was compared once is remembered."""

    def __init__(
        self,
        model: PatchTokeniser,
        motions: Sequence[Motion],
        method: WordMethod,
        *,
        prints: Sequence[Fingerprint] | None = None,
        motion_of: Callable[[int], Motion] | None = None,
        windowed: bool = False,
        remembered: ComparisonCache | None = None,
    ) -> None:
        """Enter the clips `motions`; a query is one of them, or what `motion_of` gives for its number.

        `prints` are their words, and `remembered` is what has been found out about queries, if another
        comparison of these clips has been made already. `windowed` enters long clips as overlapping
        windows too, as a catalogue does.
        """
        self._method, self._model = method, model
        self._motion_of = motion_of or motions.__getitem__
        self._known_already = motion_of is None and method.phases == 1 and not method.soft
        self._prints = prints or [model.fingerprint(motion) for motion in motions]
        self._entries = [
            (clip, first, last)
            for clip, one in enumerate(self._prints)
            for first, last in ((0, len(one) - 1), *(window_bounds(one) if windowed else ()))
        ]
        clips = [clip for clip, _, _ in self._entries]
        self._firsts = np.searchsorted(clips, np.arange(len(motions) + 1))  # each clip's first entry
        flat = [self._prints[clip].segment(first, last) for clip, first, last in self._entries]
        counts = [word_counts(entry) for entry in flat]
        self._seen = np.stack([channels_seen(entry) for entry in flat], axis=1)
        self._histograms = Histograms(counts, method.weighting)
        usual = expected_similarity(model.codebook, np.sum(counts, axis=0, dtype=np.int64))
        self._rarity = WordStatistics(method.weighting, self._histograms.idf, usual)
        self._word_store = WordStore(model.vocabulary, model.model_id)
        self._word_store.append(pack_words(self._prints))
        self._remembered = remembered or ComparisonCache()
        self._rows: dict[int, FloatArray] = {}  # a query asks again in every draw and suite

    def _ask(self, query: int) -> QueryWords:
        asked = self._remembered.asked
        if query not in asked:
            asked[query] = (
                QueryWords(self._prints[query], word_counts(self._prints[query]).astype(np.float32))
                if self._known_already
                else ask(self._model, self._motion_of(query), self._method)
            )
        return asked[query]

    def _similarity(self, query: int) -> FloatArray:
        """How alike the query's words and those of each clip's best entry are."""
        if query not in self._rows:
            scores = self._of_entries(query)
            self._rows[query] = np.maximum.reduceat(scores, self._firsts[:-1])
        return self._rows[query]

    def _of_entries(self, query: int) -> FloatArray:
        asked = self._ask(query)
        cosines = self._histograms.cosines(asked.counts)
        return combine_channels(cosines, channels_seen(asked.fingerprint), self._seen)

    def scores(self, query: int, candidates: NDArray[np.intp]) -> Values:
        """How alike the query and each candidate are."""
        histogram = self._similarity(query)[candidates]
        if self._method.settings is None:
            return histogram
        shortlist = np.argsort(-histogram, kind="stable")[
            : self._method.settings.shortlist_size(len(candidates))
        ]
        scores = np.full(len(histogram), -np.inf)  # what stage one does not propose comes last
        scores[shortlist] = self._in_order(query, candidates[shortlist], self._method.settings)
        return scores

    def place(self, query: int, clip: int) -> Span | None:
        """Where in a clip the query lies, by the order of words; None if order does not count."""
        if self._method.settings is None:
            return None
        variant = Variant(self._ask(query).fingerprint, self._model.codebook, self._rarity)
        lines = variant.best_lines(
            self._word_store.read_segments(self._word_store.whole_tracks(np.array([clip])))
        )
        return variant.line_spans(self._prints[clip], int(lines.offsets[0]), int(lines.tempi[0]))[1]

    def _in_order(self, query: int, chosen: NDArray[np.intp], settings: Settings) -> Numbers:
        """What stage two says of a few clips, asked now or before."""
        rows = self._remembered.ordered
        row = rows.setdefault(query, np.full(len(self._prints), np.nan))
        new = chosen[np.isnan(row[chosen])]
        if len(new):
            row[new] = self._ask_order(query, new, settings)
        return row[chosen]

    def _ask_order(self, query: int, chosen: NDArray[np.intp], settings: Settings) -> Values:
        variant = Variant(self._ask(query).fingerprint, self._model.codebook, self._rarity)
        scores, ends = self._of_entries(query), self._firsts[1:]
        best = [self._firsts[clip] + scores[self._firsts[clip] : ends[clip]].argmax() for clip in chosen]
        bounds = SegmentBounds(*np.array([self._entries[entry] for entry in best], dtype=np.int64).T)
        if settings.ranked_by == "likelihood":
            # As `dancematch search` orders them, except that a suite asks for one variant, as seen.
            (scored,) = score_variants([variant], self._word_store, [bounds], self._cohort, settings)
            return scored.ranking_keys(settings)
        whole_tracks = self._word_store.read_segments(self._word_store.whole_tracks(chosen))
        parts = score_segments(variant, self._word_store.read_segments(bounds), whole_tracks, settings).parts
        # The query's own way of counting (phases, soft words) is stage one's; order is read from one phase.
        return combine({**parts, "histogram": scores[best]}, settings.weights)

    @cached_property
    def _cohort(self) -> Cohort:
        return Cohort(load_background(self._model, self._method.model))
