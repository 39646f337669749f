"""All kernels of the table compiled ahead of time, in child processes, once per machine.

    python -m dancematch.search.kernels.preparation

An installer runs this; where none did, adding the first recording starts it in the background, and the first
search waits for the rest. Several at once take turns, and the later ones find everything done.
"""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from dancematch.search.kernels.kernel_folder import FOLDER_VARIABLE, kernel_folder, mark_path

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

LOW_PRIORITY = "--low-priority"
_ABANDONED_DAYS = 30  # after which files that the current kernels do not use are deleted
_ROOM = "dancematch.search.kernels"

_starting = threading.Lock()
_started: list[subprocess.Popen[bytes]] = []  # kept: a process that is collected while it runs is a warning


def start_preparing() -> None:
    """Start compiling in the background, at low priority, unless it was done or cannot be kept.

    It goes on when this process ends.
    """
    if not mark_path().exists() and _can_write():
        _start(LOW_PRIORITY)


def prepare_kernels() -> None:
    """Wait until all kernels are compiled for this processor; what cannot be kept is compiled when called."""
    if is_prepared():
        return
    if not _can_write():
        log.warning(
            "the search is compiled now and cannot be kept, which takes most of a minute at every start: "
            "%s cannot be written; name another folder in %s", kernel_folder(), FOLDER_VARIABLE,
        )  # fmt: skip
        return
    log.warning("preparing the search for this computer; this happens once and takes about a minute")
    process = _start()
    if process is not None:
        process.wait()


def is_prepared() -> bool:
    """Whether all kernels are there for this processor."""
    from dancematch.search.kernels.kernel_cache import describe_processor

    with suppress(OSError):
        return mark_path().read_text(encoding="utf-8") == describe_processor()
    return False


def _can_write() -> bool:
    folder = kernel_folder()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK)
    return False


def _start(*options: str) -> subprocess.Popen[bytes] | None:
    """The process that compiles; None if none can be started."""
    with _starting, suppress(OSError):
        if not _started or options == ():
            _started.append(_run("preparation", *options, output=subprocess.DEVNULL))
        return _started[-1]
    return None


def _run(module: str, *options: str, output: int) -> subprocess.Popen[bytes]:
    """Start a module of this room; a signal from the terminal is not for it."""
    return subprocess.Popen(  # noqa: S603  (our own module)
        [sys.executable, "-m", f"{_ROOM}.{module}", *options],
        stdin=subprocess.PIPE if output == subprocess.PIPE else subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def compile_all(*options: str) -> bool:
    """Compile what is missing of the table, on all cores; whether all of it is on disk now."""
    from dancematch.search.kernels.table import read_lines

    with _turn():
        if is_prepared():
            return True
        lines: SimpleQueue[str] = SimpleQueue()
        for line in read_lines():
            lines.put(line)
        failed: list[str] = []
        threads = [
            threading.Thread(target=_feed, args=(lines, failed, options)) for _ in range(os.cpu_count() or 1)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed or not lines.empty():
            return False
        _mark()
        _delete_abandoned()
        return True


def _feed(lines: "SimpleQueue[str]", failed: list[str], options: tuple[str, ...]) -> None:
    """Let one process compile line by line, until none is left or it dies."""
    with _run("compile_kernels", *options, output=subprocess.PIPE) as process:
        assert process.stdin is not None  # noqa: S101  (both are pipes)
        assert process.stdout is not None  # noqa: S101
        while True:
            try:
                line = lines.get_nowait()
            except Empty:
                break
            with suppress(OSError):
                process.stdin.write(f"{line}\n".encode())
                process.stdin.flush()
            if process.stdout.readline() != b"yes\n":
                failed.append(line)
                break


@contextmanager
def _turn() -> Iterator[None]:
    """Wait for other processes that compile; a killed one is out of the way at once."""
    kernel_folder().mkdir(parents=True, exist_ok=True)
    with (kernel_folder() / "turn").open("wb") as file:
        if sys.platform != "win32":
            with suppress(OSError):  # a file system without locks: both compile, and both are right
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _mark() -> None:
    from dancematch.search.kernels.kernel_cache import describe_processor, write_whole

    write_whole(mark_path(), describe_processor().encode())


def _delete_abandoned() -> None:
    """Delete old files that are not of these kernels, and folders of other versions of numba."""
    from dancematch.search.kernels.table import read_lines, read_signature

    signatures = map(read_signature, read_lines())
    current = {one.kernel._cache.path(one.types) for one in signatures} | {mark_path()}
    before = time.time() - _ABANDONED_DAYS * 86400
    for path in kernel_folder().parent.glob("dancematch-*/*"):
        with suppress(OSError):
            if path not in current and _is_ours(path) and path.stat().st_mtime < before:
                path.unlink()


def _is_ours(path: Path) -> bool:
    from dancematch.search.kernels.kernel_cache import SUFFIX

    return path.suffix in (SUFFIX, ".part") or path.name.startswith("complete-")


def main() -> None:
    """Compile; exits with 1 if something is missing afterwards."""
    if not compile_all(*sys.argv[1:]):
        sys.exit(1)


if __name__ == "__main__":
    main()
