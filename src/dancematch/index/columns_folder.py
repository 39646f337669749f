"""Columns in a folder: plain .npy files, mapped on opening, and a JSON that says what they are.

A cache, so nothing here fails for want of one: what is absent, half written, damaged or of
another state counts as not there. Files are written under another name and the folder renamed
when all are complete. Checksums cover every file but the largest, `places.npy`, which would
have to be read in full; the kernels let no number in it lead outside an array.
"""

import json
import os
import shutil
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import CatalogueError
from dancematch.index.blocks import Block
from dancematch.types import FloatArray

Parts = TypeVar("Parts", NDArray[Any], list[str])

FORMAT = 1
ABOUT = "columns.json"
UNCHECKED = "places"
KEPT = ("channels", "vocabulary", "weighting", "model_id", "stamp", "next_id")
STALE_SECONDS = 3600  # an unfinished folder this old is a killed process's


class Weights(NamedTuple):
    """What depends on all entries together."""

    rarity: FloatArray  # [cells]
    inverse: tuple[FloatArray, ...]  # a block: [C, N] 1 / the norm


@dataclass(frozen=True)
class Contents:
    """What a folder holds."""

    about: Mapping[str, Any]  # `KEPT`
    blocks: tuple[Block, ...]
    weights: Weights


def save_folder(folder: Path, contents: Contents) -> None:
    """Write a folder, in place of an earlier one."""
    if folder.exists() and not _is_ours(folder):
        raise CatalogueError(f"{folder} holds other things than a search cache; choose another folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        unfinished = _unfinished(folder)
        unfinished.mkdir()
        try:
            _write(unfinished, contents)
            _put_in_place(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise CatalogueError(f"the search cache cannot be kept in {folder}: {error}") from None


def load_folder(folder: Path, stamp: str) -> Contents | None:
    """What `save_folder` wrote under this stamp; None if it is not there, or not whole."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] != FORMAT or about["stamp"] != stamp:
            return None
        return _read(folder, about)
    except (OSError, EOFError, ValueError, TypeError, KeyError, IndexError):
        return None


def _is_ours(folder: Path) -> bool:
    return folder.is_dir() and ((folder / ABOUT).is_file() or not any(folder.iterdir()))


def _unfinished(folder: Path) -> Path:
    """A name beside the folder that nobody else has."""
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


def _write(folder: Path, contents: Contents) -> None:
    blocks = contents.blocks
    arrays: dict[str, tuple[Any, Sequence[NDArray[Any]]]] = {
        "groups": (np.uint32, [block.occurrences[0] for block in blocks]),
        "counts": (np.uint8, [block.occurrences[1] for block in blocks]),
        "ends": (np.uint32, [block.occurrences[2] for block in blocks]),
        "places": (np.uint16, [block.occurrences[3] for block in blocks]),
        "ids": (np.int64, [block.ids for block in blocks]),
        "alive": (np.bool_, [block.alive for block in blocks]),
        "usage": (np.int64, [block.usage for block in blocks]),
        "inverse": (np.float32, contents.weights.inverse),
        "rarity": (np.float32, [contents.weights.rarity]),
    }
    checks = {name: _write_parts(folder / f"{name}.npy", *parts) for name, parts in arrays.items()}
    about = {
        "format": FORMAT,
        **contents.about,
        "blocks": [[len(block), block.occurrences[1].size, block.occurrences[3].size] for block in blocks],
        "checks": checks,
        "names": [name for block in blocks for name in block.names],
    }
    with (folder / ABOUT).open("w", encoding="utf-8") as file:
        file.write(json.dumps(about))  # in one piece: dump() is several times slower
        _settle(file.fileno(), file)


def _write_parts(path: Path, kind: Any, parts: Sequence[NDArray[Any]]) -> int:
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
        _settle(file.fileno(), file)
    return check


def _settle(number: int, file: Any) -> None:
    file.flush()
    os.fsync(number)  # else the rename could reach the disk before the contents


def _read(folder: Path, about: Mapping[str, Any]) -> Contents:
    channels, cells, blocks = about["channels"], about["channels"] * about["vocabulary"], about["blocks"]
    entries, groups, places = np.array(blocks, dtype=np.int64).reshape(-1, 3).T.tolist()
    each = np.ones(len(blocks), dtype=np.int64)

    def cut(name: str, sizes: Any) -> list[NDArray[Any]]:
        return _cut(_mapped(folder, name, about["checks"]), np.asarray(sizes, dtype=np.int64))

    occurrences = zip(
        cut("groups", (cells + 1) * each),
        cut("counts", groups),
        cut("ends", np.array(groups, dtype=np.int64) + 1),
        cut("places", places),
        strict=True,
    )
    names = [tuple(part) for part in _cut(about["names"], np.array(entries, dtype=np.int64))]
    usage = [part.reshape(2, cells) for part in cut("usage", 2 * cells * each)]
    made = map(Block, occurrences, cut("ids", entries), names, cut("alive", entries), usage)
    inverse = cut("inverse", channels * np.array(entries, dtype=np.int64))
    weights = Weights(cut("rarity", [cells])[0], tuple(part.reshape(channels, -1) for part in inverse))
    return Contents({key: about[key] for key in KEPT}, tuple(made), weights)


def _mapped(folder: Path, name: str, checks: Mapping[str, int]) -> NDArray[Any]:
    mapped = np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))
    if name != UNCHECKED and zlib.crc32(mapped.view(np.uint8).data) != checks[name]:
        raise ValueError(f"{name} is damaged")
    return mapped


def _cut(whole: Parts, sizes: NDArray[np.int64]) -> list[Parts]:
    ends = np.cumsum(sizes).tolist()
    if len(whole) != (ends[-1] if ends else 0):
        raise ValueError("a file is too long or too short")
    return [whole[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)]
