"""A parallel map over threads: for the variants of a query and the blocks of a large catalogue.

The kernels release the interpreter's lock.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

MAX_THREADS = 8


def thread_count() -> int:
    """Return how many threads work at once."""
    return min(MAX_THREADS, os.cpu_count() or 1)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="dancematch")


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def parallel_map(function: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """Apply `function` to each item on the shared thread pool; results come in the order of the items.

    `function` must not call this itself: with every thread waiting, none would be left to work.
    """
    if len(items) < 2 or thread_count() < 2:
        return [function(item) for item in items]
    others = [_pool().submit(function, item) for item in items[1:]]
    return [function(items[0]), *(other.result() for other in others)]
