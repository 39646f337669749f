"""One dancer of what is scanned, as far as it has been read: motions of any period, old ones forgotten."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import resample
from dancematch.pose.track import Track
from dancematch.types import FloatArray, Motion, Skeleton, Span


class Feed(Protocol):
    """What is known of one dancer."""

    @property
    def span(self) -> Span:
        """From the first to the last moment that has been read, forgotten ones included."""

    def motion(self, start: float, end: float) -> Motion | None:
        """The motion from `start` to `end`, on the clock of what is scanned; None if nothing is seen."""

    def forget(self, before: float) -> None:
        """Drop what is earlier: no motion of it will be asked for."""


class MotionFeed:
    """A motion that is there as a whole, read up to some second."""

    def __init__(self, motion: Motion) -> None:
        self._motion = motion
        self.read_until = motion.start

    @property
    def span(self) -> Span:
        """From its start to where it has been read."""
        end = min(self.read_until, self._motion.span.end)
        return Span(self._motion.start, max(end, self._motion.start + 1 / self._motion.fps))

    def motion(self, start: float, end: float) -> Motion | None:
        """The motion from `start` to `end`."""
        return cut_motion(self._motion, start, end)

    def forget(self, before: float) -> None:
        """Nothing: it is the caller's."""


def cut_motion(motion: Motion, start: float, end: float) -> Motion | None:
    """The part of a motion from `start` to `end` on its own clock; None if it has no frame there."""
    first = max(0, round((start - motion.start) * motion.fps))
    last = min(len(motion.joints), round((end - motion.start) * motion.fps))
    if first >= last:
        return None
    return Motion(
        motion.joints[first:last], motion.fps, motion.skeleton, motion.visibility[first:last],
        start=motion.start + first / motion.fps,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SeenPoses:
    """What an estimator saw of one person, at the times of the frames."""

    times: NDArray[np.float64]  # [n] seconds
    world: FloatArray  # [n, joints, 3]
    visibility: FloatArray  # [n, joints]

    def since(self, seconds: float) -> "SeenPoses":
        """Those later than that."""
        later = self.times > seconds
        return SeenPoses(self.times[later], self.world[later], self.visibility[later])


class TrackFeed:
    """A person whom a pose estimator follows; poses are appended as they come."""

    def __init__(self, track: Track) -> None:
        self.skeleton: Skeleton = track.skeleton
        self._start = float(track.times[0])
        self._poses = SeenPoses(track.times, track.world, track.visibility)

    @property
    def span(self) -> Span:
        """From the first pose to the latest."""
        return Span(self._start, max(float(self._poses.times[-1]), self._start + 1e-3))

    def poses_since(self, seconds: float) -> SeenPoses:
        """The poses later than that, as far as they are not forgotten."""
        return self._poses.since(seconds)

    def append(self, track: Track) -> None:
        """Add the poses of a track that are later than all that are known."""
        new = SeenPoses(track.times, track.world, track.visibility).since(float(self._poses.times[-1]))
        pairs = ((getattr(self._poses, name), getattr(new, name)) for name in vars(new))
        self._poses = SeenPoses(*(np.concatenate(pair) for pair in pairs))

    def shares(self, track: Track) -> int:
        """How many poses of a track, which an estimator told anew, are these very ones."""
        _, own, its = np.intersect1d(self._poses.times, track.times, assume_unique=True, return_indices=True)
        same = self._poses.world[own] == track.world[its]
        return int(same.all(axis=(1, 2)).sum())

    def motion(self, start: float, end: float) -> Motion | None:
        """The motion from `start` to `end`, on an even clock."""
        poses = self._poses
        within = (poses.times >= start - 1e-6) & (poses.times <= end + 1e-6)
        if within.sum() < 2:
            return None
        return resample(poses.times[within], poses.world[within], poses.visibility[within], self.skeleton)

    def forget(self, before: float) -> None:
        """Drop earlier poses, but never the last."""
        self._poses = self._poses.since(min(before, float(self._poses.times[-1]) - 1e-6))
