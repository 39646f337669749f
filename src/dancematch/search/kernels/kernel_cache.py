"""Compiled kernels on disk: one file per kernel, types of its arguments and kind of processor.

A file's name says all that its content depends on, so it is never out of date, and a new version of a kernel
has a file of its own. A file appears whole or not at all: processes may compile the same kernel at once, and
may be killed at any moment.
"""

import hashlib
import os
import pickle
import sys
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from dancematch.search.kernels.code_stamp import code_stamp
from dancematch.search.kernels.kernel_folder import kernel_folder

SUFFIX = ".kernel"

# How numba itself writes and reads what it compiled; neither has types.
_dump: Any = dumps
_rebuild: Any = CompileResult._rebuild


class KernelCache(_Cache):
    """The files of one kernel; numba asks it before it compiles, and hands over what it has compiled."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(kernel_folder())

    @cached_property
    def _name(self) -> str:
        function = self._kernel.py_func
        return f"{function.__module__.removeprefix('dancematch.')}.{function.__qualname__}"

    @cached_property
    def _stamp(self) -> str:
        return code_stamp(self._kernel)

    def path(self, types: Any) -> Path:
        """The file of the kernel compiled for these types of arguments."""
        key = repr((self._stamp, str(types), describe_processor(), numba.__version__, np.__version__))
        digest = hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
        return kernel_folder() / f"{self._name}-{digest}{SUFFIX}"

    def load_overload(self, types: Any, target_context: Any) -> Any:
        """Return the compiled kernel; None if there is none, or it cannot be read."""
        try:
            content = read_own_file(self.path(types))
        except OSError:
            return None
        target_context.refresh()  # or numba knows no types yet
        try:
            return _rebuild(target_context, *pickle.loads(content))  # noqa: S301  (our own file)
        except Exception:  # a damaged file raises anything; compiling gives a good one
            return None

    def save_overload(self, types: Any, compiled: Any) -> None:
        """Write the compiled kernel; where nothing can be written it is compiled again next time."""
        with suppress(OSError):
            write_whole(self.path(types), _dump(compiled._reduce()))

    def enable(self) -> None:
        """Nothing to do: it always is."""

    def disable(self) -> None:
        """Nothing to do."""

    def flush(self) -> None:
        """Nothing to do: no file is ever out of date."""


def describe_processor() -> str:
    """The kind of processor that is compiled for, with its instruction sets."""
    return repr(cpu_target.target_context.codegen().magic_tuple())


def read_own_file(path: Path) -> bytes:
    """The content of a file of this user or of the administrator; another's might run anything here."""
    with path.open("rb") as file:
        if sys.platform != "win32" and os.fstat(file.fileno()).st_uid not in (0, os.geteuid()):
            raise PermissionError(f"{path} belongs to another user")
        return file.read()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(part).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(part).unlink()
        raise
