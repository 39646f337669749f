"""The sound track of a file as samples."""

from pathlib import Path

import av
import numpy as np

from dancematch.errors import InputError
from dancematch.types import FloatArray

RATE = 22050  # samples per second
MAX_SECONDS = 600.0  # that are read: a song


def read_sound(path: str | Path) -> tuple[FloatArray, float] | None:
    """The samples of a file's sound track, one channel, -1..1, and when the first is heard, in seconds.

    The clock is that of the pictures. None if the file has no sound track. An end that cannot be decoded is
    left out.
    """
    pieces, start = [], None
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                return None
            resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
            begin = _picture_start(container)
            for frame in container.decode(audio=0):
                start = _time(frame, begin) if start is None else start
                pieces += [part.to_ndarray()[0] for part in resampler.resample(frame)]
                if sum(map(len, pieces)) >= MAX_SECONDS * RATE:
                    break
    except (av.FFmpegError, OSError, ValueError) as error:
        if not pieces:
            raise InputError(f"the sound track of {path} cannot be read: {error}") from None
    samples = np.concatenate(pieces) if pieces else np.zeros(0)
    return samples.astype(np.float32), max(0.0, start or 0.0)


def _picture_start(container: av.container.InputContainer) -> float:
    """When the pictures begin, which is 0 on the clock of motions; of a file without pictures, the file."""
    for stream in container.streams.video:
        if stream.start_time is not None and stream.time_base is not None:
            return float(stream.start_time * stream.time_base)
    return (container.start_time or 0) / av.time_base


def _time(frame: av.AudioFrame, begin: float) -> float:
    """When a frame of sound is heard, in seconds after the pictures' start."""
    return 0.0 if frame.time is None else float(frame.time) - begin
