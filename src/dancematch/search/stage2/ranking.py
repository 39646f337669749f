"""Stage two: the shortlist in the order of its likelihood ratios, with verdicts.

It needs the words and bones of the shortlist and nothing else of a catalogue: whether they come from this
process's index or from shards on other machines makes no difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.search.confidence.cohort import (
    FEWEST,
    Cohort,
    CohortPart,
    NullScores,
    RelativeScores,
    null_scores,
)
from dancematch.search.confidence.verdict import (
    LEAST_SECONDS,
    MOST_OF_WORDS,
    Basis,
    evalue_of,
    shipped_calibration,
    verdict_of,
    words_amount,
)
from dancematch.search.settings import Settings
from dancematch.search.stage2.scoring import SegmentScores, score_segments
from dancematch.search.stage2.synchrony import Synchrony, SynchronyQuery
from dancematch.search.stage2.timing import LEAST_PEAK, Timing, measure_timing
from dancematch.search.stage2.variant import Variant
from dancematch.search.stage2.word_alignment import TEMPI
from dancematch.search.thread_pool import parallel_map
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.tracks import bones_of
from dancematch.types import BONES_UNSEEN, SEEN_FROM, Fingerprint, FloatArray, Match, Span

PASSAGES = 8  # of a match
TEMPO_TRIED = 40  # candidates, those with the best word scores, that synchrony compares at all tempi
_TIE_BREAK = 1e-4
CLEAR_SYNCHRONY = 3.0  # standard deviations above the cohort from which synchrony says where the query lies
PLAIN_TEMPO = TEMPI.index(1.0)


@dataclass(frozen=True)
class Query:
    """One variant of one dancer of the query clip."""

    fingerprint: Fingerprint
    mirrored: bool = False
    dancer: int = 1


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Candidates for stage two."""

    names: Sequence[str]
    segments: Sequence[SegmentBounds]  # per variant: one segment per dance, in the word store
    word_store: WordStore
    facts: NDArray[Any]  # per track of the word store: `entries.FACTS`


@dataclass(frozen=True, eq=False)
class VariantScores:
    """One variant of the query against every candidate."""

    words: SegmentScores
    synchrony: Synchrony  # its tempi are of `TEMPI`
    null: NullScores
    seconds: float  # seen of the dancer, the mean over the body parts
    basis: Basis = "both"

    @cached_property
    def evidence(self) -> RelativeScores:
        """What the likelihood ratio is computed from."""
        parts, synchrony = self.words.parts, self.synchrony
        relative = self.null.normalise(parts["histogram"], parts["order"], synchrony.strengths)
        long_enough = synchrony.overlaps >= LEAST_SECONDS
        relative = {**relative, "synchrony": np.where(long_enough, relative["synchrony"], 0)}
        return self._weigh(relative, (synchrony.tempi != PLAIN_TEMPO).astype(np.float32))

    def _weigh(self, relative: RelativeScores, tempo: FloatArray) -> RelativeScores:
        amount = words_amount(self.seconds)
        capped = {name: np.minimum(relative[name], MOST_OF_WORDS) for name in ("histogram", "order")}
        words = {name: np.asarray(amount * values, np.float32) for name, values in capped.items()}
        return {**words, "synchrony": relative["synchrony"], "tempo": tempo}

    @cached_property
    def log_ratios(self) -> FloatArray:
        """The log likelihood ratio of each candidate; 0 where too little is seen or the cohort is small."""
        if len(self.null) < FEWEST or self.seconds < LEAST_SECONDS:
            return np.zeros(len(self.words.scores), np.float32)
        ratios = shipped_calibration(self.basis).log_ratios(self.evidence)
        if self.basis != "both":
            return ratios
        # Where bones are unknown, words decide; where they overlap too little, words never raise the ratio.
        alone, overlaps = shipped_calibration("words").log_ratios(self.evidence), self.synchrony.overlaps
        little = np.where(overlaps > 0, np.minimum(alone, 0), alone)
        return np.where(overlaps >= LEAST_SECONDS, ratios, little)

    def ranking_keys(self, settings: Settings) -> NDArray[np.float64]:
        """Return what candidates and variants are ordered by; the largest is the best."""
        scores = self.words.scores.astype(np.float64)
        if settings.ranked_by != "likelihood":
            return scores
        # At the bounds ratios are equal: there the score decides, to the last digit. Single precision would
        # take scores that differ by less than .01 for equal.
        return self.log_ratios + _TIE_BREAK * scores

    @property
    def null_log_ratios(self) -> FloatArray:
        """The log likelihood ratio of each cohort member, none of which is the dance."""
        null = self.null
        relative = null.normalise(null.histograms, null.orders, null.strengths)
        evidence = self._weigh(relative, np.zeros(len(null), np.float32))
        return shipped_calibration(self.basis).log_ratios(evidence)


