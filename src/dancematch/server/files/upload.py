"""What is sent to us: taken in piece by piece, under a name of our own, and judged by its content."""

import asyncio
import hashlib
import secrets
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from dancematch.errors import FormatError, InputError
from dancematch.formats import detect_suffix, registry
from dancematch.server.problems import RefusedError

_HEAD = 16  # bytes that tell what a video is
_UNPACKED = 16  # times its size that a small archive may unpack to, to be read at once
_VIDEOS = ((b"\x1aE\xdf\xa3", 0, ".webm"), (b"ftyp", 4, ".mp4"), (b"AVI ", 8, ".avi"), (b"GIF8", 0, ".gif"))
_WORDS = "fingerprint.npy"  # the member that tells words from motion
_OTHER = ".video"  # what only a decoder can tell
VIDEO_SUFFIXES = (*(suffix for _, _, suffix in _VIDEOS), _OTHER)


@dataclass(frozen=True)
class Upload:
    """A file that was sent to us."""

    path: Path
    digest: str  # SHA-256
    size: int
    holds_words: bool

    @property
    def suffix(self) -> str:
        """What it is, by the suffix that such files have."""
        return self.path.suffix

    def is_small(self, sync_bytes: int) -> bool:
        """Whether it can be read at once, here: it is no video, and not large, packed or unpacked."""
        readable = any(not format_.is_isolated for format_ in registry.formats_with(self.suffix))
        if not readable or self.size > sync_bytes:
            return False
        return self.suffix != ".npz" or unpacked_size(self.path) <= _UNPACKED * sync_bytes

    def discard(self) -> None:
        """Delete it."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Intake:
    """How uploads are taken in."""

    folder: Path
    most_bytes: int
    large_bytes: int
    seconds: float  # that an upload may take


async def receive(
    pieces: AsyncIterator[bytes], intake: Intake, *, declared: str | None, on_large: Callable[[], None]
) -> Upload:
    """Write what comes in to a new file; `on_large` is called as soon as it is known to be large.

    `declared` is the length that the sender claims.
    """
    expected = int(declared) if declared is not None and declared.isdecimal() else 0
    _check_size(expected, intake, on_large)
    path = intake.folder / f"{secrets.token_hex(16)}.part"
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("xb") as file:
            async with asyncio.timeout(intake.seconds):
                async for piece in pieces:
                    size += len(piece)
                    _check_size(size, intake, on_large)
                    digest.update(piece)
                    file.write(piece)
        if not size:
            raise InputError("the file is empty; a video, a motion file or words were expected")
        return await asyncio.to_thread(_named, path, digest.hexdigest(), size)
    except TimeoutError:
        raise RefusedError(
            408, "too_slow", f"the upload took more than {intake.seconds:.0f} s; try again"
        ) from None
    finally:
        path.unlink(missing_ok=True)  # by now it has another name, or is not wanted


def _check_size(size: int, intake: Intake, on_large: Callable[[], None]) -> None:
    if size > intake.most_bytes:
        most = intake.most_bytes >> 20
        raise RefusedError(413, "too_large", f"the upload is larger than the {most} MB that are allowed")
    if size > intake.large_bytes:
        on_large()


def _named(path: Path, digest: str, size: int) -> Upload:
    suffix = suffix_of(path)
    named = path.rename(path.with_suffix(suffix))
    return Upload(named, digest, size, suffix == ".npz" and _WORDS in _members(named))


def suffix_of(path: Path) -> str:
    """The suffix that a file of such content has."""
    if (suffix := detect_suffix(path)) is not None:
        return suffix
    with path.open("rb") as file:
        head = file.read(_HEAD)
    found = (suffix for mark, at, suffix in _VIDEOS if head[at : at + len(mark)] == mark)
    return next(found, _OTHER)


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        raise FormatError("the upload is an archive that is damaged or cut short") from None


def unpacked_size(path: Path) -> int:
    """What an archive says that it unpacks to."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())
