"""The times of a file's frames, and uneven time stamps brought to an even rate."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dancematch.errors import InputError
from dancematch.formats.files import agree_on_rate, as_rate
from dancematch.formats.limits import require_plausible_frames
from dancematch.motion import GAP_SECONDS

Array = NDArray[np.float64]

DEFAULT_RATE = 30.0
"""Frames per second of a file that says nothing about it."""


@dataclass(frozen=True)
class Clock:
    """The even rate that motions get, and the times of the frames where these are not even."""

    rate: float
    start: float = 0.0  # seconds of frame 0
    times: Array | None = None  # seconds per frame, only where they are uneven

    def count(self, frames: int, first: int = 0) -> int:
        """Return how many frames there are at the even rate; `first` is the frame that they begin with."""
        if self.times is None:
            return frames
        times = self.times[first : first + frames]
        count = int((times[-1] - times[0]) * self.rate + 1e-6) + 1
        require_plausible_frames(count, len(times))
        return count

    def resample(self, points: Array, first: int = 0) -> tuple[Array, float]:
        """Return points [frames, ...] at the even rate, and the seconds of the first.

        `first` is the frame that the points begin with. Unseen (NaN) stays unseen, and so do long pauses.
        """
        if self.times is None:
            return points, self.start + first / self.rate
        times = self.times[first : first + len(points)]
        count = self.count(len(points), first)
        ticks = times[0] + np.arange(count) / self.rate
        flat = points.reshape(len(points), -1)
        even = np.empty((count, flat.shape[1]))
        for place, column in enumerate(flat.T):
            even[:, place] = np.interp(ticks, times, column)
        if len(times) > 1:
            even[_find_pauses(ticks, times)] = np.nan
        return even.reshape(count, *points.shape[1:]), float(times[0])


def _find_pauses(ticks: Array, times: Array) -> NDArray[np.bool_]:
    """Return which ticks lie within a pause that is too long to interpolate across."""
    after = np.clip(np.searchsorted(times, ticks), 1, len(times) - 1)
    before, next_ = times[after - 1], times[after]
    paused: NDArray[np.bool_] = (
        (next_ - before > GAP_SECONDS) & (ticks - before > 1e-3) & (next_ - ticks > 1e-3)
    )
    return paused


def find_stamps(frames: Sequence[Any], names: Iterable[str]) -> tuple[str, list[Any]] | None:
    """Return the first of these keys that every frame has, with its values; None if there is none."""
    for name in names:
        if all(isinstance(frame, dict) and name in frame for frame in frames):
            return name, [frame[name] for frame in frames]
    return None


def to_seconds(stamps: ArrayLike, seconds_per_unit: float, name: str) -> Array:
    """Return time stamps in seconds, refused where they do not rise."""
    times = np.array(stamps, dtype=np.float64) * seconds_per_unit
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any() or times[0] < 0:
        raise InputError(f"the time stamps {name!r} do not rise from frame to frame")
    return times


def count_from_first_frame(stamps: ArrayLike, name: str) -> Array:
    """Return seconds since the first frame, of time stamps in seconds or milliseconds since any moment.

    Less than one frame per second is no motion, so that stamps more than one apart are milliseconds.
    """
    times = to_seconds(stamps, 1.0, name)
    in_seconds = len(times) < 2 or float(np.median(np.diff(times))) <= 1
    since: Array = (times - times[0]) * (1.0 if in_seconds else 1e-3)
    return since


def choose_clock(times: Array | None, carried: float | None, wanted: float | None) -> Clock:
    """Return the clock of a file: by its time stamps, else the rate it carries, else `wanted`, else 30."""
    if times is None or len(times) < 2:
        rate = agree_on_rate(carried, wanted) if carried else wanted or DEFAULT_RATE
        return Clock(rate, 0.0 if times is None else float(times[0]))
    step = float(times[-1] - times[0]) / (len(times) - 1)
    even = times[0] + step * np.arange(len(times))
    # A millisecond is what rounding does to an even clock.
    if np.abs(times - even).max() <= max(0.0011, 0.05 * step):
        return Clock(agree_on_rate(as_rate(1 / step), wanted), float(times[0]))
    steps = np.diff(times)
    # The mean keeps the number of frames; a pause would make it too slow.
    usual = step if steps.max() <= GAP_SECONDS else float(np.median(steps))
    return Clock(wanted or as_rate(1 / usual), float(times[0]), times)
