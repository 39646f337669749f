"""The parent's end of a worker (`worker.py`): it starts, asks, watches, ends and replaces the process."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dancematch.pipeline.analysis.file_analysis import Analysis, Progress, error_named, read_analysis
from dancematch.pipeline.analysis.limits import WorkLimits
from dancematch.pipeline.analysis.partial_analyses import OnPart, PartReader
from dancematch.pipeline.analysis.recent_tracks import read_recent_tracks
from dancematch.pose.estimators import TracksSoFar
from dancematch.pose.processor_threads import VARIABLE
from dancematch.temporary_folder import temporary_folder

COMMAND = (sys.executable, "-m", "dancematch.pipeline.analysis.worker")
ATTEMPTS = 2  # the first worker may have died of an earlier file, or while the machine was short of memory

_LONGEST_LINE = 1 << 16
_POLL_SECONDS = 0.1


class WorkerDiedError(Exception):
    """The worker ended before it replied: the file is damaged, or takes more memory than is allowed."""


class WorkerTooSlowError(Exception):
    """The worker was ended because the file took more time than is allowed."""


class WorkerStoppedError(Exception):
    """The worker was ended because its result is not wanted any more."""


@dataclass(frozen=True)
class WorkerSetup:
    """How files are analysed, the same for all of one worker."""

    limits: WorkLimits | None = None
    model: str | None = None
    model_id: str | None = None  # if given, words of this model come with the motions
    estimator: str | None = None  # a pickled callable in base64; BlazePose if None
    command: tuple[str, ...] = COMMAND
    posters: bool = False  # whether a poster of each video comes along
    threads: int = 1  # of the worker, of whom several may run at a time

    def arguments(self) -> list[str]:
        """The command line of a worker process."""
        setup = {
            "limits": None if self.limits is None else asdict(self.limits),
            "model": self.model,
            "model_id": self.model_id,
            "estimator": self.estimator,
            "posters": self.posters,
            "path": sys.path,
        }
        return [*self.command, json.dumps(setup)]


class Worker:
    """A child process for one file at a time; started by the first, and again after a death."""

    def __init__(self, setup: WorkerSetup) -> None:
        self.setup = setup
        self.peak_bytes = 0  # the most memory that the process had up to its last reply
        self._process: subprocess.Popen[bytes] | None = None

    def analyse(
        self,
        path: Path,
        *,
        task: Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
        on_part: OnPart | None = None,
        stop: threading.Event | None = None,
        attempts: int = ATTEMPTS,
    ) -> Analysis:
        """What a file shows; raises one of the errors above if the worker does not survive it.

        `task` names a further task of the worker that analyses it; `on_part` receives what such a task tells
        while it still reads. An expected error about the file is raised as it was in the worker.
        """

        def attempt() -> Analysis:
            with temporary_folder() as folder:
                request = {"source": str(path), "target": str(folder), **(task or {})}
                parts = PartReader(folder, partial(read_analysis, path=path))
                for _ in self.request(request, on_progress=on_progress, stop=stop):
                    part = parts.read()
                    if on_part is not None:
                        on_part(part)
                return read_analysis(folder, path)

        for _ in range(attempts - 1):
            with suppress(WorkerDiedError):
                return attempt()
        return attempt()

    def follow(
        self,
        path: Path,
        *,
        task: Mapping[str, Any],
        on_progress: Progress | None = None,
        stop: threading.Event | None = None,
    ) -> Generator[TracksSoFar, None, None]:
        """Yield the recent tracks of a video of any length as the worker tells them.

        Raises the errors of `analyse`. Closing the iterator ends the worker.
        """
        with temporary_folder() as folder:
            request = {"source": str(path), "target": str(folder), **task}
            parts = PartReader(folder, read_recent_tracks)
            with closing(self.request(request, on_progress=on_progress, stop=stop)) as announced:
                for _ in announced:
                    yield parts.read()

    def request(
        self,
        request: Mapping[str, Any],
        *,
        on_progress: Progress | None = None,
        stop: threading.Event | None = None,
    ) -> Generator[None, None, None]:
        """Send one request; yields whenever a part of it is there, and ends when it is done."""
        if stop is not None and stop.is_set():
            raise WorkerStoppedError
        process = self.start()
        watch = _Watch(process, self.setup.limits, stop)
        try:
            reply = yield from _exchange(process, request, on_progress)
        except BaseException:
            self.close()
            raise
        finally:
            watch.end()
        if stop is not None and stop.is_set():
            self.close()
            raise WorkerStoppedError
        self.peak_bytes = int(reply.get("peak_bytes", 0))
        if reply.get("error"):
            raise error_named(str(reply["error"]), str(reply.get("message")))
        if not reply.get("done"):
            self.close()
            raise WorkerTooSlowError if watch.too_slow else WorkerDiedError

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the process, unless it runs: a file then need not wait for it."""
        if self._process is not None and self._process.poll() is not None:
            self.close()  # it died of nothing that was asked of it
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  (our own interpreter)
                self.setup.arguments(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {VARIABLE: str(self.setup.threads), "OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,  # Ctrl-C is for the parent, which ends its workers itself
            )
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _exchange(
    process: "subprocess.Popen[bytes]", request: Mapping[str, Any], on_progress: Progress | None
) -> Generator[None, None, dict[str, Any]]:
    """Yield for each part of the answer to a request; the last reply, empty if the process ended first."""
    assert process.stdin is not None  # noqa: S101  (it was asked for)
    assert process.stdout is not None  # noqa: S101
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    while line := process.stdout.readline(_LONGEST_LINE):
        reply: dict[str, Any] = json.loads(line)
        if "progress" in reply:
            if on_progress is not None:
                on_progress(float(reply["progress"]))
        elif "part" not in reply:
            return reply
        else:
            yield
    return {}


class _Watch(threading.Thread):
    """Kills a process that takes too long or whose result is not wanted any more."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", limits: WorkLimits | None, stop: threading.Event | None
    ) -> None:
        super().__init__(daemon=True, name="dancematch-watch")
        self.too_slow = False
        self._process, self._unwanted, self._done = process, stop, threading.Event()
        self._deadline = None if limits is None else time.monotonic() + limits.seconds
        self.start()

    def run(self) -> None:
        while not self._done.wait(_POLL_SECONDS):
            self.too_slow = self._deadline is not None and time.monotonic() > self._deadline
            if self.too_slow or (self._unwanted is not None and self._unwanted.is_set()):
                self._process.kill()
                return

    def end(self) -> None:
        """Stop watching."""
        self._done.set()
        self.join()
