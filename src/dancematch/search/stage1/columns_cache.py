"""Columns in a folder (`array_folder.py`).

`places.npy` and `nibbles.npy` are not checked on opening if they are large; the kernels let no number in them
lead outside an array.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.search.stage1.blocks import EntryBlock, Occurrences
from dancematch.search.stage1.norms import Norms, Weights, round_up
from dancematch.search.words.array_folder import (
    DAMAGE,
    is_large,
    map_array,
    read_about,
    replace_folder,
    split_array,
    write_json,
    write_parts,
)
from dancematch.types import FloatArray

FORMAT = 5
ABOUT = "columns.json"
LISTS = ("groups", "codes", "ends", "places")  # of blocks, in their order there
DENSE = ("rows", "nibbles")
UNCHECKED = ("places", "nibbles")
KEPT = ("channels", "vocabulary", "weighting", "model_id", "stamp", "next_id")
_KINDS: Mapping[str, Any] = {
    "groups": np.uint32,
    "codes": np.uint8,
    "ends": np.uint32,
    "places": np.uint16,
    "rows": np.int32,
    "nibbles": np.uint8,
    "ids": np.int64,
    "alive": np.bool_,
    "usage": np.int64,
    "squares": np.int64,
    "inverse": np.float32,
    "idf": np.float32,
}


@dataclass(frozen=True)
class Contents:
    """The contents of a folder."""

    about: Mapping[str, Any]  # `KEPT`
    blocks: tuple[EntryBlock, ...]
    weights: Weights


def save_folder(folder: Path, contents: Contents) -> None:
    """Write a folder, in place of an earlier one."""
    replace_folder(folder, ABOUT, lambda unfinished: write_columns(unfinished, contents))


def load_folder(folder: Path, stamp: str) -> Contents | None:
    """Return the contents with this stamp; None if they are not there, or not whole."""
    try:
        about = read_about(folder / ABOUT, FORMAT, stamp)
        return None if about is None else _read(folder, about)
    except DAMAGE:
        return None


def write_columns(folder: Path, contents: Contents) -> None:
    """Write the files into a folder that is there."""
    blocks, norms = contents.blocks, contents.weights.norms
    lists, dense = zip(*(block.occurrences for block in blocks), strict=True) if blocks else ((), ())
    arrays: dict[str, Sequence[NDArray[Any]]] = {
        **{name: [one[place] for one in lists] for place, name in enumerate(LISTS)},
        **{name: [one[place] for one in dense] for place, name in enumerate(DENSE)},
        "ids": [block.ids for block in blocks],
        "alive": [block.alive for block in blocks],
        "usage": [block.usage for block in blocks],
        "squares": [channel for one in norms for channel in one.squares],
        "inverse": [one.inverse for one in norms],
        "idf": [contents.weights.idf],
    }
    checks = {
        name: write_parts(folder / f"{name}.npy", _KINDS[name], parts) for name, parts in arrays.items()
    }
    about = {
        "format": FORMAT,
        **contents.about,
        "blocks": [
            [len(block), len(rare[1]), len(rare[3]), len(common[1])]
            for block, rare, common in zip(blocks, lists, dense, strict=True)
        ],
        "checks": checks,
    }
    write_json(folder / ABOUT, about)


def _read(folder: Path, about: Mapping[str, Any]) -> Contents:
    channels, cells, blocks = about["channels"], about["channels"] * about["vocabulary"], about["blocks"]
    entries, groups, places, common = np.array(blocks, dtype=np.int64).reshape(-1, 4).T
    each = np.ones(len(blocks), dtype=np.int64)
    halves = -(-entries // 2)

    def parts(name: str, sizes: Any) -> list[NDArray[Any]]:
        path = folder / f"{name}.npy"
        trusted = name in UNCHECKED and is_large(path)
        return split_array(map_array(path, _KINDS[name], None if trusted else about["checks"][name]), sizes)

    lists = map(parts, LISTS, ((cells + 1) * each, groups, groups + 1, places))
    rows, nibbles = map(parts, DENSE, (cells * each, common * halves))
    shapes = zip(common, halves, strict=True)
    nibbles = [part.reshape(shape) for part, shape in zip(nibbles, shapes, strict=True)]
    occurrences = list(zip(zip(*lists, strict=True), zip(rows, nibbles, strict=True), strict=True))
    usage = [part.reshape(3, cells) for part in parts("usage", 3 * cells * each)]
    made = map(EntryBlock, occurrences, parts("ids", entries), parts("alive", entries), usage)
    squares, inverse = (
        [part.reshape(channels, -1) for part in parts(name, channels * entries)]
        for name in ("squares", "inverse")
    )
    weights = Weights(parts("idf", [cells])[0], tuple(map(_norms, occurrences, squares, inverse)))
    return Contents({key: about[key] for key in KEPT}, tuple(made), weights)


def _norms(occurrences: Occurrences, squares: NDArray[np.int64], inverse: FloatArray) -> Norms:
    return Norms(occurrences, tuple(squares), inverse, round_up(inverse), bool((inverse > 0).all()))
