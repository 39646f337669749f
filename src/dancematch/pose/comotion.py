"""CoMotion, the paper's estimator, run in the user's own checkout.

Its weights are for research only and need the licensed SMPL file, so it is never bundled: the user
installs it and names the place. It knows frames by number; their times come from the video.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import MissingExtraError
from dancematch.formats.motion_capture import comotion
from dancematch.pose.track import Track
from dancematch.pose.video import frame_times, probe
from dancematch.temporary_folder import temporary_folder
from dancematch.types import Motion

CHECKOUT_VARIABLE = "DANCEMATCH_COMOTION"
PYTHON_VARIABLE = "DANCEMATCH_COMOTION_PYTHON"


class CoMotion:
    """Runs `demo.py` of a CoMotion checkout on a video and reads the tracks it writes.

    `checkout` is the folder that holds demo.py and `python` the interpreter of its environment;
    where not given, the variables DANCEMATCH_COMOTION and DANCEMATCH_COMOTION_PYTHON say so.
    """

    name = "comotion"

    def __init__(self, *, checkout: Path | None = None, python: Path | str | None = None) -> None:
        place = checkout or os.environ.get(CHECKOUT_VARIABLE)
        if not place:
            raise MissingExtraError(
                f"CoMotion is not set up: install it yourself and let {CHECKOUT_VARIABLE} name its folder"
            )
        self._checkout = Path(place).absolute()
        if not (self._checkout / "demo.py").is_file():
            raise MissingExtraError(f"{self._checkout} is no CoMotion checkout: it holds no demo.py")
        self._python = str(python or os.environ.get(PYTHON_VARIABLE) or "python")

    def tracks(self, path: Path, *, on_frame: Callable[[float], None] | None = None) -> list[Track]:
        """Return one track per person in the video; `on_frame` is called with 0 and 1 only."""
        probe(path)  # a file that is no video is reported as such, before CoMotion is started
        report = on_frame or (lambda _: None)
        report(0.0)
        with temporary_folder() as folder:
            self._run(path.absolute(), folder)
            written = sorted(folder.rglob("*.pt"))
            tracks = read_tracks(written[0], path) if written else []
        report(1.0)
        return tracks

    def _run(self, video: Path, folder: Path) -> None:
        command = [self._python, "demo.py", "-i", str(video), "-o", str(folder), "--skip-visualization"]
        try:
            done = subprocess.run(  # noqa: S603 - the user's own program, arguments passed as a list
                command, cwd=self._checkout, capture_output=True, text=True, errors="replace", check=False
            )
        except OSError as error:
            raise MissingExtraError(
                f"{self._python} cannot be started ({error.strerror}); let {PYTHON_VARIABLE} name "
                "the interpreter of CoMotion's environment"
            ) from None
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise MissingExtraError(
                f"CoMotion in {self._checkout} failed on {video} ({reason}); "
                "run its demo.py by hand to see why"
            )


def read_tracks(results: Path, video: Path) -> list[Track]:
    """Return the tracks of the .pt file that CoMotion wrote for a video, on the video's own clock."""
    times = frame_times(video)
    # At one frame a second, the seconds of a motion are its frame numbers.
    return [_make_track(person, times) for person in comotion.read(results, fps=1.0)]


def _make_track(person: Motion, times: NDArray[np.float64]) -> Track:
    frames = round(person.start) + np.arange(len(person.joints))
    seen = np.isfinite(person.joints).all(axis=(1, 2)) & (frames < len(times))
    return Track(
        dancer=0,
        times=times[frames[seen]],
        world=person.joints[seen],
        image=None,
        visibility=person.visibility[seen],
        skeleton=person.skeleton,
        clip_seconds=float(times[-1]) if len(times) else None,
    )
