"""How much runs at once: requests, streams, and threads for work on the processor."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio

from dancematch.server.limits import RETRY_REQUESTS
from dancematch.server.problems import busy

T = TypeVar("T")


class ConcurrencyLimit:
    """Admits a number of users at a time and refuses more; for use on the event loop only."""

    def __init__(self, most: int, what: str) -> None:
        self._most, self._what, self._used = most, what, 0

    def require_room(self) -> None:
        """Refuse if there is no room for one more."""
        if self._used >= self._most:
            raise busy(f"{self._most} {self._what} are under way already", RETRY_REQUESTS)

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Count one user for the length of the `with` block, or refuse."""
        self.require_room()
        self._used += 1
        try:
            yield
        finally:
            self._used -= 1


class WorkThreads:
    """Threads for work on the processor, few at a time so that each finishes soon."""

    def __init__(self, width: int) -> None:
        self._searches, self._rest = anyio.CapacityLimiter(width), anyio.CapacityLimiter(width)

    async def search(self, work: Callable[..., T], *arguments: object) -> T:
        """Run a search."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._searches)

    async def other(self, work: Callable[..., T], *arguments: object) -> T:
        """Add, explain or draw, apart from the searches so that none waits for it."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._rest)
