"""Where compiled kernels are kept, and whether all of them are there; asked without loading the compiler."""

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

from dancematch.cache_folder import cache_folder

FOLDER_VARIABLE = "NUMBA_CACHE_DIR"
"""Environment variable of numba that names the folder, instead of the user's cache folder."""

_SEARCH = Path(__file__).parents[1]


@cache
def kernel_folder() -> Path:
    """Return the folder for compiled kernels; it may not exist yet.

    It is chosen once per process: a compiled kernel knows no other place.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    parent = Path(named) if named else _user_folder()
    return parent / f"dancematch-{sys.implementation.cache_tag}-numba-{version('numba')}"


def _user_folder() -> Path:
    try:
        return cache_folder() / "kernels"
    except (OSError, RuntimeError):  # there is no home folder
        return Path(tempfile.gettempdir()) / "dancematch-kernels"


def mark_path() -> Path:
    """Return the file that says that all kernels of these sources are there, and for which processor."""
    return kernel_folder() / f"complete-{_source_digest()}"


@cache
def _source_digest() -> str:
    digest = hashlib.blake2b(digest_size=12)
    for path in _sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    """All that kernels are made of; `types.py` has constants."""
    yield from sorted(_SEARCH.rglob("*.py"))
    yield _SEARCH / "kernels" / "signatures.txt"
    yield _SEARCH.parent / "types.py"
