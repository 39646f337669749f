"""The work of a scan: a worker follows the dancers, this process searches for what they dance."""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from dancematch.errors import DanceMatchError
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.analysis.worker_process import Worker, WorkerSetup, WorkerStoppedError
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.scan.moments import STEP_SECONDS, Moment, moments_of_tracks
from dancematch.pipeline.scan.scan import OnRecognised
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.pose.estimators import TracksSoFar
from dancematch.pose.processor_threads import share_of_threads
from dancematch.server.jobs.child import ends_as_sentences
from dancematch.server.jobs.table import Job
from dancematch.server.limits import CAMERA_STEP_SECONDS, KEEP_RESULT_SECONDS
from dancematch.server.options import Options
from dancematch.server.problems import RefusedError
from dancematch.server.scans.cameras import Cameras
from dancematch.server.scans.track_folder import TrackFolder
from dancematch.server.schemas.requests import ScanRequest
from dancematch.server.schemas.scans import RecognisedResponse, ScanResponse, SegmentResponse

log = logging.getLogger(__name__)

KeepResult = Callable[[str, Mapping[str, Any]], None]


class ScanSoFar:
    """What a scan that runs has found; written by its thread, read by others."""

    def __init__(self, job: Job, searched: int) -> None:
        self._filename, self._live, self._searched = job.filename, job.kind == "camera", searched
        self._read_seconds, self._seconds = 0.0, None  # type: float, float | None
        self.segments: list[SegmentResponse] = []
        self.recognised: list[RecognisedResponse] = []

    def watch(self, moments: Iterable[Moment]) -> Iterator[Moment]:
        """Yield the moments, and know how far they are."""
        for moment in moments:
            self._read_seconds, self._seconds = moment.seconds, moment.total
            yield moment

    def add(self, segment: ScanSegment) -> None:
        """Take what was found."""
        self.segments.append(SegmentResponse.of(len(self.segments), segment))

    def recognise(self, segment: ScanSegment, elapsed: float) -> None:
        """Take what is danced now, so many seconds after the first picture."""
        if segment.match is not None:
            named = RecognisedResponse(
                dancer=segment.dancer,
                dance_id=segment.match.dance_id,
                dance=segment.match.name,
                span=segment.span,
                delay_seconds=round(max(0.0, elapsed - segment.span.start), 2),
            )
            self.recognised.append(named)

    def describe(self, *, complete: bool = False) -> ScanResponse:
        """All of it."""
        return ScanResponse(
            filename=self._filename,
            live=self._live,
            seconds=self._read_seconds if complete else self._seconds,
            read_seconds=self._read_seconds,
            searched=self._searched,
            segments=list(self.segments),
            recognised=list(self.recognised),
        )


class ScanWork:
    """Scans the videos and cameras of jobs."""

    def __init__(
        self,
        catalogue: Catalogue,
        options: Options,
        uploads: Path,
        tracks: TrackFolder,
        cameras: Cameras,
        keep_result: KeepResult,
    ) -> None:
        self._catalogue, self._options, self._uploads = catalogue, options, uploads
        self._tracks, self._cameras, self._keep_result = tracks, cameras, keep_result
        self._running: dict[str, ScanSoFar] = {}

    def latest(self, job_id: str) -> ScanSoFar | None:
        """What a job that runs has found."""
        return self._running.get(job_id)

    def run(self, job: Job, stop: threading.Event, on_progress: Progress) -> Mapping[str, Any]:
        """The segments of a video; those of a camera also if the service is stopped meanwhile."""
        found = self._running[job.job_id] = ScanSoFar(job, self._catalogue.searcher.tracks)
        recorder = self._tracks.begin(job.job_id)
        reading = _Reading(self._options, job, self._uploads / job.upload)
        kept = 0.0
        try:
            with closing(reading.tracks(stop, on_progress)) as tracks:
                moments = found.watch(recorder.record(moments_of_tracks(tracks)))
                for segment in self._scan(job, moments, found):
                    found.add(segment)
                    if time.monotonic() - kept > KEEP_RESULT_SECONDS:
                        kept = time.monotonic()
                        self._keep(job, found)
            if reading.trouble is not None:
                raise reading.trouble
        except (DanceMatchError, RefusedError):
            if found.segments:
                self._keep(job, found)
            raise
        described: dict[str, Any] = to_jsonable_python(found.describe(complete=True))
        return described

    def _scan(self, job: Job, moments: Iterator[Moment], found: ScanSoFar) -> Iterator[ScanSegment]:
        request = ScanRequest(**job.parameters)
        on_recognised: OnRecognised | None = None
        if job.kind == "camera":
            camera = self._cameras.find(job.job_id)

            def on_recognised(segment: ScanSegment) -> None:
                found.recognise(segment, camera.elapsed)

        return self._catalogue.scan(
            moments,
            max_evalue=request.max_evalue,
            label=request.label,
            collection=request.collection,
            on_recognised=on_recognised,
        )

    def _keep(self, job: Job, found: ScanSoFar) -> None:
        self._keep_result(job.job_id, to_jsonable_python(found.describe(complete=True)))

    def drop(self, job_id: str) -> None:
        """Drop what was known of a scan while it ran."""
        self._running.pop(job_id, None)
        self._cameras.close(job_id)

    def close(self) -> None:
        """Nothing: every scan has its own worker."""


class _Reading:
    """The dancers of one video or camera, as a worker of its own sees them.

    What ends the worker early ends the tracks, and is told afterwards: what was found so far counts.
    """

    def __init__(self, options: Options, job: Job, source: Path) -> None:
        self.trouble: RefusedError | None = None
        self._live, self._source = job.kind == "camera", source
        self._limits = options.camera_work if self._live else options.scan_work
        self._setup = WorkerSetup(
            self._limits, command=tuple(options.worker), threads=share_of_threads(options.workers)
        )

    def tracks(self, stop: threading.Event, on_progress: Progress) -> Generator[TracksSoFar, None, None]:
        """Yield the recent tracks again and again."""
        step = CAMERA_STEP_SECONDS if self._live else STEP_SECONDS
        task = {"task": "scan", "every_seconds": step, "live": self._live}
        try:
            with (
                ends_as_sentences(self._limits),
                Worker(self._setup) as worker,
                closing(worker.follow(self._source, task=task, on_progress=on_progress, stop=stop)) as parts,
            ):
                yield from parts
        except RefusedError as error:
            self.trouble = error
        except WorkerStoppedError:
            if not self._live:
                raise
