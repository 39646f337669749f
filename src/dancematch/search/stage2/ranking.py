"""Stage two: shortlisted dances in order of their likelihood ratios, with verdicts.

It needs the words and bones of the shortlist, and nothing else of a catalogue: where those came from, the
library of this process or shards on other machines, makes no difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.search.confidence.cohort import FEWEST, Cohort, CohortPart, Evidence, NullScores, null_scores
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
from dancematch.search.stage2.synchrony import Pointing, Synchrony
from dancematch.search.stage2.timing import LEAST_PEAK, Timing, measure_timing
from dancematch.search.stage2.variant import Variant
from dancematch.search.stage2.word_alignment import TEMPI
from dancematch.search.thread_pool import parallel_map
from dancematch.search.words.word_store import SegmentBounds, WordStore
from dancematch.tracks import bones_of
from dancematch.types import BONES_UNSEEN, SEEN_FROM, Fingerprint, FloatArray, Match, Span

PASSAGES = 8  # of a match
TEMPO_TRIED = 40  # candidates, those whose words are most alike, that synchrony tries all tempi with
_TIE_BREAK = 1e-4
CLEAR_SYNCHRONY = 3.0  # deviations above the cohort from which on synchrony says where the query lies
PLAIN_TEMPO = TEMPI.index(1.0)


@dataclass(frozen=True)
class Query:
    """One variant of one dancer of the clip that is searched for."""

    fingerprint: Fingerprint
    mirrored: bool = False
    dancer: int = 1


@dataclass(frozen=True, eq=False)
class Shortlisted:
    """Dances to be looked at closely."""

    names: Sequence[str]
    stretches: Sequence[SegmentBounds]  # per variant: one per dance, on the shelf
    shelf: WordStore
    facts: NDArray[Any]  # per track on the shelf: `entries.FACTS`


@dataclass(frozen=True, eq=False)
class VariantScores:
    """One variant of the query against every candidate."""

    judged: SegmentScores
    synchrony: Synchrony  # its tempi are of `TEMPI`
    null: NullScores
    seconds: float  # seen of the dancer, the mean over the body parts
    basis: Basis = "both"

    @cached_property
    def evidence(self) -> Evidence:
        """What the likelihood ratio is computed from."""
        parts, synchrony = self.judged.parts, self.synchrony
        relative = self.null.relative(parts["histogram"], parts["order"], synchrony.strengths)
        long_enough = synchrony.overlaps >= LEAST_SECONDS
        relative = {**relative, "synchrony": np.where(long_enough, relative["synchrony"], 0)}
        return self._weighed(relative, (synchrony.tempi != PLAIN_TEMPO).astype(np.float32))

    def _weighed(self, relative: Evidence, tempo: FloatArray) -> Evidence:
        amount = words_amount(self.seconds)
        capped = {name: np.minimum(relative[name], MOST_OF_WORDS) for name in ("histogram", "order")}
        words = {name: np.asarray(amount * values, np.float32) for name, values in capped.items()}
        return {**words, "synchrony": relative["synchrony"], "tempo": tempo}

    @cached_property
    def log_ratios(self) -> FloatArray:
        """The log likelihood ratio of each candidate; 0 where too little is seen or the cohort is small."""
        if len(self.null) < FEWEST or self.seconds < LEAST_SECONDS:
            return np.zeros(len(self.judged.scores), np.float32)
        ratios = shipped_calibration(self.basis).log_ratios(self.evidence)
        if self.basis != "both":
            return ratios
        # Where bones are unknown words decide; where they overlap too little, words never speak for a dance.
        alone, overlaps = shipped_calibration("words").log_ratios(self.evidence), self.synchrony.overlaps
        little = np.where(overlaps > 0, np.minimum(alone, 0), alone)
        return np.where(overlaps >= LEAST_SECONDS, ratios, little)

    def ranking_keys(self, settings: Settings) -> NDArray[np.float64]:
        """What candidates and variants are ordered by, the best with the largest."""
        scores = self.judged.scores.astype(np.float64)
        if settings.ranked_by != "likelihood":
            return scores
        # At the bounds ratios are equal: there the score decides, to the last digit. Single precision would
        # take scores that differ by less than .01 for equal.
        return self.log_ratios + _TIE_BREAK * scores

    @property
    def null_log_ratios(self) -> FloatArray:
        """The same of the cohort's members, which are not the dance."""
        null = self.null
        relative = null.relative(null.histograms, null.orders, null.strengths)
        evidence = self._weighed(relative, np.zeros(len(null), np.float32))
        return shipped_calibration(self.basis).log_ratios(evidence)


