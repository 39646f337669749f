"""The parameters of requests, with their limits and defaults."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, StringConstraints

from dancematch.catalogue.records import Dance
from dancematch.search.confidence.verdict import MAX_EVALUE, POSSIBLE_EVALUE
from dancematch.search.settings import DEFAULT_LIMIT
from dancematch.server.access.guard import SLASH
from dancematch.server.limits import MAX_CANDIDATES, MAX_NAME_LENGTH

_TEXT, _NAME, _ID = r"^[^\x00-\x1f\x7f]*$", r"^[^\x00-\x1f\x7f]+$", "^[0-9a-f]{32}$"
PATTERN_MEANINGS = {
    _TEXT: "text without control characters was expected",
    _NAME: "a name without control characters was expected",
    _ID: "an id was expected, 32 characters of 0-9 and a-f, as an earlier answer gave it",
}

Text = Annotated[Annotated[str, StringConstraints(max_length=MAX_NAME_LENGTH, pattern=_TEXT)] | None, Query()]
DanceId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH, pattern=_NAME),
    Path(examples=["thriller"]),
    AfterValidator(lambda name: name.replace(SLASH, "/")),
]
Id = Annotated[str, StringConstraints(pattern=_ID), Path(examples=["c3ab8ff13720e8ad9047dd39466b3c89"])]
DancerNumber = Annotated[int | None, Query(ge=1, le=1_000_000)]
_Seconds = Annotated[float | None, Query(ge=0, le=1e9)]


@dataclass(frozen=True)
class NewDance:
    """The name and labels of a dance to add."""

    dance_id: DanceId
    label: Text = None
    collection: Text = None
    filename: Text = None

    def record(self, digest: str) -> Dance:
        """The dance as the catalogue stores it; the catalogue measures its length."""
        source = self.filename or self.dance_id
        return Dance(self.dance_id, source, digest, 0.0, self.label, self.collection)


@dataclass(frozen=True)
class SearchRequest:
    """The parameters of a search."""

    limit: Annotated[int, Query(ge=1, le=MAX_CANDIDATES)] = DEFAULT_LIMIT
    max_evalue: Annotated[float, Query(ge=0, le=POSSIBLE_EVALUE, allow_inf_nan=False)] = MAX_EVALUE
    label: Text = None
    collection: Text = None
    periodic: bool | None = None
    filename: Text = None
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
