"""The parameters of requests, with their limits and defaults."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, StringConstraints

from dancematch.catalogue.records import (
    MAX_DANCER,
    MAX_FILE_NAME_LENGTH,
    MAX_NAME_LENGTH,
    MAX_SECONDS,
    NAME_PATTERN,
    TEXT_PATTERN,
    Dance,
)
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
DanceId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH, pattern=NAME_PATTERN),
    Path(examples=["thriller"]),
    AfterValidator(lambda name: name.replace(SLASH, "/")),
]
Id = Annotated[str, StringConstraints(pattern=_ID), Path(examples=["c3ab8ff13720e8ad9047dd39466b3c89"])]
DancerNumber = Annotated[int | None, Query(ge=1, le=MAX_DANCER)]
_Seconds = Annotated[float | None, Query(ge=0, le=MAX_SECONDS)]


@dataclass(frozen=True)
class NewDance:
    """The name and labels of a dance to add."""

    dance_id: DanceId
    label: Name = None
    collection: Name = None
    filename: FileName = None

    def record(self, digest: str) -> Dance:
        """The dance as the catalogue stores it; the catalogue measures its length."""
        source = self.filename or self.dance_id
        return Dance(self.dance_id, source, digest, 0.0, self.label or None, self.collection or None)


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


@dataclass(frozen=True)
class MotionRequest:
    """Which dancer and which frames of a motion."""

    fps: Annotated[float | None, Query(gt=0, le=1000, description="The largest frame rate")] = None
    start: _Seconds = None
    end: _Seconds = None
    dancer: DancerNumber = None


NewDanceParameters = Annotated[NewDance, Depends()]
SearchParameters = Annotated[SearchRequest, Depends()]
MotionParameters = Annotated[MotionRequest, Depends()]
