"""Which frames of a clip poses are estimated in: so many per second, by the frames' own times."""

from math import floor

POSE_FPS = 20.0
"""Poses per second of a clip; docs/decisions.md ("Pose") has the measurement that chose it."""

_EARLY = 0.25  # of an interval, by which it begins early: stamps are rounded, and 0.099 s means 0.1 s


class FrameSampler:
    """Takes the first frame of each interval of 1/`fps` seconds, so every frame of a slower clip."""

    def __init__(self, fps: float) -> None:
        self._fps = fps
        self._taken = -1  # number of the latest interval a frame was taken from
        self._earliest: dict[int, float] = {}

    def take(self, seconds: float) -> bool:
        """Whether the next frame, in the order shown, is used."""
        number = self._interval(seconds)
        if number <= self._taken:
            return False
        self._taken = number
        return True

    def may_take(self, seconds: float) -> bool:
        """Whether a frame that is yet to be decoded, in the order stored, may be used.

        False only if an earlier frame of its interval was announced before; both are announced by this call.
        """
        number = self._interval(seconds)
        earliest = self._earliest.get(number, seconds)
        self._earliest[number] = min(earliest, seconds)
        return seconds <= earliest

    def _interval(self, seconds: float) -> int:
        return floor(seconds * self._fps + _EARLY)
