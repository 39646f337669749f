"""The folder of the service: jobs, uploads and videos, for one process and one user."""

from pathlib import Path
from typing import IO

from dancematch.cache_folder import cache_folder
from dancematch.errors import InputError
from dancematch.pipeline.analysis.clip_files import SERVICE_SUFFIX
from dancematch.pipeline.catalogue import Catalogue
from dancematch.server.options import Options


class ServiceFolder:
    """The folder with its subfolders, locked until it is closed."""

    def __init__(self, options: Options, catalogue: Catalogue) -> None:
        self.path = _choose(options, catalogue).absolute()
        self.uploads, self.videos = self.path / "uploads", self.path / "videos"
        self.scans = self.path / "scans"
        for folder in (self.path, self.uploads, self.videos, self.scans):
            _make_private(folder)
        self._lock = _lock(self.path)

    def close(self) -> None:
        """Let another service use the folder."""
        self._lock.close()


def _choose(options: Options, catalogue: Catalogue) -> Path:
    """The folder beside the catalogue if that is a file, unless another was named."""
    if options.folder is not None:
        return options.folder
    if "://" in options.catalogue:
        return cache_folder() / "service" / catalogue.identity
    database = Path(options.catalogue)
    return database.with_name(database.name + SERVICE_SUFFIX)


def _make_private(folder: Path) -> None:
    """Make a folder that only this user may read."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made a folder: {error.strerror}; name another with --folder"
        ) from None


def _lock(folder: Path) -> IO[bytes]:
    """Lock the folder for this process, however it ends: two would delete each other's files."""
    import fcntl

    file = (folder / "lock").open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError(
            f"another service is at work in {folder}; stop it, or name another folder with --folder"
        ) from None
    return file
