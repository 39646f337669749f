"""What a cluster gives: the same searches in 1, 2 and 4 shards on two nodes, and clips learnt on one and two.

    python bench/scale.py [--entries 50000 1000000] [--shards 1 2 4] [--queries 30] [--clips 8]

Two Ray nodes on this machine's loopback, one processor each. Dances of shuffled_dances.py in a SQLite file,
one entry each; a query is 8.8 s of one of them with more words replaced, as seen and mirrored, the shortlist
of 200 dances, ten matches. `alone` is the engine of one process, measured in the same run; `parts` the same
queries by `ClusterSearch`, whose matches must be the very same. `load` is from nothing to the first answer:
from the database, and again from what the parts kept beside it; processes started and libraries imported
included. `memory` is what the parts' processes hold in all (Pss). `killed`: a node of two is killed during
searches, and how long the slowest of them then takes. `ingest`: short rendered videos by `dancematch add
--cluster`, on the head alone and on two nodes; the worker processes started before.
Wall-clock time. One JSON object per figure.
"""

import argparse
import gc
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is there: one thread for everybody
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the nodes are started as the tests start them

import numpy as np
from opening import fill
from shuffled_dances import STEPS, ShuffledDances, load_shuffled_dances

from cluster_nodes import Nodes
from dancematch.cluster.connect import connect
from dancematch.cluster.ingest import ClusterAnalyser
from dancematch.cluster.search import ClusterSearch
from dancematch.pipeline.analysis.limits import WorkLimits
from dancematch.pipeline.analysis.quarantine import Quarantine
from dancematch.pipeline.analysis.worker_process import WorkerSetup
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.synthetic.demo import Scene

CLIENTS = 4
NODES = 2


def show(figure: str, **figures) -> None:
    print(json.dumps({"bench": "scale", "figure": figure, **figures}), flush=True)


