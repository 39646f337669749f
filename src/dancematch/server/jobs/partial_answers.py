"""Answers on what has been read of the clips that running jobs are about; in memory, gone with the job."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from dancematch.errors import DanceMatchError
from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.server.jobs.table import Job
from dancematch.server.schemas.searches import SearchResponse

log = logging.getLogger(__name__)

AnswerPart = Callable[[Job, Analysis], SearchResponse]


class PartialAnswers:
    """The latest answer of each job; parts are searched for in threads of their own, beside the reading."""

    def __init__(self, answer_part: AnswerPart, threads: int) -> None:
        self._answer_part = answer_part
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="dancematch-part")
        self._lock = threading.Lock()
        self._latest: dict[str, SearchResponse] = {}
        self._searches: dict[str, Future[None]] = {}  # the last of each job that runs

    def search(self, job: Job, part: Analysis) -> None:
        """Search for a part of a job's clip, unless the part before it is still being searched for."""
        with self._lock:
            last = self._searches.get(job.job_id)
            if last is None or last.done():
                self._searches[job.job_id] = self._pool.submit(self._search, job, part)

    def latest(self, job_id: str) -> SearchResponse | None:
        """The answer on what has been read so far; None if there is none yet, or not any more."""
        return self._latest.get(job_id)

    def drop(self, job_id: str) -> None:
        """Drop what is known of a job that is over, and the answer that may still come."""
        with self._lock:
            self._latest.pop(job_id, None)
            self._searches.pop(job_id, None)

    def close(self) -> None:
        """End the threads; no job may be running."""
        self._pool.shutdown(cancel_futures=True)

    def _search(self, job: Job, part: Analysis) -> None:
        try:
            answer = self._answer_part(job, part)
        except DanceMatchError:
            return  # too little has been read, or the whole clip will be refused for the same reason
        except Exception:  # the job goes on to its own answer
            log.exception("a part of job %s could not be searched for", job.job_id)
            return
        with self._lock:
            if job.job_id in self._searches:
                self._latest[job.job_id] = answer
