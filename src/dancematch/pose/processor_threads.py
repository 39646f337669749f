"""How many threads a process may use, and how that is told to the processes it starts."""

import os

VARIABLE = "OMP_NUM_THREADS"
"""Environment variable that says how many; every core that the process may run on if it is not set."""


def available_threads() -> int:
    """Return how many threads this process may use for work on the processor."""
    told = os.environ.get(VARIABLE, "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share_of_threads(processes: int) -> int:
    """Return how many threads each of several processes at a time may use, at least one."""
    return max(1, available_threads() // processes)
