"""The service's worker process: the pipeline's, with three further tasks.

A request `{"task": "upload", "source": ..., "target": FOLDER, "quick": ..., "parts": ...}` analyses a file
that is told by its content alone. With `quick`, what takes long (a video, a format that needs much) is left
unread: the analysis then has neither motions nor words. With `parts`, what has been read of a video is told
while the rest is read. `{"task": "scan", "source": ..., "target": FOLDER, "every_seconds": ..., "live": ...}`
follows the dancers of a long video and tells their recent tracks (`recent_tracks.py`) part by part; with
`live`, the source is a pipe. `{"task": "stills", "source": ..., "target": FILE, "moments": [...], "marks":
[...]}` writes the stills of a video at these moments, around a dancer's joints where they are known
(`report.footage.cut_stills`).
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dancematch import formats
from dancematch.errors import InputError
from dancematch.formats import registry
from dancematch.pipeline.analysis import worker
from dancematch.pipeline.analysis.file_analysis import Analysis, read_motion_upload, write_analysis
from dancematch.pipeline.analysis.limits import WorkLimits
from dancematch.pipeline.analysis.partial_analyses import PartWriter
from dancematch.pipeline.analysis.recent_tracks import write_recent_tracks
from dancematch.pipeline.analysis.worker import Analyser
from dancematch.pose.estimators import TracksSoFar
from dancematch.pose.live_video import Pipe
from dancematch.pose.stills import Still
from dancematch.pose.video import VideoSource
from dancematch.server.limits import MAX_DANCERS, MAX_PART_DANCER_SECONDS

if TYPE_CHECKING:
    from dancematch.pose import PoseEstimator


def main(
    arguments: Sequence[str], make_estimator: "Callable[[WorkLimits | None], PoseEstimator] | None" = None
) -> int:
    """Answer requests until stdin ends."""
    tasks = {"upload": _analyse_upload, "scan": _follow_dancers, "stills": _write_stills}
    return worker.main(arguments, make_estimator, tasks)


def _analyse_upload(request: Mapping[str, Any], analyser: Analyser) -> None:
    source, target = Path(request["source"]), Path(request["target"])
    suffix = formats.detect_suffix(source)
    if suffix is None and request["quick"]:
        found = Analysis(source)
    elif suffix is None and request.get("parts"):
        found = _analyse_in_parts(source, target, analyser)
    elif suffix is None:
        found = analyser.analyse_video(source)
    elif request["quick"] and all(one.is_isolated for one in registry.formats_with(suffix)):
        found = Analysis(source, kind="motion file")
    else:
        found = read_motion_upload(source, suffix)
    check_lengths(found, request["max_seconds"])
    write_analysis(target, found)


def _analyse_in_parts(source: Path, target: Path, analyser: Analyser) -> Analysis:
    """The dancers of a video; those of its parts are sent as far as a search for them takes a moment."""
    parts = PartWriter(target, write_analysis)
    found = Analysis(source)
    for found in analyser.analyse_video_progressively(source):
        is_short = found.dancer_seconds <= MAX_PART_DANCER_SECONDS and len(found.motions) <= MAX_DANCERS
        if found.read_seconds is not None and is_short:
            analyser.send_part(parts, found, found.read_seconds)
    return found


def _follow_dancers(request: Mapping[str, Any], analyser: Analyser) -> None:
    source = Path(request["source"])
    parts = PartWriter(Path(request["target"]), write_recent_tracks)
    if request["live"]:
        with source.open("rb", buffering=0) as pictures:  # as they come: a buffer would wait to be full
            _send_tracks(Pipe(pictures, "the camera"), request, analyser, parts)
        return
    if formats.detect_suffix(source) is not None:
        raise InputError("a motion file was sent, a video was expected; search for it instead")
    _send_tracks(source, request, analyser, parts)


def _send_tracks(
    source: VideoSource, request: Mapping[str, Any], analyser: Analyser, parts: PartWriter[TracksSoFar]
) -> None:
    for read in analyser.follow_video(source, request["every_seconds"]):
        analyser.send_part(parts, read, read.seconds)


def check_lengths(found: Analysis, max_seconds: float) -> None:
    """Refuse dancers who are too many, or dance for too long."""
    seconds = [motion.seconds for motion in found.motions]
    seconds += [len(words) * words.seconds_per_word for words in found.words]
    longest = max(seconds, default=0)
    if longest > max_seconds:
        raise InputError(f"the file lasts {longest:.0f} s, above the limit of {max_seconds:.0f} s; cut it")
    if len(seconds) > MAX_DANCERS:
        raise InputError(f"the file shows {len(seconds)} dancers, above the limit of {MAX_DANCERS}")


def _write_stills(request: Mapping[str, Any], _analyser: Analyser) -> None:
    from dancematch.report.footage import cut_stills

    marks = [None if mark is None else np.array(mark, dtype=np.float32) for mark in request["marks"]]
    arrays: dict[str, Any] = {}
    for number, still in enumerate(cut_stills(Path(request["source"]), request["moments"], marks)):
        arrays[f"jpeg_{number}"] = np.frombuffer(still.jpeg, np.uint8)
        arrays[f"place_{number}"] = [still.seconds, still.width, still.height, *still.box]
    with Path(request["target"]).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_stills(path: Path) -> list[Still]:
    """The stills that a worker wrote."""
    stills = []
    with np.load(path, allow_pickle=False) as arrays:
        for number in range(len(arrays.files) // 2):
            seconds, width, height, left, top, right, bottom = arrays[f"place_{number}"].tolist()
            jpeg = arrays[f"jpeg_{number}"].tobytes()
            stills.append(Still(seconds, jpeg, int(width), int(height), (left, top, right, bottom)))
    return stills


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
