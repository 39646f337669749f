"""The middleware that every request passes: host and origin checks, security headers, metrics, log."""

import json
import logging
import re
import time
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dancematch.server.limits import MAX_HEADER_BYTES
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
        began = time.perf_counter()
        is_head = scope["method"] == "HEAD"
        inner = {**scope, "method": "GET", HEADERS_ONLY: True} if is_head else scope
        body = _RequestBody(scope, receive)
        answer = _GuardedAnswer(send, body, is_head)
        refusal = self._refuse(scope)
        try:
            if refusal is not None:
                await JSONResponse(refusal.body(), refusal.status)(scope, body.receive, answer.send)
                return
            inner["path"] = _path_with_slashes(scope)
            await self._app(inner, body.receive, answer.send)
        finally:
            self._record(scope, getattr(inner.get("route"), "path", "other"), answer.status, began)

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
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            most = MAX_HEADER_BYTES >> 10
            return ErrorAnswer(
                400, "bad_request", f"the headers are larger than the {most} kB that are allowed"
            )
        if is_loopback(self._options.host) and _host_name(host) not in self._hosts:
            # A page whose name its own name server made to point here: DNS rebinding.
            return ErrorAnswer(421, "wrong_host", "this service is for this machine; --allow-host adds names")
        if _is_from_elsewhere(headers, host) and headers.get("origin") not in self._options.cors_origins:
            return ErrorAnswer(
                403, "forbidden", "pages of other sites may not use this service; --cors allows one"
            )
        return None


class _GuardedAnswer:
    """An answer on its way to the client: its headers are completed, errors are JSON, HEAD has no body."""

    def __init__(self, send: Send, body: "_RequestBody", is_head: bool) -> None:
        self.status = 500
        self._send, self._body, self._is_head = send, body, is_head
        self._plain_error: Message | None = None  # the beginning of an error that is text, such as of a range

    async def send(self, message: Message) -> None:
        """Send the beginning or a part of the answer."""
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif self._plain_error is not None:
            await self._send_as_json(self._plain_error, message.get("body", b""))
        else:
            await self._send({**message, "body": b""} if self._is_head else message)

    async def _begin(self, message: Message) -> None:
        self.status = message["status"]
        headers = MutableHeaders(scope=message)
        for name, value in _DEFAULT_HEADERS.items():
            headers.setdefault(name, value)
        if not self._body.is_complete:
            headers["Connection"] = "close"  # the rest is not read
        if self.status >= 400 and headers.get("content-type", "").startswith("text/plain"):
            self._plain_error = message
        else:
            await self._send(message)

    async def _send_as_json(self, start: Message, text: bytes) -> None:
        self._plain_error = None
        reason = text.decode(errors="replace").rstrip(".").lower()
        content = json.dumps(ErrorAnswer(self.status, "bad_request", reason).body()).encode()
        headers = MutableHeaders(scope=start)
        headers["Content-Type"], headers["Content-Length"] = "application/json", str(len(content))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": b"" if self._is_head else content})


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


def _is_from_elsewhere(headers: Headers, host: str) -> bool:
    """Whether a page of another site asks; a link that is followed from there is the user's own wish."""
    origin = headers.get("origin")
    if origin is not None:
        return _netloc(origin) != host.lower()
    is_link = headers.get("sec-fetch-mode") == "navigate"
    return headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_link


def _netloc(origin: str) -> str:
    """The host and port of an origin; empty if it is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


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
