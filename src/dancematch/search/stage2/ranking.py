"""Stage two: the dances of the shortlist in the order of their likelihood ratios, with verdicts.

A candidate is one recording. The ratio of a dance is pooled over its candidates (`confidence/pooling.py`),
all else of a match is that of the best one.

It needs the words and bones of the shortlist and nothing else of a catalogue: whether they come from this
process's index or from shards on other machines makes no difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

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
from dancematch.search.confidence.pooling import pool_log_ratios
from dancematch.search.confidence.verdict import (
    LEAST_SECONDS,
    MOST_OF_WORDS,
    Basis,
    evalue_of,
    shipped_calibration,
    verdict_of,
    words_amount,
)
from dancematch.search.query import Query
from dancematch.search.settings import Settings
from dancematch.search.stage2.scoring import SegmentScores, score_segments
from dancematch.search.stage2.synchrony import Synchrony, SynchronyQuery
from dancematch.search.stage2.timing import LEAST_PEAK, Timing, measure_timing
from dancematch.search.stage2.variant import Variant
from dancematch.search.stage2.word_alignment import TEMPI
from dancematch.search.thread_pool import parallel_map
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.tracks import bones_of
from dancematch.types import BONES_UNSEEN, SEEN_FROM, Fingerprint, FloatArray, Match, RecordingMatch, Span

PASSAGES = 8  # of a match
TEMPO_TRIED = 40  # candidates, those with the best word scores, that synchrony compares at all tempi
_TIE_BREAK = 1e-4
CLEAR_SYNCHRONY = 3.0  # standard deviations above the cohort from which synchrony says where the query lies
PLAIN_TEMPO = TEMPI.index(1.0)


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Candidates for stage two, one per recording."""

    names: Sequence[str]  # of each recording's dance
    segments: Sequence[SegmentBounds]  # per variant: one segment per recording, in the word store
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
        nothing = np.zeros(len(self.words.scores), np.float32)
        if len(self.null) < FEWEST:
            return nothing
        if self.seconds < LEAST_SECONDS:  # few words; bones of half a body may still say enough
            synchrony = shipped_calibration("synchrony").log_ratios(self.evidence)
            known = self.basis != "words" and self.synchrony.overlaps >= LEAST_SECONDS
            return np.where(known, synchrony, nothing)
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
        # take scores that differ by less than .01 for equal. A turned dancer has the same words as one who is
        # not: there synchrony decides.
        return self.log_ratios + _TIE_BREAK * (scores + _TIE_BREAK * self.synchrony.strengths)

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
    """Return the dances most likely to be that of one dancer, best first.

    Of the variants of the query, the best one counts for each recording. `dances` is how many the search
    covers: the more there are, the higher the E-value of a ratio.
    """
    if not len(shortlist.names):
        return []
    scores = score_variants(variants, shortlist.word_store, shortlist.segments, cohort, settings)
    keys = np.stack([one.ranking_keys(settings) for one in scores])  # [variants, candidates]
    winners, every = keys.argmax(axis=0), np.arange(len(shortlist.names))
    bounds = np.array(shortlist.segments)[winners, :, every]  # [candidates, 3]
    evidence = _Evidence(
        keys[winners, every],
        np.stack([one.log_ratios for one in scores])[winners, every],
        np.stack([one.words.scores for one in scores])[winners, every],
        shortlist.facts["key"][bounds[:, 0]],
    )

    def candidate(number: int) -> _Candidate:
        winner = int(winners[number])
        return _Candidate(number, bounds[number].tolist(), queries[winner], variants[winner], scores[winner])

    def match(one: _RankedDance) -> Match:
        return _match([candidate(number) for number in one.recordings], one.log_ratio, shortlist, dances)

    return parallel_map(match, _rank_dances(shortlist.names, evidence, settings)[:limit])


class _Evidence(NamedTuple):
    """What recordings and dances are ranked by: one value per recording, by its best variant."""

    ranking_keys: NDArray[np.float64]
    log_ratios: FloatArray
    scores: FloatArray
    track_keys: NDArray[np.int64]


class _RankedDance(NamedTuple):
    """A dance with its recordings, best first, by their numbers."""

    ranking_key: float
    track_key: int  # of the best recording
    log_ratio: float  # pooled
    recordings: list[int]


