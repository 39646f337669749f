"""Which dances are takes of one: a choreography danced, or filmed, more than once.

Who says how likely a score is by chance must not be another take of the dance that is judged: in a catalogue
of many takes of a few dances the right take would be refused because its own kind is as like the clip.
Histograms tell takes well enough, and cheaply. One pair alone may err, two dancers being less alike than
two dances of one style; so a take joins by its mean likeness to all that have joined before.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dancematch.index.histogram import damped
from dancematch.index.likeness import Rarity
from dancematch.index.shelf import Stretches
from dancematch.types import FloatArray

# The mean cosine from which on dances are takes of one. On AIST++ many pairs of takes by two dancers reach
# it, and few pairs of two dances of one genre; of the real clips, hardly any of two motions.
ONE_DANCE = 0.45


def histograms(stretches: Stretches, rarity: Rarity) -> FloatArray:
    """A row of length 1 a stretch, in which every channel that is shown counts the same."""
    channels, vocabulary = rarity.words.shape
    rows = np.zeros((len(stretches.offsets) - 1, channels, vocabulary), np.float32)
    begins = vocabulary * np.arange(channels)
    for row, (first, end) in zip(rows, pairwise(stretches.offsets.tolist()), strict=True):
        cells = (stretches.words[first:end] + begins)[stretches.seen[first:end] > 0]
        counts = np.bincount(cells, minlength=row.size).reshape(row.shape).clip(max=255)
        row[:] = damped(counts, rarity.weighting) * rarity.words
    rows /= np.maximum(np.linalg.norm(rows, axis=2, keepdims=True), 1e-9)
    flat = rows.reshape(len(rows), channels * vocabulary)
    return np.asarray(flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-9))


def are_takes(dance: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Which of the others are takes of the dance: each as alike to it, and they to one another, as told."""
    joined, total = np.zeros(len(dance), np.bool_), dance.astype(np.float64)
    for members in range(1, len(dance) + 1):
        means = np.where(joined, -np.inf, total / members)
        nearest = int(means.argmax())
        if means[nearest] < ONE_DANCE:
            break
        joined[nearest] = True
        total += others[nearest]
    return joined


def dances_among(alike: FloatArray) -> NDArray[np.int64]:
    """A number for each of some takes, the same for those of one dance; they are as alike as told."""
    dances = np.full(len(alike), -1, np.int64)
    for take in range(len(alike)):
        if dances[take] < 0:
            open_ = np.flatnonzero(dances < 0)
            own = are_takes(alike[take, open_], alike[np.ix_(open_, open_)])
            dances[open_[own]] = dances[take] = take
    return dances
