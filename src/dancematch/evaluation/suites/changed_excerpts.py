"""Motions as another camera, pose estimator and tempo might show them: seeded changes of any strength."""

from collections.abc import Sequence

import numpy as np

from dancematch.motion import excerpt, perturb
from dancematch.types import Motion, Span

CHANGES = ("tilt", "noise", "drift", "tempo", "phase")
EXCERPT_SECONDS = 5.0


def change(motion: Motion, rng: np.random.Generator, strength: float = 1.0) -> Motion:
    """The motion after all of `CHANGES`, one after the other."""
    for name in CHANGES:
        motion = perturb(motion, name, strength, seed=int(rng.integers(1 << 31)))
    return motion


def changed_excerpt(
    motion: Motion, seed: Sequence[int], *, seconds: float = EXCERPT_SECONDS, strength: float = 1.0
) -> Motion:
    """A few seconds from a random place of the motion, changed; `excerpt_span` says which."""
    rng = np.random.default_rng(seed)
    span = draw_span(motion, seconds, rng)
    return change(excerpt(motion, span.start, span.end), rng, strength)


def excerpt_span(motion: Motion, seed: Sequence[int], *, seconds: float = EXCERPT_SECONDS) -> Span:
    """The segment that `changed_excerpt` cuts out, in seconds after the motion's own start."""
    return draw_span(motion, seconds, np.random.default_rng(seed))


def draw_span(motion: Motion, seconds: float, rng: np.random.Generator) -> Span:
    """A random segment of the motion, or the whole if it is shorter, in seconds after its own start."""
    length = min(seconds, motion.seconds)
    start = float(rng.uniform(0, motion.seconds - length))
    return Span(start, min(start + length, motion.seconds))