def rank(
    queries: Sequence[Query],
    readings: Sequence[Variant],
    shortlisted: Shortlisted,
    cohort: Cohort,
    dances: int,
    settings: Settings,
    limit: int,
) -> list[Match]:
    """The candidates most likely to be the dance of one dancer, best first; each by its best variant.

    `dances` is how many the catalogue has: a ratio is worth the less, the more were searched.
    """
    if not len(shortlisted.names):
        return []
    scored = score_variants(readings, shortlisted.shelf, shortlisted.stretches, cohort, settings)
    keys = np.stack([one.ranking_keys(settings) for one in scored])  # [variants, candidates]
    variants, best = keys.argmax(axis=0), keys.max(axis=0)
    names = shortlisted.names
    order = sorted(range(len(names)), key=lambda number: (-best[number], names[number]))
    return [
        _match(number, queries[v], readings[v], scored[v], shortlisted, v, dances)
        for number in order[:limit]
        for v in [int(variants[number])]
    ]


def score_variants(
    readings: Sequence[Variant],
    shelf: WordStore,
    placed: Sequence[SegmentBounds],
    cohort: Cohort,
    settings: Settings,
) -> list[VariantScores]:
    """What words and synchrony say of candidates for each variant of the query, beside one cohort."""
    asked = list(zip(readings, placed, cohort.parts(len(readings)), strict=True))
    scored = parallel_map(lambda one: _score_candidates(one[0], shelf, one[1], one[2], settings), asked)
    null = NullScores.joined([one.null for one in scored])
    return [replace(one, null=null) for one in scored]


def _score_candidates(
    reading: Variant, shelf: WordStore, placed: SegmentBounds, cohort: CohortPart, settings: Settings
) -> VariantScores:
    """What words and synchrony say of candidates for one variant of the query."""
    judged = look_at(reading, shelf, placed, settings)
    words = reading.fingerprint
    bones, seconds = bones_of(words), words.seconds_per_word
    plain = Pointing(bones, np.ones(1), seconds)
    likely = np.argsort(-judged.scores, kind="stable")[:TEMPO_TRIED]
    candidates = shelf.bones(placed.tracks)
    found = plain.synchrony(candidates)
    stretched = Pointing(bones, np.array(TEMPI), seconds).synchrony(shelf.bones(placed.tracks[likely]))
    synchrony = _with_tempi(found, stretched, likely)
    seen = seconds * float((words.visibility >= SEEN_FROM).sum(axis=0).mean())
    return VariantScores(
        judged, synchrony, null_scores(reading, plain, cohort, settings), seen, settings.basis
    )


def _with_tempi(plain: Synchrony, stretched: Synchrony, likely: NDArray[np.intp]) -> Synchrony:
    """The better of the two where several tempi were tried."""
    better = stretched.strengths > plain.strengths[likely]
    every: dict[str, Any] = plain._replace(tempi=np.full(len(plain.tempi), PLAIN_TEMPO))._asdict()
    for name, array in every.items():
        array[likely[better]] = getattr(stretched, name)[better]
    return Synchrony(**every)


def look_at(reading: Variant, shelf: WordStore, placed: SegmentBounds, settings: Settings) -> SegmentScores:
    """What both stages say of segments of known dances for one variant of the query."""
    stretches, whole = shelf.stretches(placed), shelf.wholes(placed.tracks)
    same = not placed.firsts.any() and np.array_equal(placed.lasts, whole.lasts)
    return score_segments(reading, stretches, stretches if same else shelf.stretches(whole), settings)


