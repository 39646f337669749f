"""Uploads: received piece by piece, named by the service, recognised by their content."""

import asyncio
import hashlib
import secrets
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from dancematch.errors import InputError
from dancematch.formats import detect_suffix, registry
from dancematch.server.limits import MAX_UNPACKED_RATIO
from dancematch.server.options import MEGABYTE, Options
from dancematch.server.problems import RefusedError

VIDEO = ".video"  # the suffix of every upload that is no motion file: a decoder recognises its container
_WORDS_MEMBER = "fingerprint.npy"


@dataclass(frozen=True)
class Upload:
    """A received file."""

    path: Path
    digest: str  # SHA-256
    size: int
    holds_words: bool

    def is_small(self, sync_bytes: int) -> bool:
        """Whether it is read at once, in this process: a motion file, small packed and unpacked."""
        suffix = self.path.suffix
        readable = any(not format_.is_isolated for format_ in registry.formats_with(suffix))
        if not readable or self.size > sync_bytes:
            return False
        return suffix != ".npz" or _unpacked_size(self.path) <= MAX_UNPACKED_RATIO * sync_bytes

    def delete(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


async def receive(
    pieces: AsyncIterator[bytes],
    folder: Path,
    options: Options,
    *,
    declared: str | None,
    on_large: Callable[[], None],
) -> Upload:
    """Write a request's body to a new file; `on_large` is called as soon as it is too large to read at once.

    `declared` is the length that the sender claims.
    """
    expected = int(declared) if declared is not None and declared.isdecimal() else 0
    _check_size(expected, options, on_large)
    path = folder / f"{secrets.token_hex(16)}.part"
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("xb") as file:
            async with asyncio.timeout(options.upload_seconds):
                async for piece in pieces:
                    size += len(piece)
                    _check_size(size, options, on_large)
                    digest.update(piece)
                    file.write(piece)
        if not size:
            raise InputError("the file is empty; a video, a motion file or words were expected")
        return await asyncio.to_thread(_recognise, path, digest.hexdigest(), size)
    except TimeoutError:
        reason = f"the upload took more than {options.upload_seconds:.0f} s; try again"
        raise RefusedError(408, "too_slow", reason) from None
    finally:
        path.unlink(missing_ok=True)  # by now it has another name, or is refused


def _check_size(size: int, options: Options, on_large: Callable[[], None]) -> None:
    if size > options.upload_bytes:
        most = options.upload_bytes // MEGABYTE
        raise RefusedError(413, "too_large", f"the upload is larger than the {most} MB that are allowed")
    if size > options.sync_bytes:
        on_large()


def _recognise(path: Path, digest: str, size: int) -> Upload:
    suffix = detect_suffix(path) or VIDEO
    holds_words = suffix == ".npz" and _holds_words(path)
    return Upload(path.rename(path.with_suffix(suffix)), digest, size, holds_words)


def _holds_words(path: Path) -> bool:
    """As `pipeline.query.holds_words`, without reading a large archive into memory."""
    with zipfile.ZipFile(path) as archive:
        return _WORDS_MEMBER in archive.namelist()


def _unpacked_size(path: Path) -> int:
    """The size that an archive claims to unpack to."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())
