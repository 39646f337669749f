"""Programmes of procedural dances, one after another, and catalogues that know some of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dance_samples import dance, digest, recorded
from dancematch.motion import mirror
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.skeletons import BODY15
from dancematch.types import Match, Motion, Span

KNOWN = (1, 2, 3)


def fill(catalogue: Catalogue) -> Catalogue:
    """Add the known dances, by the plain dancer."""
    for number in KNOWN:
        catalogue.learn(recorded(f"dance{number}", f"{number}.npz", digest(number)), [dance(number)])
    return catalogue


def join(motions: Sequence[Motion], start: float = 0.0) -> Motion:
    """One motion of several, each at once after the one before, all in one place."""
    placed = [one.joints - one.joints[:, :1].mean(axis=0, keepdims=True) for one in motions]
    visible = np.concatenate([one.visibility for one in motions])
    return Motion(np.concatenate(placed), 30.0, BODY15, visible, start=start)


def programme() -> tuple[Motion, list[tuple[str | None, float, float]]]:
    """A known dance by another dancer, an unknown one, and a known one mirrored; and what is danced when."""
    parts = {"dance1": dance(1, dancer=5), None: dance(40, dancer=6), "dance3": mirror(dance(3, dancer=7))}
    truth, seconds = [], 0.0
    for name, motion in parts.items():
        truth.append((name, seconds, seconds + motion.seconds))
        seconds += motion.seconds
    return join(list(parts.values())), truth


def segment(
    start: float, end: float, dance: str | None = "Thriller", *, dancer: int = 1, **said: object
) -> ScanSegment:
    """A segment of a scan; without a dance, one in which none is known."""
    span = Span(start, end)
    if dance is None:
        return ScanSegment(dancer, span)
    match = Match(
        dance_id=f"id of {dance}", score=0.5, query=span, reference=Span(0.0, end - start), dance=dance,
        recording="anna.mp4", tempo=1.0, verdict="match", log_ratio=5.0, evalue=1e-4, dancer=dancer,
    )  # fmt: skip
    return ScanSegment(dancer, span, replace(match, **said))
