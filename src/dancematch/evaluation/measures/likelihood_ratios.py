"""Quality of likelihood ratios, by the measures of forensic science and speaker verification.

Ratios are log10; `same` are those of pairs of one dance, `different` those of pairs of two.

- Cllr (Brummer and du Preez, 2006): the mean cost in bits of acting on the ratios; 0 is perfect, 1 the cost
  of a ratio of 1 for everything. Cllr_min is the cost after isotonic recalibration: discrimination alone.
- Equal error rate: at the threshold where the shares of different pairs accepted and of same pairs rejected
  are equal, on the convex hull.
"""

import numpy as np
from numpy.typing import NDArray

Ratios = NDArray[np.float64]


def cllr(same: Ratios, different: Ratios) -> float:
    """The cost of log likelihood ratios; each kind of pairs counts half."""
    return float((_bits(-np.asarray(same)).mean() + _bits(np.asarray(different)).mean()) / 2)


def cllr_min(same: Ratios, different: Ratios) -> float:
    """The cost after the best monotone recalibration on the same pairs."""
    ratios = isotonic_log_ratios(same, different)
    return cllr(ratios[: len(same)], ratios[len(same) :])


def equal_error_rate(same: Ratios, different: Ratios) -> float:
    """The error rate at the threshold where it is equal for both kinds of pairs."""
    ratios = isotonic_log_ratios(same, different)
    ones, others = ratios[: len(same)], ratios[len(same) :]
    steps = np.unique(ratios)
    missed = np.array([0.0, *((ones <= step).mean() for step in steps)])
    accepted = np.array([1.0, *((others > step).mean() for step in steps)])
    after = int(np.argmax(missed >= accepted))
    before = max(after - 1, 0)
    rise = (missed[after] - missed[before]) + (accepted[before] - accepted[after])
    share = (accepted[before] - missed[before]) / rise if rise > 0 else 0.0
    return float(missed[before] + share * (missed[after] - missed[before]))


def isotonic_log_ratios(same: Ratios, different: Ratios) -> Ratios:
    """Log10 ratios after pool-adjacent-violators, in the order same, then different; may be infinite."""
    scores = np.concatenate([same, different])
    labels = np.concatenate([np.ones(len(same)), np.zeros(len(different))])
    values, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    sums = np.bincount(places, labels, minlength=len(values)).astype(np.float64)
    shares = _pool_violators(sums, counts.astype(np.float64))[places]
    with np.errstate(divide="ignore"):
        odds = np.log10(shares) - np.log10(1 - shares)
    return np.asarray(odds - np.log10(len(same) / len(different)))


def _pool_violators(sums: Ratios, counts: Ratios) -> Ratios:
    """Means that never fall: neighbours that would fall are pooled."""
    blocks: list[tuple[float, float, int]] = []  # sum, count, places
    for total, count in zip(sums.tolist(), counts.tolist(), strict=True):
        block = (total, count, 1)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    return np.repeat([total / count for total, count, _ in blocks], [places for _, _, places in blocks])


def _bits(ratios: Ratios) -> Ratios:
    """log2(1 + 10 ** ratio), for ratios of any size."""
    return np.asarray(np.logaddexp(0.0, ratios * np.log(10)) / np.log(2))
