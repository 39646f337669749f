"""Errors as the service answers them: a status, a short name, one sentence.

Messages of the library name files. A caller elsewhere is told neither the path of the catalogue nor
the name of an upload on this machine.
"""

import logging
import re
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from dancematch.errors import (
    AlreadyDecidedError,
    CatalogueError,
    ChangedMeanwhileError,
    ClusterError,
    DanceExistsError,
    DanceMatchError,
    FormatError,
    InputError,
    MissingExtraError,
    ModelError,
    ModelMismatchError,
    NoDancerError,
    UnknownDanceError,
    UnknownReviewError,
    VideoError,
    WeightsError,
)
from dancematch.server.limits import RETRY_OPENING, RETRY_UNAVAILABLE

log = logging.getLogger(__name__)

_KINDS: dict[type[DanceMatchError], tuple[int, str]] = {
    FormatError: (422, "format"),
    VideoError: (422, "video"),
    NoDancerError: (422, "no_dancer"),
    InputError: (422, "input"),
    UnknownDanceError: (404, "unknown_dance"),
    UnknownReviewError: (404, "unknown_review"),
    DanceExistsError: (409, "dance_exists"),
    ChangedMeanwhileError: (412, "changed_meanwhile"),
    AlreadyDecidedError: (409, "already_decided"),
    CatalogueError: (503, "catalogue"),
    ModelMismatchError: (422, "model_mismatch"),
    ModelError: (503, "model"),
    ClusterError: (503, "cluster"),
    WeightsError: (503, "weights"),
    MissingExtraError: (422, "format"),  # such as torch, which one format needs
}
# The reason would name the database's host, port, user or tables.
_UNAVAILABLE = "the catalogue cannot be used at the moment; the service's log says why"


class ErrorResponse(BaseModel):
    """A short name for programs and a sentence for people."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"error": "unknown_dance", "message": "the catalogue has no dance named 'thriller'"}]
        }
    )
    error: str
    message: str


@dataclass(frozen=True)
class ErrorAnswer:
    """One error with its status and headers."""

    status: int
    error: str
    message: str
    retry_after: int | None = None

    def body(self) -> dict[str, str]:
        """The JSON body."""
        return ErrorResponse(error=self.error, message=self.message).model_dump()

    def headers(self) -> dict[str, str]:
        """The headers that go with it."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return headers | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})


class RefusedError(Exception):
    """Ends a request with an error answer."""

    def __init__(self, status: int, error: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.answer = ErrorAnswer(status, error, message, retry_after)


def busy(what: str, retry_after: int) -> RefusedError:
    """429: too much at once."""
    return RefusedError(429, "busy", f"{what}; try again in {retry_after} s", retry_after)


def too_costly(reason: str) -> RefusedError:
    """422: a file that needs more time or memory than is allowed."""
    return RefusedError(422, "too_costly", reason)


def not_found(error: str, message: str) -> RefusedError:
    """404: it does not exist, or no longer."""
    return RefusedError(404, error, message)


def not_ready() -> RefusedError:
    """503: the catalogue is not open."""
    return RefusedError(503, "not_ready", "the catalogue is not open yet, or is being closed", RETRY_OPENING)


class Redaction:
    """Removes paths and addresses of this machine from messages."""

    def __init__(self, catalogue: str, folder: str) -> None:
        self._catalogue = catalogue
        self._uploads = re.compile(re.escape(folder) + r"[/\\][\w./\\-]*")

    def answer_for(self, error: DanceMatchError | RefusedError) -> ErrorAnswer:
        """The answer to an expected error."""
        if isinstance(error, RefusedError):
            return error.answer
        status, name = next(_KINDS[kind] for kind in type(error).__mro__ if kind in _KINDS)
        if (status, name) == _KINDS[CatalogueError] and "://" in self._catalogue:
            log.warning("%s", error)
            return ErrorAnswer(status, name, _UNAVAILABLE, RETRY_UNAVAILABLE)
        retry_after = RETRY_UNAVAILABLE if status == 503 else None
        return ErrorAnswer(status, name, self._redact(str(error)), retry_after)

    def _redact(self, message: str) -> str:
        redacted = self._uploads.sub("the upload", message)
        for path in (f"the catalogue {self._catalogue}", self._catalogue):
            redacted = redacted.replace(path, "the catalogue")
        return redacted
