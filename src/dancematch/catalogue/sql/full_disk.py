"""A SQLite catalogue on a disk without room: it is read, and dances are removed from it, all the same.

SQLite needs room beside the file even to read it (`-shm`), unless one process has it to itself; that is how a
catalogue is opened where there is none (`connection.connect`, `confined`). A removal writes every page that
it overwrites into the log (`-wal`) first: for that, some room is held by a file beside the catalogue, the
ballast, which is deleted when a removal finds no other, and made again afterwards.
"""

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from tempfile import TemporaryFile
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from dancematch.errors import DiskFullError

BALLAST_BYTES = 8 << 20
"""Three dances of ten minutes with their skeletons can be removed in it, or seventy of half a minute."""

BALLAST_SUFFIX = ".ballast"

_NEEDED_BYTES = 64 << 10  # `-shm`, and the first pages of the log
_SHARED_BYTES = 32 << 10  # `-shm` of a catalogue that is open
_MAYBE_FULL = ("SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE", "SQLITE_CANTOPEN")

T = TypeVar("T")
P = ParamSpec("P")


def is_full(error: BaseException | None, file: Path) -> bool:
    """Whether SQLite failed because the disk of the catalogue's file has no room left."""
    name = getattr(error, "sqlite_errorname", None) if isinstance(error, sqlite3.Error) else None
    return name == "SQLITE_FULL" or (name in _MAYBE_FULL and not has_room(file))


def has_room(file: Path) -> bool:
    """Whether there is room beside a file to work on it: a trial, because quotas show nowhere else."""
    try:
        with TemporaryFile(dir=file.parent) as trial:
            _allocate(trial.fileno(), _NEEDED_BYTES)
    except OSError as error:
        return error.errno not in (errno.ENOSPC, errno.EDQUOT)
    return True


def is_shared(file: Path) -> bool:
    """Whether another process seems to have the catalogue open, in the way that needs room."""
    try:
        return file.with_name(f"{file.name}-shm").stat().st_size >= _SHARED_BYTES
    except OSError:
        return False


def make_ballast(file: Path) -> None:
    """Make the ballast of a catalogue's file if it is not there, and there is room for it."""
    path = _ballast(file)
    try:
        if path.exists() and path.stat().st_size == BALLAST_BYTES:
            return
        with path.open("ab") as ballast:  # a killed process may have left it half made
            _allocate(ballast.fileno(), BALLAST_BYTES)
    except OSError:
        release_ballast(file)  # half of it would only take room


def release_ballast(file: Path) -> bool:
    """Delete the ballast; return whether there was one."""
    with suppress(OSError):
        _ballast(file).unlink()
        return True
    return False


def _ballast(file: Path) -> Path:
    return file.with_name(file.name + BALLAST_SUFFIX)


def _allocate(number: int, size: int) -> None:
    """Take up room for an open file, for real."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(number, 0, size)
    else:
        os.ftruncate(number, 0)
        os.write(number, bytes(size))


class HasBallast(Protocol):
    """What the methods marked by `spends_ballast` belong to."""

    def release_ballast(self) -> bool:
        """Delete the ballast; return whether there was one."""

    def restore_ballast(self) -> None:
        """Empty the log and make the ballast again."""


S = TypeVar("S", bound=HasBallast)


def spends_ballast(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Mark a method that, if the disk is full, is called again in the room that the ballast held."""

    @wraps(method)
    def spending(self: S, /, *arguments: P.args, **options: P.kwargs) -> T:
        try:
            return method(self, *arguments, **options)
        except DiskFullError:
            if not self.release_ballast():
                raise
        try:
            return method(self, *arguments, **options)
        finally:
            self.restore_ballast()

    return spending
