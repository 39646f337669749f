"""The parameters of requests, with their limits and defaults."""

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, StringConstraints

from dancematch.catalogue.records import (
    MAX_DANCER,
    MAX_FILE_NAME_LENGTH,
    MAX_LABELS,
    MAX_NAME_LENGTH,
    MAX_NOTES_LENGTH,
    MAX_SECONDS,
    MAX_URL_LENGTH,
    NAME_PATTERN,
    TEXT_PATTERN,
    NewRecording,
    Recording,
)
from dancematch.errors import InputError
from dancematch.pipeline.ingest import name_dance, name_file
from dancematch.pipeline.recording_plan import RecordingPlan
from dancematch.search.confidence.verdict import MAX_EVALUE, POSSIBLE_EVALUE
from dancematch.search.settings import DEFAULT_LIMIT
from dancematch.server.access.guard import SLASH
from dancematch.server.limits import MAX_CANDIDATES

_NAME_OR_NONE, _ID = f"^$|{NAME_PATTERN}", "^[0-9a-f]{32}$"
PATTERN_MEANINGS = {
    TEXT_PATTERN: "text without control characters was expected",
    NAME_PATTERN: "a name without control characters was expected",
    _NAME_OR_NONE: "a name without control characters was expected",
    _ID: "an id was expected, 32 characters of 0-9 and a-f, as an earlier answer gave it",
}

# The catalogue's own limits: what passes here, it keeps.
_SomeText = Annotated[str, StringConstraints(max_length=MAX_NAME_LENGTH, pattern=TEXT_PATTERN)]
_SomeName = Annotated[str, StringConstraints(max_length=MAX_NAME_LENGTH, pattern=_NAME_OR_NONE)]
_SomeFileName = Annotated[str, StringConstraints(max_length=MAX_FILE_NAME_LENGTH, pattern=_NAME_OR_NONE)]
Text = Annotated[_SomeText | None, Query()]
Name = Annotated[_SomeName | None, Query()]  # an empty one is none
FileName = Annotated[_SomeFileName | None, Query()]
Address = Annotated[
    Annotated[str, StringConstraints(max_length=MAX_URL_LENGTH, pattern=_NAME_OR_NONE)] | None, Query()
]
Notes = Annotated[
    Annotated[str, StringConstraints(max_length=MAX_NOTES_LENGTH, pattern=_NAME_OR_NONE)] | None, Query()
]
Labels = Annotated[list[_SomeName] | None, Query(max_length=MAX_LABELS)]
# A dance by name or id, or a recording by id or file name.
Reference = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_FILE_NAME_LENGTH, pattern=NAME_PATTERN)
]
_with_slashes = AfterValidator(lambda name: name.replace(SLASH, "/"))
DanceReference = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH, pattern=NAME_PATTERN),
    Path(examples=["Thriller"], description="A dance by its name or id"),
    _with_slashes,
]
DanceId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH, pattern=NAME_PATTERN),
    Path(examples=["d3f0c2a9b8e7d6c"]),
    _with_slashes,
]
RecordingReference = Annotated[
    Reference, Path(description="A recording by its id, its beginning, or its file name"), _with_slashes
]
Id = Annotated[str, StringConstraints(pattern=_ID), Path(examples=["c3ab8ff13720e8ad9047dd39466b3c89"])]
SearchId = Annotated[
    Annotated[str, StringConstraints(pattern=_ID)] | None, Query(description="Of a held search")
]
DancerNumber = Annotated[int | None, Query(ge=1, le=MAX_DANCER)]
_Seconds = Annotated[float | None, Query(ge=0, le=MAX_SECONDS)]


@dataclass(frozen=True)
class RecordingRequest:
    """What is said of a recording to add, and of its dance; what is empty is not said."""

    dance: Annotated[_SomeName | None, Query(description="Its name; by the file's if not given")] = None
    join: Annotated[bool, Query(description="It may be one more recording of a known dance")] = False
    filename: FileName = None
    performer: Name = None
    url: Address = None
    date: Name = None
    label: Labels = None
    collection: Name = None
    notes: Notes = None
    poster: Annotated[bool, Query(description="Keep one small picture of a video")] = False

    @property
    def dance_name(self) -> str:
        """The name that was given, else the file's without its suffix."""
        if not self.dance and not self.filename:
            raise InputError("which dance is this? give its name as dance, or the file's as filename")
        return self.dance or name_dance(self._file)

    @property
    def _file(self) -> FilePath:
        # Below the root, so that no part of it can mean a folder of this machine.
        return FilePath("/", self.filename or self.dance or "")

    def plan(self) -> RecordingPlan:
        """What is said, each value as the catalogue takes it; what it does not take is an `InputError`."""
        plan = RecordingPlan(
            self.dance_name,
            self.join,
            tuple(dict.fromkeys(filter(None, self.label or ()))),
            collection=self.collection or None,
            notes=self.notes or None,
            performer=self.performer or None,
            url=self.url or None,
            date=self.date or None,
        )
        plan.require_sound()
        return plan

    def record(self, dance: str, digest: str, poster: bytes | None = None) -> NewRecording:
        """The recording as the catalogue stores it, of the dance of that name; it measures its length."""
        return self.plan().record(dance, Recording(digest, name_file(self._file)), poster)


@dataclass(frozen=True)
class SearchRequest:
    """The parameters of a search."""

    limit: Annotated[int, Query(ge=1, le=MAX_CANDIDATES)] = DEFAULT_LIMIT
    max_evalue: Annotated[float, Query(ge=0, le=POSSIBLE_EVALUE, allow_inf_nan=False)] = MAX_EVALUE
    label: Text = None
    collection: Text = None
    periodic: bool | None = None
    filename: FileName = None
    keep: bool = True
    review: Annotated[bool, Query(description="Put possible matches on the list for review")] = False


@dataclass(frozen=True)
class ScanRequest:
    """The parameters of a scan."""

    max_evalue: Annotated[float, Query(ge=0, le=POSSIBLE_EVALUE, allow_inf_nan=False)] = MAX_EVALUE
    label: Text = None
    collection: Text = None
    filename: FileName = None


@dataclass(frozen=True)
class MotionRequest:
    """Which dancer and which frames of a motion."""

    fps: Annotated[float | None, Query(gt=0, le=1000, description="The largest frame rate")] = None
    start: _Seconds = None
    end: _Seconds = None
    dancer: DancerNumber = None


NewRecordingParameters = Annotated[RecordingRequest, Depends()]
SearchParameters = Annotated[SearchRequest, Depends()]
ScanParameters = Annotated[ScanRequest, Depends()]
MotionParameters = Annotated[MotionRequest, Depends()]
