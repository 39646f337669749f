"""Whether other frames of a video refer to a frame, told from its packet without decoding it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.stream import VideoStream

_AVCC = 1  # first byte of H.264's header where units are stored with their lengths, as in MP4 and Matroska
_SLICES = range(1, 6)  # types of units that hold a part of a picture


def reference_test(stream: "VideoStream") -> "Callable[[Packet[VideoStream]], bool]":
    """Return a function that says whether others certainly refer to a packet's frame.

    It reads the packets of H.264, of which most clips are, in MP4 and Matroska; of others nothing is certain.
    """
    header = stream.codec_context.extradata
    if stream.codec_context.name != "h264" or not header or len(header) < 5 or header[0] != _AVCC:
        return lambda _: False
    width = (header[4] & 3) + 1  # bytes of a length
    return lambda packet: _is_reference(memoryview(packet), width)


def _is_reference(units: memoryview, width: int) -> bool:
    """Read the number `nal_ref_idc` of the first slice: 0 where no other frame refers to it."""
    place = 0
    while place + width < len(units):
        first = units[place + width]
        if first & 31 in _SLICES:
            return first >> 5 & 3 > 0
        place += width + int.from_bytes(units[place : place + width], "big")
    return False
