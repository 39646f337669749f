"""What goes wrong, as the service says it: a status, a short name, one sentence.

Messages of the library name files; whoever asks from elsewhere is told neither where the
catalogue lies nor what an upload is called here.
"""

import logging
import re
from dataclasses import dataclass

from dancematch.errors import (
    CatalogueError,
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
    VideoError,
    WeightsError,
)

log = logging.getLogger(__name__)

_KINDS: dict[type[DanceMatchError], tuple[int, str]] = {
    FormatError: (422, "format"),
    VideoError: (422, "video"),
    NoDancerError: (422, "no_dancer"),
    InputError: (422, "input"),
    UnknownDanceError: (404, "unknown_dance"),
    DanceExistsError: (409, "dance_exists"),
    CatalogueError: (503, "catalogue"),
    ModelMismatchError: (422, "model_mismatch"),
    ModelError: (503, "model"),
    ClusterError: (503, "cluster"),
    WeightsError: (503, "weights"),
    MissingExtraError: (422, "format"),  # such as torch, that one format needs
}
_TRY_AGAIN_SECONDS = 5
# A database's server is nobody's business: the reason names its host, port, user or tables.
_OUT_OF_REACH = "the catalogue cannot be used at the moment; the service's log says why"


@dataclass(frozen=True)
class Problem:
    """One refusal."""

    status: int
    error: str
    message: str
    retry_after: int | None = None

    def body(self) -> dict[str, str]:
        """What is sent."""
        return {"error": self.error, "message": self.message}

    def headers(self) -> dict[str, str]:
        """What is sent with it."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return headers | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})


class RefusedError(Exception):
    """Ends a request with a problem."""

    def __init__(self, status: int, error: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(status, error, message, retry_after)


def busy(what: str, retry_after: int) -> RefusedError:
    """Too much at once."""
    return RefusedError(429, "busy", f"{what}; try again in {retry_after} s", retry_after)


def too_costly(reason: str) -> RefusedError:
    """A file that takes more than one may."""
    return RefusedError(422, "too_costly", reason)


def not_found(error: str, message: str) -> RefusedError:
    """No such thing, or no longer."""
    return RefusedError(404, error, message)


class Discretion:
    """Knows what is not to be named."""

    def __init__(self, catalogue: str, folder: str) -> None:
        self._catalogue = catalogue
        self._uploads = re.compile(re.escape(folder) + r"[/\\][\w./\\-]*")

    def problem_of(self, error: DanceMatchError | RefusedError) -> Problem:
        """An expected error as it is told."""
        if isinstance(error, RefusedError):
            return error.problem
        status, name = next(_KINDS[kind] for kind in type(error).__mro__ if kind in _KINDS)
        if (status, name) == _KINDS[CatalogueError] and "://" in self._catalogue:
            log.warning("%s", error)
            return Problem(status, name, _OUT_OF_REACH, _TRY_AGAIN_SECONDS)
        retry_after = _TRY_AGAIN_SECONDS if status == 503 else None
        return Problem(status, name, self.discreet(str(error)), retry_after)

    def discreet(self, message: str) -> str:
        """The same sentence without our paths."""
        told = self._uploads.sub("the upload", message)
        for named in (f"the catalogue {self._catalogue}", self._catalogue):
            told = told.replace(named, "the catalogue")
        return told
