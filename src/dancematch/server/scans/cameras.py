"""The pictures of cameras on their way to workers, through pipes: none of them is written to disk.

A browser sends a recording in pieces while it is made. What is in them is found out by the worker alone.
"""

import errno
import os
import secrets
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty, SimpleQueue

from dancematch.server import limits
from dancematch.server.problems import busy, not_found

_SUFFIX = ".camera"
_POLL_SECONDS = 0.02


class CameraStream:
    """The pictures of one camera."""

    def __init__(self, path: Path, address: str | None) -> None:
        self.path, self.address = path, address
        self._pieces: SimpleQueue[bytes | None] = SimpleQueue()  # None: there are no more
        self._lock, self._held = threading.Lock(), 0
        self._over = threading.Event()
        self._began: float | None = None
        os.mkfifo(path, 0o600)
        threading.Thread(target=self._write, name="dancematch-camera", daemon=True).start()

    def add(self, piece: bytes, elapsed: float) -> None:
        """Take the next piece of the recording, which began so many seconds ago."""
        with self._lock:
            if self._over.is_set():
                raise unknown_camera()
            if self._held + len(piece) > limits.MAX_HELD_PICTURES_BYTES:
                raise busy("the pictures come faster than they can be read", limits.RETRY_REQUESTS)
            self._held += len(piece)
            began = time.monotonic() - elapsed
            self._began = began if self._began is None else min(began, self._began)
        self._pieces.put(piece)

    def end(self) -> None:
        """Let the recording end with the pieces that have come."""
        self._pieces.put(None)

    def close(self) -> None:
        """Take no more: the recording has been read, or is not wanted any more."""
        self._over.set()
        self.end()

    @property
    def elapsed(self) -> float:
        """Seconds since the first picture was taken."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def _write(self) -> None:
        try:
            pipe = self._open()
            if pipe is None:
                return
            with os.fdopen(pipe, "wb", buffering=0) as file:
                while piece := self._pieces.get(timeout=limits.CAMERA_SILENCE_SECONDS):
                    file.write(piece)
                    with self._lock:
                        self._held -= len(piece)
        except (Empty, BrokenPipeError):
            return  # the camera is gone, or the worker is
        finally:
            self._over.set()

    def _open(self) -> int | None:
        """The pipe, as soon as the worker reads from it; None if it will not."""
        while not self._over.is_set():
            try:
                pipe = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    return None
                time.sleep(_POLL_SECONDS)
            else:
                os.set_blocking(pipe, True)
                return pipe
        return None


class Cameras:
    """The cameras that are on, by job: few at a time, and of one address."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._streams: dict[str, CameraStream] = {}

    def open(self, job_id: str, address: str | None) -> CameraStream:
        """Make room for the pictures of a camera, or refuse."""
        with self._lock:
            used = Counter(stream.address for stream in self._streams.values())
            if used[address] >= limits.MAX_CAMERAS_PER_ADDRESS:
                raise busy("a camera of this address is on already", limits.RETRY_QUEUE)
            if used.total() >= limits.MAX_CAMERAS:
                raise busy(f"{limits.MAX_CAMERAS} cameras are on already", limits.RETRY_QUEUE)
            stream = CameraStream(self._folder / f"{secrets.token_hex(16)}{_SUFFIX}", address)
            self._streams[job_id] = stream
            return stream

    def find(self, job_id: str) -> CameraStream:
        """The camera of a job, if it is on."""
        stream = self._streams.get(job_id)
        if stream is None:
            raise unknown_camera()
        return stream

    def close(self, job_id: str) -> None:
        """Let a camera go."""
        with self._lock:
            stream = self._streams.pop(job_id, None)
        if stream is not None:
            stream.close()


def unknown_camera() -> Exception:
    """404: no such camera is on."""
    return not_found("unknown_camera", "there is no such camera, or not any more")
