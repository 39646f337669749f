"""The one gate for cells of tables that people give: one check per kind of value."""

import re
from collections.abc import Callable
from functools import partial

from dancematch.catalogue.records import find_name_problem

MAX_PATH_LENGTH = 4000  # characters; operating systems take 4096 bytes

_NO_PATH = re.compile("[\0\ud800-\udfff]")
_SHOWN = 60  # characters of a value that a message repeats


def find_value_problem(kind: str, value: str) -> str | None:
    """Return what is wrong with a value of a kind, such as "performer" or "date"; None if it can be kept."""
    return _CHECKS[kind](value)


def show(value: str) -> str:
    """Return a value as a message repeats it: in quotation marks, printable, and not too long."""
    return f"{value[:_SHOWN]!r}..." if len(value) > _SHOWN else repr(value)


def _check_path(value: str) -> str | None:
    """Check what only names a file: any characters that a file's name can have."""
    if len(value) > MAX_PATH_LENGTH:
        return f"a file's path has at most {MAX_PATH_LENGTH} characters, got {len(value)}: {show(value)}"
    if _NO_PATH.search(value):
        return f"no file can be called {show(value)}"
    return None


_KINDS = (
    "dance_id", "recording_id", "dance", "name", "label", "collection", "performer", "notes", "url", "date",
)  # fmt: skip
_CHECKS: dict[str, Callable[[str], str | None]] = {
    **{kind: partial(find_name_problem, kind) for kind in _KINDS},
    "file": _check_path,
}
