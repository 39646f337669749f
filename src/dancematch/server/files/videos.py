"""Videos of dances, where they are kept: a file each, named by its content."""

import shutil
from pathlib import Path

from dancematch.server.files.upload import VIDEO_SUFFIXES


class Videos:
    """The videos in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, upload: Path, digest: str) -> None:
        """Keep a copy of an upload of that content."""
        part = self._folder / f"{digest}.part"
        shutil.copyfile(upload, part)
        part.replace(self._folder / f"{digest}{upload.suffix}")

    def find(self, digest: str) -> Path | None:
        """The file of that content; None if it was not kept."""
        # Asked for by name: a folder of many would take long to look through.
        named = (self._folder / f"{digest}{suffix}" for suffix in VIDEO_SUFFIXES)
        return next((path for path in named if path.is_file()), None)

    def forget(self, digest: str) -> None:
        """Delete the file of that content, if there is one."""
        found = self.find(digest)
        if found is not None:
            found.unlink()
