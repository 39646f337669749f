"""Whether a .json file in a folder is motion: told by its beginning or, where that says nothing, the whole.

Settings, lists and what downloaders write lie beside recordings as JSON too. A recording is cut short
within the beginning that is read, so every bracket that is open there is closed before it is parsed.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

from dancematch.errors import InputError
from dancematch.formats import registry
from dancematch.formats.files import open_regular, read_json

_HEAD_BYTES = 1 << 16  # the first frames of a recording
_WHOLE_BYTES = 32 << 20  # a larger file is not read twice; parsing it takes some seconds
_MAX_DEPTH = 20  # brackets within brackets; keypoints have five

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_CLOSING = {"[": "]", "{": "}"}


def is_motion_json(path: Path) -> bool:
    """Whether a .json file has the shape of one of the formats, be it damaged further on.

    True also for one that cannot be told cheaply or not be opened: reading it says what is wrong.
    """
    if not path.is_file():
        return False
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
            size = os.fstat(file.fileno()).st_size
    except (OSError, InputError):
        return True
    if _is_recognised(_parse_head(head)):
        return True
    if size <= len(head) or size > _WHOLE_BYTES:
        return size > len(head)
    try:
        return _is_recognised(read_json(path))
    except InputError:
        return False


def _is_recognised(content: Any) -> bool:
    return any(format_.recognises(content) for format_ in registry.formats_with(".json"))


def _parse_head(head: bytes) -> Any:
    """Return the content of a JSON text as far as it goes; None where it is no JSON."""
    text = head.decode(json.detect_encoding(head), "replace")
    for candidate in (text, _close_brackets(text)):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    return None


def _close_brackets(text: str) -> str:
    """Return the first value of a JSON text up to its last whole item, with all brackets closed.

    Nothing of one with deeper brackets than motion has.
    """
    closing: list[str] = []
    kept, missing = 0, ""
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in _CLOSING:
            closing.append(_CLOSING[sign])
        elif sign in ("]", "}"):
            if not closing or closing.pop() != sign:
                break
        elif sign != ",":  # a text
            continue
        kept = token.start() if sign == "," else token.end()
        missing = "".join(reversed(closing))
        if len(closing) > _MAX_DEPTH:
            return ""
        if not closing:
            break
    return text[:kept] + missing
