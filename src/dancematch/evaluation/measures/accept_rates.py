"""Known or not: who is let in, at which limit.

A search says how much it doubts its best answer (an E-value: the smaller, the surer), and whoever
is at or below a limit is accepted. A true accept is a known dance that is named rightly and
accepted; a false accept is a stranger, a dance that the catalogue does not have, that is accepted.
A known dance under a wrong name is neither.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dancematch.evaluation.measures.ranking import Numbers


@dataclass(frozen=True, eq=False)
class AcceptCurve:
    """The shares accepted at every limit that changes one of them, from none to all."""

    limits: Numbers
    true_accepts: Numbers
    false_accepts: Numbers


def true_accepts(doubts: ArrayLike, right: ArrayLike, limit: float) -> float:
    """The share of known queries that are named rightly and accepted."""
    return float((np.asarray(right, dtype=bool) & (_checked(doubts) <= limit)).mean())


def false_accepts(doubts: ArrayLike, limit: float) -> float:
    """The share of strangers that are accepted."""
    return float((_checked(doubts) <= limit).mean())


def accept_curve(known: ArrayLike, right: ArrayLike, strangers: ArrayLike) -> AcceptCurve:
    """Both shares at every limit that matters, the strictest first."""
    sure = _named(known, right)
    others = np.sort(_checked(strangers))
    limits = np.unique(np.concatenate([[-np.inf], sure[np.isfinite(sure)], others[np.isfinite(others)]]))
    let_in = [np.searchsorted(values, limits, side="right") / len(values) for values in (sure, others)]
    return AcceptCurve(limits, *let_in)


def limit_at(strangers: ArrayLike, rate: float) -> float:
    """The widest limit that lets in no more than this share of the strangers."""
    others = np.sort(_checked(strangers))
    allowed = int(np.floor(rate * len(others) + 1e-9))
    if allowed >= len(others):
        return float("inf")
    return float(np.nextafter(others[allowed], -np.inf))  # just below the first one too many


def true_accepts_at(known: ArrayLike, right: ArrayLike, strangers: ArrayLike, rate: float) -> float:
    """The share of known queries named rightly and accepted where no more strangers than `rate` get in."""
    return true_accepts(known, right, limit_at(strangers, rate))


def accepts_by_limit(
    known: ArrayLike, right: ArrayLike, strangers: ArrayLike, limits: Sequence[float]
) -> tuple[dict[str, float], dict[str, float]]:
    """True and false accepts at each of a few limits, by the limit's text."""
    true = {str(limit): true_accepts(known, right, limit) for limit in limits}
    return true, {str(limit): false_accepts(strangers, limit) for limit in limits}


def _named(known: ArrayLike, right: ArrayLike) -> Numbers:
    """The doubts of what is named rightly, in order; what is not is never accepted."""
    return np.sort(np.where(np.asarray(right, dtype=bool), _checked(known), np.inf))


def _checked(doubts: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(doubts, dtype=np.float64)
    if not values.size:
        raise ValueError("no query, no share")
    if np.isnan(values).any():
        raise ValueError("a doubt is not a number; leave such queries out or give them infinity")
    return values
