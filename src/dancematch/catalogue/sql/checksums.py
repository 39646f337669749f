"""Whether words and skeletons are still, to the bit, those that were written.

A word that another word has taken the place of looks as good as any: only a checksum tells.
These are kept in files, so how they are made never changes again.
"""

import struct
import zlib
from typing import Any, Protocol

OF_WORDS = ("words", "visibility", "start", "seconds_per_word", "channels", "vocabulary", "bones")
OF_SKELETONS = ("joints", "joint_visibility", "fps")

_FOUR, _ONE = struct.Struct("<4d"), struct.Struct("<d")


class Row(Protocol):
    """A row of `tracks`, or what looks like one: values by the name of their column."""

    def __getitem__(self, name: str, /) -> Any: ...


def words_checksum(row: Row) -> int | None:
    """Of a track's words, what is seen of them and their clock; None if they are no words at all."""
    return checksum_of_words(*(row[name] for name in OF_WORDS))


def skeletons_checksum(row: Row) -> int | None:
    """Of a track's skeletons and their rate; None if none are kept, or what is kept is none."""
    if row["joints"] is None:
        return None
    return checksum_of_skeletons(*(row[name] for name in OF_SKELETONS))


def checksum_of_words(
    words: Any, visibility: Any, start: Any, seconds_per_word: Any, channels: Any, vocabulary: Any, bones: Any
) -> int | None:
    """The same of the values themselves, in the order of `OF_WORDS`."""
    try:
        numbers = _FOUR.pack(start, seconds_per_word, channels, vocabulary)
        return zlib.crc32(bones or b"", zlib.crc32(visibility, zlib.crc32(words, zlib.crc32(numbers))))
    except (struct.error, TypeError):
        return None


def checksum_of_skeletons(joints: Any, joint_visibility: Any, fps: Any) -> int | None:
    """The same of the values themselves, in the order of `OF_SKELETONS`."""
    if joints is None:
        return None
    try:
        # Without the start, which is the words' own: new words may come with another.
        return zlib.crc32(joint_visibility, zlib.crc32(joints, zlib.crc32(_ONE.pack(fps))))
    except (struct.error, TypeError):
        return None
