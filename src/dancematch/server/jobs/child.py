"""An upload analysed by a worker process of its own."""

import logging
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dancematch.pipeline.analysis.file_analysis import Analysis, Progress
from dancematch.pipeline.analysis.limits import WorkLimits
from dancematch.pipeline.analysis.worker_process import (
    Worker,
    WorkerDiedError,
    WorkerSetup,
    WorkerTooSlowError,
)
from dancematch.pose.stills import Still
from dancematch.server.jobs.worker import read_stills
from dancematch.server.problems import too_costly
from dancematch.types import FloatArray

log = logging.getLogger(__name__)


def analyse_upload(
    source: Path, command: Sequence[str], limits: WorkLimits, *, on_progress: Progress, stop: threading.Event
) -> Analysis:
    """The dancers in a file; the worker is ended when `stop` is set (`WorkerStoppedError`)."""
    with _worker(command, limits) as worker:
        return worker.analyse(source, on_progress=on_progress, stop=stop, attempts=1)


def cut_stills(
    source: Path,
    moments: Sequence[float],
    marks: Sequence[FloatArray | None],
    *,
    command: Sequence[str],
    limits: WorkLimits,
) -> list[Still]:
    """Stills of a video, as `report.footage.cut_stills` gives them."""
    with _worker(command, limits) as worker, tempfile.TemporaryDirectory(prefix="dancematch-") as folder:
        target = Path(folder) / "stills.npz"
        joints = [None if mark is None else mark.tolist() for mark in marks]
        request = {"task": "stills", "source": str(source), "target": str(target)}
        worker.request(request | {"moments": list(moments), "marks": joints})
        return read_stills(target)


@contextmanager
def _worker(command: Sequence[str], limits: WorkLimits) -> Iterator[Worker]:
    """A worker for one file, which cannot spoil those of others; its end becomes a sentence."""
    try:
        with Worker(WorkerSetup(limits, command=tuple(command))) as worker:
            yield worker
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
