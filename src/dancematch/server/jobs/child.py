"""A file looked at in a process of its own, watched from here."""

import json
import logging
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dancematch.errors import DanceMatchError
from dancematch.formats import npz
from dancematch.pipeline.extract import Progress, read_ignored
from dancematch.pose.stills import Still
from dancematch.server.jobs.worker import ignored_path, picture_path
from dancematch.server.options import WorkLimits
from dancematch.server.problems import RefusedError, error_named, too_costly
from dancematch.types import FloatArray, IgnoredTrack, Motion

log = logging.getLogger(__name__)

_LONGEST_LINE = 1 << 16
_POLL_SECONDS = 0.1


class StoppedError(Exception):
    """Somebody wanted it to end."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Where one dancer was seen in the picture."""

    times: FloatArray  # [n] seconds
    image: FloatArray  # [n, joints, 2] of width and height, y down
    visibility: FloatArray  # [n, joints]


@dataclass(frozen=True, eq=False)
class Seen:
    """What a file shows: one motion per dancer and, of a video, one picture each and what was ignored."""

    motions: tuple[Motion, ...]
    pictures: tuple[Picture, ...] = ()
    ignored: tuple[IgnoredTrack, ...] = ()


def look_at(
    source: Path,
    command: Sequence[str],
    limits: WorkLimits,
    *,
    on_progress: Progress,
    stop: threading.Event,
) -> Seen:
    """The dancers in a file, as `command` (worker.py) sees them; it is ended when `stop` is set."""
    target = source.with_name(f"{source.stem}.seen.npz")
    asked = {"source": str(source), "target": str(target), "limits": asdict(limits)}
    try:
        _watched([*command, json.dumps(asked)], limits, on_progress, stop)
        pictures, ignored = _pictures(picture_path(target)), read_ignored(ignored_path(target))
        return Seen(tuple(npz.read(target)), pictures, ignored)
    finally:
        for path in (target, picture_path(target), ignored_path(target)):
            path.unlink(missing_ok=True)


def cut_out(
    source: Path,
    moments: Sequence[float],
    marks: Sequence[FloatArray | None],
    *,
    command: Sequence[str],
    limits: WorkLimits,
) -> list[Still]:
    """Pictures of a video, as `report.footage.cut_stills` gives them, cut in a process of its own."""
    target = source.with_name(f"{source.stem}.stills.npz")
    told = [None if mark is None else mark.tolist() for mark in marks]
    asked = {"source": str(source), "target": str(target), "limits": asdict(limits)}
    try:
        line = json.dumps(asked | {"moments": list(moments), "marks": told})
        _watched([*command, line], limits, lambda _share: None, threading.Event())
        return _stills(target)
    finally:
        target.unlink(missing_ok=True)


def _stills(path: Path) -> list[Still]:
    made = []
    with np.load(path, allow_pickle=False) as arrays:
        for number in range(len(arrays.files) // 2):
            seconds, width, height, *box = arrays[f"place_{number}"].tolist()
            left, top, right, bottom = box
            jpeg = arrays[f"jpeg_{number}"].tobytes()
            made.append(Still(seconds, jpeg, int(width), int(height), (left, top, right, bottom)))
    return made


def _watched(
    command: Sequence[str], limits: WorkLimits, on_progress: Progress, stop: threading.Event
) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(  # noqa: S603  (our own interpreter; the upload's name is ours too)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the server, which ends its children itself
    )
    watch = _Watch(process, limits.seconds, stop)
    try:
        last = _listened(process, on_progress)
    finally:
        process.kill()
        process.wait()
        watch.join()
    if stop.is_set():
        raise StoppedError
    if watch.too_late:
        raise too_costly(f"the file took more than the {limits.seconds:.0f} s that are allowed; cut it")
    if not last.get("done"):
        raise _failure(last, process.returncode, limits)


def _listened(process: "subprocess.Popen[bytes]", on_progress: Progress) -> dict[str, Any]:
    """What the process said last, its progress told on."""
    last: dict[str, Any] = {}
    assert process.stdout is not None  # noqa: S101  (it was asked for)
    with process.stdout:
        while line := process.stdout.readline(_LONGEST_LINE):
            try:
                said = json.loads(line)
            except ValueError:
                continue  # a library's own remark
            if isinstance(said, dict):
                last = said
                if "progress" in said:
                    on_progress(float(said["progress"]))
    return last


class _Watch(threading.Thread):
    """Ends a process that takes too long or is not wanted any more."""

    def __init__(self, process: "subprocess.Popen[bytes]", seconds: float, stop: threading.Event) -> None:
        super().__init__(daemon=True, name="dancematch-watch")
        self.too_late = False
        self._process, self._stop_wanted = process, stop
        self._deadline = time.monotonic() + seconds
        self.start()

    def run(self) -> None:
        """Look now and then."""
        while self._process.poll() is None:
            self.too_late = time.monotonic() > self._deadline
            if self.too_late or self._stop_wanted.wait(_POLL_SECONDS):
                self._process.kill()
                return


def _failure(last: dict[str, Any], code: int, limits: WorkLimits) -> DanceMatchError | RefusedError:
    if last.get("error") and last["error"] != "MemoryError":
        return error_named(str(last["error"]), str(last.get("message")))
    log.info("a worker ended with %s after saying %s", code, last)
    return too_costly(
        f"the file could not be looked at: it is damaged, or takes more than the "
        f"{limits.memory_bytes >> 20} MB that are allowed"
    )


def _pictures(path: Path) -> tuple[Picture, ...]:
    if not path.is_file():
        return ()
    with np.load(path, allow_pickle=False) as arrays:
        count = sum(name.startswith("times_") for name in arrays.files)
        return tuple(
            Picture(arrays[f"times_{n}"], arrays[f"image_{n}"], arrays[f"visibility_{n}"])
            for n in range(count)
        )
