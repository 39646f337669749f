"""How well a segment that was found fits the true one."""

from dancematch.types import Span

ENOUGH = 0.5  # intersection over union from which a segment counts as found


def temporal_iou(one: Span, other: Span) -> float:
    """Intersection over union of two segments, in time."""
    shared = max(0.0, min(one.end, other.end) - max(one.start, other.start))
    return shared / (one.seconds + other.seconds - shared)
