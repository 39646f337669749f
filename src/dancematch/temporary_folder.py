"""Private folders for some work, deleted afterwards: by their owner or, if it was killed, by the next one.

A process that is killed cannot delete its folder; the next one that makes a folder at the same place does.
A lock on a file in the folder tells whether its owner lives: ids of processes are given again, and those
of another container mean nothing here.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX = "dancematch-temporary-"
_OWNER = ".owner"  # the file that is locked


@contextmanager
def temporary_folder(within: Path | None = None) -> Iterator[Path]:
    """Make an empty folder that only this user may enter, below `within` or the system's temporary folder.

    It is deleted at the end. Folders whose owners are gone are deleted first, once per process and place. A
    child process that goes on after its parent was killed has to expect that the folder is deleted.
    """
    _clear_once(str(within or tempfile.gettempdir()))
    folder, lock = _make(within)
    try:
        yield folder
    finally:
        _delete(folder)
        os.close(lock)


@cache
def _clear_once(place: str) -> None:
    """Clear a place when it is first used: a service makes a folder per file."""
    clear_abandoned(Path(place))


def _make(within: Path | None) -> tuple[Path, int]:
    """Return a new folder, and the lock on it: an open file."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=within))
        # Until it is locked, another process may take it for abandoned; then there is a next one.
        with suppress(FileNotFoundError):
            lock = os.open(folder / _OWNER, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            _take(lock, wait=True)
            if (folder / _OWNER).exists():
                return folder, lock
            os.close(lock)


def _take(lock: int, *, wait: bool) -> bool:
    """Lock an open file; False if another process has it, or the file system has no such locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def clear_abandoned(within: Path | None = None) -> None:
    """Delete this user's folders whose owners are gone; never what a link leads to."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(within or tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):  # another process may be deleting it too
                    if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                        _delete_if_abandoned(Path(entry.path))


def _delete_if_abandoned(folder: Path) -> None:
    try:
        lock = os.open(folder / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        folder.rmdir()  # fails if it is not empty, and thus not of this module
        return
    try:
        if _take(lock, wait=False):
            _delete(folder)
    finally:
        os.close(lock)


def _delete(folder: Path) -> None:
    """Delete a folder; the lock's file goes last, so that a process killed here leaves an abandoned one."""
    with suppress(OSError):
        # By its old name nothing can be put into it any more, such as by a worker in its last second.
        folder = folder.rename(folder.with_name(f"{folder.name}-deleted"))
        for inside in [path for path in folder.iterdir() if path.name != _OWNER]:
            if inside.is_dir() and not inside.is_symlink():
                shutil.rmtree(inside, ignore_errors=True)
            else:
                inside.unlink(missing_ok=True)
        (folder / _OWNER).unlink(missing_ok=True)
        folder.rmdir()
