"""Videos that are still being made: a camera, a pipe, a file that grows.

They are read in order and never sought in, so the container must be one that is written in order: MPEG-TS,
Matroska, WebM, fragmented MP4. An MP4 file whose index comes at the end can be read once it is complete.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
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

    def open(self) -> "InputContainer":
        """Begin to read."""
        return open_stream(self.stream, self.name)


@dataclass(frozen=True)
class GrowingFile:
    """A file that another program goes on writing."""

    path: Path
    patience: float = PATIENCE_SECONDS

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
        return open_stream(_Tail(file, self.patience), self.name)


class _Tail:
    """Reads a file and, at its end, waits for more; what ends the reading is that nothing comes any more."""

    def __init__(self, file: BinaryIO, patience: float) -> None:
        self._file, self._patience = file, patience

    def read(self, size: int = -1) -> bytes:
        """Read some bytes; none if the file has not grown for a while."""
        deadline = time.monotonic() + self._patience
        while not (found := self._file.read(size)) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return found

    def __del__(self) -> None:
        self._file.close()  # the container does not
