"""Reads our docstrings, which are plain text, as reStructuredText."""

import re
from typing import Any

from sphinx.application import Sphinx

_NAME = re.compile(r"(`[^`]+`)(\w?)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the reading of docstrings."""
    app.connect("autodoc-process-docstring", read_docstring)
    return {"parallel_read_safe": True}


def read_docstring(
    _app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Make an indented paragraph, in place, a block of code: a docstring indents nothing else.

    A letter may follow a name in backticks, as a plural's does: reStructuredText wants it set apart.
    """
    lines[:] = [
        _NAME.sub(lambda name: f"{name[1]}\\ {name[2]}" if name[2] else name[1], line) for line in lines
    ]
    for number in range(len(lines) - 1, 0, -1):
        begins = lines[number].startswith("    ") and not lines[number - 1].strip()
        before = next((line for line in reversed(lines[:number]) if line.strip()), "")
        if begins and not before.startswith("    "):
            lines[number:number] = ["::", ""]
