"""The child process that analyses files, one after another, within limits; a file may kill it.

    python -m dancematch.pipeline.analysis.worker '{"limits": {...}, "model": ..., "model_id": ...}'

Requests come on stdin, one JSON object per line: `{"source": PATH, "target": FOLDER}`. Replies go to
stdout: `{"progress": 0.4}` from time to time, then `{"done": true}` or `{"error": CLASS, "message": TEXT}`,
both with the most memory that the process has had (`peak_bytes`). The result is in the folder
(`file_analysis.read_analysis`), with words if a model is named, and with a poster of a video if `posters` is
set. A task that tells what it has while it still reads replies `{"part": SECONDS}` after each part, which is
in the folder then (`partial_analyses.py`). Without limits the process may take what it needs.
`worker_process.py` is the other end.
"""

import base64
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError, ModelMismatchError
from dancematch.pipeline.analysis.file_analysis import (
    Analysis,
    analyse_file,
    analyse_progressively,
    analyse_video,
    write_analysis,
)
from dancematch.pipeline.analysis.limits import WorkLimits, limit_processor_time, limit_self, peak_memory
from dancematch.pipeline.analysis.parent_watch import end_with_parent
from dancematch.pipeline.analysis.partial_analyses import P, PartWriter
from dancematch.pipeline.scan.moments import KEEP_SECONDS
from dancematch.pose.estimators import FollowingEstimator

if TYPE_CHECKING:
    from dancematch.model.tokeniser import Tokeniser
    from dancematch.pose import PoseEstimator
    from dancematch.pose.estimators import TracksSoFar
    from dancematch.pose.video import VideoSource

_PROGRESS_SECONDS = 0.2
_LONGEST_MESSAGE = 2000  # characters

Request = Mapping[str, Any]
Task = Callable[[Request, "Analyser"], None]


def main(
    arguments: Sequence[str],
    make_estimator: "Callable[[WorkLimits | None], PoseEstimator] | None" = None,
    tasks: Mapping[str, Task] | None = None,
) -> int:
    """Answer requests until stdin ends; one that names a further task (`{"task": ...}`) goes to it.

    A task returns when it is done, or raises one of our errors.
    """
    setup = json.loads(arguments[0])
    limits = WorkLimits(**setup["limits"]) if setup.get("limits") else None
    replies = _Replies()
    if limits is not None:
        limit_self(limits)
    end_with_parent()
    analyser = Analyser(setup, limits, replies, make_estimator or _make_estimator(setup))
    for line in sys.stdin:
        request = json.loads(line)
        if limits is not None:
            limit_processor_time(limits)
        try:
            if "task" in request:
                (tasks or {})[request["task"]](request, analyser)
            else:
                analyser.analyse(request)
        except DanceMatchError as error:
            replies.send_last({"error": type(error).__name__, "message": str(error)[:_LONGEST_MESSAGE]})
        except MemoryError:
            return 1  # the rest of this process cannot be trusted
        else:
            replies.send_last({"done": True})
    return 0


class _Replies:
    """The stream of replies; what libraries print goes to stderr."""

    def __init__(self) -> None:
        self._stream: IO[str] = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self._last_progress = 0.0
        os.dup2(2, 1)

    def send(self, reply: Request) -> None:
        self._stream.write(json.dumps(reply) + "\n")
        self._stream.flush()

    def send_last(self, reply: Request) -> None:
        """Reply that a request is done or failed, and how much memory that took."""
        self.send({**reply, "peak_bytes": peak_memory()})

    def send_progress(self, share: float) -> None:
        """Reply with the share that is done, but not for every frame."""
        if time.monotonic() - self._last_progress > _PROGRESS_SECONDS:
            self._last_progress = time.monotonic()
            self.send({"progress": round(float(share), 4)})


