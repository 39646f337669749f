"""Where in a dance: how well stretches of time that were found fit the true ones."""

from collections.abc import Sequence
from typing import NamedTuple

from dancematch.types import Span

ENOUGH = 0.5  # of two stretches' union they must share to count as one


class Fit(NamedTuple):
    """How well stretches fit, each between 0 and 1."""

    precision: float  # of what was found, how much is true
    recall: float  # of what is true, how much was found
    iou: float  # of what is either, how much is both


def temporal_iou(one: Span, other: Span) -> float:
    """Of the time that either stretch covers, the share that both do."""
    shared = max(0.0, min(one.end, other.end) - max(one.start, other.start))
    return shared / (one.seconds + other.seconds - shared)


def seconds_fit(found: Sequence[Span], true: Sequence[Span]) -> Fit:
    """Precision, recall and intersection over union, second by second.

    A stretch found in two halves is as good as in one; what was found twice counts once. Nothing
    found is not wrong, and nothing to find leaves nothing out.
    """
    ours, theirs = _merged(found), _merged(true)
    shared = sum(
        max(0.0, min(one.end, other.end) - max(one.start, other.start)) for one in ours for other in theirs
    )
    own, there = (sum(span.seconds for span in spans) for spans in (ours, theirs))
    either = own + there - shared
    return Fit(
        shared / own if own else 1.0, shared / there if there else 1.0, shared / either if either else 1.0
    )


def segments_fit(found: Sequence[Span], true: Sequence[Span], enough: float = ENOUGH) -> tuple[float, float]:
    """Precision and recall in whole stretches: which share of them has a partner of its own.

    Partners share at least `enough` of their union; as many pairs are made as can be.
    """
    alike = [[temporal_iou(one, other) >= enough for other in true] for one in found]
    partner: dict[int, int] = {}  # of a true stretch, the one found

    def pair(one: int, tried: set[int]) -> bool:
        """Find a partner for `one`; who has one already may have to take another."""
        for other in range(len(true)):
            if alike[one][other] and other not in tried:
                tried.add(other)
                if other not in partner or pair(partner[other], tried):
                    partner[other] = one
                    return True
        return False

    pairs = sum(pair(one, set()) for one in range(len(found)))
    return pairs / len(found) if found else 1.0, pairs / len(true) if true else 1.0


def _merged(spans: Sequence[Span]) -> list[Span]:
    """The same time in stretches that do not overlap."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda one: one.start):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
