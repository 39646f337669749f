"""How many fingerprints per second a catalogue takes and copies, and how fast it says what changed.

    python bench/catalogue.py [--dances 10000] [--batch 2000] [--postgresql URL]

Synthetic fingerprints of 100 steps and 14 channels into a SQLite file. `add_many` adds one batch per
transaction; its peer, in the same run and on the same disk, is one transaction per dance. `changes` reads
what one more dance changed; its peer is reading everything anew. `copy` is `dancematch copy`, reading
back and comparing included, to and from the empty database `URL` too; its peer inserts the same rows,
read beforehand, with SQLAlchemy's `executemany`, and compares nothing. Wall-clock time, for the disk is
part of it; beside it the processor time of this process. One JSON object per figure.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from catalogue_filling import new_recording

from dancematch.catalogue.records import NewRecording
from dancematch.catalogue.sql.database import WRITE
from dancematch.catalogue.sql.schema import tracks
from dancematch.catalogue.stats import count_stats
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.catalogue.transfer.copying import copy_catalogue
from dancematch.catalogue.transfer.database_rows import BATCH
from dancematch.catalogue.transfer.recording_rows import Copied
from dancematch.types import Fingerprint

STEPS, CHANNELS, VOCABULARY = 100, 14, 256


def fingerprints(count: int, seed: int) -> list[tuple[NewRecording, list[StoredTrack]]]:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        words = rng.integers(VOCABULARY, size=(STEPS, CHANNELS), dtype=np.uint16)
        track = StoredTrack(Fingerprint(words, VOCABULARY, 4 / 30, "bench"))
        made.append((new_recording(f"{seed}-{number}", 13.3), [track]))
    return made


def seconds_of(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def adding(store: Store, dances: int, batch: int, seed: int) -> dict:
    many = fingerprints(dances, seed)
    few = fingerprints(min(200, dances), seed + 1)
    one_by_one = seconds_of(lambda: [store.add(*one) for one in few]) / len(few)
    parts = [many[first : first + batch] for first in range(0, dances, batch)]
    together = seconds_of(lambda: [store.add_many(part) for part in parts]) / dances
    return {
        "bench": "catalogue add",
        "dances": dances,
        "batch": batch,
        "a_second": round(1 / together),
        "a_second_one_transaction_each": round(1 / one_by_one),
        "times_faster": round(one_by_one / together, 1),
        "seed": seed,
    }


def following(store: Store, seed: int) -> dict:
    everything = store.everything()
    store.add_many(fingerprints(1, seed + 2))
    store.remove(everything.added[0].dance_id)
    anew = seconds_of(store.everything)
    changed = min(seconds_of(lambda: store.changes(everything.generation)) for _ in range(5))
    return {
        "bench": "catalogue changes",
        "dances": len(everything.added),
        "changes_ms": round(1000 * changed, 2),
        "everything_ms": round(1000 * anew, 1),
        "times_faster": round(anew / changed),
        "seed": seed,
    }


def copying(source: str, where: str, way: str, dances: int) -> dict:
    began = time.process_time()
    told: list[Copied] = []
    elapsed = seconds_of(lambda: told.extend(copy_catalogue(source, where)))
    busy = time.process_time() - began
    if dances != sum(some.verified for some in told):
        raise SystemExit("not all that was copied is what it was")
    peer = plainly(source, where)
    return {
        "bench": "catalogue copy",
        "way": way,
        "fingerprints": dances,
        "a_second": round(dances / elapsed),
        "a_second_of_processor_time": round(dances / busy),
        "peer_executemany_a_second": round(dances / peer),
        "times_of_peer": round(peer / elapsed, 2),
    }


def plainly(address: str, where: str) -> float:
    """Seconds for the same tracks as they are usually inserted, into a table of the same kind beside."""
    beside = tracks.to_metadata(sa.MetaData(), name="peer")
    beside.constraints -= {one for one in beside.constraints if isinstance(one, sa.ForeignKeyConstraint)}
    beside.indexes.clear()
    source = Store(address, None, create=False)
    with source.transaction() as connection:
        rows = [dict(row) for row in connection.execute(sa.select(tracks)).mappings()]
    store = Store(where, source.model_id)
    source.close()
    with store.transaction(WRITE) as connection:
        beside.create(connection)

    def insert() -> None:
        for first in range(0, len(rows), BATCH):
            with store.transaction(WRITE) as connection:
                connection.execute(sa.insert(beside), rows[first : first + BATCH])

    elapsed = seconds_of(insert)
    with store.transaction(WRITE) as connection:
        beside.drop(connection)
    store.close()
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dances", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=2_000)
    parser.add_argument("--postgresql", metavar="URL", help="an empty database")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "dances.db", "bench")
        print(json.dumps(adding(store, options.dances, options.batch, options.seed)), flush=True)
        print(json.dumps(following(store, options.seed)), flush=True)
        count = count_stats(store).dancers
        file = str(Path(folder) / "dances.db")
        copied = copying(file, str(Path(folder) / "copy.db"), "SQLite to SQLite", count)
        print(json.dumps(copied), flush=True)
        if options.postgresql:
            copied = copying(file, options.postgresql, "SQLite to PostgreSQL", count)
            print(json.dumps(copied), flush=True)
            copied = copying(options.postgresql, str(Path(folder) / "back.db"), "PostgreSQL to SQLite", count)
            print(json.dumps(copied), flush=True)
        store.close()


if __name__ == "__main__":
    main()
