"""The best straight line through two clips, written plainly: what the kernels are compared with."""

import math
from dataclasses import dataclass

import numpy as np

from dancematch.search.stage2.word_alignment import LEAST_SHARED, TEMPI, full_evidence, word_evidence
from dancematch.types import Codebook, Fingerprint, Span


@dataclass(frozen=True)
class PlainLine:
    """The spans of query and reference that go together, and how well they do."""

    query: Span
    reference: Span
    tempo: float  # query's speed over the reference's
    agreement: float  # 1 = word for word the same, 0 = as unrelated words are


def find_line(query: Fingerprint, reference: Fingerprint, codebook: Codebook, usual: np.ndarray) -> PlainLine:
    """Return the straight line along which the words of both agree best.

    Every tempo of `TEMPI` and every offset is tried; words beyond either end count nothing.
    """
    evidence = word_evidence(query, reference, codebook, usual)
    shorter = min(len(query), len(reference))
    best = (-np.inf, 0, 1.0)
    for tempo in TEMPI:
        steps = _steps(len(query), tempo)
        # Each pair of words votes for the one offset that brings them together.
        offsets = (np.arange(len(reference)) - steps[:, None] + steps[-1]).ravel()
        sums = np.bincount(offsets, weights=evidence.ravel())
        sums[np.bincount(offsets) < LEAST_SHARED * shorter] = -np.inf
        found = int(sums.argmax())
        value = float(sums[found]) - 1e-6 * abs(math.log(tempo))  # among equals the tempo nearest 1 wins
        best = max(best, (value, found - int(steps[-1]), tempo))
    return _describe(query, reference, best, full_evidence(query, usual))


def _steps(words: int, tempo: float) -> np.ndarray:
    """How far the reference has advanced at each of the query's words."""
    return np.round(np.arange(words) * tempo).astype(np.intp)


def _describe(query, reference, best, full) -> PlainLine:
    value, offset, tempo = best
    columns = offset + _steps(len(query), tempo)
    shared = np.flatnonzero((columns >= 0) & (columns < len(reference)))
    first, last = int(shared[0]), int(shared[-1])
    # An overlap shorter than the shorter clip counts as if the rest of it had no evidence.
    longer = max(1.0, min(len(query), len(reference)) / len(shared))
    return PlainLine(
        query=query.span(first, last),
        reference=reference.span(int(columns[first]), int(columns[last])),
        tempo=tempo,
        agreement=min(1.0, value / max(float(full[shared].sum()) * longer, 1e-6)),
    )
