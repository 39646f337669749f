"""Recordings of the catalogue: adding, describing and removing them, with their videos. No HTTP in here."""

from collections.abc import Callable
from pathlib import Path

from dancematch.catalogue.details import DanceDetails
from dancematch.catalogue.records import Recording
from dancematch.errors import DanceExistsError, UnknownDanceError
from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.catalogue import Catalogue
from dancematch.server.files.videos import VideoFolder
from dancematch.server.problems import not_found
from dancematch.server.schemas.lessons import CountsResponse, RecordingCountsResponse
from dancematch.server.schemas.recordings import ExclusionResponse, RecordingResponse
from dancematch.server.schemas.requests import RecordingRequest


class RecordingService:
    """What the service does with recordings."""

    def __init__(self, catalogue: Catalogue, videos: VideoFolder, forget_jobs: Callable[[str], None]) -> None:
        self._catalogue, self._videos, self._forget_jobs = catalogue, videos, forget_jobs

    def find(self, recording: str) -> Recording:
        """One recording, by its id or file name."""
        try:
            return self._catalogue.recording(recording)
        except UnknownDanceError:
            raise unknown_recording(recording) from None

    def counts(self, recording: str) -> RecordingCountsResponse:
        """The eight-counts of a recording, or why there are none."""
        found = self.find(recording)
        counted = self._catalogue.counts(found.recording_id)
        return RecordingCountsResponse(
            recording_id=found.recording_id,
            counts=CountsResponse.of(counted.counts),
            counts_reason=counted.reason,
        )

    def find_same(self, new: RecordingRequest, digest: str) -> RecordingResponse | None:
        """The recording of this very content in this dance; refused if it can be added to none."""
        known, dance = self._catalogue.known_by_content(digest), self._name_dance(new)
        if known is not None and known.dance == dance:
            return self.describe(known.recording_id)
        if known is not None:
            raise DanceExistsError(
                f"this very content is known already, as the recording {known.file!r} of {known.dance!r}"
            )
        if not new.join and dance in self._catalogue.details([dance]):
            raise DanceExistsError(
                f"{dance!r} is already the name of another dance; with join=true this is one more recording "
                f"of it, else choose another name"
            )
        return None

    def _name_dance(self, new: RecordingRequest) -> str:
        """The name of the dance that a recording joins, which may be named by its id, or of the new one."""
        name = new.plan().dance or ""
        found = self._catalogue.details([name]).get(name) if new.join else None
        return name if found is None else found.dance.name

    def add(
        self, new: RecordingRequest, digest: str, analysis: Analysis, video: Path | None = None
    ) -> RecordingResponse:
        """Add a recording from what was found in its file, and keep a copy of its `video`."""
        # A server that died right after it had added the recording finds it here.
        if self.find_same(new, digest) is None:
            record = new.record(self._name_dance(new), digest, analysis.poster)
            if analysis.kind == "motion words":
                self._catalogue.learn_words(record, analysis.words, join=new.join)
            else:
                self._catalogue.learn(record, analysis.motions, join=new.join)
        if video is not None:
            self._videos.add(video, digest)
        return self.describe(digest)

    def describe(self, recording: str) -> RecordingResponse:
        """One recording of the catalogue, by its id or file name."""
        found = self.find(recording)
        details = self._catalogue.details([found.dance_id]).get(found.dance_id)
        return self.describe_one(details, found.recording_id)

    def describe_one(self, details: DanceDetails | None, recording_id: str) -> RecordingResponse:
        """One of the recordings of a dance."""
        own = [] if details is None else self.describe_all(details)
        for one in own:
            if one.recording_id == recording_id:
                return one
        raise unknown_recording(recording_id)  # removed, or moved, a moment ago

    def describe_all(self, details: DanceDetails) -> list[RecordingResponse]:
        """The recordings of a dance, each with whether its skeletons and video are kept."""
        return [
            RecordingResponse(
                **vars(one),
                motion=one.recording_id in details.with_skeletons,
                video=self.has_video(one.recording_id),
                exclusions=[
                    ExclusionResponse.model_validate(segment, from_attributes=True)
                    for segment in details.exclusions[one.recording_id]
                ],
            )
            for one in details.recordings
        ]

    def has_video(self, recording_id: str) -> bool:
        """Whether the video of a recording is kept."""
        return self._videos.find(recording_id) is not None

    def find_video(self, recording: str) -> Path:
        """The file of a recording's video."""
        found = self.find(recording)
        path = self._videos.find(found.recording_id)
        if path is None:
            raise not_found("not_found", f"no video of {found.file!r} was kept")
        return path

    def poster(self, recording: str) -> bytes:
        """The picture that is kept of a recording, as JPEG."""
        found = self.find(recording)
        poster = self._catalogue.poster(found.recording_id)
        if poster is None:
            raise not_found("not_found", f"no picture of {found.file!r} was kept")
        return poster

    def remove(self, recording: str) -> None:
        """Delete a recording, with its video and the jobs that tell of it."""
        found = self.find(recording)
        self._catalogue.remove_recordings([found.recording_id])
        self.forget(found.recording_id)

    def delete_videos_of_removed(self) -> None:
        """Delete videos whose recordings were removed while no service kept them company."""
        for digest in self._videos.digests():
            if self._catalogue.known_by_content(digest) is None:
                self._videos.delete(digest)

    def forget(self, recording_id: str) -> None:
        """Delete the video of a recording that is gone, and the jobs that tell of it."""
        self._videos.delete(recording_id)
        self._forget_jobs(recording_id)


def unknown_recording(recording: str) -> Exception:
    """404: no recording of that id or name."""
    return not_found("unknown_recording", f"the catalogue has no recording named {recording!r}")
