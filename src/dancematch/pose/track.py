"""One person through a video, and how much there is to see of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import GAP_SECONDS, resample
from dancematch.types import FloatArray, Motion, Skeleton

_SEEN = 0.5  # visibility from which a joint says where in the picture the body is
_EDGE_SHARE = 0.2  # of a track, at either end, whose median place counts as where it begins and ends


@dataclass(frozen=True, eq=False)
class Track:
    """What an estimator saw of one person, at the true times of the frames."""

    dancer: int  # 1 = the most prominent; 0 = not numbered yet
    times: NDArray[np.float64]  # [n] seconds, growing
    world: FloatArray  # [n, joints, 3] metres, y up
    image: FloatArray | None  # [n, joints, 2] of the frame's width and height, y down; None if not known
    visibility: FloatArray  # [n, joints] 0..1
    skeleton: Skeleton
    truncated: bool = False  # the video is damaged or breaks off
    aspect: float = 1.0  # width of the frame over its height
    clip_seconds: float | None = None  # how long the whole video is; None if not known

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


def picture_places(track: Track) -> FloatArray:
    """The joints in the picture [n, joints, 2], in frame heights both ways."""
    assert track.image is not None  # noqa: S101  (asked by the callers)
    return np.asarray(track.image * np.array([track.aspect, 1.0]), dtype=np.float32)


def frame_heights_per_metre(track: Track) -> float | None:
    """How large the person is shown: frame heights that a metre takes, whatever part of the body is seen.

    None where the picture is not known or too little of the body is seen to tell.
    """
    if track.image is None:
        return None
    seen = track.visibility >= _SEEN
    enough = seen.sum(axis=1) >= 4
    if not enough.any():
        return None
    shown, true = (_variance(p[enough], seen[enough]) for p in (picture_places(track), track.world[..., :2]))
    return float(np.median(np.sqrt(shown / np.maximum(true, 1e-9))))


def _variance(places: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """Variance [n] of the seen joints' places [n, joints, 2] about their middle."""
    weight = seen[..., None] / seen.sum(axis=1)[:, None, None]
    middle = (places * weight).sum(axis=1, keepdims=True)
    return np.asarray((np.square(places - middle) * weight).sum(axis=(1, 2)))


def metres_travelled(track: Track) -> float:
    """How far the person is at the end from where they were at the beginning, in the picture's plane."""
    scale = frame_heights_per_metre(track)
    if scale is None:
        return 0.0
    middle = np.median(picture_places(track), axis=1)  # [n, 2]
    edge = max(1, int(_EDGE_SHARE * len(middle)))
    way = np.median(middle[-edge:], axis=0) - np.median(middle[:edge], axis=0)
    return float(np.hypot(*way)) / max(scale, 1e-9)
