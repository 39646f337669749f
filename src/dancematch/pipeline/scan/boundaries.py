"""Where a dance begins and ends: how well the bones of both move together along one line, step by step.

A window says only that the dance is in it. A match is a line, which says what moment of the reference each
moment of the query is. Along it the bones' directions of both are correlated as long as the dance lasts: it
begins and ends where the sum of what the steps say is largest.
"""

import numpy as np
from numpy.typing import NDArray

from dancematch.search.stage2.synchrony import unpack_bones
from dancematch.types import BoneArray, Fingerprint, Match

LEAST_CORRELATION = 0.3  # from which on a step speaks for the dance
_UNSEEN = 0.02  # of the usual energy of a step

Values = NDArray[np.float64]


def agreement_along(match: Match, query: Fingerprint, reference: Fingerprint) -> Values:
    """Return what each step of the query says for the dance going on, [steps]; below 0: against it.

    The product of both directions less `LEAST_CORRELATION` of what it would be for copies. Where the
    reference has not begun or has ended, that is against it; so is, a little, a step in which nothing is
    seen: a dance does not begin before the dancer is there.
    """
    if query.bones is None or reference.bones is None:
        return np.zeros(len(query))
    step, tempo = query.seconds_per_word, match.tempo or 1.0
    moments = query.start + step * np.arange(len(query))
    places = (match.reference.start + tempo * (moments - match.query.start) - reference.start) / step
    rows = np.round(places).astype(np.int64)
    within = (rows >= 0) & (rows < len(reference))
    product, own, other = _sums(query.bones, reference.bones, np.clip(rows, 0, len(reference) - 1), within)
    usual = max(float(own.mean() + other.mean()) / 2, 1e-9)
    agreement = product - LEAST_CORRELATION * (own + other) / 2
    agreement[own == 0] = -_UNSEEN * usual
    return np.where(within, agreement, -LEAST_CORRELATION * usual)


def _sums(
    query: BoneArray, reference: BoneArray, rows: NDArray[np.int64], within: NDArray[np.bool_]
) -> tuple[Values, Values, Values]:
    """Per step, over the bones that both show: the product and both energies."""
    (values, shown), (others, seen) = unpack_bones(query), unpack_bones(reference)
    others, seen = others[rows], seen[rows]
    both = np.repeat(shown * seen, 2, axis=1) * within[:, None]
    return (
        (both * values * others).sum(axis=1, dtype=np.float64),
        (both * values**2).sum(axis=1, dtype=np.float64),
        (both * others**2).sum(axis=1, dtype=np.float64),
    )


def bound_start(words: Fingerprint, agreement: Values, middle: float) -> float:
    """Return the second from which on, to the `middle`, a dance is agreed on most."""
    last = _step_at(words, middle)
    return words.start + words.seconds_per_word * int(np.argmax(agreement[: last + 1][::-1].cumsum()[::-1]))


def bound_end(words: Fingerprint, agreement: Values, middle: float) -> float:
    """Return the second up to which, from the `middle` on, a dance is agreed on most."""
    first = _step_at(words, middle)
    return words.start + words.seconds_per_word * (first + 1 + int(np.argmax(agreement[first:].cumsum())))


def _step_at(words: Fingerprint, seconds: float) -> int:
    return min(max(int((seconds - words.start) / words.seconds_per_word), 0), len(words) - 1)
