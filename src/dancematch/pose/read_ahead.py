"""Frames decoded in a thread, beside the work on the frames before them."""

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Self

from dancematch.pose.video import Frame, FrameReader

_FRAMES_AHEAD = 4  # decoded and not used yet: some megabytes each


class ReadAhead(Iterator[Frame]):
    """The frames of a reader, in order; what the reader raises is raised here, after the frames before it.

    The thread ends with the frames, with an error, or when this is closed; the reader is closed after that.
    """

    def __init__(self, reader: FrameReader) -> None:
        self._reader = reader
        self._frames: SimpleQueue[Frame | BaseException] = SimpleQueue()
        self._free = Semaphore(_FRAMES_AHEAD)
        self._ended = False
        self._thread = Thread(target=self._decode, name="dancematch-decoder", daemon=True)
        self._thread.start()

    def __next__(self) -> Frame:
        if self._ended:
            raise StopIteration
        found = self._frames.get()
        if isinstance(found, BaseException):
            self._ended = True
            raise found
        self._free.release()
        return found

    def close(self) -> None:
        """End the thread."""
        self._ended = True
        self._free.release()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decode(self) -> None:
        try:
            while True:
                self._free.acquire()
                if self._ended:
                    return
                self._frames.put(next(self._reader))
        except BaseException as error:  # raised again in the thread that uses the frames
            self._frames.put(error)
