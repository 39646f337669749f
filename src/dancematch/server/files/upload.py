"""Uploads: received piece by piece within limits of size and time, and named by the service.

What a file holds is found out by a worker: nothing in it is parsed in this process.
"""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from dancematch.errors import InputError
from dancematch.server import limits
from dancematch.server.options import MEGABYTE, Options
from dancematch.server.problems import RefusedError

_SUFFIX = ".upload"


@dataclass(frozen=True)
class Upload:
    """A received file."""

    path: Path
    digest: str  # SHA-256
    size: int

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
    _check_size(_declared_size(declared), options, on_large)
    path = folder / f"{secrets.token_hex(16)}.part"
    try:
        digest, size = await _write(pieces, path, options, on_large)
        if not size:
            raise InputError("the file is empty; a video, a motion file or words were expected")
        return Upload(path.rename(path.with_suffix(_SUFFIX)), digest, size)
    except TimeoutError:
        raise RefusedError(408, "too_slow", _too_slow(options)) from None
    finally:
        path.unlink(missing_ok=True)  # by now it has another name, or is refused


async def receive_text(
    pieces: AsyncIterator[bytes], options: Options, *, declared: str | None, most: int
) -> bytes:
    """A request's body of at most so many bytes, at the pace of an upload; it may be empty."""
    received = bytearray()

    def keep(piece: bytes) -> None:
        received.extend(piece)
        _require_at_most(len(received), most)

    _require_at_most(_declared_size(declared), most)
    try:
        await _receive_in_time(pieces, options, keep)
    except TimeoutError:
        raise RefusedError(408, "too_slow", _too_slow(options)) from None
    return bytes(received)


def _require_at_most(size: int, most: int) -> None:
    if size > most:
        raise RefusedError(
            413, "too_large", f"the body is larger than the {most / 1e6:g} MB that are allowed; split it"
        )


def _declared_size(declared: str | None) -> int:
    return int(declared) if declared is not None and declared.isdecimal() else 0


async def _write(
    pieces: AsyncIterator[bytes], path: Path, options: Options, on_large: Callable[[], None]
) -> tuple[str, int]:
    """Write the pieces; return their SHA-256 and size. Fails with TimeoutError where they come too slowly."""
    digest, size = hashlib.sha256(), 0
    with path.open("xb") as file:

        def write(piece: bytes) -> None:
            nonlocal size
            size += len(piece)
            _check_size(size, options, on_large)
            digest.update(piece)
            file.write(piece)

        await _receive_in_time(pieces, options, write)
    return digest.hexdigest(), size


async def _receive_in_time(
    pieces: AsyncIterator[bytes], options: Options, keep: Callable[[bytes], None]
) -> None:
    """Pass each piece to `keep`. Fails with TimeoutError where they come too slowly."""
    pace = _Pace(options.upload_seconds)
    async with asyncio.timeout_at(pace.deadline) as limit:
        async for piece in pieces:
            keep(piece)
            if pace.advance(len(piece)):
                limit.reschedule(pace.deadline)


class _Pace:
    """Until when the next bytes must have come: each `UPLOAD_PACE_BYTES` in `UPLOAD_PACE_SECONDS`.

    Not an average over the whole upload, by which a fast beginning would pay for hours of silence.
    """

    def __init__(self, seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        self._last, self._missing = now + seconds, limits.UPLOAD_PACE_BYTES
        self.deadline = min(self._last, now + limits.UPLOAD_PACE_SECONDS)

    def advance(self, size: int) -> bool:
        """Count bytes; True if they have moved the deadline."""
        self._missing -= size
        if self._missing > 0:
            return False
        self._missing = limits.UPLOAD_PACE_BYTES
        self.deadline = min(self._last, asyncio.get_running_loop().time() + limits.UPLOAD_PACE_SECONDS)
        return True


def _too_slow(options: Options) -> str:
    pace = f"{limits.UPLOAD_PACE_BYTES // 1024} kB in {limits.UPLOAD_PACE_SECONDS:.0f} s"
    return (
        f"the upload came too slowly: at least {pace}, and all in {options.upload_seconds:.0f} s; try again"
    )


def _check_size(size: int, options: Options, on_large: Callable[[], None]) -> None:
    if size > options.upload_bytes:
        most = options.upload_bytes // MEGABYTE
        raise RefusedError(413, "too_large", f"the upload is larger than the {most} MB that are allowed")
    if size > options.sync_bytes:
        on_large()
