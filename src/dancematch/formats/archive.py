"""Arrays in .npz archives; on reading, every declared size is checked before memory is taken for it.

numpy's own loader allocates what a header claims, and evaluates the header as Python: a few bytes can claim
terabytes, and damaged ones end in errors of the tokeniser. Here a header is matched, not evaluated.
"""

import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import FormatError, InputError
from dancematch.formats import limits
from dancematch.formats.files import freeze, open_file, write_bytes

_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, OSError,
    ValueError, TypeError, KeyError, OverflowError, MemoryError, zlib.error,
)  # fmt: skip
_HEAD_BYTES = 1 << 14  # more than any header
_PIECE_BYTES = 1 << 20
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # as numpy writes; others need much memory themselves

_DESCR = re.compile(r"""["']descr["']\s*:\s*["']([<>|=]?(?:[biuf][1248]|U[0-9]{1,9}))["']""")
_ORDER = re.compile(r"""["']fortran_order["']\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""["']shape["']\s*:\s*\(([0-9L,\s]{0,200})\)""")


@dataclass(frozen=True)
class ArrayHeader:
    """What a member of an archive says of its array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool


class Archive:
    """An .npz file, open within a `with` block; `names`, those of its arrays, are known after it too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = open_zip(path)
        except _BROKEN:
            raise FormatError(f"{path} is not an .npz archive: it may be damaged or cut short") from None
        self.is_stored = is_stored(self._zip)
        members = self._zip.namelist()
        self.names = frozenset(name.removesuffix(".npy") for name in members)
        if len(self.names) < len(members):
            self._zip.close()
            raise FormatError(f"{path} holds an array twice: it may be damaged")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def header(self, name: str) -> ArrayHeader:
        """Return shape and type of an array without reading it."""
        with self._open(name) as (file, size):
            return _read_header(file, size)

    def array(self, name: str) -> NDArray[Any]:
        """Return one array, read-only; only plain numbers and texts are read."""
        with self._open(name) as (file, size):
            header = _read_header(file, size)
            flat = np.empty(math.prod(header.shape), header.dtype)
            _fill(flat, file)
        return freeze(flat).reshape(header.shape, order="F" if header.is_fortran else "C")

    def arrays(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return several arrays by name."""
        return {name: self.array(name) for name in names}

    def json(self, name: str) -> Any:
        """Return the content of a JSON text that is stored as an array."""
        header = self.header(name)
        if header.dtype.kind != "U" or header.shape or header.dtype.itemsize > limits.MAX_METADATA_BYTES:
            raise FormatError(f"{self._path}: {name!r} is no text, or too long a one")
        return json.loads(str(self.array(name)[()]))

    def _open(self, name: str) -> "_Member":
        if name not in self.names:
            raise FormatError(f"{self._path} lacks the array {name!r}")
        return _Member(self._zip, name, self._path)


class _Member:
    """Opens one member and its size; whatever goes wrong with it is one error."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: Path) -> None:
        self._archive, self._name, self._path = archive, name, path

    def __enter__(self) -> tuple[IO[bytes], int]:
        try:
            info = self._archive.getinfo(f"{self._name}.npy")
            self._file = self._archive.open(info)
        except _BROKEN:
            raise self._damage() from None
        return self._file, info.file_size

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._file.close()
        if isinstance(error, (*_BROKEN, InputError)):
            raise self._damage() from None

    def _damage(self) -> FormatError:
        return FormatError(f"{self._path}: the array {self._name!r} is damaged")


def open_zip(path: Path) -> zipfile.ZipFile:
    """Return a ZIP archive, opened, of few members that unpack to little; `FormatError` where they do not.

    What is no archive raises the many errors of `zipfile`.
    """
    file = open_file(path, limits.MAX_READ_BYTES)
    try:
        # The record that `zipfile` itself goes by: it makes an object of each member before one can look.
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
        if end is None:
            raise zipfile.BadZipFile
        if end[zipfile._ECD_SIZE] > limits.MAX_DIRECTORY_BYTES:  # type: ignore[attr-defined]
            raise _too_many_members(path)
        archive = zipfile.ZipFile(file)
        _require_small(path, archive)
    except BaseException:
        file.close()
        raise
    archive._filePassed = 0  # type: ignore[attr-defined]  # the file is closed with the archive
    return archive


def _require_small(path: Path, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    if len(members) > limits.MAX_MEMBERS:
        raise _too_many_members(path)
    most = limits.MAX_READ_BYTES if is_stored(archive) else limits.MAX_BYTES
    if sum(member.file_size for member in members) > most:
        raise FormatError(f"{path} would unpack to more than {most} bytes and is not read")
    if any(member.compress_type not in _PACKINGS for member in members):
        raise FormatError(f"{path} is packed in a way that .npz archives are not")


def is_stored(archive: zipfile.ZipFile) -> bool:
    """Whether an archive is not packed, and hence holds no more than it has bytes.

    By the sum, too: members may claim the same bytes.
    """
    members = archive.infolist()
    is_plain = all(one.compress_type == zipfile.ZIP_STORED for one in members)
    size = os.fstat(archive.fp.fileno()).st_size if archive.fp else 0
    return is_plain and sum(one.file_size for one in members) <= size


def _too_many_members(path: Path) -> FormatError:
    return FormatError(f"{path} is an archive of more than {limits.MAX_MEMBERS} members and is not read")


def write_archive(
    path: Path,
    texts: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    compress: bool,
    overwrite: bool,
) -> None:
    """Write arrays, and `texts` as JSON, to one .npz file."""
    members: dict[str, Any] = {name: np.array(json.dumps(text)) for name, text in texts.items()}
    buffer = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(buffer, allow_pickle=False, **members, **arrays)
    write_bytes(path, buffer.getvalue(), overwrite=overwrite)


def _read_header(file: IO[bytes], size: int) -> ArrayHeader:
    """Return the header of a .npy member of `size` bytes, if it fits that."""
    magic = file.read(8)
    begin = file.read(2 if magic[6:7] == b"\x01" else 4)  # the first version has two bytes for the length
    length = int.from_bytes(begin, "little")
    if magic[:6] != b"\x93NUMPY" or length > _HEAD_BYTES:
        raise ValueError("not an array")
    text = file.read(length).decode("latin-1")
    found = [pattern.findall(text) for pattern in (_DESCR, _ORDER, _SHAPE)]
    if any(len(values) != 1 for values in found):
        raise ValueError("not the header of an array of plain numbers")
    ((descr,), (order,), (sizes,)) = found
    shape = tuple(int(part.strip().rstrip("L")[:18]) for part in sizes.split(",") if part.strip())
    limits.require_shape(shape)
    dtype = np.dtype(descr)
    if math.prod(shape) * dtype.itemsize != size - len(magic) - len(begin) - length:
        raise ValueError("the header does not fit the content")
    return ArrayHeader(shape, dtype, order == "True")


def _fill(flat: NDArray[Any], file: IO[bytes]) -> None:
    """Read an array's numbers piece by piece; the archive checks the sum of all at the end."""
    target = flat.view(np.uint8) if flat.size else np.empty(0, np.uint8)
    done = 0
    while done < len(target):
        piece = file.read(min(_PIECE_BYTES, len(target) - done))
        if not piece:
            raise EOFError
        target[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