def rank(
    queries: Sequence[Query],
    variants: Sequence[Variant],
    shortlist: Shortlist,
    cohort: Cohort,
    dances: int,
    settings: Settings,
    limit: int,
) -> list[Match]:
    """Return the candidates most likely to be the dance of one dancer, best first; each by its best variant.

    `dances` is how many the search covers: the more there are, the higher the E-value of a ratio.
    """
    if not len(shortlist.names):
        return []
    scores = score_variants(variants, shortlist.word_store, shortlist.segments, cohort, settings)
    keys = np.stack([one.ranking_keys(settings) for one in scores])  # [variants, candidates]
    winners, best, names = keys.argmax(axis=0), keys.max(axis=0), shortlist.names
    order = sorted(range(len(names)), key=lambda number: (-best[number], names[number]))[:limit]
    matches = []
    for number in order:
        winner = int(winners[number])
        bounds = tuple(int(column[number]) for column in shortlist.segments[winner])
        candidate = _Candidate(number, bounds, variants[winner], scores[winner])
        matches.append(candidate.match(queries[winner], shortlist, dances))
    return matches


def score_variants(
    variants: Sequence[Variant],
    word_store: WordStore,
    bounds: Sequence[SegmentBounds],
    cohort: Cohort,
    settings: Settings,
) -> list[VariantScores]:
    """Score candidates by words and synchrony, per variant of the query, beside one cohort."""
    tasks = list(zip(variants, bounds, cohort.parts(len(variants)), strict=True))
    scores = parallel_map(lambda one: _score_variant(one[0], word_store, one[1], one[2], settings), tasks)
    null = NullScores.concatenate([one.null for one in scores])
    return [replace(one, null=null) for one in scores]


def _score_variant(
    variant: Variant, word_store: WordStore, bounds: SegmentBounds, cohort: CohortPart, settings: Settings
) -> VariantScores:
    scores = score_words(variant, word_store, bounds, settings)
    words = variant.fingerprint
    bones, seconds = bones_of(words), words.seconds_per_word
    plain = SynchronyQuery(bones, np.ones(1), seconds)
    likely = np.argsort(-scores.scores, kind="stable")[:TEMPO_TRIED]
    found = plain.compare(word_store.read_bones(bounds.tracks))
    at_tempi = SynchronyQuery(bones, np.array(TEMPI), seconds)
    stretched = at_tempi.compare(word_store.read_bones(bounds.tracks[likely]))
    synchrony = _with_tempi(found, stretched, likely)
    seen = seconds * float((words.visibility >= SEEN_FROM).sum(axis=0).mean())
    return VariantScores(
        scores, synchrony, null_scores(variant, plain, cohort, settings), seen, settings.basis
    )


def score_words(
    variant: Variant, word_store: WordStore, bounds: SegmentBounds, settings: Settings
) -> SegmentScores:
    """Score segments of known dances by words alone, for one variant of the query."""
    segments, whole = word_store.read_segments(bounds), word_store.whole_tracks(bounds.tracks)
    same = not bounds.firsts.any() and np.array_equal(bounds.lasts, whole.lasts)
    return score_segments(variant, segments, segments if same else word_store.read_segments(whole), settings)


