"""What every request passes: which machine it means, where it comes from, what its answer carries."""

import logging
import time
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dancematch.server.metrics import Metrics
from dancematch.server.options import Options, is_loopback
from dancematch.server.problems import Problem

log = logging.getLogger(__name__)

HEADERS_ONLY = "dancematch.headers_only"  # in the scope of a GET that was asked for as HEAD
SLASH = "\ufdd0"  # stands for a slash within a name; Unicode keeps it for such private use
_CHANGES = ("POST", "PUT", "DELETE", "PATCH")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",  # other sites may not embed what is here
    "Permissions-Policy": "camera=(self), microphone=(self), geolocation=()",
}
_KEPT = {"Cache-Control": "no-store"}


class Guard:
    """Refuses what is not meant for us, and sees to the headers of every answer."""

    def __init__(self, app: ASGIApp, options: Options, metrics: Metrics) -> None:
        self._app, self._options, self._metrics = app, options, metrics
        self._hosts = {"localhost", "127.0.0.1", "::1", options.host.lower(), *options.allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        asked = _as_get(scope) if scope["method"] == "HEAD" else scope

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in (_HEADERS | _KEPT).items():
                    headers.setdefault(name, value)
            elif asked is not scope:
                message = {**message, "body": b""}
            await send(message)

        problem = self._problem(scope)
        try:
            if problem is not None:
                await JSONResponse(problem.body(), problem.status)(scope, receive, sent)
                return
            asked["path"] = _with_slashes(scope)
            await self._app(asked, receive, sent)
        finally:
            route = getattr(asked.get("route"), "path", "other")
            method, seconds = _method(scope), time.perf_counter() - began
            self._metrics.request(method, route, status, seconds)
            facts = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
            log.info("%s %s %d", method, route, status, extra={"facts": facts})

    def _problem(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if is_loopback(self._options.host) and _name_in(host) not in self._hosts:
            # A page whose name was made to point here by its own name server: DNS rebinding.
            return Problem(421, "wrong_host", "this service is for this machine; --allow-host adds names")
        origin = headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
        if scope["method"] in _CHANGES and foreign and origin not in self._options.cors_origins:
            return Problem(
                403, "forbidden", "pages of other sites may not use this service; --cors allows one"
            )
        return None


def _as_get(scope: Scope) -> Scope:
    """What the answer to HEAD is made by: the same with GET, whose headers it has."""
    return {**scope, "method": "GET", HEADERS_ONLY: True}


def _name_in(host: str) -> str:
    """The host's name without its port."""
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower()


def _with_slashes(scope: Scope) -> str:
    """The path, a slash that was percent-encoded told from one that divides."""
    raw = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return str(scope["path"])
    parts = raw.decode("ascii", errors="replace").partition("?")[0].split("/")
    return "/".join(unquote(part).replace("/", SLASH) for part in parts)


def _method(scope: Scope) -> str:
    known = (*_CHANGES, "GET", "HEAD", "OPTIONS")
    return scope["method"] if scope["method"] in known else "other"
