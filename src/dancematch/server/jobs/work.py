"""What a job does: how the runner calls it, and the one that has a file analysed."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from dancematch.pipeline.analysis.file_analysis import Analysis, Progress
from dancematch.pipeline.analysis.partial_analyses import OnPart
from dancematch.pipeline.analysis.worker_process import WorkerSetup, WorkerStoppedError
from dancematch.pose.processor_threads import share_of_threads
from dancematch.server.jobs.child import analyse_upload
from dancematch.server.jobs.partial_answers import PartialAnswers
from dancematch.server.jobs.table import Job
from dancematch.server.options import Options

Complete = Callable[[Job, Analysis], Mapping[str, Any]]

_ANALYSIS_SHARE = 0.95  # of the progress; the rest is for words and search


class JobWork(Protocol):
    """The work of one kind of jobs, or several; a job at a time in each of several threads."""

    def run(self, job: Job, stop: threading.Event, on_progress: Progress) -> Mapping[str, Any]:
        """The result of a job; `WorkerStoppedError` if `stop` was set before there was one."""

    def drop(self, job_id: str) -> None:
        """Drop what was known of a job while it ran."""

    def close(self) -> None:
        """Release everything; no job may be running."""


class FileWork:
    """Has the file of a job analysed, and passes the analysis to `complete`.

    What has been read of a clip to search for is searched for meanwhile (`partial_answers`).
    """

    def __init__(
        self,
        uploads: Path,
        options: Options,
        complete: Complete,
        partial_answers: PartialAnswers | None = None,
    ) -> None:
        self._uploads, self._options = uploads, options
        self._complete, self._partial_answers = complete, partial_answers

    def run(self, job: Job, stop: threading.Event, on_progress: Progress) -> Mapping[str, Any]:
        """The result of a search, or of adding a recording."""
        analysis = analyse_upload(
            self._uploads / job.upload,
            self._worker_setup(job),
            on_progress=lambda share: on_progress(_ANALYSIS_SHARE * share),
            stop=stop,
            on_part=self._on_part(job),
        )
        if stop.is_set():
            raise WorkerStoppedError
        return self._complete(job, analysis)

    def _on_part(self, job: Job) -> OnPart | None:
        """What to do with the parts of a job's clip; None where they are not wanted."""
        if self._partial_answers is None or job.kind != "search":
            return None
        return partial(self._partial_answers.search, job)

    def _worker_setup(self, job: Job) -> WorkerSetup:
        return WorkerSetup(
            self._options.work,
            command=tuple(self._options.worker),
            posters=job.kind == "add" and bool(job.parameters.get("poster")),
            threads=share_of_threads(self._options.workers),
        )

    def drop(self, job_id: str) -> None:
        """Drop the answers on what was read."""
        if self._partial_answers is not None:
            self._partial_answers.drop(job_id)

    def close(self) -> None:
        """End the threads that search for parts."""
        if self._partial_answers is not None:
            self._partial_answers.close()