def _with_tempi(plain: Synchrony, stretched: Synchrony, likely: NDArray[np.intp]) -> Synchrony:
    """The better of the two where several tempi were tried."""
    better = stretched.strengths > plain.strengths[likely]
    every: dict[str, Any] = plain._replace(tempi=np.full(len(plain.tempi), PLAIN_TEMPO))._asdict()
    for name, array in every.items():
        array[likely[better]] = getattr(stretched, name)[better]
    return Synchrony(**every)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One candidate with its best variant."""

    number: int  # in the scores
    bounds: tuple[int, ...]  # track, first and last word
    variant: Variant
    scores: VariantScores

    def match(self, query: Query, shortlist: Shortlist, dances: int) -> Match:
        track, first, last = self.bounds
        reference = shortlist.word_store.read_track(track)
        in_query, in_reference, tempo = self._spans(reference)
        log_ratio = float(self.scores.log_ratios[self.number])
        evalue = evalue_of(log_ratio, dances)
        verdict = verdict_of(evalue)
        timing = None if verdict == "no match" else self._timing(reference)
        return Match(
            dance_id=shortlist.names[self.number],
            score=float(self.scores.words.scores[self.number]),
            query=in_query,
            reference=in_reference,
            mirrored=query.mirrored,
            tempo=tempo,
            dancer=query.dancer,
            reference_dancer=int(shortlist.facts["dancer"][track]),
            track=int(shortlist.facts["key"][track]),
            segment=reference.span(first, last),
            verdict=verdict,
            log_ratio=log_ratio,
            evalue=evalue,
            same_performance=timing is not None and timing.same_performance,
            parts=self._parts(reference) | _timing_parts(timing),
            passages=self.variant.find_passages(reference, PASSAGES),
        )

    @property
    def _synchrony_is_clear(self) -> bool:
        return bool(self.scores.evidence["synchrony"][self.number] >= CLEAR_SYNCHRONY)

    @property
    def _synchrony_line(self) -> tuple[float, float]:
        """The step of the reference at which the query begins, and the tempo."""
        synchrony = self.scores.synchrony
        return float(synchrony.offsets[self.number]), TEMPI[synchrony.tempi[self.number]]

    def _spans(self, reference: Fingerprint) -> tuple[Span, Span, float]:
        """Where the query lies, and its tempo: by synchrony if that is clear, else by the words' order."""
        if len(self.scores.null) < FEWEST or not self._synchrony_is_clear:
            lines = self.scores.words.lines
            number = int(lines.tempi[self.number])
            spans = self.variant.line_spans(reference, int(lines.offsets[self.number]), number)
            return *spans, TEMPI[number]
        words, (offset, tempo) = self.variant.fingerprint, self._synchrony_line
        step = words.seconds_per_word
        first = max(0.0, -offset / tempo)
        last = min(len(words), (len(reference) - offset) / tempo)
        begin, end = max(0.0, offset + tempo * first), offset + tempo * last
        return (
            Span(words.start + step * first, words.start + step * last),
            Span(reference.start + step * begin, reference.start + step * end),
            tempo,
        )

    def _timing(self, reference: Fingerprint) -> Timing | None:
        """How closely both keep time, where synchrony counts, is clear and is high."""
        high = self.scores.synchrony.heights[self.number] >= LEAST_PEAK
        if self.scores.basis == "words" or not (self._synchrony_is_clear and high):
            return None
        query = self.variant.fingerprint
        return measure_timing(
            bones_of(query), bones_of(reference), *self._synchrony_line, query.seconds_per_word
        )

    def _parts(self, reference: Fingerprint) -> dict[str, float]:
        """All values that the score and the likelihood ratio were computed from.

        The lag is when on the reference's clock the query's clock begins. Without bones on either side there
        is no synchrony.
        """
        words, synchrony, query = self.scores.words, self.scores.synchrony, self.variant.fingerprint
        channels = zip(
            self.variant.codebook.channels, words.cosines[:, self.number], self.variant.seen, strict=True
        )
        offset, tempo = self._synchrony_line
        lag = reference.start + offset * query.seconds_per_word - tempo * query.start
        return {
            **{name: float(values[self.number]) for name, values in words.parts.items()},
            "order": float(words.lines.agreements[self.number]),
            "synchrony": float(synchrony.heights[self.number]),
            "synchrony_ratio": float(synchrony.ratios[self.number]),
            "synchrony_seconds": float(synchrony.overlaps[self.number]),
            "synchrony_lag": float(lag),
            "query_bones": _share_of_bones(query),
            "reference_bones": _share_of_bones(reference),
            **{name: max(0.0, float(cosine)) for name, cosine, shown in channels if shown > 0},
        }


def _timing_parts(timing: Timing | None) -> dict[str, float]:
    if timing is None:
        return {}
    return {"timing_jitter": timing.jitter, "timing_correlation": timing.correlation}


def _share_of_bones(fingerprint: Fingerprint) -> float:
    """The share of bones, over all steps, that is seen."""
    return float((bones_of(fingerprint)[:, ::2] != BONES_UNSEEN).mean())
