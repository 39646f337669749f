"""Folders of plain .npy files that are there as a whole or not at all.

For caches: what is absent, half written, damaged or of another state counts as not there. Files are written
to a folder of another name, which is renamed when all are complete. Checksums cover all but the largest
files, which would have to be read in full; no number in those may lead a reader outside an array.
"""

import json
import os
import shutil
import time
import tokenize
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import CatalogueError

Parts = TypeVar("Parts", NDArray[Any], list[str])

STALE_SECONDS = 3600  # an unfinished folder this old is left of a killed process
# What reading a damaged file may raise.
DAMAGE = (OSError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, tokenize.TokenError)


def replace_folder(folder: Path, about: str, write: Callable[[Path], None]) -> None:
    """Let `write` fill a folder that then takes the place of an earlier one.

    The file `about` is in every such folder: one without it holds other things and is left alone.
    """
    if folder.exists() and not _is_ours(folder, about):
        raise CatalogueError(f"{folder} holds other things than a search cache; choose another folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        unfinished = _unfinished(folder)
        unfinished.mkdir()
        try:
            write(unfinished)
            _put_in_place(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise CatalogueError(f"the search cache cannot be kept in {folder}: {error}") from None


def remove_folder(folder: Path, about: str) -> None:
    """Remove the folder, if it is one of these."""
    if (folder / about).is_file():
        aside = _unfinished(folder)
        try:
            folder.replace(aside)  # gone at once for the next reader
        except OSError:
            aside = folder
        shutil.rmtree(aside, ignore_errors=True)


def _is_ours(folder: Path, about: str) -> bool:
    return folder.is_dir() and ((folder / about).is_file() or not any(folder.iterdir()))


def _unfinished(folder: Path) -> Path:
    """A unique name beside the folder."""
    return folder.parent / f".{folder.name}.{uuid4().hex}.part"


def _sweep(folder: Path) -> None:
    """Remove what killed processes left beside the folder."""
    for left in folder.parent.glob(f".{folder.name}.*.part"):
        if time.time() - left.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _put_in_place(unfinished: Path, folder: Path) -> None:
    # A folder cannot be renamed onto a full one; a kill between the two leaves no cache, never half of one.
    if folder.exists():
        aside = _unfinished(folder)
        folder.replace(aside)
        unfinished.replace(folder)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        unfinished.replace(folder)


def write_json(path: Path, content: Any) -> None:
    """Write a document with its checksum in the first line."""
    text = json.dumps(content).encode()  # in one piece: dump() is several times slower
    with path.open("wb") as file:
        file.write(b"%08x\n" % zlib.crc32(text) + text)
        _sync(file.fileno(), file)


def read_json(path: Path) -> Any:
    """Return a document; raises one of `DAMAGE` if it is not what was written."""
    checksum, _, text = path.read_bytes().partition(b"\n")
    if int(checksum, 16) != zlib.crc32(text):
        raise ValueError(f"{path.name} is damaged")
    return json.loads(text)


def write_parts(path: Path, kind: Any, parts: Sequence[NDArray[Any]]) -> int:
    """Write arrays one after the other as one flat array, none of them copied; returns the checksum."""
    check = 0
    header = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(kind)),
        "fortran_order": False,
        "shape": (sum(part.size for part in parts),),
    }
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            raw = np.ascontiguousarray(part, dtype=kind).reshape(-1).view(np.uint8)
            file.write(raw.data)
            check = zlib.crc32(raw.data, check)
        _sync(file.fileno(), file)
    return check


def _sync(number: int, file: Any) -> None:
    file.flush()
    os.fsync(number)  # else the rename could reach the disk before the contents


LARGE = 1 << 28  # bytes: up to here, reading a file in full delays no opening


def is_large(path: Path) -> bool:
    """Whether a file is too large to be read in full on opening."""
    return path.stat().st_size > LARGE


def map_array(path: Path, kind: Any, check: int | None) -> NDArray[Any]:
    """Return a flat array left on disk; raises one of `DAMAGE` if it is not what was written.

    Without a checksum only kind and length are checked.
    """
    array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    if array.dtype != np.dtype(kind) or array.ndim != 1:
        raise ValueError(f"{path.name} is of another kind")
    if check is not None and zlib.crc32(array.view(np.uint8).data) != check:
        raise ValueError(f"{path.name} is damaged")
    return array


def split_array(whole: Parts, sizes: Any) -> list[Parts]:
    """Return an array, or list, in parts of these sizes; raises a ValueError if they are not all of it."""
    lengths = np.asarray(sizes, dtype=np.int64)
    ends = np.cumsum(lengths).tolist()
    if len(whole) != (ends[-1] if ends else 0) or (lengths < 0).any():
        raise ValueError("a file is too long or too short")
    return [whole[end - size : end] for size, end in zip(lengths.tolist(), ends, strict=True)]


def read_about(path: Path, form: int, stamp: str) -> Mapping[str, Any] | None:
    """Return the document that describes a folder, if it is of this format and stamp."""
    about = read_json(path)
    return about if about["format"] == form and about["stamp"] == stamp else None
