"""The changes of motions that programmes show: those of cameras, pose estimators and dancers."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from dancematch.evaluation.audit.changes import CHANGES
from dancematch.evaluation.medley.programme import ALL, AS_IT_IS, MIRRORED, NOISY, TEMPO, ProgrammeItem
from dancematch.motion import change_tempo, to_body15
from dancematch.types import Motion

# By the changes of an audit; the tempo is the item's own.
MOTION_CHANGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        AS_IT_IS: (),
        MIRRORED: ("mirror",),
        TEMPO: (),
        "tilted": ("tilt",),
        NOISY: ("noise", "drift"),
        "partly unseen": ("dropout",),
        "only arms": ("upper-body",),
        ALL: ("mirror", "tilt", "noise", "drift", "dropout"),
    }
)


def change_motion(item: ProgrammeItem, motion: Motion) -> Motion:
    """The motion as the item shows it, on body15; the same for the same item."""
    rng = np.random.default_rng(item.seed)
    changed = to_body15(motion)
    for name in MOTION_CHANGES[item.change]:
        changed = CHANGES[name].apply(changed, changed.seconds, rng).motion
    return change_tempo(changed, item.tempo) if item.tempo != 1 else changed
