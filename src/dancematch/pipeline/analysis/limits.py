"""What the analysis of one file may cost, and how a worker process keeps to it."""

import os
import time
from dataclasses import dataclass
from typing import Literal

MEGABYTE = 1 << 20

_NICE = 10  # a process that answers searches goes first
_MAX_OPEN_FILES = 256
_THREADS = 4  # processor seconds per second of the limit

Limit = Literal[
    "seconds", "memory_bytes"
]  # those of `WorkLimits` that a file may exceed while it is analysed


@dataclass(frozen=True)
class WorkLimits:
    """What one file may cost."""

    seconds: float = 1800.0  # until its process is ended
    memory_bytes: int = 4096 * MEGABYTE  # of its process
    video_seconds: float = 600.0
    video_pixels: int = 4096 * 2176  # of a frame
    written_bytes: int = 1024 * MEGABYTE  # of one file that it writes


def limit_self(limits: WorkLimits) -> None:
    """Let the operating system end this process if it takes more memory, disk or files than allowed."""
    import resource

    allowed = {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.written_bytes,
        resource.RLIMIT_NOFILE: _MAX_OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in allowed.items():
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    os.nice(_NICE)


def peak_memory() -> int:
    """The most bytes that this process has had in memory."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def limit_processor_time(limits: WorkLimits) -> None:
    """Let the operating system end this process if its next file takes more processor time than allowed.

    The parent's watch ends it earlier; this one holds if the parent is gone.
    """
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = int(time.process_time() + _THREADS * limits.seconds) + 1
    resource.setrlimit(
        resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
    )
