"""True and false accept rates, by the limit of the E-value.

The best answer of a search is accepted if its E-value is at most the limit. A true accept is a known dance
that is named rightly and accepted; a false accept is an unknown dance, one that is not in the catalogue, that
is accepted. A known dance under a wrong name is neither.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dancematch.evaluation.measures.ranking import Numbers

FALSE_ACCEPT_RATE = 0.01  # at which limits and true accept rates are given


@dataclass(frozen=True, eq=False)
class AcceptCurve:
    """Both rates at every limit that changes one of them, the strictest first."""

    limits: Numbers
    true_accepts: Numbers
    false_accepts: Numbers


def true_accepts(evalues: ArrayLike, right: ArrayLike, limit: float) -> float:
    """The share of known queries that are named rightly and accepted."""
    return float((np.asarray(right, dtype=bool) & (_require_evalues(evalues) <= limit)).mean())


def false_accepts(evalues: ArrayLike, limit: float) -> float:
    """The share of unknown dances that are accepted."""
    return float((_require_evalues(evalues) <= limit).mean())


def accept_curve(known: ArrayLike, right: ArrayLike, unknown: ArrayLike) -> AcceptCurve:
    """Both rates at every limit that changes one of them."""
    # What is named wrongly is never a true accept.
    named = np.sort(np.where(np.asarray(right, dtype=bool), _require_evalues(known), np.inf))
    others = np.sort(_require_evalues(unknown))
    limits = np.unique(np.concatenate([[-np.inf], named[np.isfinite(named)], others[np.isfinite(others)]]))
    rates = [np.searchsorted(values, limits, side="right") / len(values) for values in (named, others)]
    return AcceptCurve(limits, *rates)


def limit_at(unknown: ArrayLike, rate: float) -> float:
    """The widest limit that accepts at most this share of the unknown dances."""
    others = np.sort(_require_evalues(unknown))
    allowed = int(np.floor(rate * len(others) + 1e-9))
    if allowed >= len(others):
        return float("inf")
    return float(np.nextafter(others[allowed], -np.inf))  # just below the first one too many


def true_accepts_at(known: ArrayLike, right: ArrayLike, unknown: ArrayLike, rate: float) -> float:
    """The true accept rate at the limit with this false accept rate."""
    return true_accepts(known, right, limit_at(unknown, rate))


def accepts_by_limit(
    known: ArrayLike, right: ArrayLike, unknown: ArrayLike, limits: Sequence[float]
) -> tuple[dict[str, float], dict[str, float]]:
    """True and false accept rates at each limit, by the limit's text."""
    true = {str(limit): true_accepts(known, right, limit) for limit in limits}
    return true, {str(limit): false_accepts(unknown, limit) for limit in limits}


def _require_evalues(evalues: ArrayLike) -> Numbers:
    values = np.asarray(evalues, dtype=np.float64)
    if not values.size:
        raise ValueError("no query to take a share of")
    if np.isnan(values).any():
        raise ValueError("an E-value is not a number; leave such queries out or give them infinity")
    return values
