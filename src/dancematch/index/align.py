"""Where in the dance: the place and tempo at which a query's words fit a reference's best."""

from dataclasses import dataclass

import numpy as np

from dancematch.index.histogram import SEEN
from dancematch.types import Codebook, Fingerprint, FloatArray, Span

TEMPI: tuple[float, ...] = tuple(float(tempo) for tempo in np.geomspace(0.7, 1 / 0.7, 13))
LEAST_SHARED = 0.5  # of the shorter of the two


@dataclass(frozen=True)
class Placement:
    """The stretches of query and reference that go together, and how well they do."""

    query: Span
    reference: Span
    tempo: float  # query's speed over the reference's
    agreement: float  # 1 = word for word the same, 0 = as unrelated words are


def word_similarity(query: Fingerprint, reference: Fingerprint, codebook: Codebook) -> FloatArray:
    """How alike every word of the one is to every word of the other: 1 the same, 0 as words usually are."""
    total = np.zeros((len(query), len(reference)), dtype=np.float32)
    weight = np.full_like(total, 1e-9)
    for channel, table in enumerate(codebook.similarity):
        both_seen = np.outer(query.visibility[:, channel] >= SEEN, reference.visibility[:, channel] >= SEEN)
        total += table[query.words[:, channel]][:, reference.words[:, channel]] * both_seen
        weight += both_seen
    similarity = total / weight
    usual = float(similarity.mean())
    return np.asarray((similarity - usual) / max(1 - usual, 1e-6))


def place(query: Fingerprint, reference: Fingerprint, codebook: Codebook) -> Placement:
    """Find the straight line through the two clips along which their words agree best.

    Every tempo of `TEMPI` and every offset is tried; words beyond either end count nothing.
    Costs query length x reference length x tempi.
    """
    similarity = word_similarity(query, reference, codebook)
    count, shorter = len(query), min(len(query), len(reference))
    least = max(1, int(LEAST_SHARED * shorter))
    padded = np.pad(similarity, ((0, 0), (0, 1)))  # the last column stands for "beyond the end"
    rows = np.arange(count) * padded.shape[1]
    best = (-np.inf, 0, 1.0)
    for tempo in TEMPI:
        steps = np.round(np.arange(count) * tempo).astype(np.intp)
        offsets = np.arange(least - 1 - int(steps[-1]), len(reference) - least + 1)
        columns = offsets[:, None] + steps  # [offsets, query words]
        inside = (columns >= 0) & (columns < len(reference))
        columns[~inside] = len(reference)
        sums = padded.ravel().take(rows + columns).sum(axis=1)
        sums[inside.sum(axis=1) < least] = -np.inf
        found = int(sums.argmax())
        # A hair in favour of the tempo nearest 1: among equals the plain explanation wins.
        value = float(sums[found]) - 1e-6 * abs(np.log(tempo))
        best = max(best, (value, int(offsets[found]), tempo))
    return _placement(query, reference, best, shorter)


def _placement(
    query: Fingerprint, reference: Fingerprint, best: tuple[float, int, float], shorter: int
) -> Placement:
    value, offset, tempo = best
    columns = offset + np.round(np.arange(len(query)) * tempo).astype(int)
    shared = np.flatnonzero((columns >= 0) & (columns < len(reference)))
    first, last = int(shared[0]), int(shared[-1])
    return Placement(
        query=query.span(first, last),
        reference=reference.span(int(columns[first]), int(columns[last])),
        tempo=tempo,
        agreement=value / shorter,
    )
