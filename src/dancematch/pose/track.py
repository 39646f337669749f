"""One dancer through a video, and which of several dancers matters most."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import GAP_SECONDS, resample
from dancematch.types import FloatArray, Motion, Skeleton

_SHORTEST_SECONDS = 0.5
_SMALLEST = 0.05  # share of the frame


@dataclass(frozen=True, eq=False)
class Track:
    """What an estimator saw of one dancer, at the true times of the frames."""

    dancer: int  # 1 = the most prominent
    times: NDArray[np.float64]  # [n] seconds, growing
    world: FloatArray  # [n, joints, 3] metres, y up
    image: FloatArray | None  # [n, joints, 2] of the frame's width and height, y down; None if not known
    visibility: FloatArray  # [n, joints] 0..1
    skeleton: Skeleton
    truncated: bool = False  # the video is damaged or breaks off

    def motion(self) -> Motion:
        """Put the same dancer on an even clock of 30 frames a second."""
        return resample(self.times, self.world, self.visibility, self.skeleton)


def seconds_seen(track: Track) -> float:
    """How long the dancer was in view, gaps left out."""
    steps = np.diff(track.times)
    return float(steps[steps <= GAP_SECONDS].sum())


def share_of_frame(track: Track) -> float:
    """Tell which share of the frame, the wider way, the dancer typically fills."""
    if track.image is None:
        return 1.0
    return float(np.median(np.ptp(np.clip(track.image, 0, 1), axis=1).max(axis=1)))


def liveliness(track: Track) -> float:
    """Mean speed of the joints about the pelvis, in metres a second, where they are visible."""
    if len(track.times) < 2:
        return 0.0
    steps = np.diff(track.times)[:, None]
    speed = np.linalg.norm(np.diff(track.world, axis=0), axis=2) / steps
    weight = np.minimum(track.visibility[1:], track.visibility[:-1]) * (steps <= GAP_SECONDS)
    return float((speed * weight).sum() / max(float(weight.sum()), 1e-9))


def prominence(track: Track) -> float:
    """Size x motion x duration: a still bystander in front does not win over the dancer behind."""
    return share_of_frame(track) * liveliness(track) * seconds_seen(track)


def rank(tracks: Sequence[Track]) -> list[Track]:
    """Give dancers their numbers by prominence; leave out who is tiny or seen for under half a second.

    In a clip shorter than a second, half of it is enough.
    """
    tracks = [track for track in tracks if len(track.times)]
    if not tracks:
        return []
    span = max(t.times[-1] for t in tracks) - min(t.times[0] for t in tracks)
    shortest = min(_SHORTEST_SECONDS, span / 2)
    kept = [t for t in tracks if seconds_seen(t) >= shortest and share_of_frame(t) >= _SMALLEST]
    kept.sort(key=lambda track: (-prominence(track), float(track.times[0])))
    return [replace(track, dancer=number) for number, track in enumerate(kept, start=1)]
