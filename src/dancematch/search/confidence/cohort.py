"""The scores of unrelated dances against a query: the model's background, taken as a cohort.

A score says little by itself: a dancer who hardly moves is similar to many, a short clip to more. Scores are
therefore taken relative to the cohort's with the same query, as in speaker verification.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from dancematch.search.settings import Settings
from dancematch.search.stage2.scoring import score_segments
from dancematch.search.stage2.synchrony import SynchronyQuery
from dancematch.search.stage2.variant import Variant
from dancematch.search.words.word_store import EMPTY, Bones, Segments, unpack_words
from dancematch.tracks import pack_words
from dancematch.types import BONE_NUMBERS, Fingerprint, FloatArray

RelativeScores = dict[str, FloatArray]  # scores beyond the cohort's, by name: [candidates] each

FEWEST = 20  # members that normalising takes
NEAREST = 20  # members whose words are most like the query's: those of its own style
LEAST_SPREAD = 0.2  # of strengths: with few bones in view all are near 0


class CohortPart(NamedTuple):
    """Some members of a cohort, packed."""

    segments: Segments
    bones: Bones


class Cohort:
    """Unrelated dances; there may be none."""

    def __init__(self, members: Sequence[Fingerprint]) -> None:
        self._members = members
        self._parts: dict[int, tuple[CohortPart, ...]] = {1: (_packed(members),)}

    @property
    def whole(self) -> CohortPart:
        """All members."""
        return self._parts[1][0]

    def parts(self, variants: int) -> tuple[CohortPart, ...]:
        """Return the members that each variant of a query is compared with: an equal share of all.

        An unrelated dance is as dissimilar to the query as to its mirror image, so the scores of all parts
        together are those of the whole cohort.
        """
        if variants not in self._parts:
            self._parts[variants] = tuple(_packed(self._members[n::variants]) for n in range(variants))
        return self._parts[variants]


def _packed(members: Sequence[Fingerprint]) -> CohortPart:
    if not members:
        return CohortPart(EMPTY, Bones(np.zeros((0, BONE_NUMBERS), np.int8), np.zeros(1, np.int64)))
    packed = pack_words(members)
    return CohortPart(unpack_words(packed), Bones(packed.bones, packed.offsets))


@dataclass(frozen=True, eq=False)
class NullScores:
    """The cohort's scores against one variant of the query: [members] each."""

    histograms: FloatArray
    orders: FloatArray
    strengths: FloatArray  # of synchrony

    def __len__(self) -> int:
        return len(self.histograms)

    @classmethod
    def concatenate(cls, parts: Sequence["NullScores"]) -> "NullScores":
        """Return the scores of all parts of a cohort."""
        return cls(*(np.concatenate([getattr(one, field.name) for one in parts]) for field in fields(cls)))

    def normalise(self, histograms: FloatArray, orders: FloatArray, strengths: FloatArray) -> RelativeScores:
        """Return scores relative to the cohort's.

        Words: how far above the mean of the nearest members. Synchrony: standard deviations above the mean
        of all, 0 where below.
        """
        spread = max(float(self.strengths.std()), LEAST_SPREAD)
        beyond = np.maximum((strengths - self.strengths.mean()) / spread, 0)
        words = histograms - _nearest(self.histograms), orders - _nearest(self.orders)
        named = zip(("histogram", "order", "synchrony"), (*words, beyond), strict=True)
        return {name: np.asarray(values, dtype=np.float32) for name, values in named}


def _nearest(scores: FloatArray) -> float:
    return float(np.sort(scores)[-NEAREST:].mean())


def null_scores(
    variant: Variant, synchrony: SynchronyQuery, cohort: CohortPart, settings: Settings
) -> NullScores:
    """Return the scores of cohort members against one variant of the query."""
    parts = score_segments(variant, cohort.segments, cohort.segments, settings).parts
    return NullScores(parts["histogram"], parts["order"], synchrony.compare(cohort.bones).strengths)
