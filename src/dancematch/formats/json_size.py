"""How much memory a JSON text takes once it is parsed, told before it is: some make thirty times their bytes.

The text is looked through once, in time that grows with its length and in no memory of its own, whatever
it holds: every pattern here matches wherever it begins, and never looks back.
"""

import re
import sys
from dataclasses import dataclass

from dancematch.formats import limits

# A text in quotation marks, be it cut short, and the colon that makes a key of it; `++` never goes back.
_TEXT = re.compile(r'"((?:[^"\\]++|\\.)*+)(?:"|\\?\Z)[ \t\n\r]*+(:?)', re.DOTALL)

# Bytes of an object of up to five keys, a further key, a list, a number with its place in a list, and a text.
_OBJECT, _FURTHER_KEY, _LIST, _NUMBER, _SHORT_TEXT = 210, 45, 130, 36, 60
_FEW_KEYS = 5
_DIFFERENT_KEY = 200  # its text, and its place in the parser's list of keys


@dataclass(frozen=True)
class JsonSize:
    """What is in a JSON text; counting ends once there are more different keys than are read."""

    texts: int  # besides keys
    keys: int
    different_keys: int
    characters: int  # of the texts and of the different keys, as they are written

    @property
    def has_too_many_keys(self) -> bool:
        """Whether it has more different keys than any tool writes."""
        return self.different_keys > limits.MAX_KEYS


def measure(text: str) -> JsonSize:
    """Return what a JSON text holds, valid or not."""
    different: set[int] = set()  # by their hashes: a key may be as long as the whole
    texts = keys = characters = 0
    for found in _TEXT.finditer(text):
        start, end = found.span(1)
        if not found[2]:
            texts += 1
            characters += end - start
            continue
        keys += 1
        key = hash(text[start:end])
        if key not in different:
            different.add(key)
            characters += end - start
            if len(different) > limits.MAX_KEYS:
                break
    return JsonSize(texts, keys, len(different), characters)


def estimate_parsed_bytes(text: str, size: JsonSize) -> int:
    """Return about how many bytes the text and its content take together; rather more than fewer."""
    objects = text.count("{")
    further_keys = max(0, size.keys - _FEW_KEYS * objects)
    return (
        sys.getsizeof(text)
        + _OBJECT * objects
        + _FURTHER_KEY * further_keys
        + _DIFFERENT_KEY * size.different_keys
        + _LIST * text.count("[")
        + _NUMBER * text.count(",")
        + _SHORT_TEXT * size.texts
        + _character_bytes(text) * size.characters
    )


def _character_bytes(text: str) -> int:
    """Return how many bytes each character of a parsed text may take: four, if one of them is no ASCII."""
    return 1 if text.isascii() and "\\u" not in text else 4
