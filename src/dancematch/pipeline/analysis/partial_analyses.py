"""What has been read of a video on its way from a worker to its parent, part by part.

Each part is a folder of its own within the folder of the request, numbered in the order of the replies that
announce them. It is written under another name and then renamed: what the parent reads is complete. A worker
that is far ahead waits for its parent.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from dancematch.pipeline.analysis.file_analysis import Analysis

OnPart = Callable[[Analysis], None]

_MOST_UNREAD = 16  # parts on disk
_POLL_SECONDS = 0.02

P = TypeVar("P")


class PartWriter(Generic[P]):
    """Writes the parts of one request, each with `write` to a folder of its own."""

    def __init__(self, folder: Path, write: Callable[[Path, P], None]) -> None:
        self._folder, self._write, self._count = folder, write, 0

    def write(self, part: P) -> None:
        """Write the next part."""
        while _part_folder(self._folder, self._count - _MOST_UNREAD + 1).exists():
            time.sleep(_POLL_SECONDS)
        self._count += 1
        target = _part_folder(self._folder, self._count)
        unfinished = target.with_suffix(".unfinished")
        unfinished.mkdir()
        self._write(unfinished, part)
        unfinished.rename(target)


class PartReader(Generic[P]):
    """Reads the parts of one request, each with `read` from its folder, and deletes their files."""

    def __init__(self, folder: Path, read: Callable[[Path], P]) -> None:
        self._folder, self._read, self._count = folder, read, 0

    def read(self) -> P:
        """The next part."""
        self._count += 1
        target = _part_folder(self._folder, self._count)
        part = self._read(target)
        shutil.rmtree(target)
        return part


def _part_folder(folder: Path, number: int) -> Path:
    return folder / f"part-{number}"
