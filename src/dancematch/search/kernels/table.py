"""The kernels that searches call from Python, each with the types it is called with: `signatures.txt`.

One line per kernel and types, in numba's notation: an array's kind of number, dimensions, layout, and whether
it is read-only. The costliest come first. Kernels that are only called by others have no line.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from numba import types

_FILE = Path(__file__).with_name("signatures.txt")
_ROOM = "dancematch.search"


class Signature(NamedTuple):
    """A kernel, and the types of its arguments."""

    kernel: Any  # numba's dispatcher
    types: tuple[Any, ...]

    @property
    def line(self) -> str:
        """How the table has it."""
        function = self.kernel.py_func
        name = f"{function.__module__}.{function.__qualname__}".removeprefix(f"{_ROOM}.")
        return f"{name} {self.types!r}".replace(", aligned=True", "")


@cache
def read_lines() -> tuple[str, ...]:
    """The lines of the table."""
    return tuple(_FILE.read_text(encoding="utf-8").splitlines())


def read_signature(line: str) -> Signature:
    """What one line says."""
    name, _, arguments = line.partition(" ")
    module, _, function = name.rpartition(".")
    found = getattr(import_module(f"{_ROOM}.{module}"), function)
    return Signature(found, eval(arguments, dict(vars(types))))  # noqa: S307  (a file of this package)
