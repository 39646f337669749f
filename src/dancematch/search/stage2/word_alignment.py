"""Where in the dance: the place and tempo at which a query's words fit a reference's best."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.types import SEEN_FROM, Codebook, Fingerprint, FloatArray, Span

TEMPI: tuple[float, ...] = tuple(float(tempo) for tempo in np.geomspace(0.7, 1 / 0.7, 13))
LEAST_SHARED = 0.5  # of the shorter of the two


@dataclass(frozen=True)
class Placement:
    """The stretches of query and reference that go together, and how well they do."""

    query: Span
    reference: Span
    tempo: float  # query's speed over the reference's
    agreement: float  # 1 = word for word the same, 0 = as unrelated words are


def expected_similarity(codebook: Codebook, counts: NDArray[np.integer]) -> FloatArray:
    """How alike each word is to the words of an ordinary dance, [channels, words].

    `counts` says how often each word occurs there. A word such as "standing, arms down" is
    like most others, so meeting its like says little.
    """
    shares = (counts + 1) / (counts + 1).sum(axis=1, keepdims=True)  # [C, K]
    usual = np.einsum("ckw,cw->ck", codebook.similarity, shares)
    return np.asarray(usual, dtype=np.float32)


def word_evidence(
    query: Fingerprint, reference: Fingerprint, codebook: Codebook, usual: FloatArray
) -> FloatArray:
    """What every pair of words says for the two clips being one dance: [query words, reference words].

    The mean over the body parts that the query shows, of similarity beyond the usual; a part
    that the reference does not show says nothing.
    """
    total = np.zeros((len(query), len(reference)), dtype=np.float32)
    for channel, table in enumerate(codebook.similarity):
        words = query.words[:, channel]
        beyond = table[words] - usual[channel, words][:, None]  # [query words, K]
        beyond[query.visibility[:, channel] < SEEN_FROM] = 0
        total += beyond[:, reference.words[:, channel]] * (reference.visibility[:, channel] >= SEEN_FROM)
    shown = (query.visibility >= SEEN_FROM).sum(axis=1)
    return np.asarray(total / np.maximum(shown, 1)[:, None])


def full_evidence(query: Fingerprint, usual: FloatArray) -> FloatArray:
    """What a copy of each of the query's words would say for it: [query words]."""
    channels = np.arange(query.words.shape[1])
    seen = query.visibility >= SEEN_FROM
    beyond = (1 - usual[channels, query.words]) * seen
    return np.asarray(beyond.sum(axis=1) / np.maximum(seen.sum(axis=1), 1))


def place(query: Fingerprint, reference: Fingerprint, codebook: Codebook, usual: FloatArray) -> Placement:
    """Find the straight line through the two clips along which their words agree best.

    Every tempo of `TEMPI` and every offset is tried; words beyond either end count nothing.
    Costs query length x reference length x tempi.
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
        # A hair in favour of the tempo nearest 1: among equals the plain explanation wins.
        value = float(sums[found]) - 1e-6 * abs(math.log(tempo))
        best = max(best, (value, found - int(steps[-1]), tempo))
    return _placement(query, reference, best, full_evidence(query, usual))


def _steps(words: int, tempo: float) -> NDArray[np.intp]:
    """How far the reference has gone at each of the query's words."""
    return np.round(np.arange(words) * tempo).astype(np.intp)


def _placement(
    query: Fingerprint, reference: Fingerprint, best: tuple[float, int, float], full: FloatArray
) -> Placement:
    value, offset, tempo = best
    columns = offset + _steps(len(query), tempo)
    shared = np.flatnonzero((columns >= 0) & (columns < len(reference)))
    first, last = int(shared[0]), int(shared[-1])
    # An overlap shorter than the shorter clip counts as if the rest of it had said nothing.
    segment = max(1.0, min(len(query), len(reference)) / len(shared))
    possible = max(float(full[shared].sum()) * segment, 1e-6)
    return Placement(
        query=query.span(first, last),
        reference=reference.span(int(columns[first]), int(columns[last])),
        tempo=tempo,
        agreement=min(1.0, value / possible),
    )
