"""Connections: how many there may be, and how long each may be silent.

uvicorn speaks HTTP; what it has no limits for is added to its protocol here. A connection that sends its
headers too slowly, or does not read its answer, is closed. Where there are too many, in all or of one
address, the one that has been without a request for longest gives way to a new one: connections that are
held open and say nothing keep no other out.
"""

import asyncio
import json
from collections import defaultdict
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dancematch.server import limits
from dancematch.server.problems import ErrorAnswer

_TOO_MANY = ErrorAnswer(
    503, "not_ready", "too many connections are open; close some, or try again", limits.RETRY_REQUESTS
)
_SLOW_HEADERS = ErrorAnswer(
    408, "too_slow", f"the headers of the request did not come within {limits.HEADER_SECONDS:.0f} s"
)
_NO_HTTP = ErrorAnswer(400, "bad_request", "this is no HTTP request that can be understood")


class Connections:
    """The open connections of a service, the longest open first."""

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most, self._most_per_address = most, most_per_address
        self._open: dict[LimitedProtocol, str] = {}  # with their addresses, in the order of their opening
        self._by_address: defaultdict[str, dict[LimitedProtocol, None]] = defaultdict(dict)

    def protocol(self, *arguments: Any, **options: Any) -> "LimitedProtocol":
        """A protocol for one more connection, as uvicorn asks for it."""
        return LimitedProtocol(self, *arguments, **options)

    def make_room(self, address: str) -> bool:
        """Close idle connections so that one more fits; False if all others are at work."""
        of_address = self._by_address.get(address, {})
        enough = len(of_address) < self._most_per_address or self._close_idle(of_address)
        return enough and (len(self._open) < self._most or self._close_idle(self._open))

    @property
    def can_refuse(self) -> bool:
        """Whether there is room for one more to be told that there is none: it lingers for a while."""
        return len(self._open) < self._most + limits.MAX_REFUSED_CONNECTIONS

    @staticmethod
    def _close_idle(among: "dict[LimitedProtocol, Any]") -> bool:
        idle = [one for one in among if one.is_idle]
        if idle:
            min(idle, key=lambda one: one.idle_since).give_way()
        return bool(idle)

    def add(self, protocol: "LimitedProtocol", address: str) -> None:
        """Count a connection."""
        self._open[protocol] = address
        self._by_address[address][protocol] = None

    def discard(self, protocol: "LimitedProtocol") -> None:
        """Count a connection no more."""
        address = self._open.pop(protocol, None)
        if address is not None:
            del self._by_address[address][protocol]
            if not self._by_address[address]:
                del self._by_address[address]


class LimitedParser(h11.Connection):
    """h11's parser, which refuses bodies in many tiny chunks: each costs as much work as a large one."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, limits.MAX_HEADER_BYTES)
        self._chunks = self._bytes = 0

    def next_event(self) -> Any:
        """The next part of a request, as h11 gives it."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._chunks += 1
            self._bytes += len(event.data)
            if self._chunks > limits.MAX_TINY_CHUNKS and self._bytes < self._chunks * limits.MIN_CHUNK_BYTES:
                raise h11.RemoteProtocolError("the body comes in chunks that are too small")
        return event


class LimitedProtocol(H11Protocol):
    """One connection: uvicorn's, with limits, and with errors as JSON."""

    def __init__(self, connections: Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = LimitedParser()
        self.idle_since = self.loop.time()  # when it was opened, or its last answer complete
        self._connections = connections
        self._header_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way: none has come, or only a part of its headers."""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and self.conn.their_state in (h11.IDLE, h11.DONE, h11.MUST_CLOSE)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, unless there are too many that are at work."""
        self._lingering = _LingeringTransport(transport, self)
        super().connection_made(self._lingering)  # type: ignore[arg-type]
        address = self.client[0] if self.client else ""
        has_room = self._connections.make_room(address)
        if not has_room and not self._connections.can_refuse:
            transport.abort()
            return
        self._connections.add(self, address)
        if has_room:
            self._await_headers()
        else:
            self._refuse(_TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._connections.discard(self)
        for timer in (self._header_timer, self._answer_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Go on with the request; the time for its headers runs from their first byte."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._await_headers()

    def handle_events(self) -> None:
        """As uvicorn does; headers that are there are waited for no more."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE and self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _await_headers(self) -> None:
        if self._header_timer is None:
            late = partial(self._refuse, _SLOW_HEADERS)
            self._header_timer = self.loop.call_later(limits.HEADER_SECONDS, late)

    def on_response_complete(self) -> None:
        """As uvicorn does; from now on the connection is without a request."""
        self.idle_since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not read: it has some time to begin."""
        super().pause_writing()
        if self._answer_timer is None:
            self._answer_timer = self.loop.call_later(limits.UNREAD_ANSWER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    def give_way(self) -> None:
        """Close the connection for another."""
        self._connections.discard(self)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer what is no HTTP; uvicorn calls it by this name."""
        self._refuse(_NO_HTTP)

    def _refuse(self, answer: ErrorAnswer) -> None:
        """Answer with an error and close the connection; an answer that has begun is cut off."""
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # for the application, which is in the middle of the request
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(answer.body()).encode()
            headers = {
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Connection": "close",
                "X-Content-Type-Options": "nosniff",
                **answer.headers(),
            }
            events = (
                h11.Response(status_code=answer.status, headers=list(headers.items())),
                h11.Data(data=body),
                h11.EndOfMessage(),
            )
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self._lingering.close(linger=True)


class _LingeringTransport:
    """A transport that, on closing, lets the client read the answer where more of its request was to come.

    To close a socket with unread data in it resets the connection, and the answer may be lost with it. So
    only the sending half is closed at first, nothing more is read, and the rest follows a little later.
    """

    def __init__(self, transport: asyncio.Transport, protocol: LimitedProtocol) -> None:
        self._transport, self._protocol, self._is_closing = transport, protocol, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing more is to be read or written."""
        return self._is_closing or self._transport.is_closing()

    def close(self, *, linger: bool = False) -> None:
        """Close now if no request is half received, otherwise in a while."""
        if self.is_closing():
            return
        self._is_closing = True
        if not linger and self._protocol.conn.their_state is not h11.SEND_BODY:
            self._transport.close()
            return
        self._transport.pause_reading()
        if self._transport.can_write_eof():
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(limits.LINGER_SECONDS, self._transport.abort)
