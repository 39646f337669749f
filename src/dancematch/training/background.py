"""The ordinary dances that a model carries with it, to judge scores by."""

from collections.abc import Sequence

import numpy as np

from dancematch.model.tokeniser import Tokeniser
from dancematch.types import Fingerprint, Motion

LONGEST_SECONDS = 10.0


def pick_background(
    model: Tokeniser, groups: Sequence[Sequence[Motion]], *, count: int = 180, seed: int = 0
) -> list[Fingerprint]:
    """Ordinary dances to judge scores by, up to ten seconds each: as many from every group of motions."""
    rng = np.random.default_rng(seed)
    share = max(1, count // len(groups))
    chosen = []
    for group in groups:
        motions = [motion for motion in group if model.is_long_enough(motion)]
        places = rng.choice(len(motions), min(share, len(motions)), replace=False)
        prints = [model.fingerprint(motions[place]) for place in sorted(places.tolist())]
        chosen += [_beginning(fingerprint) for fingerprint in prints]
    return chosen


def _beginning(fingerprint: Fingerprint) -> Fingerprint:
    longest = round(LONGEST_SECONDS / fingerprint.seconds_per_word)
    return fingerprint.stretch(0, min(len(fingerprint), longest) - 1)
