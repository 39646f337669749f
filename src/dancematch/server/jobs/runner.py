"""The hands that work through the jobs: as many at a time as there are workers, the rest waits."""

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dancematch.errors import DanceMatchError
from dancematch.pipeline.analysis import Analysis
from dancematch.pipeline.worker_process import WorkerStoppedError
from dancematch.server.jobs.child import analyse_upload
from dancematch.server.jobs.table import MOST_ATTEMPTS, Job, JobTable
from dancematch.server.options import Options
from dancematch.server.problems import Discretion, RefusedError, busy

log = logging.getLogger(__name__)

Finish = Callable[[Job, Analysis], Mapping[str, Any]]

_LOOKING = 0.95  # of the progress; the rest is for words and search
_RETRY_SECONDS = 10
_CANCEL_SECONDS = 30.0  # that whoever cancels a job waits for it to end
_DAMAGED = {"error": "internal", "message": "the service failed over this file; it was not used"}


class Runner:
    """Takes jobs from the table, has their files looked at, and gives what was seen to `finish`."""

    def __init__(
        self, table: JobTable, uploads: Path, options: Options, discretion: Discretion, finish: Finish
    ) -> None:
        self._table, self._uploads, self._options = table, uploads, options
        self._discretion, self._finish = discretion, finish
        self._wake = threading.Condition()
        self._reserved = 0  # places for uploads that are still coming in
        self._stopping = False
        self._running: dict[str, threading.Event] = {}
        self._cancelled: set[str] = set()
        self._progress: dict[str, float] = {}
        self._hands = [
            threading.Thread(target=self._work, name=f"dancematch-job-{n}") for n in range(options.workers)
        ]

    def start(self) -> None:
        """Go on where the last server stopped."""
        for job in self._table.recover():
            reason = f"the service died {MOST_ATTEMPTS} times over this file and gave it up"
            self._table.end(job.job_id, "failed", error={"error": "too_costly", "message": reason})
        needed = self._table.uploads()
        for path in self._uploads.iterdir():
            if path.name not in needed:
                path.unlink()
        for hand in self._hands:
            hand.start()

    def place(self) -> "Place":
        """A place in the queue, to be taken when it is needed."""
        return Place(self)

    def reserve(self) -> None:
        """Keep a place in the queue free, or refuse."""
        with self._wake:
            if self._stopping:
                raise RefusedError(503, "not_ready", "the service is stopping", _RETRY_SECONDS)
            if self._table.counts().get("waiting", 0) + self._reserved >= self._options.queue:
                raise busy(f"{self._options.queue} files are waiting already", _RETRY_SECONDS)
            self._reserved += 1

    def release(self) -> None:
        """Give up a place that was kept free."""
        with self._wake:
            self._reserved -= 1

    def submit(self, job: Job) -> None:
        """Queue a job; its place has been reserved."""
        with self._wake:
            self._table.add(job)
            self._wake.notify_all()  # others wait here too

    def progress(self, job: Job) -> float:
        """The share of a job that is done."""
        return 1.0 if job.state == "done" else self._progress.get(job.job_id, 0.0)

    @property
    def stopping(self) -> bool:
        """Whether the service is about to end."""
        return self._stopping

    def cancel(self, job: Job) -> bool:
        """Let nothing more come of a job; False if it is too late: a dance is learnt, or is being learnt."""
        with self._wake:
            running = self._running.get(job.job_id)
            if running is not None:
                self._cancelled.add(job.job_id)
                running.set()
                self._wake.wait_for(lambda: job.job_id not in self._running, _CANCEL_SECONDS)
            current = self._table.find(job.job_id)
            if current is not None and not current.is_over and job.job_id not in self._running:
                self._table.end(job.job_id, "cancelled")
                self._discard(current)
                return True
            return current is None or current.state in ("cancelled", "failed") or job.kind == "search"

    def begin_to_stop(self) -> None:
        """Take no more jobs. Only a flag: it is set in the middle of anything, by a signal."""
        self._stopping = True

    def stop(self) -> None:
        """Take no more jobs and put back those that run."""
        self.begin_to_stop()
        with self._wake:
            for stop in self._running.values():
                stop.set()
            self._wake.notify_all()
        for hand in self._hands:
            if hand.ident is not None:
                hand.join()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._run(job)
            except Exception:  # a hand must not be lost; what failed is told of
                log.exception("job %s failed", job.job_id)
                self._table.end(job.job_id, "failed", error=_DAMAGED)
                self._discard(job)
            finally:
                with self._wake:
                    self._running.pop(job.job_id, None)
                    self._cancelled.discard(job.job_id)
                    self._progress.pop(job.job_id, None)
                    self._wake.notify_all()

    def _next(self) -> Job | None:
        with self._wake:
            while not self._stopping:
                job = self._table.take()
                if job is not None:
                    self._running[job.job_id] = threading.Event()
                    return job
                self._wake.wait()
            return None

    def _run(self, job: Job) -> None:
        stop = self._running[job.job_id]
        try:
            analysis = analyse_upload(
                self._uploads / job.upload, self._options.worker, self._options.work,
                on_progress=lambda share: self._note(job, share), stop=stop,
            )  # fmt: skip
            if stop.is_set():
                raise WorkerStoppedError
            result = self._finish(job, analysis)
            if job.kind == "search" and job.job_id in self._cancelled:  # nobody wants to know any more
                raise WorkerStoppedError
        except WorkerStoppedError:
            if job.job_id not in self._cancelled:
                self._table.put_back(job.job_id)
                return
            self._table.end(job.job_id, "cancelled")
        except (DanceMatchError, RefusedError) as error:
            self._table.end(job.job_id, "failed", error=self._discretion.problem_of(error).body())
        else:
            self._table.end(job.job_id, "done", result=result)
        self._discard(job)

    def _note(self, job: Job, share: float) -> None:
        self._progress[job.job_id] = _LOOKING * share

    def _discard(self, job: Job) -> None:
        (self._uploads / job.upload).unlink(missing_ok=True)


class Place:
    """A place in the queue for one upload: taken at most once, given back at the end."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._taken = runner, False

    def take(self) -> None:
        """Make sure of the place, or refuse."""
        if not self._taken:
            self._runner.reserve()
            self._taken = True

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, *_: object) -> None:
        if self._taken:
            self._runner.release()
