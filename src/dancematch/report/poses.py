"""A dancer's poses to draw and to measure: what the camera saw, and what the pose estimator only guessed.

What was not seen is drawn faded and dashed, in every picture the same: `FADED_OPACITY`, `fade_dashes`,
`FADED_LEGEND`. The page of the service has the same in `static/drawing/skeleton.js`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.types import SEEN_FROM, FloatArray, Motion

FADED_OPACITY = 0.35
FADED_LEGEND = "Faded: not seen by the camera."
_DASH, _GAP = 0.6, 1.4  # of a dashed line, in radii of the head


def fade_dashes(head_radius: float) -> tuple[float, float]:
    """The lengths of dashes and gaps of a limb that was not seen, beside a head of this radius."""
    return round(_DASH * head_radius, 3), round(_GAP * head_radius, 3)


@dataclass(frozen=True, eq=False)
class Poses:
    """The joints of `body15` at some moments, in metres, facing forward on one standard body."""

    joints: FloatArray  # [moments, 15, 3] guessed ones too; NaN where there is not even a guess
    seen: NDArray[np.bool_]  # [moments, 15]

    @classmethod
    def of(cls, canonical: Motion) -> "Poses":
        """All poses of a canonical motion."""
        return cls(canonical.joints[:, 1:], canonical.visibility[:, 1:] >= SEEN_FROM)

    def __getitem__(self, moments: Any) -> "Poses":
        return Poses(self.joints[moments], self.seen[moments])

    def __len__(self) -> int:
        return len(self.joints)

    @cached_property
    def measured(self) -> FloatArray:
        """The joints, NaN also where they are guessed: nothing is measured by a guess."""
        return np.where(self.seen[..., None], self.joints, np.nan).astype(np.float32)
