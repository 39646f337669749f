"""How likely chance is to give a match, and how rare its passage is among the dances of a catalogue."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dancematch.index.engine import Engine, Query
from dancematch.index.explain import Evidence as Alignment
from dancematch.index.holders import holders
from dancematch.pipeline.readings import Performance
from dancematch.types import Match, Span


@dataclass(frozen=True)
class Chance:
    """How strongly the evidence speaks, beside what unrelated dances reach; ratios are log10."""

    evalue: float
    max_evalue: float  # the decision
    log_ratio: float  # of the match
    needed: float  # below it, the E-value is above the decision
    dances: int  # that were searched
    background: tuple[float, ...]  # ratios of unrelated dances that the model brings along
    others: Mapping[str, float]  # ratios of the next best dances of the catalogue


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


def chance_of(
    engine: Engine, asked: Query, match: Match, others: Sequence[Match], dances: int, max_evalue: float
) -> Chance:
    """How strongly the evidence speaks for a match; `asked` is the variant of the query that it is of."""
    null = engine.scored(asked, match.dance_id).null_log_ratios
    return Chance(
        evalue=float(match.evalue if match.evalue is not None else math.inf),
        max_evalue=max_evalue,
        log_ratio=match.log_ratio or 0.0,
        needed=math.log10(dances / max_evalue) if max_evalue > 0 else math.inf,
        dances=dances,
        background=tuple(round(ratio, 3) for ratio in null.tolist()),
        others={one.dance_id: round(one.log_ratio or 0.0, 3) for one in others},
    )


def commonness_of(engine: Engine, own: Performance, match: Match, alignment: Alignment) -> Commonness:
    """How rare the match's best passage is, as seen and mirrored."""
    first, last = int(alignment.path[0, 0]), int(alignment.path[-1, 0])
    readings = [
        Query(one.stretch(min(first, len(one) - 1), min(last, len(one) - 1)))
        for one in (own.words, own.mirrored)
    ]
    agreements = holders(engine, readings, [match.dance_id])
    agreement = agreements.pop(match.dance_id)
    ordered = sorted(agreements.items(), key=lambda one: (-one[1], one[0]))
    return Commonness(alignment.query.span(first, last), agreement, dict(ordered))
