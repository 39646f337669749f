"""How strong the evidence for a match is, and how common its best passage is among a catalogue's dances."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dancematch.pipeline.query import QueryDancer
from dancematch.search.confidence.cohort import FEWEST
from dancematch.search.confidence.recalibration import shift_log_ratio
from dancematch.search.confidence.verdict import POSSIBLE_EVALUE, evalue_of, verdict_of
from dancematch.search.engine import Engine, Query
from dancematch.search.explain import EvidenceMatrix
from dancematch.search.rarity import Rarity, name_rarity
from dancematch.search.stage2.passage_holders import holders
from dancematch.types import Match, Span, Verdict


@dataclass(frozen=True)
class Likelihood:
    """The likelihood ratio of a match beside those of unrelated dances; ratios are log10."""

    evalue: float
    max_evalue: float  # that a match may have
    log_ratio: float  # of the match
    needed: float | None  # for a match; None where no ratio is enough
    needed_if_possible: float | None  # for a possible match; None where every possible match is a match
    dances: int  # that were searched
    cohort: tuple[float, ...]  # ratios of the background cohort, unrelated dances that come with the model
    others: Mapping[str, float]  # ratios of the next best dances of the catalogue

    @property
    def verdict_alone(self) -> Verdict:
        """The verdict if the catalogue held this dance alone."""
        return verdict_of(evalue_of(self.log_ratio, 1), self.max_evalue)

    def shift_cohort(self, offset: float) -> "Likelihood":
        """The same with the ratios of the cohort shifted, as all other ratios are that were recalibrated."""
        return replace(self, cohort=tuple(round(shift_log_ratio(one, offset), 3) for one in self.cohort))

    @property
    def is_known(self) -> bool:
        """Whether the cohort is large enough for a ratio."""
        return len(self.cohort) >= FEWEST


@dataclass(frozen=True)
class Commonness:
    """How far the best passage agrees with other dances too: 1 the same words, 0 unrelated."""

    passage: Span  # of the clip
    agreement: float  # with the dance of the match
    others: Mapping[str, float]  # agreement with the other dances that were compared, the highest first
    rarity: Rarity

    @property
    def as_alike(self) -> list[str]:
        """The others that hold a passage at least as alike."""
        return [name for name, value in self.others.items() if value >= self.agreement]


def measure_likelihood(
    engine: Engine, variant: Query, match: Match, others: Sequence[Match], dances: int, max_evalue: float
) -> Likelihood:
    """The likelihood ratio of a match with its cohort; `variant` is that of the query that was matched."""
    scored = engine.score_dance(variant, match.dance_id)
    if not match.parts.get("synchrony_seconds"):
        scored = replace(scored, basis="words")  # as in the search
    null = scored.null_log_ratios.tolist() if len(scored.null) else []
    return Likelihood(
        evalue=float(match.evalue if match.evalue is not None else math.inf),
        max_evalue=max_evalue,
        log_ratio=match.log_ratio or 0.0,
        needed=None if max_evalue <= 0 else math.log10(dances / max_evalue),
        needed_if_possible=math.log10(dances / POSSIBLE_EVALUE) if max_evalue < POSSIBLE_EVALUE else None,
        dances=dances,
        cohort=tuple(round(ratio, 3) for ratio in null),
        others={one.name: round(one.log_ratio or 0.0, 3) for one in others},
    )


def measure_commonness(
    engine: Engine,
    own: QueryDancer,
    match: Match,
    alignment: EvidenceMatrix,
    names: Mapping[str, str],
) -> Commonness:
    """How far each dance agrees with the match's best passage, as seen or mirrored; `names` are by id."""
    first, last = int(alignment.path[0, 0]), int(alignment.path[-1, 0])
    variants = [
        Query(one.segment(min(first, len(one) - 1), min(last, len(one) - 1)))
        for one in (own.words, own.mirrored)
    ]
    agreements = holders(engine, variants, [match.dance_id])
    agreement = agreements.pop(match.dance_id)
    named = ((names.get(dance_id, dance_id), agreement) for dance_id, agreement in agreements.items())
    ordered = sorted(named, key=lambda one: (-one[1], one[0]))
    rarity = name_rarity(sum(value >= agreement for _, value in ordered), len(ordered))
    return Commonness(alignment.query.span(first, last), agreement, dict(ordered), rarity)
