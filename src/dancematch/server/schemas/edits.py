"""Corrections of what is said of dances and recordings: what is asked for, and what was changed.

A value that is absent stays as it is; one that is null is removed.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from dancematch.catalogue.editing.edit import Edited
from dancematch.catalogue.editing.requests import (
    DANCE_FIELDS,
    RECORDING_FIELDS,
    Edit,
    EditDance,
    EditRecording,
    Value,
)
from dancematch.catalogue.records import MAX_SECONDS
from dancematch.server.schemas.base import with_example
from dancematch.server.schemas.dances import DanceDetail
from dancematch.server.schemas.recordings import RecordingResponse
from dancematch.server.schemas.requests import Reference
from dancematch.types import Span

_Moment = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]


class EditFields(BaseModel):
    """The base of what may be asked for: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")

    def given(self, names: tuple[str, ...]) -> dict[str, Value]:
        """The fields of these names that are there, null or not; lists as tuples."""
        values = {name: getattr(self, name) for name in names if name in self.model_fields_set}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


class DanceChange(EditFields):
    """What shall be different about a dance."""

    name: str | None = None
    labels: list[str] | None = None
    collection: str | None = None
    notes: str | None = None
    add_labels: list[str] = []
    remove_labels: list[str] = []
    merge_into: Reference | None = None

    def edit(self, dance: str) -> EditDance:
        """The edit of that dance."""
        return EditDance(
            dance,
            self.given(DANCE_FIELDS),
            tuple(self.add_labels),
            tuple(self.remove_labels),
            self.merge_into,
        )


class ExcludedSpan(EditFields):
    """A segment that shall never match."""

    start: _Moment
    end: _Moment
    reason: str | None = None


class RecordingChange(EditFields):
    """What shall be different about a recording; `dance` is the one that it moves to."""

    performer: str | None = None
    url: str | None = None
    date: str | None = None
    dance: Reference | None = None
    new_dance: str | None = None
    exclude: ExcludedSpan | None = None
    clear_exclusions: bool = False

    def edit(self, recording: str) -> EditRecording:
        """The edit of that recording."""
        segment = self.exclude
        return EditRecording(
            recording,
            self.given(RECORDING_FIELDS),
            move_to=self.dance,
            new_dance=self.new_dance,
            exclude=None if segment is None else Span(segment.start, segment.end),
            reason=None if segment is None else segment.reason,
            clear_exclusions=self.clear_exclusions,
        )


class NamedDanceChange(DanceChange):
    """The same with the dance that is meant, by name or id."""

    dance: Reference


class NamedRecordingChange(RecordingChange):
    """The same with the recording that is meant, by id or file name."""

    recording: Reference


def _kind_of(change: Any) -> Literal["dance", "recording"]:
    named = isinstance(change, NamedRecordingChange) or (isinstance(change, dict) and "recording" in change)
    return "recording" if named else "dance"


AnyChange = Annotated[
    Annotated[NamedDanceChange, Tag("dance")] | Annotated[NamedRecordingChange, Tag("recording")],
    Discriminator(_kind_of),
]


class EditsRequest(EditFields):
    """Changes that are made together; `expected` has ETags of dances by name or id."""

    edits: list[AnyChange]
    dry_run: bool = False
    expected: dict[Reference, str] = {}

    def wanted(self) -> list[Edit]:
        """The edits in order."""
        return [
            one.edit(one.recording if isinstance(one, NamedRecordingChange) else one.dance)
            for one in self.edits
        ]


class UndoRequest(EditFields):
    """Which edit is to be undone, if not whatever was the last; whether to say only what would be."""

    edit_id: str | None = None
    dry_run: bool = False


class EditsResponse(BaseModel):
    """What was changed, or would be, a sentence each; the dances that were touched and are there."""

    model_config = with_example(
        changes=["Thriler is now called Thriller"],
        dance_ids=["d3f0c2a9b8e7d6c"],
        dry_run=False,
        edit_id="0f2f8a1c5d0e4b7c9a3d6e5f4b2a1c0d",
    )
    changes: tuple[str, ...]
    dance_ids: tuple[str, ...]
    dry_run: bool
    edit_id: str | None

    @classmethod
    def of(cls, edited: Edited) -> "EditsResponse":
        """An edit that was made, or tried."""
        return cls.model_validate(edited, from_attributes=True)


class DanceEditResponse(BaseModel):
    """What was changed, a sentence each, and the dance; after a merge, the dance it went into."""

    changes: tuple[str, ...]
    edit_id: str | None
    dance: DanceDetail


class RecordingEditResponse(BaseModel):
    """What was changed, a sentence each, the recording and its dance."""

    changes: tuple[str, ...]
    edit_id: str | None
    recording: RecordingResponse
    dance: DanceDetail
