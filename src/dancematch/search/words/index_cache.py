"""All that an engine knows in one folder (`array_folder.py`): columns, shelf, postings and entries.

Opening maps the files; what is read of them is what searches touch. Not checked on opening are the
words, which the shelf keeps within the vocabulary when it hands them out, and the postings, whose
kernels look where they step.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.search.stage1.columns import Columns
from dancematch.search.stage1.columns_cache import write_columns
from dancematch.search.stage1.postings import Postings, Run
from dancematch.search.stage1.shortlist import SearchIndex
from dancematch.search.words.array_folder import (
    DAMAGE,
    cut,
    is_large,
    mapped,
    read_about,
    remove_folder,
    replace_folder,
    write_json,
    write_parts,
)
from dancematch.search.words.entries import ENTRY, FACTS, Entries, Kept
from dancematch.search.words.word_store import WordStore
from dancematch.tracks import PackedWords
from dancematch.types import BONE_NUMBERS

FORMAT = 3
ABOUT = "engine.json"
# Where these are large they are taken on trust: no number in them leads outside an array.
_UNCHECKED = {"words", "seen", "bones", "keys", "starts", "occurrences", "times"}


def save_index_cache(folder: Path, stamp: str, model: Mapping[str, Any], library: SearchIndex) -> None:
    """Write a folder, in place of an earlier one; nobody may change the library meanwhile.

    `model` says what else must be the same when it is loaded.
    """
    replace_folder(folder, ABOUT, lambda unfinished: _write(unfinished, stamp, model, library))


def load_index_cache(folder: Path, stamp: str, model: Mapping[str, Any]) -> SearchIndex | None:
    """What was saved under this stamp and model, left on disk and mapped; None if there is none."""
    try:
        about = read_about(folder / ABOUT, FORMAT, stamp)
        if about is None or about["model"] != model:
            return None
        columns = Columns.load(folder, stamp)
        return None if columns is None else _read(folder, about, columns)
    except DAMAGE:
        return None


def stamp_of(folder: Path) -> str | None:
    """The stamp of what is kept in a folder, if something is."""
    try:
        return str(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["stamp"])
    except DAMAGE:
        return None


def remove_index_cache(folder: Path) -> None:
    """Let nothing be left of what was saved there."""
    remove_folder(folder, ABOUT)


def _write(folder: Path, stamp: str, model: Mapping[str, Any], library: SearchIndex) -> None:
    volumes, runs, kept = library.shelf.volumes, library.postings.runs, library.entries.kept
    narrow, key = _kinds(library.shelf.vocabulary, library.postings.key_type)
    arrays: dict[str, tuple[Any, Sequence[NDArray[Any]]]] = {
        "words": (narrow, [volume.words for volume in volumes]),
        "seen": (np.uint8, [volume.seen for volume in volumes]),
        "offsets": (np.int64, _joined_offsets(volumes)),
        "clocks": (np.float64, [volume.clocks for volume in volumes]),
        "bones": (np.int8, [volume.bones for volume in volumes]),
        "keys": (key, [run.keys for run in runs]),
        "starts": (np.uint32, [run.starts for run in runs]),
        "occurrences": (np.uint32, [run.entries for run in runs]),
        "times": (np.uint16, [run.times for run in runs]),
        "facts": (FACTS, [kept.facts]),
        "living": (np.bool_, [kept.alive]),
        "entries": (ENTRY, [kept.entries]),
    }
    checks = {name: write_parts(_path(folder, name), *parts) for name, parts in arrays.items()}
    write_columns(folder, library.columns.contents(stamp))
    write_json(folder / "dances.json", {"names": kept.names, "texts": kept.texts})
    about = {
        "format": FORMAT,
        "stamp": stamp,
        "model": dict(model),
        "checks": checks,
        "tracks": len(library.shelf),
        "steps": sum(len(volume.words) for volume in volumes),
        "runs": [[len(run.keys), len(run.entries)] for run in runs],
        "strangers": len(library.entries.strangers),
    }
    write_json(folder / ABOUT, about)


def _joined_offsets(volumes: Sequence[PackedWords]) -> list[NDArray[np.int64]]:
    """As of one volume: they come back as one."""
    steps = np.cumsum([0, *(volume.offsets[-1] for volume in volumes)])
    parts = [volume.offsets[1:] + before for volume, before in zip(volumes, steps.tolist(), strict=False)]
    return [np.zeros(1, np.int64), *parts]


def _path(folder: Path, name: str) -> Path:
    return folder / f"engine-{name}.npy"  # columns have some of these names too


def _kinds(vocabulary: int, key: np.dtype[Any]) -> tuple[Any, np.dtype[Any]]:
    return np.uint8 if vocabulary <= 256 else np.uint16, key


def _read(folder: Path, about: Mapping[str, Any], columns: Columns) -> SearchIndex:
    def whole(name: str, kind: Any) -> NDArray[Any]:
        path = _path(folder, name)
        trusted = name in _UNCHECKED and is_large(path)
        return mapped(path, kind, None if trusted else about["checks"][name])

    model = about["model"]
    postings = Postings(model["vocabulary"], model["postings"])
    narrow, key = _kinds(model["vocabulary"], postings.key_type)
    tracks, steps = about["tracks"], about["steps"]
    wide = len(model["channels"])
    volume = PackedWords(
        cut(whole("words", narrow), [steps * wide])[0].reshape(-1, wide),
        cut(whole("seen", np.uint8), [steps * -(-wide // 8)])[0].reshape(-1, -(-wide // 8)),
        cut(whole("offsets", np.int64), [tracks + 1])[0],
        cut(whole("clocks", np.float64), [2 * tracks])[0].reshape(-1, 2),
        cut(whole("bones", np.int8), [steps * BONE_NUMBERS])[0].reshape(-1, BONE_NUMBERS),
    )
    keys, sizes = np.array(about["runs"], dtype=np.int64).reshape(-1, 2).T
    runs = map(
        Run,
        cut(whole("keys", key), keys),
        cut(whole("starts", np.uint32), keys + 1),
        cut(whole("occurrences", np.uint32), sizes),
        cut(whole("times", np.uint16), sizes),
    )
    names = json.loads((folder / "dances.json").read_text(encoding="utf-8"))
    arrays = (whole("facts", FACTS), whole("living", np.bool_), whole("entries", ENTRY))
    kept = Kept(*arrays, names["names"], names["texts"])
    _require_whole(kept, tracks, columns)
    postings.restore(runs, kept.alive.copy())
    entries = Entries.restored(kept, about["strangers"])
    shelf = WordStore(model["vocabulary"], model["model_id"], [volume] if tracks else ())
    return SearchIndex(entries, shelf, columns, postings)


def _require_whole(kept: Kept, tracks: int, columns: Columns) -> None:
    """Raise a ValueError if the parts are not of one engine."""
    dances = kept.facts["dance"].max(initial=-1) + 1
    same = tracks == len(kept.facts) == len(kept.alive) and columns.next_id == len(kept.entries)
    if not same or dances > len(kept.names):
        raise ValueError("the parts do not belong together")
