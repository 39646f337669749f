"""What has been read of a video on its way from a worker to its parent, part by part.

Each part is a folder of its own within the folder of the request, numbered in the order of the replies that
announce them. It is written under another name and then renamed: what the parent reads is complete.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from dancematch.pipeline.analysis.file_analysis import Analysis, read_analysis, write_analysis

OnPart = Callable[[Analysis], None]


class PartWriter:
    """Writes the parts of one request."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0

    def write(self, part: Analysis) -> None:
        """Write the next part."""
        self._count += 1
        target = _part_folder(self._folder, self._count)
        unfinished = target.with_suffix(".unfinished")
        unfinished.mkdir()
        write_analysis(unfinished, part)
        unfinished.rename(target)


class PartReader:
    """Hands over the parts of one request, and deletes their files."""

    def __init__(self, folder: Path, path: Path, on_part: OnPart | None) -> None:
        self._folder, self._path, self._on_part, self._count = folder, path, on_part, 0

    def read(self) -> None:
        """Read the next part of what is known of the file `path`."""
        self._count += 1
        target = _part_folder(self._folder, self._count)
        part = read_analysis(target, self._path)
        shutil.rmtree(target)
        if self._on_part is not None:
            self._on_part(part)


def _part_folder(folder: Path, number: int) -> Path:
    return folder / f"part-{number}"
