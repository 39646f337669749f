"""The videos of recordings, where they are kept: one file each, named by its content."""

import shutil
from pathlib import Path

_SUFFIX = ".video"
_UNKNOWN = "application/octet-stream"
_SIGNATURES = (  # bytes, offset, media type
    (b"\x1aE\xdf\xa3", 0, "video/webm"),
    (b"ftyp", 4, "video/mp4"),
    (b"AVI ", 8, "video/x-msvideo"),
    (b"GIF8", 0, "image/gif"),
)
MEDIA_TYPES = (*(media_type for *_, media_type in _SIGNATURES), _UNKNOWN)


def media_type_of(path: Path) -> str:
    """The media type of a video, by its first bytes."""
    with path.open("rb") as file:
        head = file.read(16)
    found = (kind for mark, at, kind in _SIGNATURES if head[at : at + len(mark)] == mark)
    return next(found, _UNKNOWN)


class VideoFolder:
    """A folder of videos."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}{_SUFFIX}"

    def add(self, upload: Path, digest: str) -> None:
        """Copy an upload with that content hash."""
        part = self._folder / f"{digest}.part"
        shutil.copyfile(upload, part)
        part.replace(self._path(digest))

    def find(self, digest: str) -> Path | None:
        """The video with that content hash; None if it was not kept."""
        path = self._path(digest)
        return path if path.is_file() else None

    def delete(self, digest: str) -> None:
        """Remove the video with that content hash, if there is one."""
        self._path(digest).unlink(missing_ok=True)

    def digests(self) -> list[str]:
        """The content hashes of all videos."""
        return [path.stem for path in self._folder.glob(f"*{_SUFFIX}")]
