"""How long edits of a large catalogue take, and when the next search knows of them.

    python bench/edit.py [--dances 10000] [--recordings 1000] [--where URL]

Random words of 100 steps and 14 channels, one recording per dance, in a SQLite file or the empty
database `URL`.
`table`: each dance gets another name, two labels and notes, its recording a performer, all in one edit; then
the same is undone. `merge`: two dances of many recordings each become one; the search that follows is of an
engine that was open before, and finds the dance under its new id. Wall-clock time, for the disk is
part of it; beside it the processor time of this process. One JSON object per figure.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import platform
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from catalogue_filling import new_recording

from dancematch.catalogue.editing.edit import CatalogueEditor
from dancematch.catalogue.editing.requests import EditDance, EditRecording
from dancematch.catalogue.listing import read_dance
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.search.engine import Query
from dancematch.types import Codebook, Fingerprint

STEPS, CHANNELS, VOCABULARY, MODEL = 100, 14, 256, "bench"
BATCH = 2000


def seconds_of(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall-clock and processor seconds."""
    began, busy = time.perf_counter(), time.process_time()
    work()
    return round(time.perf_counter() - began, 3), round(time.process_time() - busy, 3)


def words(number: int, steps: int = STEPS) -> Fingerprint:
    rng = np.random.default_rng(number)
    return Fingerprint(rng.integers(VOCABULARY, size=(steps, CHANNELS)), VOCABULARY, 4 / 30, MODEL)


def codebook() -> Codebook:
    """Words that are alike only to themselves."""
    same = np.tile(np.eye(VOCABULARY, dtype=np.float32), (CHANNELS, 1, 1))
    return Codebook(MODEL, tuple(f"part {number}" for number in range(CHANNELS)), same, same)


def fill(store: Store, dances: int, recordings: int) -> None:
    """Add dances of one recording each, and two of many."""
    every = [
        (new_recording(f"dance {n}", 13.3, file=f"{n}.mp4"), [StoredTrack(words(n))]) for n in range(dances)
    ]
    for first in range(0, dances, BATCH):
        store.add_many(every[first : first + BATCH])
    for number, name in enumerate(("first", "second"), start=1):
        seed = number * 1_000_000
        many = [
            (new_recording(name, 13.3, file=f"{name} {n}.mp4"), [StoredTrack(words(seed + n))])
            for n in range(recordings)
        ]
        store.add_many(many, join=True)


def measure_table(store: Store, dances: int) -> dict:
    """Edit every dance and its recording at once, and undo it."""
    editor = CatalogueEditor(store)
    table = [
        edit
        for n in range(dances)
        for edit in (
            EditDance(
                f"dance {n}", {"name": f"Dance No. {n}", "labels": ("a", f"b{n % 10}"), "notes": f"note {n}"}
            ),
            EditRecording(f"{n}.mp4", {"performer": f"dancer {n}"}),
        )
    ]
    changes: list[str] = []
    dry = seconds_of(lambda: editor.edit(table, dry_run=True))
    made = seconds_of(lambda: changes.extend(editor.edit(table).changes))
    undone = seconds_of(editor.undo)
    return {"bench": "edit table", "rows": dances, "changed_values": len(changes)} | figures_of(
        edit=made, dry_run=dry, undo=undone
    )


def figures_of(**measured: tuple[float, float]) -> dict[str, float]:
    """Return what was measured under names that say what it is."""
    wall = {f"{name}_seconds": both[0] for name, both in measured.items()}
    return wall | {f"{name}_processor_seconds": both[1] for name, both in measured.items()}


def measure_merge(store: Store, recordings: int) -> dict:
    """Merge two dances of many recordings, search, and undo it."""
    editor = CatalogueEditor(store)
    engine = CachedEngine(store, codebook(), [words(-n - 1 + (1 << 40)) for n in range(30)])
    query = [Query(words(2_000_000))]  # of the second dance
    kept = read_dance(store, "first").dance_id
    editor.edit([EditDance("dance 0", merge_into="dance 1")])  # what has to be compiled is compiled
    engine.current().search(query, limit=1)
    editor.edit([EditDance("dance 2", merge_into="dance 3")])
    before = engine.current().search(query, limit=1)
    usual = seconds_of(lambda: engine.current().search(query, limit=1))
    made = seconds_of(lambda: editor.edit([EditDance("second", merge_into="first")]))
    found: list[str] = []
    searched = seconds_of(lambda: found.extend(m.dance_id for m in engine.current().search(query, limit=1)))
    if found != [kept] or before[0].dance_id == kept:
        raise SystemExit("the search does not know of the merge")
    undone = seconds_of(editor.undo)
    renamed = seconds_of(lambda: editor.edit([EditDance("first", {"name": "renamed"})]))
    engine.close()
    return {"bench": "edit merge", "recordings_of_each": recordings} | figures_of(
        merge=made, next_search=searched, usual_search=usual, undo=undone, rename=renamed
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dances", type=int, default=10_000)
    parser.add_argument("--recordings", type=int, default=1_000)
    parser.add_argument("--where", metavar="URL", help="an empty database, instead of a file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(options.where or Path(folder) / "dances.db", MODEL)
        known = {
            "engine": store.engine.dialect.name,
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "dances": options.dances,
        }
        fill(store, options.dances, options.recordings)
        for figures in (measure_table(store, options.dances), measure_merge(store, options.recordings)):
            print(json.dumps(figures | known), flush=True)
        store.close()


if __name__ == "__main__":
    main()
