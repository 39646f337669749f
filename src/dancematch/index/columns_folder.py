"""Columns in a folder (`folder.py`): what is written of them, and how it is read back.

The largest file, `places.npy`, is not checked on opening if it is large; the kernels let no number in it lead
outside an array.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.index.blocks import Block
from dancematch.index.folder import (
    DAMAGE,
    cut,
    is_large,
    mapped,
    read_about,
    replace_folder,
    write_json,
    write_parts,
)
from dancematch.types import FloatArray

FORMAT = 2
ABOUT = "columns.json"
UNCHECKED = "places"
KEPT = ("channels", "vocabulary", "weighting", "model_id", "stamp", "next_id")
_KINDS: Mapping[str, Any] = {
    "groups": np.uint32,
    "counts": np.uint8,
    "ends": np.uint32,
    "places": np.uint16,
    "ids": np.int64,
    "alive": np.bool_,
    "usage": np.int64,
    "inverse": np.float32,
    "rarity": np.float32,
}


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
    replace_folder(folder, ABOUT, lambda unfinished: write_columns(unfinished, contents))


def load_folder(folder: Path, stamp: str) -> Contents | None:
    """What `save_folder` wrote under this stamp; None if it is not there, or not whole."""
    try:
        about = read_about(folder / ABOUT, FORMAT, stamp)
        return None if about is None else _read(folder, about)
    except DAMAGE:
        return None


def write_columns(folder: Path, contents: Contents) -> None:
    """Write the files into a folder that is there."""
    blocks = contents.blocks
    arrays: dict[str, Sequence[NDArray[Any]]] = {
        "groups": [block.occurrences[0] for block in blocks],
        "counts": [block.occurrences[1] for block in blocks],
        "ends": [block.occurrences[2] for block in blocks],
        "places": [block.occurrences[3] for block in blocks],
        "ids": [block.ids for block in blocks],
        "alive": [block.alive for block in blocks],
        "usage": [block.usage for block in blocks],
        "inverse": contents.weights.inverse,
        "rarity": [contents.weights.rarity],
    }
    checks = {
        name: write_parts(folder / f"{name}.npy", _KINDS[name], parts) for name, parts in arrays.items()
    }
    about = {
        "format": FORMAT,
        **contents.about,
        "blocks": [[len(block), block.occurrences[1].size, block.occurrences[3].size] for block in blocks],
        "checks": checks,
        "names": [len(block.names) for block in blocks],
    }
    write_json(folder / "names.json", [name for block in blocks for name in block.names])
    write_json(folder / ABOUT, about)


def _read(folder: Path, about: Mapping[str, Any]) -> Contents:
    channels, cells, blocks = about["channels"], about["channels"] * about["vocabulary"], about["blocks"]
    entries, groups, places = np.array(blocks, dtype=np.int64).reshape(-1, 3).T
    each = np.ones(len(blocks), dtype=np.int64)

    def parts(name: str, sizes: Any) -> list[NDArray[Any]]:
        path = folder / f"{name}.npy"
        trusted = name == UNCHECKED and is_large(path)
        return cut(mapped(path, _KINDS[name], None if trusted else about["checks"][name]), sizes)

    occurrences = zip(
        parts("groups", (cells + 1) * each),
        parts("counts", groups),
        parts("ends", groups + 1),
        parts("places", places),
        strict=True,
    )
    names = _read_names(folder, about["names"], entries.tolist())
    usage = [part.reshape(2, cells) for part in parts("usage", 2 * cells * each)]
    made = map(Block, occurrences, parts("ids", entries), names, parts("alive", entries), usage)
    inverse = parts("inverse", channels * entries)
    weights = Weights(parts("rarity", [cells])[0], tuple(part.reshape(channels, -1) for part in inverse))
    return Contents({key: about[key] for key in KEPT}, tuple(made), weights)


def _read_names(folder: Path, sizes: Sequence[int], entries: Sequence[int]) -> list[tuple[str, ...]]:
    if any(size not in (0, count) for size, count in zip(sizes, entries, strict=True)):
        raise ValueError("not every entry has a name")
    every: list[str] = json.loads((folder / "names.json").read_text(encoding="utf-8"))
    return [tuple(part) for part in cut(every, sizes)]
