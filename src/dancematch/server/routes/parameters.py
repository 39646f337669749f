"""Parameters of the routes, and the errors that they document."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Path, Query
from pydantic import AfterValidator, StringConstraints

from dancematch.server.access.guard import SLASH
from dancematch.server.limits import MAX_NAME_LENGTH
from dancematch.server.problems import ErrorResponse, not_found

T = TypeVar("T")

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
FramesPerSecond = Annotated[
    float | None, Query(gt=0, le=1000, description="At most so many frames per second")
]
Seconds = Annotated[float | None, Query(ge=0, le=1e9)]
DancerNumber = Annotated[int | None, Query(ge=1, le=1_000_000)]

FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself: a video, a motion file, or words.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

_MEANINGS = {
    400: "The request is malformed",
    401: "A token is needed",
    403: "The token does not allow this",
    404: "It does not exist, or no longer",
    408: "The upload took too long",
    409: "The name or the content is taken, or it is too late",
    413: "The upload is too large",
    421: "Another machine is meant",
    422: "A parameter or the file cannot be used",
    429: "Too much at once: see Retry-After",
    503: "Not ready: see Retry-After",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route for OpenAPI; those that any route may give are always included."""
    always = (400, 401, 403, 421, 422, 503)
    return {
        status: {"model": ErrorResponse, "description": _MEANINGS[status]} for status in (*always, *statuses)
    }


def content(*media_types: str) -> dict[int | str, dict[str, Any]]:
    """A 200 answer that is not JSON, for OpenAPI."""
    return {200: {"content": {one: {"schema": {"type": "string"}} for one in media_types}}}


def choose_dancer(dancers: Mapping[int, T], wanted: int | None, what: str) -> Mapping[int, T]:
    """One of the dancers, by number; all of them if none is wanted."""
    if wanted is None:
        return dancers
    if wanted not in dancers:
        numbers = ", ".join(map(str, sorted(dancers)))
        raise not_found("not_found", f"{what} has no dancer {wanted}; there is {numbers}")
    return {wanted: dancers[wanted]}
