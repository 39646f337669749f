r"""Characters that are no text: a terminal obeys them, or reorders what it shows, instead of showing them.

The control characters of ASCII and Latin-1 (escape, newline, delete, ...), the separators of lines and
paragraphs, what overrides the direction of writing, and halves of characters, which no encoding holds. All
other characters of every script are text.
"""

import re

CONTROL_CLASS = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
"""For use within the brackets of a regular expression, of Python's or another language's."""

# Halves of characters only Python's strings can hold; patterns of other languages cannot name them.
_CONTROLS = re.compile(rf"[{CONTROL_CLASS}\ud800-\udfff]")


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
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
