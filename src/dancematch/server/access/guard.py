"""The middleware that every request passes: host and origin checks, security headers, metrics, log."""

import logging
import re
import time
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dancematch.server.metrics import Metrics
from dancematch.server.options import Options, is_loopback
from dancematch.server.problems import ErrorAnswer

log = logging.getLogger(__name__)

HEADERS_ONLY = "dancematch.headers_only"  # in the scope of a HEAD request that is answered as a GET
SLASH = "\ufdd0"  # stands for a slash within a name; Unicode reserves it for such private use
_HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:@/\s]+))(?::\d*)?")
_CHANGING_METHODS = ("POST", "PUT", "DELETE", "PATCH")
_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_DEFAULT_HEADERS = {
    "Content-Security-Policy": _CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",  # other sites may not embed what is here
    "Permissions-Policy": "camera=(self), microphone=(self), geolocation=()",
    "Cache-Control": "no-store",
}


class RequestGuard:
    """Refuses requests for another host or from another site, and completes the headers of every answer."""

    def __init__(self, app: ASGIApp, options: Options, metrics: Metrics) -> None:
        self._app, self._options, self._metrics = app, options, metrics
        self._hosts = {"localhost", "127.0.0.1", "::1", options.host.lower(), *options.allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        is_head = scope["method"] == "HEAD"
        inner = {**scope, "method": "GET", HEADERS_ONLY: True} if is_head else scope

        body = _RequestBody(scope, receive)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _DEFAULT_HEADERS.items():
                    headers.setdefault(name, value)
                if not body.is_complete:
                    headers["Connection"] = "close"  # the rest is not read
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        refusal = self._refuse(scope)
        try:
            if refusal is not None:
                await JSONResponse(refusal.body(), refusal.status)(scope, body.receive, send_with_headers)
                return
            inner["path"] = _path_with_slashes(scope)
            await self._app(inner, body.receive, send_with_headers)
        finally:
            self._record(scope, getattr(inner.get("route"), "path", "other"), status, began)

    def _record(self, scope: Scope, route: str, status: int, began: float) -> None:
        known = (*_CHANGING_METHODS, "GET", "HEAD", "OPTIONS")
        method = scope["method"] if scope["method"] in known else "other"
        seconds = time.perf_counter() - began
        self._metrics.count_request(method, route, status, seconds)
        facts = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
        log.info("%s %s %d", method, route, status, extra={"facts": facts})

    def _refuse(self, scope: Scope) -> ErrorAnswer | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy might go by the one and this service by the other: request smuggling.
            return ErrorAnswer(400, "bad_request", "a body has a Content-Length or is chunked, not both")
        if is_loopback(self._options.host) and _host_name(host) not in self._hosts:
            # A page whose name its own name server made to point here: DNS rebinding.
            return ErrorAnswer(421, "wrong_host", "this service is for this machine; --allow-host adds names")
        origin = headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
        if scope["method"] in _CHANGING_METHODS and foreign and origin not in self._options.cors_origins:
            return ErrorAnswer(
                403, "forbidden", "pages of other sites may not use this service; --cors allows one"
            )
        return None


class _RequestBody:
    """The body of a request on its way to the application."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        self._receive = receive
        self.is_complete = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self.is_complete = True
        return message


def _host_name(host: str) -> str:
    """The host without its port; empty if it is none."""
    found = _HOST.fullmatch(host)
    return (found["address"] or found["name"]).lower() if found else ""


def _path_with_slashes(scope: Scope) -> str:
    """The path, with a percent-encoded slash kept apart from one that separates."""
    raw = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return str(scope["path"])
    parts = raw.decode("ascii", errors="replace").partition("?")[0].split("/")
    return "/".join(unquote(part).replace("/", SLASH) for part in parts)
