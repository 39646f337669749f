"""The background cohort that a model carries: unrelated dances whose scores form the null model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dancematch.model.tokeniser import Tokeniser
from dancematch.types import Fingerprint, Motion

MAX_SECONDS = 10.0
FLAT_SHARE = 1 / 8  # without depth, as many tools write them: flat skeletons are alike in words


def pick_background(
    model: Tokeniser, groups: Sequence[Sequence[Motion]], *, count: int = 180, seed: int = 0
) -> list[Fingerprint]:
    """Fingerprints of `count` dances, up to ten seconds each, equally many per group of motions."""
    rng = np.random.default_rng(seed)
    flat_count = round(FLAT_SHARE * count / len(groups))
    full_count = max(1, count // len(groups) - flat_count)
    cohort = []
    for group in groups:
        motions = [motion for motion in group if model.is_long_enough(motion)]
        order = rng.permutation(len(motions)).tolist()
        full = [motions[place] for place in sorted(order[:full_count])]
        flat = [_flatten(motions[place]) for place in sorted(order[full_count:][:flat_count])]
        cohort += [_shorten(model.fingerprint(motion)) for motion in (*full, *flat)]
    return cohort


def _flatten(motion: Motion) -> Motion:
    return replace(motion, joints=motion.joints * np.array([1, 1, 0], motion.joints.dtype))


def _shorten(fingerprint: Fingerprint) -> Fingerprint:
    longest = round(MAX_SECONDS / fingerprint.seconds_per_word)
    return fingerprint.segment(0, min(len(fingerprint), longest) - 1)
