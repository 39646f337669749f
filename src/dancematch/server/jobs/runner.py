"""The threads that run jobs: as many at a time as there are workers, the rest waits in the table.

Long videos have a thread of their own, so that clips do not wait for hours, and cameras have theirs.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from dancematch.errors import DanceMatchError
from dancematch.pipeline.analysis.worker_process import WorkerStoppedError
from dancematch.server.jobs.table import Job, JobKind, JobTable
from dancematch.server.jobs.work import JobWork
from dancematch.server.limits import CANCEL_SECONDS, MAX_ATTEMPTS, MAX_CAMERAS, RETRY_QUEUE
from dancematch.server.options import Options
from dancematch.server.problems import Redaction, RefusedError, busy

log = logging.getLogger(__name__)

Lane = tuple[JobKind, ...]
_CLIPS: Lane = ("add", "search")
_LONG_VIDEOS: Lane = ("scan",)
_CAMERAS: Lane = ("camera",)
LANES = (_CLIPS, _LONG_VIDEOS, _CAMERAS)
"""Kinds of jobs that wait for the same threads."""
_TELLING_SHARE = 0.01  # of a job, from which on what it took says how long the rest takes
_INTERNAL = {"error": "internal", "message": "the service failed over this file; it was not used"}


class JobRunner:
    """Takes jobs from the table and has them done by the `work` of their kind."""

    def __init__(
        self,
        table: JobTable,
        uploads: Path,
        options: Options,
        redaction: Redaction,
        work: Mapping[JobKind, JobWork],
    ) -> None:
        self._table, self._uploads, self._options = table, uploads, options
        self._redaction, self._works = redaction, work
        self._changed = threading.Condition()
        self._reserved: Counter[str | None] = Counter()  # places for uploads that are coming in, by address
        self._stopping = False
        self._running: dict[str, threading.Event] = {}
        self._cancelled: set[str] = set()
        self._progress: dict[str, float] = {}
        self._began: dict[str, float] = {}
        counts = {_CLIPS: options.workers, _LONG_VIDEOS: 1, _CAMERAS: MAX_CAMERAS}
        self._threads = [
            threading.Thread(target=self._work, args=(lane,), name=f"dancematch-job-{lane[-1]}-{number}")
            for lane in LANES
            if self._works.keys() & set(lane)
            for number in range(counts[lane])
        ]

    def start(self) -> None:
        """Resume the jobs of the last server."""
        for job in self._table.recover():
            reason = f"the service died {MAX_ATTEMPTS} times over this file and gave it up"
            self._table.finish(job.job_id, "failed", error={"error": "too_costly", "message": reason})
        needed = self._table.needed_uploads()
        for path in self._uploads.iterdir():
            if path.name not in needed:
                path.unlink()
        for thread in self._threads:
            thread.start()

    def reserve(self, address: str | None) -> None:
        """Keep a place in the queue free, or refuse; one address may keep half of them while it sends."""
        with self._changed:
            if self._stopping:
                raise RefusedError(503, "not_ready", "the service is stopping", RETRY_QUEUE)
            if self._table.count_by_state().get("waiting", 0) + self._reserved.total() >= self._options.queue:
                raise busy(f"{self._options.queue} files are waiting already", RETRY_QUEUE)
            most = max(1, self._options.queue // 2)
            if self._reserved[address] >= most:
                raise busy(f"{most} large files of this address are coming in already", RETRY_QUEUE)
            self._reserved[address] += 1

    def release(self, address: str | None) -> None:
        """Give up a reserved place."""
        with self._changed:
            self._reserved[address] -= 1
            self._reserved += Counter()  # drops addresses that have none

    def submit(self, job: Job) -> None:
        """Queue a job whose place is reserved."""
        with self._changed:
            self._table.add(job)
            self._changed.notify_all()  # `cancel` waits on the same condition

    def progress(self, job: Job) -> float:
        """The share of a job that is done."""
        return 1.0 if job.state == "done" else self._progress.get(job.job_id, 0.0)

    def seconds_left(self, job: Job) -> float | None:
        """How long a job will still take, by what it took so far; None while that says nothing."""
        began, share = self._began.get(job.job_id), self.progress(job)
        if began is None or not _TELLING_SHARE <= share < 1:
            return None
        return round((time.monotonic() - began) * (1 - share) / share)

    def count_ahead(self, job: Job) -> int:
        """How many jobs that wait for the same threads come before a waiting one."""
        lane = next(lane for lane in LANES if job.kind in lane)
        return self._table.count_ahead(job.job_id, lane) if job.state == "waiting" else 0

    @property
    def stopping(self) -> bool:
        """Whether the service is about to end."""
        return self._stopping

    def cancel(self, job: Job) -> bool:
        """Cancel a job; False if it is too late: the recording is added, or is being added."""
        with self._changed:
            running = self._running.get(job.job_id)
            if running is not None:
                self._cancelled.add(job.job_id)
                running.set()
                self._changed.wait_for(lambda: job.job_id not in self._running, CANCEL_SECONDS)
            current = self._table.find(job.job_id)
            if current is not None and not current.is_finished and job.job_id not in self._running:
                self._table.finish(job.job_id, "cancelled")
                self._delete_upload(current)
                return True
            return current is None or current.state in ("cancelled", "failed") or job.kind != "add"

    def request_stop(self) -> None:
        """Start no more jobs. Only a flag, because a signal handler sets it."""
        self._stopping = True

    def stop(self) -> None:
        """Start no more jobs and requeue those that run."""
        self.request_stop()
        with self._changed:
            for stop in self._running.values():
                stop.set()
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        for work in {id(one): one for one in self._works.values()}.values():
            work.close()

    def _work(self, lane: Lane) -> None:
        while (job := self._next(lane)) is not None:
            try:
                self._run(job)
            except Exception:  # the thread must live on for the next job
                log.exception("job %s failed", job.job_id)
                self._table.finish(job.job_id, "failed", error=_INTERNAL)
                self._delete_upload(job)
            finally:
                self._works[job.kind].drop(job.job_id)
                with self._changed:
                    self._running.pop(job.job_id, None)
                    self._cancelled.discard(job.job_id)
                    self._progress.pop(job.job_id, None)
                    self._began.pop(job.job_id, None)
                    self._changed.notify_all()

    def _next(self, lane: Lane) -> Job | None:
        with self._changed:
            while not self._stopping:
                job = self._table.start_next(lane)
                if job is not None:
                    self._began[job.job_id] = time.monotonic()
                    self._running[job.job_id] = threading.Event()
                    return job
                self._changed.wait()
            return None

    def _run(self, job: Job) -> None:
        stop = self._running[job.job_id]

        def report_progress(share: float) -> None:
            self._progress[job.job_id] = share

        try:
            result = self._works[job.kind].run(job, stop, report_progress)
            if job.kind != "add" and job.job_id in self._cancelled:
                raise WorkerStoppedError
        except WorkerStoppedError:
            if job.job_id not in self._cancelled:
                self._table.requeue(job.job_id)
                return
            self._table.finish(job.job_id, "cancelled")
        except (DanceMatchError, RefusedError) as error:
            self._table.finish(job.job_id, "failed", error=self._redaction.answer_for(error).body())
        else:
            self._table.finish(job.job_id, "done", result=result)
        self._delete_upload(job)

    def _delete_upload(self, job: Job) -> None:
        (self._uploads / job.upload).unlink(missing_ok=True)


class QueueReservation:
    """A place in the queue for one upload: taken at most once, released at the end of the `with` block."""

    def __init__(self, runner: JobRunner, address: str | None) -> None:
        self._runner, self._address, self._taken = runner, address, False

    def take(self) -> None:
        """Reserve the place, or refuse."""
        if not self._taken:
            self._runner.reserve(self._address)
            self._taken = True

    def __enter__(self) -> "QueueReservation":
        return self

    def __exit__(self, *_: object) -> None:
        if self._taken:
            self._runner.release(self._address)
