r"""Characters that are no text: a terminal obeys them, or reorders what it shows, instead of showing them.

The control characters of ASCII and Latin-1 (escape, newline, delete, ...), the separators of lines and
paragraphs, what marks or overrides the direction of writing, halves of characters, which no encoding holds,
and the code points that Unicode says are no characters. All other characters of every script are text.
"""

import re
import struct

CONTROL_CLASS = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""For use within the brackets of a regular expression, of Python's or another language's."""

# Halves of characters only Python's strings can hold; patterns of other languages cannot name them. What is
# no character is not in the class: programs have it for private use, as the service has U+FDD0 within a path.
_LAST_OF_PLANES = "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(17))
_CONTROLS = re.compile(rf"[{CONTROL_CLASS}\ud800-\udfff\ufdd0-\ufdef{_LAST_OF_PLANES}]")


def has_controls(text: str) -> bool:
    """Whether a text has a character that is none."""
    return _CONTROLS.search(text) is not None


def replace_controls(text: str) -> str:
    """Return the text with U+FFFD, the replacement character, for each control character."""
    return _CONTROLS.sub("\ufffd", text)


def escape_controls(text: str) -> str:
    r"""Return the text with control characters visible, as in Python's source: \x1b, \n, \u202e."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escape_json_controls(text: str) -> str:
    r"""Return JSON in one line with the control characters that JSON allows within strings as \uXXXX."""
    return _CONTROLS.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _utf16(found[0])), text)


def _utf16(character: str) -> tuple[int, ...]:
    """Return the numbers of UTF-16, of which JSON's escapes are made: two beyond the first plane."""
    content = character.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(content) // 2}H", content)
