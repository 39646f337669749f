"""What the routes share: the service, who asks, what may come at once, and errors as documented."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any, TypeVar

import anyio
from fastapi import Depends, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AfterValidator, StringConstraints

from dancematch.server.access.guard import SLASH
from dancematch.server.access.tokens import Scope
from dancematch.server.files.upload import Upload, receive
from dancematch.server.jobs.runner import Place
from dancematch.server.jobs.table import Job, Kind
from dancematch.server.problems import RefusedError, busy
from dancematch.server.schemas.catalogue import Error
from dancematch.server.service import Service, stopping

T = TypeVar("T")

MOST_AT_ONCE = 128  # requests with a body
MOST_STREAMS = 128
_LONGEST_NAME = 200

_bearer = HTTPBearer(auto_error=False, description="A token with the scope `read` or `write`")

_TEXT, _NAME, _TICKET = r"^[^\x00-\x1f\x7f]*$", r"^[^\x00-\x1f\x7f]+$", "^[0-9a-f]{32}$"
EXPECTED = {  # what the patterns mean, for people
    _TEXT: "text without control characters was expected",
    _NAME: "a name without control characters was expected",
    _TICKET: "an id was expected, 32 characters of 0-9 and a-f, as an earlier answer gave it",
}

Text = Annotated[str, StringConstraints(max_length=_LONGEST_NAME, pattern=_TEXT)]
Label = Annotated[Text | None, Query()]
Name = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST_NAME, pattern=_NAME)]
DanceId = Annotated[Name, Path(examples=["thriller"]), AfterValidator(lambda name: name.replace(SLASH, "/"))]
Ticket = Annotated[
    str,
    StringConstraints(pattern=_TICKET),
    Path(examples=["c3ab8ff13720e8ad9047dd39466b3c89"]),
]

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
    404: "No such thing, or no longer",
    408: "The upload took too long",
    409: "The name or the content is taken, or it is too late",
    410: "Noted by an earlier version, which this one cannot tell of",
    413: "The upload is too large",
    421: "Another machine is meant",
    422: "A parameter or the file cannot be used",
    429: "Too much at once: see Retry-After",
    503: "Not ready: see Retry-After",
}


def told(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for OpenAPI; those that any route may give come by themselves."""
    always = (400, 401, 403, 421, 422, 503)
    return {status: {"model": Error, "description": _MEANINGS[status]} for status in (*always, *statuses)}


class Gate:
    """Lets only so many in at once; others are told to come back."""

    def __init__(self, most: int, what: str) -> None:
        self._most, self._what, self._inside = most, what, 0

    def require_room(self) -> None:
        """Refuse whoever would be one too many."""
        if self._inside >= self._most:
            raise busy(f"{self._most} {self._what} are under way already", 1)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Inside, for as long as it lasts; used on the event loop only."""
        self.require_room()
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    if not service.ready:
        raise stopping()
    return service


async def scopes(
    request: Request, shown: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> frozenset[Scope]:
    """What whoever asks may do."""
    service: Service = request.app.state.service
    return service.options.tokens.allowed(shown.credentials if shown else None)


Scopes = Annotated[frozenset[Scope], Depends(scopes)]


async def _reader(allowed: Scopes) -> None:
    if "read" not in allowed:
        raise RefusedError(401, "unauthorised", "a valid token is needed: Authorization: Bearer SECRET")


def require_write(allowed: frozenset[Scope]) -> None:
    """Refuse whoever may only look."""
    if "write" not in allowed:
        raise RefusedError(403, "forbidden", "this token allows reading only; a write token is needed")


async def _writer(allowed: Scopes, _: Annotated[None, Depends(_reader)]) -> None:
    require_write(allowed)


READER, WRITER = Depends(_reader), Depends(_writer)
At = Annotated[Service, Depends(_service)]


class Lanes:
    """Work that takes the processor, few at a time so that each is done soon."""

    def __init__(self, width: int) -> None:
        self._searches, self._rest = anyio.CapacityLimiter(width), anyio.CapacityLimiter(width)

    async def search(self, work: Callable[..., T], *arguments: object) -> T:
        """Find."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._searches)

    async def other(self, work: Callable[..., T], *arguments: object) -> T:
        """Learn, explain or draw, which no search is to wait for."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._rest)


async def _lanes(request: Request) -> Lanes:
    lanes: Lanes = request.app.state.lanes
    return lanes


Threads = Annotated[Lanes, Depends(_lanes)]


class Parcel:
    """An upload in our hands, until it is given to a job."""

    def __init__(self, service: Service, upload: Upload, place: Place) -> None:
        self.upload = upload
        self._service, self._place, self._given_away = service, place, False

    @property
    def is_small(self) -> bool:
        """Whether it is answered at once."""
        most = self._service.options.sync_bytes
        if self.upload.is_small(most):
            return True
        if self.upload.holds_words:
            raise RefusedError(413, "too_large", f"words are read up to {most >> 20} MB only")
        return False

    def queue(self, kind: Kind, parameters: Mapping[str, Any]) -> Job:
        """Give it to a job."""
        self._place.take()
        job = Job(
            kind, self.upload.path.name, self.upload.digest,
            parameters.get("filename"), parameters.get("dance_id"), parameters,
        )  # fmt: skip
        self._service.runner.submit(job)
        self._given_away = True
        return job

    def discard(self) -> None:
        """Delete it, unless it is somebody else's by now."""
        if not self._given_away:
            self.upload.discard()


@asynccontextmanager
async def parcel_of(request: Request, service: Service) -> AsyncIterator[Parcel]:
    """The body of a request as a file, deleted afterwards if no job was given it."""
    with request.app.state.uploads.entered(), service.runner.place() as place:
        upload = await receive(
            request.stream(),
            service.intake,
            declared=request.headers.get("content-length"),
            on_large=place.take,
        )
        service.metrics.upload(upload.size)
        parcel = Parcel(service, upload, place)
        try:
            yield parcel
        finally:
            parcel.discard()