def _match(
    number: int,
    query: Query,
    reading: Variant,
    scored: VariantScores,
    shortlisted: Shortlisted,
    variant: int,
    dances: int,
) -> Match:
    track, first, last = (int(column[number]) for column in shortlisted.stretches[variant])
    reference = shortlisted.shelf.fingerprint(track)
    in_query, in_reference, tempo = _spans(number, reading, scored, reference)
    log_ratio = float(scored.log_ratios[number])
    evalue = evalue_of(log_ratio, dances)
    verdict = verdict_of(evalue)
    timing = None if verdict == "no match" else _timing(number, reading, scored, reference)
    return Match(
        dance_id=shortlisted.names[number],
        score=float(scored.judged.scores[number]),
        query=in_query,
        reference=in_reference,
        mirrored=query.mirrored,
        tempo=tempo,
        dancer=query.dancer,
        reference_dancer=int(shortlisted.facts["dancer"][track]),
        track=int(shortlisted.facts["key"][track]),
        segment=reference.span(first, last),
        verdict=verdict,
        log_ratio=log_ratio,
        evalue=evalue,
        same_performance=timing is not None and timing.same_performance,
        parts=_parts(number, reading, scored, reference) | _timing_parts(timing),
        passages=reading.passages(reference, PASSAGES),
    )


def _spans(
    number: int, reading: Variant, scored: VariantScores, reference: Fingerprint
) -> tuple[Span, Span, float]:
    """Where the query lies, and its tempo: by synchrony if that is clear, else by the words' order."""
    synchrony, lines = scored.synchrony, scored.judged.lines
    if len(scored.null) < FEWEST or scored.evidence["synchrony"][number] < CLEAR_SYNCHRONY:
        tempo = int(lines.tempi[number])
        spans = reading.spans(reference, int(lines.offsets[number]), tempo)
        return *spans, TEMPI[tempo]
    words, tempo = reading.fingerprint, TEMPI[synchrony.tempi[number]]
    offset, step = float(synchrony.offsets[number]), words.seconds_per_word
    first = max(0.0, -offset / tempo)
    last = min(len(words), (len(reference) - offset) / tempo)
    begin, end = max(0.0, offset + tempo * first), offset + tempo * last
    return (
        Span(words.start + step * first, words.start + step * last),
        Span(reference.start + step * begin, reference.start + step * end),
        tempo,
    )


def _timing(number: int, reading: Variant, scored: VariantScores, reference: Fingerprint) -> Timing | None:
    """How closely both keep time, where synchrony counts, is clear and is high."""
    synchrony, query = scored.synchrony, reading.fingerprint
    clear = (
        scored.evidence["synchrony"][number] >= CLEAR_SYNCHRONY and synchrony.heights[number] >= LEAST_PEAK
    )
    if scored.basis == "words" or not clear:
        return None
    line = float(synchrony.offsets[number]), TEMPI[synchrony.tempi[number]]
    return measure_timing(bones_of(query), bones_of(reference), *line, query.seconds_per_word)


def _timing_parts(timing: Timing | None) -> dict[str, float]:
    if timing is None:
        return {}
    return {"timing_jitter": timing.jitter, "timing_correlation": timing.correlation}


def _parts(number: int, reading: Variant, scored: VariantScores, reference: Fingerprint) -> dict[str, float]:
    """Everything that the score and the likelihood ratio were made of.

    The lag is where in the reference the clock of the query begins. Without bones on either side there was
    no synchrony to measure.
    """
    judged, synchrony = scored.judged, scored.synchrony
    by_channel = {
        name: max(0.0, float(cosine))
        for name, cosine, shown in zip(
            reading.codebook.channels, judged.cosines[:, number], reading.seen, strict=True
        )
        if shown > 0
    }
    parts = {name: float(values[number]) for name, values in judged.parts.items()}
    moving = {
        "synchrony": float(synchrony.heights[number]),
        "synchrony_ratio": float(synchrony.ratios[number]),
        "synchrony_seconds": float(synchrony.overlaps[number]),
        "synchrony_lag": _lag_seconds(number, reading.fingerprint, synchrony, reference),
        "query_bones": _share_of_bones(reading.fingerprint),
        "reference_bones": _share_of_bones(reference),
    }
    return {**parts, "order": float(judged.lines.agreements[number]), **moving, **by_channel}


def _lag_seconds(number: int, query: Fingerprint, synchrony: Synchrony, reference: Fingerprint) -> float:
    offset, tempo = float(synchrony.offsets[number]), TEMPI[synchrony.tempi[number]]
    return float(reference.start + offset * query.seconds_per_word - tempo * query.start)


def _share_of_bones(fingerprint: Fingerprint) -> float:
    """The share of bones, over all steps, that is seen."""
    return float((bones_of(fingerprint)[:, ::2] != BONES_UNSEEN).mean())
