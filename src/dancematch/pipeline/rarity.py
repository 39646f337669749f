"""How likely chance is to give a match, and how rare its passage is among the dances of a catalogue."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dancematch.index.engine import Engine, Query
from dancematch.index.explain import Evidence as Alignment
from dancematch.index.holders import holders
from dancematch.index.metrics import combine
from dancematch.index.settings import DEFAULT
from dancematch.pipeline.readings import Performance
from dancematch.types import Match, Span


@dataclass(frozen=True)
class Chance:
    """What the E-value is judged by."""

    evalue: float
    max_evalue: float  # the decision
    score: float  # of the match, on the scale of this decision
    needed: float  # on the same scale: below it, the E-value is above the decision
    comparisons: int  # dances times ways to read the clip
    background: tuple[float, ...]  # scores of ordinary dances that the model brings along
    peers: Mapping[str, float]  # scores of other dances of the catalogue, or of some of them
    takes: Mapping[str, int]  # of each peer: the same number for takes of one dance
    not_asked: tuple[str, ...]  # dances that seem to be takes of the match: they do not judge it


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


def chance_of(engine: Engine, asked: Query, match: Match, readings: int, max_evalue: float) -> Chance:
    """What a match's E-value is judged by; `asked` is the reading, one of so many, that it is of."""
    crowd, takes = engine.crowd(asked), engine.takes_of(match.dance_id)
    peers = {name: score for name, score in crowd.peers.items() if name not in takes}
    scale = np.linspace(0, 1, 1001, dtype=np.float32)
    expected = crowd.evalues(scale, readings, takes)
    enough = scale[expected <= max_evalue]
    parts = {name: np.array(max(match.parts[name], 0.0)) for name in DEFAULT.evidence}
    return Chance(
        evalue=float(match.evalue if match.evalue is not None else math.inf),
        max_evalue=max_evalue,
        score=float(combine(parts, DEFAULT.evidence)),
        needed=float(enough[0]) if len(enough) else 1.0,
        comparisons=crowd.dances * readings,
        background=tuple(round(score, 4) for score in crowd.background.tolist()),
        peers={name: round(score, 4) for name, score in sorted(peers.items())},
        takes={name: crowd.takes[name] for name in sorted(peers)},
        not_asked=tuple(sorted(takes - {match.dance_id})),
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
