"""What pairs of words say for two clips being one dance: similarity beyond the usual."""

import numpy as np
from numpy.typing import NDArray

from dancematch.types import SEEN_FROM, Codebook, Fingerprint, FloatArray

TEMPI: tuple[float, ...] = tuple(float(tempo) for tempo in np.geomspace(0.7, 1 / 0.7, 13))
LEAST_SHARED = 0.5  # of the shorter of the two


def expected_similarity(codebook: Codebook, counts: NDArray[np.integer]) -> FloatArray:
    """Return how similar each word is to the words of an ordinary dance: [channels, words].

    `counts` says how often each word occurs there. A word such as "standing, arms down" is
    similar to most others, so meeting a similar one says little.
    """
    shares = (counts + 1) / (counts + 1).sum(axis=1, keepdims=True)  # [C, K]
    usual = np.einsum("ckw,cw->ck", codebook.similarity, shares)
    return np.asarray(usual, dtype=np.float32)


def word_evidence(
    query: Fingerprint, reference: Fingerprint, codebook: Codebook, usual: FloatArray
) -> FloatArray:
    """Return the evidence of every pair of words: [query words, reference words].

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
    """Return the evidence that a copy of each of the query's words would give: [query words]."""
    channels = np.arange(query.words.shape[1])
    seen = query.visibility >= SEEN_FROM
    beyond = (1 - usual[channels, query.words]) * seen
    return np.asarray(beyond.sum(axis=1) / np.maximum(seen.sum(axis=1), 1))
