"""What unrelated dances score against a query: the model's background, taken as a cohort.

A score says little by itself: somebody who hardly moves is like many, a short clip is like more. Scores are
therefore taken relative to those of the cohort with the same query, as speaker verification does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from dancematch.search.settings import Settings
from dancematch.search.stage2.scoring import score_segments
from dancematch.search.stage2.synchrony import Pointing
from dancematch.search.stage2.variant import Variant
from dancematch.search.words.word_store import EMPTY, Bones, Segments, unpack
from dancematch.tracks import pack_words
from dancematch.types import BONE_NUMBERS, Fingerprint, FloatArray

Evidence = dict[str, FloatArray]  # what the likelihood ratio is computed from, by name: [candidates] each

FEWEST = 20  # members; fewer say nothing about a score
NEAREST = 20  # members whose words are most like the query's: those of its own style
LEAST_SPREAD = 0.2  # of strengths: with few bones in view all are near 0, which says nothing


class CohortPart(NamedTuple):
    """Some members of a cohort, packed."""

    stretches: Segments
    bones: Bones


class Cohort:
    """Dances that are not the one that is searched for; there may be none."""

    def __init__(self, members: Sequence[Fingerprint]) -> None:
        self._members = members
        self._parts: dict[int, tuple[CohortPart, ...]] = {1: (_packed(members),)}

    @property
    def whole(self) -> CohortPart:
        """All members."""
        return self._parts[1][0]

    def parts(self, variants: int) -> tuple[CohortPart, ...]:
        """Which members each variant of a query is compared with: each meets its share of them.

        A dance that is not the query's is as unlike its mirror image, so that the scores of all parts
        together are those of the whole cohort.
        """
        if variants not in self._parts:
            self._parts[variants] = tuple(_packed(self._members[n::variants]) for n in range(variants))
        return self._parts[variants]


def _packed(members: Sequence[Fingerprint]) -> CohortPart:
    if not members:
        return CohortPart(EMPTY, Bones(np.zeros((0, BONE_NUMBERS), np.int8), np.zeros(1, np.int64)))
    volume = pack_words(members)
    return CohortPart(unpack(volume), Bones(volume.bones, volume.offsets))


@dataclass(frozen=True, eq=False)
class NullScores:
    """The cohort's scores against one variant of the query: [members] each."""

    histograms: FloatArray
    orders: FloatArray
    strengths: FloatArray  # of synchrony

    def __len__(self) -> int:
        return len(self.histograms)

    @classmethod
    def joined(cls, parts: Sequence["NullScores"]) -> "NullScores":
        """The scores of all parts of a cohort."""
        return cls(*(np.concatenate([getattr(one, field.name) for one in parts]) for field in fields(cls)))

    def relative(self, histograms: FloatArray, orders: FloatArray, strengths: FloatArray) -> Evidence:
        """Scores as what they say beyond the cohort's.

        Words: how far above the mean of the nearest members. Synchrony: how many standard deviations above
        the mean of all, 0 where below.
        """
        spread = max(float(self.strengths.std()), LEAST_SPREAD)
        beyond = np.maximum((strengths - self.strengths.mean()) / spread, 0)
        words = histograms - _nearest(self.histograms), orders - _nearest(self.orders)
        named = zip(("histogram", "order", "synchrony"), (*words, beyond), strict=True)
        return {name: np.asarray(values, dtype=np.float32) for name, values in named}


def _nearest(scores: FloatArray) -> float:
    return float(np.sort(scores)[-NEAREST:].mean())


def null_scores(reading: Variant, pointing: Pointing, cohort: CohortPart, settings: Settings) -> NullScores:
    """What members of the cohort score against one variant of the query."""
    parts = score_segments(reading, cohort.stretches, cohort.stretches, settings).parts
    return NullScores(parts["histogram"], parts["order"], pointing.synchrony(cohort.bones).strengths)