def _rank_dances(names: Sequence[str], evidence: _Evidence, settings: Settings) -> list[_RankedDance]:
    """The dances, best first; equal ones by the key of the track that won, since ids are random."""
    of_dances: dict[str, list[int]] = {}
    for number in np.lexsort((evidence.track_keys, -evidence.ranking_keys)).tolist():
        of_dances.setdefault(names[number], []).append(number)
    ranking_keys, ratios, scores, track_keys = (column.tolist() for column in evidence)
    ranked = []
    for own in of_dances.values():
        best = own[0]
        key, ratio = ranking_keys[best], ratios[best]
        if len(own) > 1 and settings.ranked_by == "likelihood":
            ratio = pool_log_ratios([ratios[number] for number in own])
            key = ratio + _TIE_BREAK * scores[best]
        ranked.append(_RankedDance(key, track_keys[best], ratio, own))
    return sorted(ranked, key=lambda one: (-one.ranking_key, one.track_key))


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
    """One recording with its best variant of the query."""

    number: int  # in the scores
    bounds: Sequence[int]  # track, first and last word
    query: Query
    variant: Variant
    scores: VariantScores

    @property
    def score(self) -> float:
        return float(self.scores.words.scores[self.number])

    @property
    def log_ratio(self) -> float:
        return float(self.scores.log_ratios[self.number])

    def describe(self, facts: NDArray[Any], reference: Fingerprint) -> RecordingMatch:
        in_query, in_reference, tempo = self._spans(reference)
        return RecordingMatch(
            recording=None,
            recording_id=None,
            track=int(facts["key"][self.bounds[0]]),
            reference_dancer=int(facts["dancer"][self.bounds[0]]),
            reference=in_reference,
            query=in_query,
            mirrored=self.query.mirrored,
            tempo=tempo,
            score=self.score,
            log_ratio=self.log_ratio,
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

    def measure_timing(self, reference: Fingerprint) -> Timing | None:
        """How closely both keep time, where synchrony counts, is clear and is high."""
        high = self.scores.synchrony.heights[self.number] >= LEAST_PEAK
        if self.scores.basis == "words" or not (self._synchrony_is_clear and high):
            return None
        query = self.variant.fingerprint
        return measure_timing(
            bones_of(query), bones_of(reference), *self._synchrony_line, query.seconds_per_word
        )

    def parts(self, reference: Fingerprint) -> dict[str, float]:
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


def _match(recordings: Sequence[_Candidate], log_ratio: float, shortlist: Shortlist, dances: int) -> Match:
    """The match of a dance by its recordings, best first, with their pooled ratio."""
    best = recordings[0]
    _, first, last = best.bounds
    references = [shortlist.word_store.read_track(one.bounds[0]) for one in recordings]
    every = [
        one.describe(shortlist.facts, reference)
        for one, reference in zip(recordings, references, strict=True)
    ]
    evalue, reference = evalue_of(log_ratio, dances), references[0]
    verdict = verdict_of(evalue)
    timing = None if verdict == "no match" else best.measure_timing(reference)
    return Match(
        dance_id=shortlist.names[best.number],
        score=every[0].score,
        query=every[0].query,
        reference=every[0].reference,
        mirrored=every[0].mirrored,
        tempo=every[0].tempo,
        turned=best.query.turned,
        dancer=best.query.dancer,
        reference_dancer=every[0].reference_dancer,
        track=every[0].track,
        segment=reference.span(first, last),
        verdict=verdict,
        log_ratio=log_ratio,
        evalue=evalue,
        same_performance=timing is not None and timing.same_performance,
        parts=best.parts(reference) | _timing_parts(timing),
        passages=best.variant.find_passages(reference, PASSAGES),
        recordings=tuple(every),
    )


def _timing_parts(timing: Timing | None) -> dict[str, float]:
    if timing is None:
        return {}
    return {"timing_jitter": timing.jitter, "timing_correlation": timing.correlation}


def _share_of_bones(fingerprint: Fingerprint) -> float:
    """The share of bones, over all steps, that is seen."""
    return float((bones_of(fingerprint)[:, ::2] != BONES_UNSEEN).mean())
