"""Scans that are over: their segments as files, as skeletons, and corrected by people. No HTTP in here."""

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from dancematch.errors import UnknownDanceError
from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.wording import describe_span
from dancematch.report.scan_files import SCAN_FORMATS, ScanFormat, ScannedVideo
from dancematch.server.dances import DanceService
from dancematch.server.etags import Condition
from dancematch.server.jobs.table import Job, JobTable
from dancematch.server.problems import RefusedError, not_found
from dancematch.server.recordings import RecordingService
from dancematch.server.scans.track_folder import TrackFolder
from dancematch.server.schemas.edits import RecordingChange
from dancematch.server.schemas.motions import describe_motions
from dancematch.server.schemas.recordings import RecordingResponse
from dancematch.server.schemas.requests import MotionRequest, RecordingRequest
from dancematch.server.schemas.scans import (
    CorrectedResponse,
    ScanMotionResponse,
    ScanResponse,
    SegmentResponse,
)
from dancematch.types import Motion, Span

_DEFAULT_NAME = "video"  # of one that came without a name
_SHORTEST_SECONDS = 1e-3  # of a span


class ScanService:
    """What the service does with finished scans."""

    def __init__(
        self,
        catalogue: Catalogue,
        table: JobTable,
        tracks: TrackFolder,
        recordings: RecordingService,
        dances: DanceService,
    ) -> None:
        self._catalogue, self._table, self._tracks = catalogue, table, tracks
        self._recordings, self._dances = recordings, dances
        self._correcting = threading.Lock()

    def find(self, job_id: str) -> tuple[Job, ScanResponse]:
        """A scan that is over, and what it found."""
        job = self._table.find(job_id)
        if job is None or job.kind not in ("scan", "camera"):
            raise not_found("unknown_job", "there is no such scan, or not any more")
        if not job.is_finished:
            raise RefusedError(409, "not_finished", "the scan still runs; its events tell what it finds")
        if job.result is None:
            raise not_found("not_found", "the scan ended before it had found anything")
        return job, ScanResponse.model_validate(job.result)

    def write(self, job_id: str, kind: str) -> tuple[str, ScanFormat, str]:
        """A scan as a file for other programs: its name, its format and its text."""
        job, found = self.find(job_id)
        form = SCAN_FORMATS.get(kind)
        if form is None:
            known = ", ".join(SCAN_FORMATS)
            raise not_found("not_found", f"there is no format {kind!r}; there are {known}")
        name = job.filename or _DEFAULT_NAME
        segments = sorted(found.segments, key=lambda one: (one.span.start, one.dancer))
        video = ScannedVideo(name, found.read_seconds, tuple(one.segment() for one in segments))
        return f"{Path(name).stem}{form.suffix}", form, form.render(video)

    def motion(self, job_id: str, wanted: MotionRequest) -> ScanMotionResponse:
        """The skeletons of the dancers, or of one, within a span."""
        self.find(job_id)
        motions = {}
        for dancer, seen in self._tracks.dancers(job_id).items():
            start, end = max(seen.start, wanted.start or 0.0), min(seen.end, wanted.end or seen.end)
            motion = self._tracks.read(job_id, dancer, Span(start, max(end, start + _SHORTEST_SECONDS)))
            if motion is not None:
                motions[dancer] = motion
        dancers = describe_motions(motions, wanted, "this part of the video")
        return ScanMotionResponse(job_id=job_id, dancers=dancers)

    def correct(self, job_id: str, number: int, dance: str) -> CorrectedResponse:
        """Make a segment a recording of a dance, known by name or id or new, and say so in the scan."""
        with self._correcting:
            job, found = self.find(job_id)
            if number >= len(found.segments):
                raise not_found("not_found", f"the scan has {len(found.segments)} segments")
            segment = found.segments[number]
            recording = self._learn(job, segment, dance)
            found.segments[number] = segment.correct(recording)
            described: Mapping[str, Any] = to_jsonable_python(found)
            self._table.keep_result(job_id, described)
        return CorrectedResponse(segment=found.segments[number], recording=recording)

    def _learn(self, job: Job, segment: SegmentResponse, dance: str) -> RecordingResponse:
        place = f"{job.digest} {segment.dancer} {segment.span.start:.3f} {segment.span.end:.3f}"
        digest = hashlib.sha256(place.encode()).hexdigest()
        if self._catalogue.known_by_content(digest) is not None:  # it was corrected before
            return self._move(digest, dance)
        motion = self._tracks.read(job.job_id, segment.dancer, segment.span)
        if motion is None:
            raise not_found("not_found", "no skeletons of this segment are kept any more")
        name = f"{Path(job.filename or _DEFAULT_NAME).name[:200]} {describe_span(segment.span)}"
        new = RecordingRequest(dance=dance, join=True, filename=name)
        own_clock = Motion(motion.joints, motion.fps, motion.skeleton, motion.visibility)
        return self._recordings.add(new, digest, Analysis(Path(name), (own_clock,)))

    def _move(self, digest: str, dance: str) -> RecordingResponse:
        """The recording of a segment, as one of another dance."""
        try:
            known = self._catalogue.dance(dance)
        except UnknownDanceError:
            change = RecordingChange(new_dance=dance)
        else:
            if self._recordings.find(digest).dance_id == known.dance_id:
                return self._recordings.describe(digest)
            change = RecordingChange(dance=known.dance_id)
        return self._dances.edit_recording(digest, change, Condition.of(None)).recording

    def delete(self, job_id: str) -> None:
        """Delete the skeletons of a scan that is not wanted any more."""
        self._tracks.delete(job_id)

    def delete_forgotten(self) -> None:
        """Delete the skeletons of scans whose jobs are gone."""
        for job_id in set(self._tracks.job_ids()) - self._table.job_ids():
            self._tracks.delete(job_id)
