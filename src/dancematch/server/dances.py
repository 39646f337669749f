"""Dances of the catalogue: adding, describing and removing them, with their videos. No HTTP in here."""

from collections.abc import Sequence
from pathlib import Path

from dancematch.catalogue.records import Dance
from dancematch.errors import DanceExistsError, UnknownDanceError
from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.catalogue import Catalogue
from dancematch.server.files.videos import VideoFolder
from dancematch.server.problems import not_found
from dancematch.server.schemas.dances import DanceResponse
from dancematch.server.schemas.requests import NewDance


class DanceService:
    """What the service does with dances."""

    def __init__(self, catalogue: Catalogue, videos: VideoFolder) -> None:
        self._catalogue, self._videos = catalogue, videos

    def find_same(self, new: NewDance, digest: str) -> DanceResponse | None:
        """The dance with this very name and content; refused if either belongs to another dance."""
        known_as = self._catalogue.known_by_content(digest)
        if known_as == new.dance_id:
            return self.describe_one(known_as)
        if known_as is not None:
            raise DanceExistsError(f"this very content is known already, as {known_as!r}")
        try:
            self._catalogue.dance(new.dance_id)
        except UnknownDanceError:
            return None
        raise DanceExistsError(
            f"{new.dance_id!r} is already the name of another dance; choose another, or delete it first"
        )

    def add(self, new: NewDance, digest: str, analysis: Analysis, video: Path | None = None) -> DanceResponse:
        """Add a dance from what was found in its file, and keep a copy of its `video`."""
        # A server that died right after it had added the dance finds it here.
        if self.find_same(new, digest) is None:
            record = new.record(digest)
            if analysis.kind == "motion words":
                self._catalogue.learn_words(record, analysis.words)
            else:
                self._catalogue.learn(record, analysis.motions)
        if video is not None:
            self._videos.add(video, digest)
        return self.describe_one(new.dance_id)

    def describe_one(self, dance_id: str) -> DanceResponse:
        """One dance of the catalogue."""
        return self.describe([self._catalogue.dance(dance_id)])[0]

    def describe(self, dances: Sequence[Dance]) -> list[DanceResponse]:
        """Dances, each with whether its skeletons and video are kept."""
        with_motion = self._catalogue.with_skeletons([dance.dance_id for dance in dances])
        return [
            DanceResponse(
                **vars(dance),
                motion=dance.dance_id in with_motion,
                video=self._videos.find(dance.content_hash) is not None,
            )
            for dance in dances
        ]

    def find_video(self, dance_id: str) -> Path:
        """The file of a dance's video."""
        path = self._videos.find(self._catalogue.dance(dance_id).content_hash)
        if path is None:
            raise not_found("not_found", f"no video of {dance_id!r} was kept")
        return path

    def remove(self, dance_id: str) -> None:
        """Delete a dance, and its video if there is one."""
        digest = self._catalogue.dance(dance_id).content_hash
        self._catalogue.remove(dance_id)
        self._videos.delete(digest)
