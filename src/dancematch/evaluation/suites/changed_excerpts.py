"""Dances as somebody else's camera, estimator and tempo might show them: changed, seeded, of any strength."""

from collections.abc import Sequence

import numpy as np

from dancematch.motion import excerpt, perturb
from dancematch.types import Motion, Span

CHANGES = ("tilt", "noise", "drift", "tempo", "phase")
EXCERPT_SECONDS = 5.0


def changed(motion: Motion, rng: np.random.Generator, strength: float = 1.0) -> Motion:
    """The motion after all of `CHANGES`, one upon the other."""
    for name in CHANGES:
        motion = perturb(motion, name, strength, seed=int(rng.integers(1 << 31)))
    return motion


def changed_excerpt(
    motion: Motion, seed: Sequence[int], *, seconds: float = EXCERPT_SECONDS, strength: float = 1.0
) -> Motion:
    """A few seconds from anywhere in the motion, changed; `excerpt_span` says which."""
    rng = np.random.default_rng(seed)
    span = _span(motion, rng, seconds)
    return changed(excerpt(motion, span.start, span.end), rng, strength)


def excerpt_span(motion: Motion, seed: Sequence[int], *, seconds: float = EXCERPT_SECONDS) -> Span:
    """What `changed_excerpt` cuts out, in seconds after the motion's own start."""
    return _span(motion, np.random.default_rng(seed), seconds)


def _span(motion: Motion, rng: np.random.Generator, seconds: float) -> Span:
    length = min(seconds, motion.seconds)
    start = float(rng.uniform(0, motion.seconds - length))
    return Span(start, min(start + length, motion.seconds))
