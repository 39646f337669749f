"""Clips compared by their words, as a search compares them: any tokeniser, by histogram and by order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dancematch.directions import bone_directions
from dancematch.evaluation.measures.ranking import Numbers, Values
from dancematch.evaluation.methods.word_methods import WordMethod
from dancematch.model.patches import PatchTokeniser, soft_assignment
from dancematch.model.tokeniser import load_background
from dancematch.motion import FPS, canonicalise, excerpt
from dancematch.search.confidence.cohort import Cohort
from dancematch.search.metrics.registry import combine
from dancematch.search.settings import Settings
from dancematch.search.stage1.histogram import Histograms, channels_seen, combine_channels, word_counts
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
class QueryWords:
    """A query in words."""

    fingerprint: Fingerprint
    counts: FloatArray  # [channels, words], over all phases


@dataclass(frozen=True)
class ComparisonCache:
    """Results that comparisons of the same clips by the same words share, per query."""

    words: dict[int, QueryWords] = field(default_factory=dict)
    stage_two: dict[int, Numbers] = field(default_factory=dict)  # [clips]; NaN: not scored yet


def tokenise_query(model: PatchTokeniser, motion: Motion, method: WordMethod) -> QueryWords:
    """The words of a query, counted as the method says."""
    phases = model.phases(motion, method.phases)
    counts = [word_counts(phase).astype(np.float32) for phase in phases]
    if method.soft:
        canonical = canonicalise(motion)
        end = len(canonical.joints) / FPS
        shifted = [excerpt(canonical, phase.start - canonical.start, end) for phase in phases]
        counts = [_count_soft_words(model, *both) for both in zip(shifted, phases, strict=True)]
    bones = bone_directions(motion, model.patch_frames)[: len(phases[0])]
    return QueryWords(replace(phases[0], bones=bones), np.sum(counts, axis=0))


def _count_soft_words(model: PatchTokeniser, canonical: Motion, phase: Fingerprint) -> FloatArray:
    """The weight of each word in one phase of a query; `canonical` begins where the phase does."""
    words, weights = soft_assignment(model.latents(canonical), model.vectors, SOFT_WORDS)
    counts = np.zeros((words.shape[1], model.vocabulary), dtype=np.float32)
    seen = phase.visibility >= SEEN_FROM
    for channel, row in enumerate(counts):
        np.add.at(row, words[seen[:, channel], channel], weights[seen[:, channel], channel])
    return counts


class WordComparison:
    """The words of all clips, compared as a search compares them; every pair is compared once."""

    def __init__(
        self,
        model: PatchTokeniser,
        motions: Sequence[Motion],
        method: WordMethod,
        *,
        prints: Sequence[Fingerprint] | None = None,
        motion_of: Callable[[int], Motion] | None = None,
        windowed: bool = False,
        cache: ComparisonCache | None = None,
    ) -> None:
        """Enter the clips `motions`; a query is one of them, or what `motion_of` gives for its number.

        `prints` are their words, if they are known already. `windowed` enters long clips as overlapping
        windows too, as a catalogue does.
        """
        self._method, self._model = method, model
        self._motion_of = motion_of or motions.__getitem__
        self._queries_are_clips = motion_of is None and method.phases == 1 and not method.soft
        self._prints = prints or [model.fingerprint(motion) for motion in motions]
        self._entries = [
            (clip, first, last)
            for clip, one in enumerate(self._prints)
            for first, last in ((0, len(one) - 1), *(window_bounds(one) if windowed else ()))
        ]
        clips = [clip for clip, _, _ in self._entries]
        self._firsts = np.searchsorted(clips, np.arange(len(motions) + 1))  # each clip's first entry
        entries = [self._prints[clip].segment(first, last) for clip, first, last in self._entries]
        counts = [word_counts(entry) for entry in entries]
        self._seen = np.stack([channels_seen(entry) for entry in entries], axis=1)
        self._histograms = Histograms(counts, method.weighting)
        expected = expected_similarity(model.codebook, np.sum(counts, axis=0, dtype=np.int64))
        self._statistics = WordStatistics(method.weighting, self._histograms.idf, expected)
        self._word_store = WordStore(model.vocabulary, model.model_id)
        self._word_store.append(pack_words(self._prints))
        self._cache = cache or ComparisonCache()
        self._stage_one: dict[int, FloatArray] = {}  # suites ask the same query repeatedly

    def scores(self, query: int, candidates: NDArray[np.intp]) -> Values:
        """The similarity of the query and each candidate; -inf where stage one does not propose it."""
        histogram = self._score_clips(query)[candidates]
        settings = self._method.settings
        if settings is None:
            return histogram
        shortlist = np.argsort(-histogram, kind="stable")[: settings.shortlist_size(len(candidates))]
        scores = np.full(len(histogram), -np.inf)
        scores[shortlist] = self._score_by_order(query, candidates[shortlist], settings)
        return scores

    def locate(self, query: int, clip: int) -> Span | None:
        """Where in a clip the query lies, by the order of words; None if order does not count."""
        if self._method.settings is None:
            return None
        variant = self._variant(query)
        whole = self._word_store.read_segments(self._word_store.whole_tracks(np.array([clip])))
        lines = variant.best_lines(whole)
        return variant.line_spans(self._prints[clip], int(lines.offsets[0]), int(lines.tempi[0]))[1]

    def _words(self, query: int) -> QueryWords:
        words = self._cache.words
        if query not in words:
            words[query] = (
                QueryWords(self._prints[query], word_counts(self._prints[query]).astype(np.float32))
                if self._queries_are_clips
                else tokenise_query(self._model, self._motion_of(query), self._method)
            )
        return words[query]

    def _variant(self, query: int) -> Variant:
        return Variant(self._words(query).fingerprint, self._model.codebook, self._statistics)

    def _score_clips(self, query: int) -> FloatArray:
        """Stage one: the similarity of the query's words and those of each clip's best entry."""
        if query not in self._stage_one:
            self._stage_one[query] = np.maximum.reduceat(self._score_entries(query), self._firsts[:-1])
        return self._stage_one[query]

    def _score_entries(self, query: int) -> FloatArray:
        words = self._words(query)
        cosines = self._histograms.cosines(words.counts)
        return combine_channels(cosines, channels_seen(words.fingerprint), self._seen)

    def _score_by_order(self, query: int, clips: NDArray[np.intp], settings: Settings) -> Numbers:
        """Stage two's scores of a few clips, computed now or before."""
        row = self._cache.stage_two.setdefault(query, np.full(len(self._prints), np.nan))
        new = clips[np.isnan(row[clips])]
        if len(new):
            row[new] = self._run_stage_two(query, new, settings)
        return row[clips]

    def _run_stage_two(self, query: int, clips: NDArray[np.intp], settings: Settings) -> Values:
        variant = self._variant(query)
        scores, ends = self._score_entries(query), self._firsts[1:]
        best = [self._firsts[clip] + scores[self._firsts[clip] : ends[clip]].argmax() for clip in clips]
        bounds = SegmentBounds(*np.array([self._entries[entry] for entry in best], dtype=np.int64).T)
        if settings.ranked_by == "likelihood":
            # As `dancematch search` ranks, except that a suite asks for one variant, as seen.
            (scored,) = score_variants([variant], self._word_store, [bounds], self._cohort, settings)
            return scored.ranking_keys(settings)
        whole_tracks = self._word_store.read_segments(self._word_store.whole_tracks(clips))
        segments = self._word_store.read_segments(bounds)
        parts = score_segments(variant, segments, whole_tracks, settings).parts
        # Phases and soft words count in stage one only; order is read from one phase.
        return combine({**parts, "histogram": scores[best]}, settings.weights)

    @cached_property
    def _cohort(self) -> Cohort:
        return Cohort(load_background(self._model, self._method.model))
