"""What routes depend on: the service, the caller's scopes, the threads."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from dancematch.server.access.capacity import WorkThreads
from dancematch.server.access.tokens import Scope
from dancematch.server.problems import RefusedError, not_ready
from dancematch.server.service import Service

_bearer = HTTPBearer(auto_error=False, description="A token with the scope `read` or `write`")


async def _ready_service(request: Request) -> Service:
    service: Service = request.app.state.service
    if not service.ready:
        raise not_ready()
    return service


async def _granted_scopes(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> frozenset[Scope]:
    service: Service = request.app.state.service
    return service.options.tokens.scopes_of(given.credentials if given else None)


async def _work_threads(request: Request) -> WorkThreads:
    threads: WorkThreads = request.app.state.threads
    return threads


ReadyService = Annotated[Service, Depends(_ready_service)]
GrantedScopes = Annotated[frozenset[Scope], Depends(_granted_scopes)]
Threads = Annotated[WorkThreads, Depends(_work_threads)]


async def _require_read(granted: GrantedScopes) -> None:
    if "read" not in granted:
        raise RefusedError(401, "unauthorised", "a valid token is needed: Authorization: Bearer SECRET")


def require_write(granted: frozenset[Scope]) -> None:
    """Refuse a token that allows reading only."""
    if "write" not in granted:
        raise RefusedError(403, "forbidden", "this token allows reading only; a write token is needed")


async def _require_write(granted: GrantedScopes, _: Annotated[None, Depends(_require_read)]) -> None:
    require_write(granted)


READER, WRITER = Depends(_require_read), Depends(_require_write)
