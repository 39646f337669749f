"""Checksums that tell whether words and skeletons are still those that were written.

A flipped bit makes another word, as valid as any: only a checksum shows it. Checksums are stored in
catalogues and plain folders, so their definition must not change.
"""

import struct
import zlib
from typing import Any, Protocol

OF_WORDS = ("words", "visibility", "start", "seconds_per_word", "channels", "vocabulary", "bones")
OF_SKELETONS = ("joints", "joint_visibility", "fps")

_FOUR, _ONE = struct.Struct("<4d"), struct.Struct("<d")


class Row(Protocol):
    """A row of `tracks`, or anything like it: values by column name."""

    def __getitem__(self, name: str, /) -> Any: ...


def words_checksum(row: Row) -> int | None:
    """Compute the checksum of a track's words, visibility, bones and clock; None if they are invalid."""
    return checksum_of_words(*(row[name] for name in OF_WORDS))


def skeletons_checksum(row: Row) -> int | None:
    """Compute the checksum of a track's skeletons and frame rate; None without skeletons."""
    return checksum_of_skeletons(*(row[name] for name in OF_SKELETONS))


def checksum_of_words(
    words: Any, visibility: Any, start: Any, seconds_per_word: Any, channels: Any, vocabulary: Any, bones: Any
) -> int | None:
    """Compute the checksum of values in the order of `OF_WORDS`."""
    try:
        numbers = _FOUR.pack(start, seconds_per_word, channels, vocabulary)
        return zlib.crc32(bones or b"", zlib.crc32(visibility, zlib.crc32(words, zlib.crc32(numbers))))
    except (struct.error, TypeError):
        return None


def checksum_of_skeletons(joints: Any, joint_visibility: Any, fps: Any) -> int | None:
    """Compute the checksum of values in the order of `OF_SKELETONS`; None without skeletons."""
    if joints is None:
        return None
    try:
        # Without the start, which belongs to the words: new words may have another.
        return zlib.crc32(joint_visibility, zlib.crc32(joints, zlib.crc32(_ONE.pack(fps))))
    except (struct.error, TypeError):
        return None
