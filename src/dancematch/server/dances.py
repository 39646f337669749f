"""Dances of the catalogue: describing, editing and removing them. No HTTP in here."""

from collections.abc import Mapping, Sequence
from typing import Any

from dancematch.catalogue.details import DanceDetails
from dancematch.catalogue.editing.edit import Edited
from dancematch.catalogue.editing.requests import Edit
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.edit_rows import edits_of_rows
from dancematch.pipeline.edit_table import parse_edit_table
from dancematch.pipeline.lineage import count_windows
from dancematch.server.etags import Condition
from dancematch.server.limits import MAX_LINEAGE_SEARCHES
from dancematch.server.problems import too_costly
from dancematch.server.recordings import RecordingService
from dancematch.server.schemas.dances import DanceDetail, DanceFacts, DanceResponse
from dancematch.server.schemas.edits import (
    DanceChange,
    DanceEditResponse,
    RecordingChange,
    RecordingEditResponse,
)
from dancematch.server.schemas.lineage import LineageResponse


class DanceService:
    """What the service does with dances."""

    def __init__(self, catalogue: Catalogue, recordings: RecordingService) -> None:
        self._catalogue, self._recordings = catalogue, recordings

    def describe(self, dances: Sequence[str]) -> list[DanceResponse]:
        """Dances by name or id, each with what of it is kept; one that has been removed since is left out."""
        return [
            DanceResponse(**self._facts(one), recordings=one.dance.recordings)
            for one in self._catalogue.details(dances).values()
        ]

    def describe_one(self, dance: str) -> DanceDetail:
        """One dance, by name or id, with its recordings."""
        return self._detail(self._details(dance))

    def lineage(self, dance: str) -> LineageResponse:
        """Which dances share passages with one; refused where that takes minutes."""
        known = self._catalogue.recordings(self._catalogue.dance(dance).dance_id)
        if sum(count_windows(one.seconds) * max(1, one.dancers) for one in known) > MAX_LINEAGE_SEARCHES:
            raise too_costly(
                "the dance is too long, or has too many recordings, to be traced here; "
                "'dancematch lineage' on the command line takes its time"
            )
        return LineageResponse.of(self._catalogue.lineage(dance))

    def _detail(self, details: DanceDetails) -> DanceDetail:
        return DanceDetail(**self._facts(details), recordings=self._recordings.describe_all(details))

    def _details(self, dance: str) -> DanceDetails:
        found = self._catalogue.details([dance]).get(dance)
        if found is None:
            self._catalogue.dance(dance)  # which says that it is unknown
            return self._details(dance)  # or was added this moment
        return found

    def _facts(self, details: DanceDetails) -> dict[str, Any]:
        own = {name: value for name, value in vars(details.dance).items() if name in DanceFacts.model_fields}
        posters = (one.recording_id for one in details.recordings if one.poster)
        return own | {
            "motion": bool(details.with_skeletons),
            "video": any(self._recordings.has_video(one.recording_id) for one in details.recordings),
            "poster": next(posters, None),
            "etag": details.etag,
        }

    def edit(self, dance: str, change: DanceChange, condition: Condition) -> DanceEditResponse:
        """Change what is said of a dance, or merge it into another, if it is as expected."""
        before = self._details(dance)
        expected = condition.expected(dance, before.etag)
        into = dance if change.merge_into is None else change.merge_into
        dance_id = self._details(into).dance.dance_id
        edited = self._catalogue.edit([change.edit(dance)], expected=expected)
        return DanceEditResponse(**_what_changed(edited), dance=self.describe_one(dance_id))

    def edit_recording(
        self, recording: str, change: RecordingChange, condition: Condition
    ) -> RecordingEditResponse:
        """Change what is said of a recording, or move it, if its dance is as expected."""
        found = self._recordings.find(recording)
        expected = condition.expected(found.dance_id, self._details(found.dance_id).etag)
        edited = self._catalogue.edit([change.edit(found.recording_id)], expected=expected)
        details = self._details(self._recordings.find(found.recording_id).dance_id)
        shown = self._recordings.describe_one(details, found.recording_id)
        return RecordingEditResponse(**_what_changed(edited), recording=shown, dance=self._detail(details))

    def edit_many(
        self, edits: Sequence[Edit], expected: Mapping[str, str] | None = None, *, dry_run: bool = False
    ) -> Edited:
        """Make edits, all of them or none."""
        return self._catalogue.edit(edits, expected=expected, dry_run=dry_run)

    def edit_table(self, text: str, *, dry_run: bool = False) -> Edited:
        """Make the dances and recordings what a corrected table says, all of them or none."""
        rows = parse_edit_table(text, "the table")
        etags = self._catalogue.etags() if any(row.etag for row in rows) else {}
        made = edits_of_rows(rows, self._catalogue.dances(), self._catalogue.recordings(), etags)
        return self._catalogue.edit(made.edits, expected=made.expected, dry_run=dry_run)

    def remove(self, dance: str, condition: Condition) -> None:
        """Delete a dance with its recordings and their videos, if it is as expected."""
        details = self._details(dance)
        condition.expected(dance, details.etag)
        self._catalogue.remove(dance)
        for one in details.recordings:
            self._recordings.forget(one.recording_id)

    def remove_recording(self, recording: str, condition: Condition) -> None:
        """Delete a recording and its video, if its dance is as expected."""
        found = self._recordings.find(recording)
        condition.expected(found.dance_id, self._details(found.dance_id).etag)
        self._recordings.remove(found.recording_id)


def _what_changed(edited: Edited) -> dict[str, Any]:
    return {"changes": edited.changes, "edit_id": edited.edit_id}
