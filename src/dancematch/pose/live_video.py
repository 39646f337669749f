"""Videos that are still being made: a camera, a pipe, a file that grows.

They are read in order and never sought in, so the container must be one that is written in order: MPEG-TS,
Matroska, WebM, fragmented MP4. An MP4 file whose index comes at the end can be read once it is complete.
Setting `ended` ends a source as if nothing came any more: what was read before is a whole video.
"""

import os
import select
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, BinaryIO

from dancematch.errors import VideoError
from dancematch.pose.video import open_stream

if TYPE_CHECKING:
    from av.container import InputContainer

PATIENCE_SECONDS = 10.0  # without a new byte, after which a file is taken for complete
_POLL_SECONDS = 0.1
# The system's own interface to cameras, and its first camera.
_CAMERAS = {"linux": ("v4l2", "/dev/video0"), "darwin": ("avfoundation", "default"), "win32": ("dshow", "")}


@dataclass(frozen=True)
class LiveCamera:
    """A camera of this computer, the first one unless a device is named."""

    device: str = ""
    ended: Event = field(default_factory=Event, compare=False)

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"the camera {self.device or self._interface()[1]}".rstrip()

    def open(self) -> "InputContainer":
        """Begin to film."""
        import av

        interface, first = self._interface()
        device = self.device or first
        if not device:
            raise VideoError("no camera was named; say --camera video=NAME as your system calls it")
        try:
            return av.open(device, format=interface)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not supported here"
            raise VideoError(f"{self.name} cannot be opened ({reason}); is it there, and free?") from None

    def _interface(self) -> tuple[str, str]:
        return _CAMERAS.get(sys.platform, ("", ""))


@dataclass(frozen=True)
class Pipe:
    """A stream of bytes, such as stdin."""

    stream: BinaryIO
    name: str = "stdin"
    ended: Event = field(default_factory=Event, compare=False)

    def open(self) -> "InputContainer":
        """Begin to read."""
        return open_stream(_EndingPipe(self.stream, self.ended), self.name)


@dataclass(frozen=True)
class GrowingFile:
    """A file that another program goes on writing."""

    path: Path
    patience: float = PATIENCE_SECONDS
    ended: Event = field(default_factory=Event, compare=False)

    @property
    def name(self) -> str:
        """How messages call it."""
        return str(self.path)

    def open(self) -> "InputContainer":
        """Begin to read."""
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise VideoError(f"{self.path} cannot be read: {error.strerror}") from None
        if _has_its_index_last(file):
            file.close()
            raise VideoError(
                f"{self.path} is an MP4 file whose index comes last: it cannot be followed while it grows; "
                "leave out --follow once it is complete"
            )
        return open_stream(_Tail(file, self.patience, self.ended), self.name)


def _has_its_index_last(file: BinaryIO) -> bool:
    """Whether an MP4's pictures come before its index; the place in the file is as before."""
    place = 0
    while len(head := file.read(16)) >= 8:
        size, kind = int.from_bytes(head[:4], "big"), head[4:8]
        if place == 0 and kind != b"ftyp":
            break
        if kind in (b"mdat", b"moov"):
            file.seek(0)
            return kind == b"mdat"
        place += max(8, size if size != 1 else int.from_bytes(head[8:16], "big"))
        file.seek(place)
    file.seek(0)
    return False


class _EndingPipe:
    """Reads a stream as its bytes come, until it ends or is ended."""

    def __init__(self, stream: BinaryIO, ended: Event) -> None:
        self._stream, self._ended = stream, ended
        self._number = _selectable(stream)

    def read(self, size: int = -1) -> bytes:
        """Read some bytes; none at the end."""
        if self._number is None:
            return b"" if self._ended.is_set() else self._stream.read(size)
        while not self._ended.is_set():
            if select.select([self._number], [], [], _POLL_SECONDS)[0]:
                return os.read(self._number, size if size > 0 else 1 << 16)
        return b""


def _selectable(stream: BinaryIO) -> int | None:
    """The number of a stream that can be waited for; None of one in memory, and on Windows."""
    try:
        number = stream.fileno()
        select.select([number], [], [], 0)
    except (OSError, ValueError):  # io.UnsupportedOperation is both
        return None
    return number


class _Tail:
    """Reads a file and, at its end, waits for more; what ends the reading is that nothing comes any more."""

    def __init__(self, file: BinaryIO, patience: float, ended: Event) -> None:
        self._file, self._patience, self._ended = file, patience, ended

    def read(self, size: int = -1) -> bytes:
        """Read some bytes; none if the file has not grown for a while."""
        deadline = time.monotonic() + self._patience
        while not self._ended.is_set():
            if (found := self._file.read(size)) or time.monotonic() >= deadline:
                return found
            self._ended.wait(_POLL_SECONDS)
        return b""

    def __del__(self) -> None:
        self._file.close()  # the container does not