def seconds(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def spread(times) -> dict:
    return {
        "p50_ms": round(1000 * float(np.median(times)), 1),
        "p95_ms": round(1000 * float(np.quantile(times, 0.95)), 1),
    }


def throughput(search, asked, span: float) -> float:
    """Searches a second of several clients, each with the next question at once."""
    done, deadline = [0] * CLIENTS, time.monotonic() + span

    def go_on(client: int) -> None:
        while time.monotonic() < deadline:
            search(asked[(client + CLIENTS * done[client]) % len(asked)])
            done[client] += 1

    clients = [threading.Thread(target=go_on, args=(number,)) for number in range(CLIENTS)]
    taken = seconds(lambda: ([client.start() for client in clients], [client.join() for client in clients]))
    return round(sum(done) / taken, 2)


def measured(search, asked, options) -> tuple[dict, list]:
    for query in asked[:3]:
        search(query)
    answers: list = []
    times = [seconds(lambda query=query: answers.append(search(query))) for query in asked]
    return {**spread(times), "searches_a_second": throughput(search, asked, options.seconds)}, answers


def alone(made: ShuffledDances, store, asked, options) -> tuple[dict, list]:
    kept = CachedEngine(store, made.codebook, made.background)
    load = seconds(lambda: kept.current().search(asked[0]))
    figures, answers = measured(lambda query: kept.current().search(query), asked, options)
    kept.close()
    show("alone", entries=kept.latest().tracks, load_seconds=round(load, 1), **figures)
    return figures, answers


def memory_of(pids) -> int:
    """Bytes that processes hold, what they share counted once."""
    total = 0
    for pid in pids:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += 1024 * sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total


def catalogue_of(made: ShuffledDances, store) -> SimpleNamespace:
    """What `ClusterSearch` wants of a catalogue: its words are those of no shipped model."""
    tokeniser = SimpleNamespace(codebook=made.codebook, model_id=made.codebook.model_id)
    return SimpleNamespace(tokeniser=tokeniser, background=made.background, where=store.where)


def parts(made: ShuffledDances, store, asked, expected, nodes: Nodes, shards: int, options) -> None:
    entries, (plain, answers) = options.count, expected
    ray = connect(nodes.address)

    def opened() -> ClusterSearch:
        return ClusterSearch(catalogue_of(made, store), store.where, nodes.address, shards=shards)

    with opened() as cluster:
        load = seconds(lambda: cluster.search(asked[0]))
        figures, found = measured(cluster.search, asked, options)
        pids = ray.get([actor.process.remote() for actor in cluster._parts._actors.values()])
        held = memory_of(pids)
        settle(store.where, shards)
    with opened() as again:
        reload = seconds(lambda: again.search(asked[0]))
        show(
            "parts", entries=entries, shards=shards, nodes=NODES, load_seconds=round(load, 1),
            load_again_seconds=round(reload, 1), **figures,
            times_p50_alone=round(figures["p50_ms"] / plain["p50_ms"], 2), same_matches=found == answers,
            memory_gb=round(held / 1e9, 2), memory_gb_a_million=round(held / entries * 1e-3, 2),
        )  # fmt: skip
        if shards == max(options.shards):
            killed(again, asked, answers, nodes)
    for folder in Path(store.where).parent.glob("*-of-*.cache"):
        shutil.rmtree(folder)


def settle(where: str, shards: int, patience: float = 60) -> None:
    """Wait until the parts are kept; few entries are not."""
    deadline = time.monotonic() + patience
    while (
        time.monotonic() < deadline and len(list(Path(where).parent.glob("dances.db.*-of-*.cache"))) < shards
    ):
        time.sleep(0.2)


def killed(cluster: ClusterSearch, asked, answers, nodes: Nodes) -> None:
    taken, right, stop = [], [], threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            for query, expected in zip(asked, answers, strict=True):
                taken.append(seconds(lambda q=query, e=expected: right.append(cluster.search(q) == e)))

    thread = threading.Thread(target=go_on)
    thread.start()
    time.sleep(2)
    before = len(taken)
    nodes.kill(nodes.second())
    while len(taken) < before + 3:
        time.sleep(0.1)
    stop.set()
    thread.join()
    show("killed", shards=cluster._parts.count, recovered_seconds=round(max(taken[before:]), 1),
         all_right=all(right), searches=len(right))  # fmt: skip
    nodes.second()


def search(options, nodes: Nodes) -> None:
    made = load_shuffled_dances("parts")
    rng = np.random.default_rng(options.seed)
    for count in options.entries:
        options.count = count
        with tempfile.TemporaryDirectory() as folder:
            store = fill(Path(folder) / "dances.db", made, count)
            asked = [
                made.query(number, STEPS) for number in rng.integers(count, size=options.queries).tolist()
            ]
            expected = alone(made, store, asked, options)
            gc.collect()
            for shards in options.shards:
                parts(made, store, asked, expected, nodes, shards, options)


def ingest(options, nodes: Nodes) -> None:
    """The same clips, learnt by one node and by two, into catalogues of their own."""
    connect(nodes.address)
    minutes = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for number in range(options.clips + NODES):
            Scene(f"clip{number}", dance=number, dancer=21, seconds=(0.0, 4.0)).render_to(folder)
        clips = sorted(folder.glob("*.mp4"))
        for workers in (2, 1):
            with open_catalogue(folder / f"{workers}.db") as known:
                setup = WorkerSetup(WorkLimits(), None, known.tokeniser.model_id)
                analyser = ClusterAnalyser(setup, Quarantine(folder / f"{workers}.quarantine"), nodes.address)
                list(known.add_many(clips[:NODES], analyser=analyser))
                rest = clips[NODES:]
                taken = seconds(
                    lambda known=known, analyser=analyser, rest=rest: list(
                        known.add_many(rest, analyser=analyser)
                    )
                )
                minutes[workers] = 60 * len(rest) / taken
                show("ingest", workers=workers, clips=len(rest), clips_a_minute=round(minutes[workers], 1),
                     dances=len(known.dances()))  # fmt: skip
            if workers == 2:
                nodes.kill(nodes.second())
                time.sleep(10)  # until the head knows
    show("ingest", two_workers_times_one=round(minutes[2] / minutes[1], 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, nargs="*", default=[50_000])
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=10, help="for throughput")
    parser.add_argument("--clips", type=int, default=8, help="0 leaves ingest out")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    nodes = Nodes()
    try:
        nodes.second()
        search(options, nodes)
        if options.clips:
            ingest(options, nodes)
    finally:
        nodes.close()


if __name__ == "__main__":
    main()
