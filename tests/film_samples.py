"""Pose estimators for video files whose dancers they make up; run as a program, a worker that uses one.

With the argument `gated` before its setup the worker uses `GatedFilm`, with `long` `LongFilm`, otherwise
`FilmedDancer`.
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
from dancematch.pose.live_video import Pipe
from dancematch.pose.track import Track
from dancematch.pose.video import LONG_VIDEO, read_frames
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


class LongFilm(FilmedDancer):
    """The same from a long "video", a text: the numbers of dances, danced one after the other.

    A word `gate=PATH` waits there for a file of that name, `deadly` kills the process. Before a camera, which
    sends a true video, it is the third dance, at the pace of the pictures.
    """

    def recent_tracks(
        self,
        source: Path | Pipe,
        *,
        start: float,
        every_seconds: float,
        keep_seconds: float,
        on_frame: Callable[[float], None] | None = None,
    ) -> Iterator[TracksSoFar]:
        """The last seconds of it, again and again."""
        assert start == 0.0
        live = not isinstance(source, Path)
        whole, events = long_track("3 3" if live else source.read_text(encoding="utf-8"))
        end = float(whole.times[-1])
        due = every_seconds
        for seconds in (
            _picture_times(source) if live else np.arange(every_seconds, end, every_seconds).tolist()
        ):
            for gate in [one for one in events if one <= seconds]:
                wait_at(events.pop(gate))
            if on_frame is not None:
                on_frame(0.0 if live else seconds / end)
            if seconds >= due:
                due = seconds + every_seconds
                yield recent(whole, seconds, keep_seconds, None if live else end)
        yield recent(whole, min(end, due if live else end), keep_seconds, end)


def _picture_times(source: Pipe) -> Iterator[float]:
    return (frame.seconds for frame in read_frames(source, LONG_VIDEO))


def long_track(script: str) -> tuple[Track, dict[float, str]]:
    """The dances that a text names as one track, and its other words by when they come."""
    motions, events, seconds = [], {}, 0.0
    for word in script.split():
        if not word.isdigit():
            events[seconds] = word
            continue
        motions.append(dance(int(word), 4, 4))
        seconds += motions[-1].seconds
    joints = np.concatenate([one.joints for one in motions])
    whole = Motion(joints, motions[0].fps, BODY15)
    times = np.arange(len(joints)) / whole.fps
    return Track(0, times, joints, in_picture(whole), whole.visibility, BODY15), events


def recent(whole: Track, seconds: float, keep_seconds: float, total: float | None) -> TracksSoFar:
    """What is known of a track after so many seconds, without what is long past."""
    inside = (whole.times <= seconds) & (whole.times > seconds - keep_seconds)
    track = replace(
        whole, times=whole.times[inside], world=whole.world[inside], image=whole.image[inside],
        visibility=whole.visibility[inside], clip_seconds=min(seconds, keep_seconds),
    )  # fmt: skip
    return TracksSoFar([track], seconds, complete=seconds == total, total_seconds=total)


def wait_at(word: str) -> None:
    """Do what a word of a long film says that is no dance."""
    if word == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    while not Path(word.removeprefix("gate=")).exists():
        time.sleep(0.01)


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

    make = {"gated": GatedFilm, "long": LongFilm}.get(sys.argv[1], FilmedDancer)
    sys.exit(worker.main(sys.argv[-1:], lambda _limits: make()))
