"""The paper's larger data set: a hundred dances, fifty performances of each, ten of them known.

AIST++ has twelve takes of a basic choreography and one of an advanced one: performances beyond
those are takes after all of `changes.CHANGES`. Where a dance has several takes, one half of them is
what references are made from and the other half what queries are made from, so that no query is a
changed reference. Where it has one, every query is: such queries are counted apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.evaluation.suites.aist import dance_of
from dancematch.evaluation.suites.changed_excerpts import changed
from dancematch.formats.motion_capture.aist_names import AistName
from dancematch.types import Motion

DANCES = 100
PERFORMANCES = 50  # of a dance
REFERENCES = 10  # of these, the ones that are known

SAME_TAKE = "the same take, changed"
SAME_DANCER = "another take by a known dancer"
OTHER_DANCER = "another take by another dancer"


@dataclass(frozen=True)
class ScalePerformance:
    """A dance as it is performed once: a take as it is, or changed."""

    dance: str
    take: int  # place of the clip
    turn: int  # 0 = the take as it is; how often this take has been used before

    def show(self, motion: Motion, seed: int) -> Motion:
        """Perform the take's motion."""
        if self.turn == 0:
            return motion
        return changed(motion, np.random.default_rng([seed, self.take, self.turn]))


@dataclass(frozen=True)
class Cast:
    """All performances."""

    references: Sequence[ScalePerformance]
    queries: Sequence[ScalePerformance]
    related: Sequence[str]  # how each query is related to the references of its dance


def cast(names: Sequence[AistName], seed: int) -> Cast:
    """Choose dances and their performances: those with most takes first, else by the seed."""
    takes: dict[str, list[int]] = {}
    rng = np.random.default_rng(seed)
    for place in rng.permutation(len(names)).tolist():
        takes.setdefault(dance_of(names[place]), []).append(place)
    chosen = sorted(takes, key=lambda dance: len(takes[dance]), reverse=True)[:DANCES]
    references: list[ScalePerformance] = []
    queries: list[ScalePerformance] = []
    related: list[str] = []
    for dance in chosen:
        own = takes[dance]
        half = len(own) // 2
        made = _perform(dance, own[:half] or own, REFERENCES)
        asked = (
            _perform(dance, own[half:], PERFORMANCES - REFERENCES)
            if half
            else _perform(dance, own, PERFORMANCES)[REFERENCES:]
        )
        references += made
        queries += asked
        related += [_relation(names, made, one) for one in asked]
    return Cast(references, queries, related)


def _perform(dance: str, takes: Sequence[int], count: int) -> list[ScalePerformance]:
    """Each take in its turn, as it is and then changed."""
    return [ScalePerformance(dance, takes[i % len(takes)], i // len(takes)) for i in range(count)]


def _relation(
    names: Sequence[AistName], references: Sequence[ScalePerformance], query: ScalePerformance
) -> str:
    if query.take in {one.take for one in references}:
        return SAME_TAKE
    known = {names[one.take].dancer for one in references}
    return SAME_DANCER if names[query.take].dancer in known else OTHER_DANCER
