"""Several hands: the readings of a clip, and parts of a large catalogue, are looked at side by side.

The kernels let other threads run.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

MOST = 8  # threads


def thread_count() -> int:
    """How many hands there are."""
    return min(MOST, os.cpu_count() or 1)


@cache
def _hands() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="dancematch")


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_hands.cache_clear)


def parallel_map(work: Callable[[A], B], things: Sequence[A]) -> list[B]:
    """What `work` makes of each thing, in their order.

    The work itself must not call this: with all hands waiting nobody would be left to do it.
    """
    if len(things) < 2 or thread_count() < 2:
        return [work(thing) for thing in things]
    others = [_hands().submit(work, thing) for thing in things[1:]]
    return [work(things[0]), *(other.result() for other in others)]
