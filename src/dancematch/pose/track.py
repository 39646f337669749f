"""One person through a video, and how prominent that person is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import GAP_SECONDS, resample
from dancematch.types import FloatArray, Motion, Skeleton

JOINT_SEEN_FROM = 0.5
"""Visibility from which a joint counts as seen by a pose estimator."""

_EDGE_SHARE = 0.2  # of a track, at either end, whose median position is where it begins or ends


@dataclass(frozen=True, eq=False)
class Track:
    """One person as an estimator saw them, at the true times of the frames."""

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
        """Return the motion on an even clock of 30 frames per second."""
        return resample(self.times, self.world, self.visibility, self.skeleton)


def seconds_seen(track: Track) -> float:
    """Return the time in view, without gaps."""
    steps = np.diff(track.times)
    return float(steps[steps <= GAP_SECONDS].sum())


def share_of_frame(track: Track) -> float:
    """Return the median share of the frame that the person fills, along the larger side."""
    if track.image is None:
        return 1.0
    return float(np.median(np.ptp(np.clip(track.image, 0, 1), axis=1).max(axis=1)))


def liveliness(track: Track) -> float:
    """Return the mean speed of the visible joints about the pelvis, in metres per second."""
    if len(track.times) < 2:
        return 0.0
    steps = np.diff(track.times)[:, None]
    speed = np.linalg.norm(np.diff(track.world, axis=0), axis=2) / steps
    weight = np.minimum(track.visibility[1:], track.visibility[:-1]) * (steps <= GAP_SECONDS)
    return float((speed * weight).sum() / max(float(weight.sum()), 1e-9))


def prominence(track: Track) -> float:
    """Return size x motion x duration, so that a dancer ranks before a still bystander in front."""
    return share_of_frame(track) * liveliness(track) * seconds_seen(track)


def picture_positions(track: Track) -> FloatArray:
    """Return the joints in the picture [n, joints, 2], both axes in frame heights."""
    assert track.image is not None  # noqa: S101  (checked by the callers)
    return np.asarray(track.image * np.array([track.aspect, 1.0]), dtype=np.float32)


def frame_heights_per_metre(track: Track) -> float | None:
    """Return how large the person is shown, whatever part of the body is seen.

    None where the picture is not known or too few joints are seen.
    """
    if track.image is None:
        return None
    seen = track.visibility >= JOINT_SEEN_FROM
    enough = seen.sum(axis=1) >= 4
    if not enough.any():
        return None
    shown, true = (
        _spatial_variance(p[enough], seen[enough]) for p in (picture_positions(track), track.world[..., :2])
    )
    return float(np.median(np.sqrt(shown / np.maximum(true, 1e-9))))


def _spatial_variance(places: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """Return the variance [n] of the seen joints' positions [n, joints, 2] about their mean."""
    weight = seen[..., None] / seen.sum(axis=1)[:, None, None]
    middle = (places * weight).sum(axis=1, keepdims=True)
    return np.asarray((np.square(places - middle) * weight).sum(axis=(1, 2)))


def metres_travelled(track: Track) -> float:
    """Return the distance between where the person begins and ends, in the picture's plane."""
    scale = frame_heights_per_metre(track)
    if scale is None:
        return 0.0
    middle = np.median(picture_positions(track), axis=1)  # [n, 2]
    edge = max(1, int(_EDGE_SHARE * len(middle)))
    displacement = np.median(middle[-edge:], axis=0) - np.median(middle[:edge], axis=0)
    return float(np.hypot(*displacement)) / max(scale, 1e-9)
