"""A database server that is away for a moment: work on a catalogue is repeated until it is back."""

import logging
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from dancematch.errors import ServerAwayError

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0
"""A server may be away for so long; a restart takes a few seconds, or the time of its recovery."""

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0

T = TypeVar("T")
P = ParamSpec("P")


class Outage:
    """How long the server of a catalogue has been away, for all threads that use the catalogue.

    There is one wait and one line of log per outage, not one per change: when the server stays away, the
    changes after the first one that has waited in vain fail at once.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._lock = threading.Lock()
        self._since: float | None = None
        self._pause = _FIRST_PAUSE_SECONDS

    def end(self) -> None:
        """Note that the server has answered."""
        self._since = None

    def repeat(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; it is called again while it fails because the server is away."""
        failing_since: float | None = None
        while True:
            try:
                return work()
            except ServerAwayError:
                # Its own time too: the server may come back for others, and be lost to this work each time.
                failing_since = failing_since or time.monotonic()
                pause = self._next_pause(failing_since)
                if pause is None:
                    raise
            time.sleep(pause)

    def _next_pause(self, failing_since: float) -> float | None:
        """Return how many seconds to wait before the next attempt; None if it has been long enough."""
        with self._lock:
            if self._since is None:
                self._since, self._pause = time.monotonic(), _FIRST_PAUSE_SECONDS
                log.warning(
                    "%s: the server is away; waiting for it, up to %.0f s", self._where, PATIENCE_SECONDS
                )
            if time.monotonic() - min(self._since, failing_since) > PATIENCE_SECONDS:
                return None
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
            return self._pause


class HasOutage(Protocol):
    """What the methods marked by `repeated` belong to."""

    outage: Outage


S = TypeVar("S", bound=HasOutage)


def repeated(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Mark a method that is called again while the server is away; its arguments are read anew each time."""

    @wraps(method)
    def patient(self: S, /, *arguments: P.args, **options: P.kwargs) -> T:
        return self.outage.repeat(lambda: method(self, *arguments, **options))

    return patient
