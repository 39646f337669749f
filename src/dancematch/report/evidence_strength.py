"""How strongly the evidence speaks for a match, and how rare its passage is among a catalogue's dances."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dancematch.pipeline.query import QueryDancer
from dancematch.search.confidence.cohort import FEWEST
from dancematch.search.confidence.verdict import POSSIBLE_EVALUE, evalue_of, verdict_of
from dancematch.search.engine import Engine, Query
from dancematch.search.explain import EvidenceMatrix as Alignment
from dancematch.search.stage2.passage_rarity import holders
from dancematch.types import Match, Span, Verdict


@dataclass(frozen=True)
class Likelihood:
    """How strongly the evidence speaks, beside what unrelated dances reach; ratios are log10."""

    evalue: float
    max_evalue: float  # of a match: the decision
    log_ratio: float  # of the match
    needed: float | None  # for a match; None where no ratio is enough
    needed_if_possible: float | None  # for a possible match; None where there is none beside a match
    dances: int  # that were searched
    cohort: tuple[float, ...]  # ratios of unrelated dances that the model brings along
    others: Mapping[str, float]  # ratios of the next best dances of the catalogue

    @property
    def verdict_alone(self) -> Verdict:
        """The verdict if the catalogue held this dance alone: another one depends on how many it holds."""
        return verdict_of(evalue_of(self.log_ratio, 1), self.max_evalue)

    @property
    def is_known(self) -> bool:
        """Whether the cohort is large enough for a ratio."""
        return len(self.cohort) >= FEWEST


@dataclass(frozen=True)
class Commonness:
    """How rare the best passage is among the other dances of the catalogue."""

    passage: Span  # of the clip
    agreement: float  # with the dance it was matched with: 1 word for word the same, 0 unrelated
    others: Mapping[str, float]  # with the other dances that were looked at, the most alike first

    @property
    def as_alike(self) -> list[str]:
        """The others that hold a passage at least as alike."""
        return [name for name, value in self.others.items() if value >= self.agreement]


def likelihood_of(
    engine: Engine, asked: Query, match: Match, others: Sequence[Match], dances: int, max_evalue: float
) -> Likelihood:
    """How strongly the evidence speaks for a match; `asked` is the variant of the query that it is of."""
    scored = engine.scored(asked, match.dance_id)
    if not match.parts.get("synchrony_seconds"):
        scored = replace(scored, basis="words")  # as the match was judged
    null = scored.null_log_ratios.tolist() if len(scored.null) else []
    return Likelihood(
        evalue=float(match.evalue if match.evalue is not None else math.inf),
        max_evalue=max_evalue,
        log_ratio=match.log_ratio or 0.0,
        needed=_needed(dances, max_evalue),
        needed_if_possible=math.log10(dances / POSSIBLE_EVALUE) if max_evalue < POSSIBLE_EVALUE else None,
        dances=dances,
        cohort=tuple(round(ratio, 3) for ratio in null),
        others={one.dance_id: round(one.log_ratio or 0.0, 3) for one in others},
    )


def _needed(dances: int, evalue: float) -> float | None:
    """The log likelihood ratio from which on a search of so many dances has at most this E-value."""
    if evalue <= 0:
        return None
    return math.log10(dances / evalue)


def commonness_of(engine: Engine, own: QueryDancer, match: Match, alignment: Alignment) -> Commonness:
    """How rare the match's best passage is, as seen and mirrored."""
    first, last = int(alignment.path[0, 0]), int(alignment.path[-1, 0])
    readings = [
        Query(one.segment(min(first, len(one) - 1), min(last, len(one) - 1)))
        for one in (own.words, own.mirrored)
    ]
    agreements = holders(engine, readings, [match.dance_id])
    agreement = agreements.pop(match.dance_id)
    ordered = sorted(agreements.items(), key=lambda one: (-one[1], one[0]))
    return Commonness(alignment.query.span(first, last), agreement, dict(ordered))
