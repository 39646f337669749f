"""How long a catalogue takes to open: the first time, with its index cache, and after changes.

    python bench/opening.py [--words whole] [--entries 10000 100000 1000000]

Dances of shuffled_dances.py in a SQLite file. `first` reads the database and builds the engine, whose index
cache is then written while searches go on; `again` opens that cache in a new `CachedEngine`; both with the
first search after it. `after_changes`: the same when a hundred dances have been added since. The peer of
`first`, in the same run and on some of the dances, scaled up linearly, reads nouns one by one
(`Store.everything`) and adds those. Wall-clock time, for the disk is part of it; the operating system's own
cache of the file is warm.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import tempfile
import time
from pathlib import Path

from catalogue_filling import new_recording
from shuffled_dances import MODELS, PIECE, STEPS, ShuffledDances, load_shuffled_dances, shuffle_bones

from dancematch.catalogue.packed import read_packed_tracks
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.pipeline.cached_engine import CachedEngine

PEER = 5_000  # dances


def seconds(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fill(path: Path, made: ShuffledDances, count: int) -> Store:
    """A catalogue of the first dances."""
    store = Store(path, made.codebook.model_id)
    for first in range(0, count, PIECE):
        added(made, store, first, min(PIECE, count - first))
    return store


def added(made: ShuffledDances, store: Store, first: int, count: int) -> None:
    words = made.words(first, count)
    bones = shuffle_bones(made.bones, first, count, STEPS)
    store.add_many(
        [
            (new_recording(f"dance {first + n}", 8.8),
             [StoredTrack(made.fingerprint(words[n], bones[n]))])
            for n in range(count)
        ]
    )  # fmt: skip


def one_by_one(made: ShuffledDances, store: Store) -> float:
    engine = made.engine()

    def build() -> None:
        engine.add(store.everything().added)

    return seconds(build)


def measure(made: ShuffledDances, count: int, folder: Path) -> dict:
    small = fill(folder / "small.db", made, min(PEER, count))
    compiled = CachedEngine(small, made.codebook, made.background)
    compiled.current().search(made.query(1, STEPS))
    compiled.close()
    peer = one_by_one(made, small) * count / min(PEER, count)
    store = fill(folder / "dances.db", made, count)
    query = made.query(1, STEPS)

    def opened() -> tuple[float, float, float]:
        kept = CachedEngine(store, made.codebook, made.background)
        return seconds(kept.current), seconds(lambda: kept.current().search(query)), seconds(kept.close)

    read = seconds(lambda: [len(piece.keys) for piece in read_packed_tracks(store)[1]])
    first, again = opened(), opened()
    added(made, store, 2 * count, 100)
    changed = opened()
    cache = folder / "dances.db.cache"
    return {
        "bench": "opening",
        "entries": count,
        "database_gb": round((folder / "dances.db").stat().st_size / 1e9, 2),
        "cache_gb": round(sum(path.stat().st_size for path in cache.iterdir()) / 1e9, 2),
        "read_alone_seconds": round(read, 2),
        "first_seconds": round(first[0], 2),
        "first_search_seconds": round(first[1], 2),
        "then_kept_within_seconds": round(first[2], 2),
        "again_seconds": round(again[0], 2),
        "again_search_seconds": round(again[1], 2),
        "after_changes_seconds": round(changed[0], 2),
        "after_changes_search_seconds": round(changed[1], 2),
        "one_by_one_seconds": round(peer, 1),
        "times_faster_than_one_by_one": round(peer / first[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", choices=MODELS, default="parts")
    parser.add_argument("--entries", type=int, nargs="+", default=[10_000, 100_000])
    options = parser.parse_args()
    made = load_shuffled_dances(options.words)
    for count in options.entries:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps({"words": options.words, **measure(made, count, Path(folder))}), flush=True)


if __name__ == "__main__":
    main()
