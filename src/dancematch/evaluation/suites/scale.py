"""The paper's larger data set: a hundred dances, fifty performances of each, ten of them known.

AIST++ has twelve recordings of a basic choreography and one of an advanced one: further performances are
recordings after all of `changed_excerpts.CHANGES`. Where a dance has several recordings, half of them make
the references and the other half the queries, so that no query is a changed reference. Where it has one,
every query is: such queries are counted apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.evaluation.suites.aist import dance_of
from dancematch.evaluation.suites.changed_excerpts import change
from dancematch.formats.motion_capture.aist_names import AistName
from dancematch.types import Motion

DANCES = 100
PERFORMANCES = 50  # per dance
REFERENCES = 10  # of these, the known ones

SAME_RECORDING = "the same recording, changed"
SAME_DANCER = "another recording by a known dancer"
OTHER_DANCER = "another recording by another dancer"


@dataclass(frozen=True)
class ScalePerformance:
    """One performance of a dance: a recording as it is, or changed."""

    dance: str
    clip: int  # index of the recording
    turn: int  # 0 = as it is; how often this recording has been used before

    def perform(self, motion: Motion, seed: int) -> Motion:
        """The recording's motion, changed unless this is its first turn."""
        if self.turn == 0:
            return motion
        return change(motion, np.random.default_rng([seed, self.clip, self.turn]))


@dataclass(frozen=True)
class ScaleSplit:
    """All performances."""

    references: Sequence[ScalePerformance]
    queries: Sequence[ScalePerformance]
    relations: Sequence[str]  # of each query to the references of its dance


def split_performances(names: Sequence[AistName], seed: int) -> ScaleSplit:
    """Dances and their performances: those with most recordings first, else by the seed."""
    clips: dict[str, list[int]] = {}
    rng = np.random.default_rng(seed)
    for clip in rng.permutation(len(names)).tolist():
        clips.setdefault(dance_of(names[clip]), []).append(clip)
    chosen = sorted(clips, key=lambda dance: len(clips[dance]), reverse=True)[:DANCES]
    references: list[ScalePerformance] = []
    queries: list[ScalePerformance] = []
    relations: list[str] = []
    for dance in chosen:
        own = clips[dance]
        half = len(own) // 2
        known = _take_turns(dance, own[:half] or own, REFERENCES)
        asked = (
            _take_turns(dance, own[half:], PERFORMANCES - REFERENCES)
            if half
            else _take_turns(dance, own, PERFORMANCES)[REFERENCES:]
        )
        references += known
        queries += asked
        relations += [_relation(names, known, one) for one in asked]
    return ScaleSplit(references, queries, relations)


def _take_turns(dance: str, clips: Sequence[int], count: int) -> list[ScalePerformance]:
    """Each recording in its turn, as it is and then changed."""
    return [ScalePerformance(dance, clips[i % len(clips)], i // len(clips)) for i in range(count)]


def _relation(
    names: Sequence[AistName], references: Sequence[ScalePerformance], query: ScalePerformance
) -> str:
    if query.clip in {one.clip for one in references}:
        return SAME_RECORDING
    known = {names[one.clip].dancer for one in references}
    return SAME_DANCER if names[query.clip].dancer in known else OTHER_DANCER
