"""The ordinary dances that a model carries with it, to judge scores by."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dancematch.model.tokeniser import Tokeniser
from dancematch.types import Fingerprint, Motion

LONGEST_SECONDS = 10.0
FLAT = 1 / 8  # of the background has no depth, as what many tools write: flat skeletons are alike in words


def pick_background(
    model: Tokeniser, groups: Sequence[Sequence[Motion]], *, count: int = 180, seed: int = 0
) -> list[Fingerprint]:
    """Ordinary dances to judge scores by, up to ten seconds each: as many from every group of motions."""
    rng = np.random.default_rng(seed)
    flat = round(FLAT * count / len(groups))
    share = max(1, count // len(groups) - flat)
    chosen = []
    for group in groups:
        motions = [motion for motion in group if model.is_long_enough(motion)]
        places = rng.permutation(len(motions))
        whole = [motions[place] for place in sorted(places[:share].tolist())]
        without_depth = [_flattened(motions[place]) for place in sorted(places[share:][:flat].tolist())]
        chosen += [_beginning(model.fingerprint(motion)) for motion in (*whole, *without_depth)]
    return chosen


def _flattened(motion: Motion) -> Motion:
    return replace(motion, joints=motion.joints * np.array([1, 1, 0], motion.joints.dtype))


def _beginning(fingerprint: Fingerprint) -> Fingerprint:
    longest = round(LONGEST_SECONDS / fingerprint.seconds_per_word)
    return fingerprint.segment(0, min(len(fingerprint), longest) - 1)
