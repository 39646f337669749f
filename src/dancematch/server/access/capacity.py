"""How much runs at once: requests, streams, and threads for work on the processor."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio

from dancematch.server.limits import RETRY_REQUESTS, SMALL_UPLOAD_BYTES
from dancematch.server.problems import busy

T = TypeVar("T")


class ConcurrencyLimit:
    """Admits a number of users at a time, and of each address, and refuses more; for the event loop only."""

    def __init__(self, most: int, most_per_address: int, what: str) -> None:
        self._most, self._most_per_address, self._what = most, most_per_address, what
        self._used: Counter[str | None] = Counter()  # by address

    @contextmanager
    def admit(self, address: str | None) -> Iterator[None]:
        """Count one user for the length of the `with` block, or refuse."""
        if self._used.total() >= self._most:
            raise busy(f"{self._most} {self._what} are under way already", RETRY_REQUESTS)
        if self._used[address] >= self._most_per_address:
            reason = f"{self._most_per_address} {self._what} of this address are under way already"
            raise busy(reason, RETRY_REQUESTS)
        self._used[address] += 1
        try:
            yield
        finally:
            self._used[address] -= 1
            if not self._used[address]:
                del self._used[address]


class WorkThreads:
    """Threads for work on the processor, few at a time so that each finishes soon.

    Each kind of work has its own, so that none waits for another: searches, small files that are read, large
    ones, the rest, and the question whether the service is well.
    """

    def __init__(self, width: int, readers: int) -> None:
        self._searches, self._rest, self._health = (anyio.CapacityLimiter(width) for _ in range(3))
        self._small_files, self._large_files = anyio.CapacityLimiter(readers), anyio.CapacityLimiter(readers)
        self._turns: WeakValueDictionary[Any, asyncio.Lock] = WeakValueDictionary()  # by address and lane

    async def search(self, work: Callable[..., T], *arguments: object) -> T:
        """Run a search."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._searches)

    async def read(self, size: int, address: str | None, work: Callable[..., T], *arguments: object) -> T:
        """Have a file of that size read; small ones do not wait for large ones.

        The files of one address are read one after the other, so that it leaves a reader to others.
        """
        lane = self._small_files if size <= SMALL_UPLOAD_BYTES else self._large_files
        async with self._turns.setdefault((address, lane), asyncio.Lock()):
            return await anyio.to_thread.run_sync(work, *arguments, limiter=lane)

    async def other(self, work: Callable[..., T], *arguments: object) -> T:
        """Add, explain or draw, apart from the searches so that none waits for it."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._rest)

    async def health(self, work: Callable[..., T], *arguments: object) -> T:
        """Ask the catalogue whether it answers."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._health)
