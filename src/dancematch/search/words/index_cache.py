"""The index cache: a search index in one folder (`array_folder.py`).

Opening maps the files; only what searches touch is read. Not checked on opening are the words, which
`WordStore` clips to the vocabulary, and the postings, whose kernels check every number they follow.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.search.stage1.columns import HistogramColumns
from dancematch.search.stage1.columns_cache import write_columns
from dancematch.search.stage1.descriptor_index import DescriptorIndex
from dancematch.search.stage1.postings import PostingRun, Postings
from dancematch.search.stage1.shortlist import SearchIndex
from dancematch.search.words.array_folder import (
    DAMAGE,
    is_large,
    map_array,
    read_about,
    read_json,
    remove_folder,
    replace_folder,
    split_array,
    write_json,
    write_parts,
)
from dancematch.search.words.entries import ENTRY, FACTS, Entries, StoredEntries
from dancematch.search.words.word_store import WordStore
from dancematch.tracks import PackedWords
from dancematch.types import BONE_NUMBERS

FORMAT = 5
ABOUT = "engine.json"
# Unchecked where they are large: no number in them leads outside an array.
_UNCHECKED = {"words", "seen", "bones", "keys", "starts", "occurrences", "times"}


def save_index_cache(folder: Path, stamp: str, model: Mapping[str, Any], index: SearchIndex) -> None:
    """Write the cache, in place of an earlier one; the index must not change meanwhile.

    `model` says what else must be the same when it is loaded.
    """
    replace_folder(folder, ABOUT, lambda unfinished: _write(unfinished, stamp, model, index))


def load_index_cache(folder: Path, stamp: str, model: Mapping[str, Any]) -> SearchIndex | None:
    """Return the index with this stamp and model, left on disk and mapped; None if there is none."""
    try:
        about = read_about(folder / ABOUT, FORMAT, stamp)
        if about is None or about["model"] != model:
            return None
        columns = HistogramColumns.load(folder, stamp)
        return None if columns is None else _read(folder, about, columns)
    except DAMAGE:
        return None


def read_stamp(folder: Path) -> str | None:
    """Return the stamp of the cache in a folder, if there is one."""
    try:
        return str(read_json(folder / ABOUT)["stamp"])
    except DAMAGE:
        return None


def remove_index_cache(folder: Path) -> None:
    """Remove the cache in a folder, if there is one."""
    remove_folder(folder, ABOUT)


def _write(folder: Path, stamp: str, model: Mapping[str, Any], index: SearchIndex) -> None:
    chunks, runs, stored = index.word_store.chunks, index.postings.runs, index.entries.stored
    narrow, key = _kinds(index.word_store.vocabulary, index.postings.key_type)
    arrays: dict[str, tuple[Any, Sequence[NDArray[Any]]]] = {
        "words": (narrow, [packed.words for packed in chunks]),
        "seen": (np.uint8, [packed.seen for packed in chunks]),
        "offsets": (np.int64, _join_offsets(chunks)),
        "clocks": (np.float64, [packed.clocks for packed in chunks]),
        "bones": (np.int8, [packed.bones for packed in chunks]),
        "keys": (key, [run.keys for run in runs]),
        "starts": (np.uint32, [run.starts for run in runs]),
        "occurrences": (np.uint32, [run.entries for run in runs]),
        "times": (np.uint16, [run.times for run in runs]),
        "facts": (FACTS, [stored.facts]),
        "living": (np.bool_, [stored.alive]),
        "entries": (ENTRY, [stored.entries]),
        "descriptors": (np.uint8, [index.descriptors.pack()]),
    }
    checks = {name: write_parts(_path(folder, name), *parts) for name, parts in arrays.items()}
    write_columns(folder, index.columns.contents(stamp))
    named = {"names": stored.names, "collections": stored.collections, "label_sets": stored.label_sets}
    write_json(folder / "dances.json", named)
    about = {
        "format": FORMAT,
        "stamp": stamp,
        "model": dict(model),
        "checks": checks,
        "tracks": len(index.word_store),
        "steps": sum(len(packed.words) for packed in chunks),
        "runs": [[len(run.keys), len(run.entries)] for run in runs],
        "background": len(index.entries.background),
        "trained": index.descriptors.trained,
    }
    write_json(folder / ABOUT, about)


def _join_offsets(chunks: Sequence[PackedWords]) -> list[NDArray[np.int64]]:
    """The offsets of all chunks as one: they are loaded as one."""
    steps = np.cumsum([0, *(packed.offsets[-1] for packed in chunks)])
    parts = [packed.offsets[1:] + before for packed, before in zip(chunks, steps.tolist(), strict=False)]
    return [np.zeros(1, np.int64), *parts]


def _path(folder: Path, name: str) -> Path:
    return folder / f"engine-{name}.npy"  # columns have some of these names too


def _kinds(vocabulary: int, key: np.dtype[Any]) -> tuple[Any, np.dtype[Any]]:
    return np.uint8 if vocabulary <= 256 else np.uint16, key


def _read(folder: Path, about: Mapping[str, Any], columns: HistogramColumns) -> SearchIndex:
    def whole(name: str, kind: Any) -> NDArray[Any]:
        path = _path(folder, name)
        trusted = name in _UNCHECKED and is_large(path)
        return map_array(path, kind, None if trusted else about["checks"][name])

    model = about["model"]
    postings = Postings(model["vocabulary"], model["postings"])
    narrow, key = _kinds(model["vocabulary"], postings.key_type)
    tracks, steps = about["tracks"], about["steps"]
    wide = len(model["channels"])
    packed = PackedWords(
        split_array(whole("words", narrow), [steps * wide])[0].reshape(-1, wide),
        split_array(whole("seen", np.uint8), [steps * -(-wide // 8)])[0].reshape(-1, -(-wide // 8)),
        split_array(whole("offsets", np.int64), [tracks + 1])[0],
        split_array(whole("clocks", np.float64), [2 * tracks])[0].reshape(-1, 2),
        split_array(whole("bones", np.int8), [steps * BONE_NUMBERS])[0].reshape(-1, BONE_NUMBERS),
    )
    keys, sizes = np.array(about["runs"], dtype=np.int64).reshape(-1, 2).T
    runs = map(
        PostingRun,
        split_array(whole("keys", key), keys),
        split_array(whole("starts", np.uint32), keys + 1),
        split_array(whole("occurrences", np.uint32), sizes),
        split_array(whole("times", np.uint16), sizes),
    )
    named = read_json(folder / "dances.json")
    arrays = (whole("facts", FACTS), whole("living", np.bool_), whole("entries", ENTRY))
    stored = StoredEntries(*arrays, named["names"], named["collections"], named["label_sets"])
    _require_whole(stored, tracks, columns)
    postings.restore(runs, stored.alive.copy())
    entries = Entries.restore(stored, about["background"])
    word_store = WordStore(model["vocabulary"], model["model_id"], [packed] if tracks else ())
    descriptors = DescriptorIndex.unpack(whole("descriptors", np.uint8), about["trained"])
    return SearchIndex(entries, word_store, columns, postings, descriptors)


def _require_whole(stored: StoredEntries, tracks: int, columns: HistogramColumns) -> None:
    """Raise a ValueError if the parts are not of one index."""
    dances, recordings, label_sets = (
        stored.facts[name].max(initial=-1) + 1 for name in ("dance", "recording", "labels")
    )
    same = tracks == len(stored.facts) == len(stored.alive) and columns.next_id == len(stored.entries)
    numbered = dances <= len(stored.names) and recordings <= tracks and label_sets <= len(stored.label_sets)
    if not (same and numbered):
        raise ValueError("the parts do not belong together")
