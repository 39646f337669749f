"""What a JPEG says of itself, read without decoding it: a file of a few bytes may claim a huge picture."""

import struct

from dancematch.errors import InputError

_START, _END = b"\xff\xd8", b"\xff\xd9"
_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of segments that state the size
_SCAN = 0xDA  # of the segment after which the coded picture begins
# Comments and applications' own segments hold places, cameras and names; the first, JFIF, holds none.
_METADATA = frozenset(range(0xE1, 0xF0)) | {0xFE}


def read_jpeg_size(content: bytes) -> tuple[int, int]:
    """Return the width and height of a whole JPEG without metadata; anything else is an `InputError`."""
    if not (content.startswith(_START) and content.endswith(_END)):
        raise InputError("a picture must be a whole JPEG")
    size, place = None, len(_START)
    while place + 4 <= len(content):
        mark, kind, length = struct.unpack_from(">BBH", content, place)
        if mark != 0xFF or length < 2:
            break
        if kind in _METADATA:
            raise InputError("a picture must hold no metadata; write it again without")
        if kind in _SIZES and place + 9 <= len(content):
            high, wide = struct.unpack_from(">HH", content, place + 5)
            size = wide, high
        if kind == _SCAN and size is not None and min(size) > 0:
            return size
        place += 2 + length
    raise InputError("a picture must be a whole JPEG; this one is damaged")


def require_small_jpeg(content: bytes, max_bytes: int, max_side: int) -> tuple[int, int]:
    """Return the width and height of a JPEG within limits; anything else is an `InputError`."""
    if len(content) > max_bytes:
        raise InputError(f"a picture may have {max_bytes:,} bytes at most, got {len(content):,}")
    size = read_jpeg_size(content)
    if max(size) > max_side:
        raise InputError(f"a picture may have {max_side} pixels a side at most, got {size[0]} x {size[1]}")
    return size
