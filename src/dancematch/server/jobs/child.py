"""Uploads analysed by worker processes: one of its own for each job, some kept running for small files."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from dancematch.pipeline.analysis.file_analysis import Analysis, Progress
from dancematch.pipeline.analysis.limits import WorkLimits
from dancematch.pipeline.analysis.partial_analyses import OnPart
from dancematch.pipeline.analysis.worker_process import (
    Worker,
    WorkerDiedError,
    WorkerSetup,
    WorkerTooSlowError,
)
from dancematch.pose.stills import Still
from dancematch.server.jobs.worker import read_stills
from dancematch.server.limits import MAX_KEPT_WORKER_BYTES
from dancematch.server.problems import too_costly
from dancematch.temporary_folder import temporary_folder
from dancematch.types import FloatArray

log = logging.getLogger(__name__)


def analyse_upload(
    source: Path,
    setup: WorkerSetup,
    *,
    on_progress: Progress,
    stop: threading.Event,
    on_part: OnPart | None = None,
) -> Analysis:
    """The dancers in a file; the worker is ended when `stop` is set (`WorkerStoppedError`).

    With `on_part`, which receives it, what has been read of a video is told while the rest is read.
    """
    assert setup.limits is not None  # noqa: S101  (a service always has some)
    task = _upload_task(setup.limits, parts=on_part is not None)
    with ends_as_sentences(setup.limits), Worker(setup) as worker:
        return worker.analyse(
            source, task=task, on_progress=on_progress, on_part=on_part, stop=stop, attempts=1
        )


def cut_stills(
    source: Path,
    moments: Sequence[float],
    marks: Sequence[FloatArray | None],
    *,
    command: Sequence[str],
    limits: WorkLimits,
) -> list[Still]:
    """Stills of a video, as `report.footage.cut_stills` gives them."""
    with (
        ends_as_sentences(limits),
        Worker(WorkerSetup(limits, command=tuple(command))) as worker,
        temporary_folder() as folder,
    ):
        target = folder / "stills.npz"
        joints = [None if mark is None else mark.tolist() for mark in marks]
        request = {"task": "stills", "source": str(source), "target": str(target)}
        list(worker.request(request | {"moments": list(moments), "marks": joints}))
        return read_stills(target)


class QuickReaders:
    """Workers that are kept running, so that a small motion file is read while its sender waits.

    One that died, had to be ended or has taken much memory is replaced before the next file needs it.
    """

    def __init__(self, command: Sequence[str], limits: WorkLimits, count: int) -> None:
        self._limits, self._idle = limits, SimpleQueue[Worker]()
        self._workers = [Worker(WorkerSetup(limits, command=tuple(command))) for _ in range(count)]
        for worker in self._workers:
            self._idle.put(worker)

    def start(self) -> None:
        """Start the processes before the first file comes."""
        for worker in self._workers:
            worker.start()

    def read(self, source: Path, stop: threading.Event) -> Analysis:
        """The motions or words of a file; neither if it takes long to read and needs a job.

        Waits for a worker. The worker is ended when `stop` is set (`WorkerStoppedError`).
        """
        task = _upload_task(self._limits, quick=True)
        worker = self._idle.get()
        try:
            with ends_as_sentences(self._limits):
                return worker.analyse(source, task=task, stop=stop, attempts=1)
        finally:
            if worker.peak_bytes > MAX_KEPT_WORKER_BYTES:
                worker.close()
            worker.start()
            self._idle.put(worker)

    def close(self) -> None:
        """End the processes; no file may be waiting."""
        for worker in self._workers:
            worker.close()


def _upload_task(limits: WorkLimits, *, quick: bool = False, parts: bool = False) -> dict[str, object]:
    return {"task": "upload", "quick": quick, "parts": parts, "max_seconds": limits.video_seconds}


@contextmanager
def ends_as_sentences(limits: WorkLimits) -> Iterator[None]:
    """The end of a worker becomes a sentence about its file."""
    try:
        yield
    except WorkerTooSlowError:
        raise too_costly(
            f"the file took more than the {limits.seconds:.0f} s that are allowed; cut it"
        ) from None
    except WorkerDiedError:
        log.info("a worker died")
        raise too_costly(
            f"the file could not be analysed: it is damaged, or takes more than the "
            f"{limits.memory_bytes >> 20} MB that are allowed"
        ) from None
