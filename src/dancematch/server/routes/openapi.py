"""What OpenAPI says of every route beside its answer: uploads, errors, other media types."""

from typing import Any

from dancematch.server.problems import ErrorResponse

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
    412: "It has been changed meanwhile",
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


def content(*media_types: str, example: str | None = None) -> dict[int | str, dict[str, Any]]:
    """A 200 answer that is not JSON, for OpenAPI."""
    described: dict[str, Any] = {"schema": {"type": "string"}} | ({"example": example} if example else {})
    return {200: {"content": dict.fromkeys(media_types, described)}}