class Analyser:
    """Analyses files; model and estimator are loaded when a file first needs them."""

    def __init__(
        self,
        setup: Request,
        limits: WorkLimits | None,
        replies: _Replies,
        make_estimator: "Callable[[WorkLimits | None], PoseEstimator]",
    ) -> None:
        self._setup, self._limits, self._replies = setup, limits, replies
        self._make_estimator, self._posters = make_estimator, bool(setup.get("posters"))

    def analyse(self, request: Request) -> None:
        """Write the analysis of the file that a request names."""
        source, target = Path(request["source"]), Path(request["target"])
        estimator = None if formats.is_motion_file(source) else self._estimator
        found = analyse_file(
            source, estimator=estimator, on_progress=self._replies.send_progress, posters=self._posters
        )
        write_analysis(target, self._with_words(found) if self._setup.get("model_id") else found)

    def analyse_video(self, source: Path) -> Analysis:
        """The dancers of a video, whatever its name."""
        report = self._replies.send_progress
        return analyse_video(source, estimator=self._estimator, on_progress=report, posters=self._posters)

    def analyse_video_progressively(self, source: Path) -> Generator[Analysis, None, None]:
        """Yield what has been read of a video shows, again and again, and last what all of it does."""
        report = self._replies.send_progress
        return analyse_progressively(source, estimator=self._estimator, on_progress=report)

    def follow_video(self, source: "VideoSource", every_seconds: float) -> "Iterator[TracksSoFar]":
        """Yield the recent tracks of a video of any length, every so many seconds of it."""
        estimator = self._estimator
        if not isinstance(estimator, FollowingEstimator):
            raise InputError(f"the estimator {estimator.name} cannot follow dancers through a long video")
        report = self._replies.send_progress
        return estimator.recent_tracks(
            source, start=0.0, every_seconds=every_seconds, keep_seconds=KEEP_SECONDS, on_frame=report
        )

    def send_part(self, parts: PartWriter[P], found: P, seconds: float | None) -> None:
        """Let the parent have what has been read so far: so many seconds."""
        parts.write(found)
        self._replies.send({"part": seconds})

    def _with_words(self, found: Analysis) -> Analysis:
        # Imported here: most workers make no words, and the kernels behind them load slowly.
        from dancematch.pipeline.tokenise import words_in
        from dancematch.pose.selection import select_motions

        words = words_in(self._tokeniser, found.motions, found.path)
        dancers = tuple(found.motions[dancer - 1] for dancer in words)
        ignored = found.ignored + select_motions(found.motions)[1]
        return replace(found, motions=dancers, words=tuple(words.values()), ignored=ignored)

    @cached_property
    def _estimator(self) -> "PoseEstimator":
        return self._make_estimator(self._limits)

    @cached_property
    def _tokeniser(self) -> "Tokeniser":
        from dancematch.model.names import describe_model
        from dancematch.model.tokeniser import load_model

        tokeniser, expected = load_model(self._setup["model"]), self._setup["model_id"]
        if tokeniser.model_id != expected:
            raise ModelMismatchError(
                f"this node's model is {describe_model(tokeniser.model_id)}, expected "
                f"{describe_model(expected)}; install the same dancematch and model on all nodes"
            )
        return tokeniser


def _make_estimator(setup: Request) -> "Callable[[WorkLimits | None], PoseEstimator]":
    """BlazePose within the limits, or the estimator of the process that started this one."""
    if setup.get("estimator") is None:
        return _make_blazepose
    sys.path[:] = setup["path"]
    make = pickle.loads(base64.b64decode(setup["estimator"]))  # noqa: S301  (from our parent, as multiprocessing does)
    return lambda _limits: make()


def _make_blazepose(limits: WorkLimits | None) -> "PoseEstimator":
    from dancematch.pose.blazepose import BlazePose
    from dancematch.pose.video import VideoLimits

    if limits is None:
        return BlazePose()
    return BlazePose(limits=VideoLimits(limits.video_pixels, limits.video_seconds, limits.seconds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
