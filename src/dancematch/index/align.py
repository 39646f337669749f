"""Where in the dance: the place and tempo at which a query's words fit a reference's best."""

from dataclasses import dataclass

import numpy as np

from dancematch.index.histogram import SEEN
from dancematch.types import Codebook, Fingerprint, FloatArray, Span

TEMPI: tuple[float, ...] = tuple(float(t) for t in np.geomspace(0.7, 1 / 0.7, 19))
LEAST_SHARED = 0.5  # of the shorter of the two


@dataclass(frozen=True)
class Placement:
    """The stretches of query and reference that go together."""

    query: Span
    reference: Span
    tempo: float  # query's speed over the reference's


def word_similarity(query: Fingerprint, reference: Fingerprint, codebook: Codebook) -> FloatArray:
    """How alike every word of the one is to every word of the other, 0 = as unrelated words are."""
    total = np.zeros((len(query), len(reference)), dtype=np.float32)
    weight = np.full_like(total, 1e-9)
    for channel, table in enumerate(codebook.similarity):
        both_seen = np.outer(query.visibility[:, channel] >= SEEN, reference.visibility[:, channel] >= SEEN)
        total += table[query.words[:, channel]][:, reference.words[:, channel]] * both_seen
        weight += both_seen
    similarity = total / weight
    return np.asarray(similarity - similarity.mean())


def place(query: Fingerprint, reference: Fingerprint, codebook: Codebook) -> Placement:
    """Find the straight line through the two clips along which their words agree best.

    Every tempo of `TEMPI` and every offset is tried; words beyond either end count nothing.
    Costs query length x reference length x tempi.
    """
    similarity = word_similarity(query, reference, codebook)
    count = len(query)
    least = max(1, int(LEAST_SHARED * min(count, len(reference))))
    padded = np.pad(similarity, ((0, 0), (0, 1)))  # column -1 stands for "beyond the end"
    best = (-np.inf, 0, 1.0)
    for tempo in TEMPI:
        steps = np.round(np.arange(count) * tempo).astype(int)
        offsets = np.arange(-int(steps[-1]), len(reference))
        columns = offsets[:, None] + steps  # [offsets, query words]
        inside = (columns >= 0) & (columns < len(reference))
        sums = padded[np.arange(count), np.where(inside, columns, -1)].sum(axis=1)
        sums[inside.sum(axis=1) < least] = -np.inf
        place_ = int(sums.argmax())
        # A hair in favour of the tempo nearest 1: among equals the plain explanation wins.
        value = float(sums[place_]) - 1e-6 * abs(np.log(tempo))
        best = max(best, (value, int(offsets[place_]), tempo))
    return _placement(query, reference, best[1], best[2])


def _placement(query: Fingerprint, reference: Fingerprint, offset: int, tempo: float) -> Placement:
    columns = offset + np.round(np.arange(len(query)) * tempo).astype(int)
    shared = np.flatnonzero((columns >= 0) & (columns < len(reference)))
    first, last = int(shared[0]), int(shared[-1])
    return Placement(query.span(first, last), reference.span(int(columns[first]), int(columns[last])), tempo)
