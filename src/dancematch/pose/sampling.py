"""Which frames of a clip poses are estimated in: so many per second, by the frames' own times."""

from math import floor

POSE_FPS = 20.0
"""Poses per second of a clip where people are new or lost; docs/decisions.md ("Pose") has the measurement."""

STEADY_FPS = 10.0
"""Poses per second while everybody is firmly tracked."""

_EARLY = 0.25  # of an interval, by which it begins early: stamps are rounded, and 0.099 s means 0.1 s


class FrameSampler:
    """Takes one frame of each interval of 1/`fps` seconds, so every frame of a slower clip.

    The first one, unless the decoder has to decode another of the interval anyway, since others refer to it,
    and can leave out the first.
    """

    def __init__(self, fps: float) -> None:
        self._fps = fps
        self._taken = -1  # number of the latest interval a frame was taken from
        self._earliest: dict[int, float] = {}
        self._decoded: set[int] = set()  # numbers of intervals with a frame that is decoded in any case

    def take(self, seconds: float) -> bool:
        """Whether the next frame, in the order shown, is used."""
        number = self._interval(seconds)
        if number <= self._taken:
            return False
        self._taken = number
        return True

    def may_take(self, seconds: float, *, referred: bool = False) -> bool:
        """Whether a frame that is yet to be decoded, in the order stored, may be used.

        False only if an earlier frame of its interval was announced before, or one that others refer to; all
        are announced by this call, `referred` if others certainly refer to them.
        """
        number = self._interval(seconds)
        earliest = self._earliest.get(number, seconds)
        self._earliest[number] = min(earliest, seconds)
        needless = number in self._decoded
        if referred:
            self._decoded.add(number)
        return seconds <= earliest and not needless

    def _interval(self, seconds: float) -> int:
        return floor(seconds * self._fps + _EARLY)
