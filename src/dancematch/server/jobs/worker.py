"""The process that looks at one file: its own limits first, then skeletons, then it is gone.

    python -m dancematch.server.jobs.worker '{"source": ..., "target": ..., "limits": {...}}'

With "moments" and "marks" it cuts pictures out of a video instead (`cut_stills`), into the same file.

It tells on stdout, a JSON object a line: `{"progress": 0.4}` now and then, at last `{"done": true}`
or `{"error": "VideoError", "message": "..."}`. The skeletons are in `target`, an .npz of ours; where
the dancers were seen in the picture, in the file of `picture_path`; what is no dancer, with the reason,
in that of `ignored_path`.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dancematch import formats
from dancematch.errors import DanceMatchError
from dancematch.formats import npz
from dancematch.pipeline.extract import end_with_parent, write_ignored
from dancematch.pipeline.limits import WorkLimits, limit_self
from dancematch.pose.selection import require_dancer, select_dancers
from dancematch.pose.video import VideoLimits

if TYPE_CHECKING:
    from dancematch.pose import PoseEstimator
    from dancematch.pose.track import Track

MakeEstimator = Callable[[VideoLimits], "PoseEstimator"]

_TELL_EVERY_SECONDS = 0.2


def picture_path(target: Path) -> Path:
    """Where it is kept where the dancers were seen in the picture."""
    return target.with_suffix(".picture.npz")


def ignored_path(target: Path) -> Path:
    """Where it is kept who and what else was followed in the video."""
    return target.with_suffix(".ignored.json")


def main(arguments: Sequence[str], make_estimator: MakeEstimator | None = None) -> int:
    """Look at one file, as the arguments say."""
    asked = json.loads(arguments[0])
    limits = WorkLimits(**asked["limits"])
    limit_self(limits)
    end_with_parent()
    try:
        source, target = Path(asked["source"]), Path(asked["target"])
        if "moments" in asked:
            _cut(source, target, asked["moments"], asked["marks"])
        else:
            _look(source, target, limits, make_estimator or _blazepose)
    except DanceMatchError as error:
        _tell({"error": type(error).__name__, "message": str(error)})
    except MemoryError:
        _tell({"error": "MemoryError", "message": ""})
    else:
        _tell({"done": True})
    return 0


def _blazepose(limits: VideoLimits) -> "PoseEstimator":
    from dancematch.pose.blazepose import BlazePose

    return BlazePose(limits=limits)


def _look(source: Path, target: Path, limits: WorkLimits, make_estimator: MakeEstimator) -> None:
    if formats.is_motion_file(source):
        npz.write(target, formats.read(source), overwrite=True)
        return
    allowed = VideoLimits(limits.video_pixels, limits.video_seconds, limits.seconds)
    tracks = make_estimator(allowed).tracks(source, on_frame=_Teller())
    found = require_dancer(select_dancers(tracks), "the video")
    npz.write(target, [track.motion() for track in found.dancers], overwrite=True)
    _write_picture(picture_path(target), found.dancers)
    write_ignored(ignored_path(target), found.ignored)


def _cut(source: Path, target: Path, moments: list[float], marks: list[Any]) -> None:
    from dancematch.report.footage import cut_stills

    known = [None if mark is None else np.array(mark, dtype=np.float32) for mark in marks]
    arrays: dict[str, Any] = {}
    for number, still in enumerate(cut_stills(source, moments, known)):
        arrays[f"jpeg_{number}"] = np.frombuffer(still.jpeg, np.uint8)
        arrays[f"place_{number}"] = [still.seconds, still.width, still.height, *still.box]
    with target.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _write_picture(path: Path, tracks: "Sequence[Track]") -> None:
    arrays: dict[str, Any] = {}
    for number, track in enumerate(tracks):
        if track.image is not None:
            arrays |= {f"times_{number}": track.times, f"image_{number}": track.image}
            arrays[f"visibility_{number}"] = track.visibility
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


class _Teller:
    """Tells of progress, but not of every frame."""

    def __init__(self) -> None:
        self._told = 0.0

    def __call__(self, share: float) -> None:
        if time.monotonic() - self._told > _TELL_EVERY_SECONDS:
            self._told = time.monotonic()
            _tell({"progress": round(float(share), 4)})


def _tell(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
