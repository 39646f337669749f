"""One catalogue being served: the parts of the service, their opening and closing."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic_core import to_jsonable_python

from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.catalogue import Catalogue
from dancematch.server import limits
from dancematch.server.dances import DanceService
from dancematch.server.files.folder import ServiceFolder
from dancematch.server.files.videos import VideoFolder
from dancematch.server.jobs.child import QuickReaders
from dancematch.server.jobs.partial_answers import PartialAnswers
from dancematch.server.jobs.runner import JobRunner
from dancematch.server.jobs.table import Job, JobKind, JobState, JobTable
from dancematch.server.jobs.work import FileWork, JobWork
from dancematch.server.metrics import Metrics, ServiceState
from dancematch.server.options import Options, WorkLimits
from dancematch.server.overview.dance_map import DanceMap
from dancematch.server.overview.samples import Samples
from dancematch.server.overview.vocabulary import VocabularyFile
from dancematch.server.problems import Redaction
from dancematch.server.queries.search_service import SearchService
from dancematch.server.recordings import RecordingService
from dancematch.server.scans.cameras import Cameras
from dancematch.server.scans.scan_service import ScanService
from dancematch.server.scans.scan_work import ScanSoFar, ScanWork
from dancematch.server.scans.track_folder import TrackFolder
from dancematch.server.schemas.recordings import RecordingResponse
from dancematch.server.schemas.requests import RecordingRequest, SearchRequest
from dancematch.server.schemas.searches import SearchResponse

THREADS = max(2, os.cpu_count() or 1)  # of each kind of work on the processor
READERS = max(2, os.cpu_count() or 1)  # of small files, and as many of large ones
_STATES: tuple[JobState, ...] = ("waiting", "running", "done", "failed", "cancelled")


def quick_limits(options: Options) -> WorkLimits:
    """What a file may cost whose sender waits: never more than one in a job."""
    return replace(
        options.work,
        seconds=min(options.work.seconds, limits.QUICK_READ_SECONDS),
        memory_bytes=min(options.work.memory_bytes, limits.QUICK_READ_BYTES),
        written_bytes=limits.QUICK_WRITTEN_BYTES,
    )


class Service:
    """The parts, each public under its name."""

    def __init__(self, options: Options, catalogue: Catalogue) -> None:
        self.options, self.catalogue = options, catalogue
        self.ready = False
        self.failure: Exception | None = None  # why opening failed
        self.folder = folder = ServiceFolder(options, catalogue)
        self.metrics = Metrics()
        self.quick_readers = QuickReaders(options.worker, quick_limits(options), 2 * READERS)
        self.table = JobTable(folder.path / "jobs.db")
        self.recordings = RecordingService(catalogue, VideoFolder(folder.videos), self._forget_jobs)
        self.dances = DanceService(catalogue, self.recordings)
        self.searches = SearchService(catalogue, options, self.metrics)
        self.map = DanceMap(catalogue)
        self.samples = Samples()
        self.vocabulary = VocabularyFile(catalogue, folder.path)
        self.redaction = Redaction(catalogue.where, str(folder.path))
        self.cameras, tracks = Cameras(folder.uploads), TrackFolder(folder.scans)
        self.scans = ScanService(catalogue, self.table, tracks, self.recordings, self.dances)
        self._answers = PartialAnswers(self._answer_part, options.workers)
        files = FileWork(folder.uploads, options, self._complete, self._answers)
        self._scanning = scans = ScanWork(
            catalogue, options, folder.uploads, tracks, self.cameras, self.table.keep_result
        )
        works: dict[JobKind, JobWork] = {"add": files, "search": files, "scan": scans, "camera": scans}
        self.runner = JobRunner(self.table, folder.uploads, options, self.redaction, works)

    def open(self) -> None:
        """Load the search, then start the jobs."""
        self.quick_readers.start()
        self.recordings.delete_videos_of_removed()
        self.searches.open()
        self.runner.start()
        self.scans.delete_forgotten()
        self.ready = True

    def close(self) -> None:
        """Requeue running jobs and release everything."""
        self.ready = False
        self.runner.stop()
        self.quick_readers.close()
        self.table.close()
        self.catalogue.close()
        self.folder.close()

    def _complete(self, job: Job, analysis: Analysis) -> Mapping[str, Any]:
        """The result of a job whose file has been analysed."""
        result: SearchResponse | RecordingResponse
        if job.kind == "search":
            result = self.searches.search(SearchRequest(**job.parameters), job.digest, analysis)
        else:
            keep_video = self.options.keep_videos and analysis.kind == "video"
            video = self.folder.uploads / job.upload if keep_video else None
            new = RecordingRequest(**job.parameters)
            result = self.recordings.add(new, job.digest, analysis, video)
        described: dict[str, Any] = to_jsonable_python(result)
        return described

    def _forget_jobs(self, digest: str) -> None:
        """Delete finished jobs about a file, and what is kept with them."""
        self.table.forget(digest)
        self.scans.delete_forgotten()

    def partial_answer(self, job: Job) -> SearchResponse | None:
        """The answer on what has been read of the clip of a search that runs, once there is one."""
        return None if job.is_finished else self._answers.latest(job.job_id)

    def scan_so_far(self, job: Job) -> ScanSoFar | None:
        """What a scan that runs has found."""
        return None if job.is_finished else self._scanning.latest(job.job_id)

    def _answer_part(self, job: Job, part: Analysis) -> SearchResponse:
        """The answer on what has been read of the clip that a job searches for."""
        return self.searches.search_part(SearchRequest(**job.parameters), part)

    def state(self) -> ServiceState:
        """The state now, for the metrics."""
        return ServiceState(
            ready=self.ready,
            dances=self.catalogue.page(limit=1).total,
            jobs=dict.fromkeys(_STATES, 0) | self.table.count_by_state(),
            held_searches=len(self.searches.held),
        )
