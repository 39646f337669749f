"""Video files as frames with a true clock.

The clock is the container's own time stamps, relative to the first frame: rate tags lie and phones
record at a variable rate, so frames are never counted to tell the time. Pictures come out upright,
with square pixels, as RGB.
"""

import logging
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import VideoError
from dancematch.pose.picture import Image, Picture
from dancematch.pose.references import reference_test
from dancematch.pose.sampling import FrameSampler

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

log = logging.getLogger(__name__)

VIDEO_SUFFIXES = frozenset(
    {".3gp", ".avi", ".flv", ".gif", ".m2ts", ".m4v", ".mkv", ".mov"}
    | {".mp4", ".mpeg", ".mpg", ".mts", ".ogv", ".ts", ".webm", ".wmv"}
)
"""What counts as a video in a folder; a file that is named is decoded whatever it is called."""

# Only self-contained files: a playlist that was uploaded must not make us open other files or addresses.
_CONTAINERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,gif,asf,ogg,ivf,h264,hevc,obu,mxf,"
    "wav,mp3,flac,aac"
)
_FALLBACK_FPS = 30  # only for streams that carry neither time stamps nor a rate
# Containers with an index of key frames; in others, seeking may come out late, and all is decoded instead.
_INDEXED = frozenset({"mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "avi"})
_STALL_SECONDS = 30.0  # a read that takes longer than this hangs


@dataclass(frozen=True)
class VideoLimits:
    """The largest video that is not refused."""

    max_pixels: int = 8192 * 4608  # of one frame
    max_seconds: float = 3600.0
    max_decode_seconds: float = 1800.0  # spent in the decoder, not by the user of the frames


LONG_VIDEO = VideoLimits(max_seconds=float("inf"), max_decode_seconds=float("inf"))
"""For what is read window by window: neither memory nor the first answer depend on the length."""


class LiveVideo(Protocol):
    """A video that is still being made: a camera, a pipe, a file that grows (`live_video.py`)."""

    @property
    def name(self) -> str:
        """How messages call it."""

    @property
    def ended(self) -> Event:
        """Set from elsewhere to end it."""

    def open(self) -> "InputContainer":
        """Begin to read it."""


VideoSource = Path | LiveVideo


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture and its time, in seconds from the first one."""

    seconds: float
    decoded: "VideoFrame"
    picture: Picture

    @cached_property
    def image(self) -> Image:
        """[height, width, 3] RGB, converted when it is first asked for."""
        return self.picture.render(self.decoded)


@dataclass(frozen=True)
class VideoInfo:
    """What a video file holds, read without decoding more than its first frame."""

    width: int  # as shown: after rotation, with square pixels
    height: int
    seconds: float
    frames: int
    fps: float  # average over the time stamps, whatever the rate tag says
    codec: str
    has_audio: bool


def can_decode(codec: str) -> bool:
    """Whether there is a decoder of that name."""
    import av

    try:
        av.Codec(codec, "r")
    except ValueError:
        return False
    return True


def probe(path: Path | str) -> VideoInfo:
    """Return what a video holds, measured by its time stamps."""
    with _open_container(Path(path)) as container:
        stream = _video_stream(container, Path(path))
        picture = Picture.of(_first_frame(container, stream, Path(path)), stream)
        container.seek(0)
        stamps = _packet_seconds(container, stream)
        codec, has_audio = stream.codec_context.name, bool(container.streams.audio)
    span = float(stamps.max() - stamps.min()) if len(stamps) else 0.0
    fps = (len(stamps) - 1) / span if span > 0 else float(_rate(stream))
    return VideoInfo(picture.width, picture.height, span + 1 / fps, len(stamps), fps, codec, has_audio)


def frame_times(path: Path | str) -> NDArray[np.float64]:
    """Return the times of all frames in the order they are shown, without decoding them."""
    with _open_container(Path(path)) as container:
        stamps = np.unique(_packet_seconds(container, _video_stream(container, Path(path))))
    return stamps - stamps[:1]


def read_frames(
    source: Path | str | LiveVideo,
    limits: VideoLimits | None = None,
    *,
    longest_side: int | None = None,
    fps: float | None = None,
    start: float = 0.0,
) -> "FrameReader":
    """Return a reader of a video's frames from the second `start` on, upright and with true times.

    With `fps`, of so many frames per second: the others are not even decoded where no other frame needs
    them. `longest_side` shrinks larger pictures while they are converted, which
    costs less than converting and shrinking afterwards. A file that breaks off is read as far as it goes: the
    reader's `truncated` says so afterwards, and a warning is logged. One whose first frame cannot
    be decoded is a VideoError.
    """
    source = Path(source) if isinstance(source, str) else source
    return FrameReader(source, limits or VideoLimits(), longest_side, fps, start)


class FrameReader(Iterator[Frame]):
    """The frames of one video in order; `truncated` is settled once they are all read."""

    def __init__(
        self,
        source: VideoSource,
        limits: VideoLimits,
        longest_side: int | None = None,
        fps: float | None = None,
        start: float = 0.0,
    ) -> None:
        self.path = path = source if isinstance(source, Path) else source.name
        self.truncated = False
        self.end = 0.0  # seconds of the latest frame that was decoded, used or not
        self._limits = limits
        self._longest_side = longest_side
        self._sampler = FrameSampler(fps) if fps is not None else None
        self._container = _open_container(source) if isinstance(source, Path) else source.open()
        try:
            self._stream = _video_stream(self._container, path)
            self._check_header()
        except BaseException:
            self._container.close()
            raise
        self.seconds = _stated_seconds(self._container, self._stream)
        self._clock = _FrameClock(self._stream)
        self._start = start
        if start > 0:
            self._seek(start)
        self._is_reference = reference_test(self._stream)
        self._frames = self._read()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Frame:
        return next(self._frames)

    def close(self) -> None:
        """Close the file; reading to the end does it too."""
        self._frames.close()
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _seek(self, seconds: float) -> None:
        """Go to a key frame before that second; the first frame of all says where the clock begins."""
        try:
            self._clock.seconds(_first_frame(self._container, self._stream, self.path))
            stamp = self._clock.stamp(seconds) if self._container.format.name in _INDEXED else None
            self._container.seek(0 if stamp is None else stamp, stream=self._stream)
        except BaseException:
            self._container.close()
            raise

    def _check_header(self) -> None:
        width, height = self._stream.codec_context.width, self._stream.codec_context.height
        if width * height > self._limits.max_pixels:
            raise VideoError(
                f"{self.path} has frames of {width}x{height}, above the limit of "
                f"{self._limits.max_pixels} pixels; scale the video down first"
            )
        self._check_length(_stated_seconds(self._container, self._stream) or 0.0)

    def _check_length(self, seconds: float) -> None:
        if seconds > self._limits.max_seconds:
            raise VideoError(
                f"{self.path} lasts {seconds:.0f} s, above the limit of {self._limits.max_seconds:.0f} s; "
                "cut out the part that matters"
            )

    def _read(self) -> Generator[Frame, None, None]:
        picture = None
        for frame in self._decode():
            seconds = self._clock.seconds(frame)
            if seconds is None:
                continue
            self._check_length(seconds)
            if seconds >= self._start and (self._sampler is None or self._sampler.take(seconds)):
                picture = picture or Picture.of(frame, self._stream, self._longest_side)
                yield Frame(seconds, frame, picture)
            self.end = seconds
        self._container.close()
        if picture is None:
            raise VideoError(f"{self.path} is damaged: not one frame of it can be decoded")
        self._note_truncation()

    def _decode(self) -> Iterator["VideoFrame"]:
        """Yield every frame that decodes; a broken packet costs only its own frames."""
        from av.error import FFmpegError

        packets = self._container.demux(self._stream)
        spent = 0.0
        while True:
            began = time.perf_counter()
            try:
                packet = next(packets, None)
                frames = self._decode_packet(packet) if packet is not None else []
            except FFmpegError:
                self.truncated = True
                continue  # past one broken packet; a file that cannot be read on ends the loop by itself
            if packet is None:
                return
            spent += time.perf_counter() - began
            self._check_decode_time(spent)
            yield from frames

    def _decode_packet(self, packet: "Packet[VideoStream]") -> "list[VideoFrame]":
        """Decode a packet, unless its frame is not used and no other frame refers to it."""
        if self._sampler is not None:
            seconds = self._clock.expect(packet)
            referred = self._is_reference(packet)
            used = seconds is None or self._sampler.may_take(seconds, referred=referred)
            self._stream.codec_context.skip_frame = "DEFAULT" if used else "NONREF"
        return packet.decode()

    def _check_decode_time(self, spent: float) -> None:
        if spent > self._limits.max_decode_seconds:
            raise VideoError(
                f"{self.path} took more than {self._limits.max_decode_seconds:g} s to decode; "
                "convert it to a plainer format or cut it"
            )

    def _note_truncation(self) -> None:
        """Compare the length read with that of the header; a last frame may last a while."""
        if self.seconds is not None and self.end < 0.95 * self.seconds - 0.5:
            self.truncated = True
        if self.truncated:
            text = "%s is damaged or breaks off: used the %.1f s that could be decoded"
            log.warning(text, self.path, self.end)


class _FrameClock:
    """Turns the stamps of decoded frames into increasing seconds."""

    def __init__(self, stream: "VideoStream") -> None:
        self._step = 1 / _rate(stream)
        self._base: Fraction | None = None
        self._origin: Fraction | None = None
        self._last = Fraction(-1)

    def seconds(self, frame: "VideoFrame") -> float | None:
        """Return the time of a frame, or None for one that repeats an earlier time."""
        stamp = frame.pts if frame.pts is not None else frame.dts
        base = frame.time_base
        if stamp is None or base is None:
            return self._tick(self._last + self._step if self._last >= 0 else Fraction(0))
        if self._origin is None:
            self._origin, self._base = stamp * base, base
        now = stamp * base - self._origin
        if now < self._last - 1:  # the stream's own clock was set back, as in joined recordings
            self._origin -= self._last + self._step - now
            now = self._last + self._step
        return self._tick(now) if now > self._last else None

    def stamp(self, seconds: float) -> int | None:
        """Return the stamp of a time, in the stream's own units; None where frames have none."""
        if self._origin is None or self._base is None:
            return None
        return int((Fraction(seconds) + self._origin) / self._base)

    def expect(self, packet: "Packet[VideoStream]") -> float | None:
        """Return the time that a packet's frame will have; None where that is not certain."""
        if packet.pts is None or packet.time_base is None or self._origin is None:
            return None
        seconds = packet.pts * packet.time_base - self._origin
        return float(seconds) if self._last < seconds < self._last + 1 else None

    def _tick(self, now: Fraction) -> float:
        self._last = now
        return float(now)


def _open_container(path: Path) -> "InputContainer":
    import av

    if not path.exists():
        raise VideoError(f"{path} does not exist")
    if path.is_dir():
        raise VideoError(
            f"{path} is a folder; a video, a motion file or a folder of OpenPose files was expected"
        )
    if not path.is_file():
        raise VideoError(f"{path} is not a file; a video or motion file was expected")
    if path.stat().st_size == 0:
        raise VideoError(f"{path} is empty; a video or motion file was expected")
    try:
        return av.open(
            f"file:{path}",
            timeout=_STALL_SECONDS,
            container_options={"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"},
        )
    except (av.error.FFmpegError, OSError) as error:
        raise VideoError(
            f"{path} cannot be opened as a video ({error.strerror}); "
            "it may be damaged, cut off, or not a video"
        ) from None


def open_stream(stream: Any, name: str) -> "InputContainer":
    """Open what is read in order from an object with the method `read`; it is never sought in."""
    import av

    try:
        opened: InputContainer = av.open(
            stream, container_options={"format_whitelist": _CONTAINERS, "protocol_whitelist": ""}
        )
    except (av.error.FFmpegError, OSError, ValueError):
        raise VideoError(
            f"{name} cannot be read as a video; one that is written in order (MPEG-TS, Matroska, WebM, "
            "fragmented MP4) was expected"
        ) from None
    return opened


def _video_stream(container: "InputContainer", path: Path | str) -> "VideoStream":
    from av.stream import Disposition

    moving = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    if not moving:
        kind = "only sound" if container.streams.audio else "no pictures"
        raise VideoError(f"{path} holds {kind}; a video with pictures was expected")
    if moving[0].codec_context is None:
        raise VideoError(f"{path} uses a video codec that this FFmpeg cannot decode; convert it to H.264")
    return moving[0]


def _first_frame(container: "InputContainer", stream: "VideoStream", path: Path | str) -> "VideoFrame":
    from av.error import FFmpegError

    try:
        for packet in container.demux(stream):
            for frame in packet.decode():
                return frame
    except FFmpegError:
        pass
    raise VideoError(f"{path} is damaged: its first frame cannot be decoded")


def _packet_seconds(container: "InputContainer", stream: "VideoStream") -> NDArray[np.float64]:
    from av.error import FFmpegError

    stamps = []
    try:
        for packet in container.demux(stream):
            stamp = packet.pts if packet.pts is not None else packet.dts
            if stamp is not None and packet.size:
                stamps.append(float(stamp * packet.time_base))
    except FFmpegError:
        log.warning("%s breaks off", container.name)
    return np.array(stamps)


def _stated_seconds(container: "InputContainer", stream: "VideoStream") -> float | None:
    """Return the length that the header states, if it does."""
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return container.duration / 1e6 if container.duration is not None else None


def _rate(stream: "VideoStream") -> Fraction:
    return stream.average_rate or stream.guessed_rate or Fraction(_FALLBACK_FPS)
