"""What looking at one file may cost, and how a process keeps to it."""

import os
from dataclasses import dataclass
from typing import Literal

MEGABYTE = 1 << 20

_NICER = 10  # whoever answers questions goes first
_MOST_FILES = 256
_MOST_WRITTEN = 1 << 30  # bytes

Limit = Literal["seconds", "memory_bytes"]  # of those below, that a file may go beyond while it is looked at


@dataclass(frozen=True)
class WorkLimits:
    """What one file may cost."""

    seconds: float = 1800.0  # until its process is ended
    memory_bytes: int = 4096 * MEGABYTE  # of its process
    video_seconds: float = 600.0
    video_pixels: int = 4096 * 2176  # of a frame


def limit_self(limits: WorkLimits, *, files: int | None = 1) -> None:
    """Let the system itself end this process if it wants too much.

    Processor time is limited for so many `files`; None looks at any number, and is watched from outside.
    """
    import resource

    allowed = {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_FSIZE: _MOST_WRITTEN,
        resource.RLIMIT_NOFILE: _MOST_FILES,
        resource.RLIMIT_CORE: 0,
    }
    if files is not None:
        allowed[resource.RLIMIT_CPU] = files * int(4 * limits.seconds) + 1  # of all threads together
    for kind, most in allowed.items():
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    os.nice(_NICER)
