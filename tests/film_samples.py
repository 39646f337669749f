"""Pose estimators for video files whose dancers they make up; run as a program, a worker that uses one.

With the argument `gated` before its setup the worker uses `GatedFilm`, otherwise `FilmedDancer`.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dance_samples import dance
from dancematch.pose.estimators import TracksSoFar
from dancematch.pose.track import Track
from dancematch.skeletons import BODY15
from dancematch.types import FloatArray, Motion

PARTS = (0.1, 4.0, 6.0)  # seconds after which the tracks so far are told


def in_picture(motion: Motion) -> FloatArray:
    """The joints [frames, 15, 2] of a dancer who stands upright in the middle of the picture."""
    low, high = motion.joints.min(axis=(0, 1)), motion.joints.max(axis=(0, 1))
    image = 0.3 + 0.4 * ((motion.joints - low) / (high - low))[:, :, :2] * [1, -1] + [0, 0.4]
    return image.astype(np.float32)


class FilmedDancer:
    """Stands in for a pose estimator: one dancer, whatever the video shows.

    The name of a file may say which dance, and by whom: `dance3-by4.mp4`. Else it is the third by the fourth.
    """

    name = "filmed"

    def tracks(self, path: Path, *, on_frame=None) -> list[Track]:
        """That dance, from the first second on."""
        del on_frame
        words = path.stem.removeprefix("dance").split("-by")
        seen = dance(*map(int, words)) if all(one.isdigit() for one in words) else dance(3, dancer=4)
        times = np.arange(len(seen.joints)) / seen.fps
        return [Track(1, times, seen.joints, in_picture(seen), seen.visibility, BODY15)]


class SlowFilm(FilmedDancer):
    """Stands in for an estimator that tells the tracks so far."""

    completed: list[bool] = []  # noqa: RUF012  (whether each reading came to the end of the clip)

    def tracks_so_far(
        self, path: Path, *, on_frame: Callable[[float], None] | None = None
    ) -> Iterator[TracksSoFar]:
        """The same dance, more and more of it."""
        (whole,) = self.tracks(path)
        end = float(whole.times[-1])
        complete = False
        try:
            for seconds in PARTS:
                if on_frame is not None:
                    on_frame(seconds / end)
                yield TracksSoFar([cut(whole, seconds)], seconds, complete=False)
            complete = True
            yield TracksSoFar([whole], end, complete=True)
        finally:
            self.completed.append(complete)


class GatedFilm(SlowFilm):
    """The same from a "video" that is the path of a folder: each part but the first waits for a file in it.

    `open_gate` lets the next part out; one with a word of trouble in it kills the process instead.
    """

    def tracks_so_far(
        self, path: Path, *, on_frame: Callable[[float], None] | None = None
    ) -> Iterator[TracksSoFar]:
        """As before, one gate after the other."""
        gates = Path(path.read_text(encoding="utf-8"))
        for number, read in enumerate(super().tracks_so_far(path, on_frame=on_frame)):
            while number > 0 and not (gate := gates / str(number)).exists():
                time.sleep(0.01)
            if number > 0 and gate.read_text(encoding="utf-8") == "deadly":
                os.kill(os.getpid(), signal.SIGKILL)
            yield read


def open_gate(gates: Path, number: int, trouble: str = "") -> None:
    """Let a part of a gated film out: 1 is that after 4 s, 2 that after 6 s, 3 the whole."""
    waiting = gates / f"{number}.waiting"
    waiting.write_text(trouble, encoding="utf-8")
    waiting.rename(gates / str(number))


def cut(track: Track, seconds: float) -> Track:
    """The beginning of a track."""
    count = int(np.searchsorted(track.times, seconds))
    image = None if track.image is None else track.image[:count]
    return replace(
        track, times=track.times[:count], world=track.world[:count], image=image,
        visibility=track.visibility[:count], clip_seconds=seconds,
    )  # fmt: skip


if __name__ == "__main__":
    from dancematch.server.jobs import worker

    make = GatedFilm if sys.argv[1] == "gated" else FilmedDancer
    sys.exit(worker.main(sys.argv[-1:], lambda _limits: make()))
