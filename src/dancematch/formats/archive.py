"""Arrays in .npz archives; on reading, every declared size is checked before memory is taken for it.

numpy's own loader allocates what a header claims; a few bytes can claim terabytes.
"""

import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dancematch.errors import FormatError
from dancematch.formats.files import MAX_BYTES, read_bytes, write_bytes

_BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, OSError)


class Archive:
    """An open .npz file; `names` are those of its arrays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        content = read_bytes(path)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (*_BROKEN, ValueError):
            raise FormatError(f"{path} is not an .npz archive: it may be damaged or cut short") from None
        members = self._zip.infolist()
        if sum(member.file_size for member in members) > MAX_BYTES:
            raise FormatError(f"{path} would unpack to more than {MAX_BYTES} bytes and is not read")
        self.names = frozenset(m.filename.removesuffix(".npy") for m in members)

    def array(self, name: str) -> NDArray[Any]:
        """Return one array; objects are never unpickled."""
        if name not in self.names:
            raise FormatError(f"{self._path} lacks the array {name!r}")
        try:
            return _parse(self._zip.read(f"{name}.npy"))
        except (*_BROKEN, ValueError, TypeError, KeyError, SyntaxError, zlib.error):
            raise FormatError(f"{self._path}: the array {name!r} is damaged") from None

    def arrays(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return several arrays by name."""
        return {name: self.array(name) for name in names}

    def json(self, name: str) -> Any:
        """Return the content of a JSON text that is stored as an array."""
        return json.loads(str(self.array(name)[()]))


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


def _parse(member: bytes) -> NDArray[Any]:
    """Return the array in one .npy member, if its header fits its content."""
    stream = io.BytesIO(member)
    version = npy.read_magic(stream)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = header(stream)
    if dtype.hasobject or any(size < 0 for size in shape):
        raise ValueError("objects are not read")
    if math.prod(shape) * dtype.itemsize != len(member) - stream.tell():
        raise ValueError("the header does not fit the content")
    size = math.prod(shape)
    flat = np.frombuffer(member, dtype, size, stream.tell()) if size else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")
