"""What happens to a search while its cluster suffers, told by one process to the test that started it.

It prints a JSON object a chapter; where the chapter wants something done, it waits for a line in answer.
"""

import json
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from dance_samples import digest, recorded
from dancematch.catalogue.editing.requests import EditDance
from dancematch.catalogue.records import NewRecording, StoredTrack
from dancematch.catalogue.store import Store
from dancematch.cluster.connect import alive_nodes, ray_module
from dancematch.cluster.search import ClusterSearch
from dancematch.errors import ClusterError
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.search.engine import Query
from dancematch.search.settings import DanceFilter
from dancematch.types import Fingerprint

DANCES = 300
STEPS = 30
BEGAN = time.monotonic()


def tell(chapter: str, **told: object) -> None:
    print(json.dumps({"chapter": chapter, "at": time.monotonic() - BEGAN, **told}), flush=True)


def id_of(name: str) -> str:
    """The id of a dance that was made here."""
    return f"d{digest(name)[:15]}"


def named(new: NewRecording) -> NewRecording:
    return replace(new, dance=replace(new.dance, dance_id=id_of(new.dance.name)))


def wait_for_it() -> None:
    sys.stdin.readline()


class Stage:
    """A catalogue, searched by this process and by the cluster."""

    def __init__(self, where: Path, model: str, address: str) -> None:
        self.catalogue = open_catalogue(where, model=model)
        tokeniser = self.catalogue.tokeniser
        self.kind = (tokeniser.codebook.vocabulary, 4 / 30, tokeniser.model_id)
        self.channels = len(tokeniser.codebook.channels)
        self.store = Store(where, tokeniser.model_id)
        self.add(range(DANCES))
        self.cluster = ClusterSearch(self.catalogue, where, address, shards=4, patience_seconds=60)

    def words(self, seed: int, steps: int = STEPS) -> Fingerprint:
        """Words of no meaning."""
        rng = np.random.default_rng(seed)
        return Fingerprint(rng.integers(self.kind[0], size=(steps, self.channels)), *self.kind)

    def add(self, numbers) -> None:
        """Put dances into the catalogue, behind everybody's back."""
        self.store.add_many(
            [
                (
                    named(recorded(f"d{n}", "x", digest(f"c{n}"), 4.0, collection=f"b{n % 3}")),
                    [StoredTrack(self.words(n, STEPS + 60 * (n % 7 == 0)), None, None, 0.0)],
                )
                for n in numbers
            ]
        )

    def queries(self, number: int) -> list[Query]:
        """The beginning of a dance, as seen and mirrored."""
        return [Query(self.words(number)), Query(self.words(number + 10_000), mirrored=True)]

    def same(self, *numbers: int, only: DanceFilter | None = None) -> bool:
        """Whether the cluster's answers are those of this process, entry by entry."""
        wanted = only or DanceFilter()
        engine = self.catalogue.engine()
        return all(
            engine.search(self.queries(n), limit=40, only=wanted)
            == self.cluster.search(self.queries(n), limit=40, only=wanted)
            for n in numbers
        )


def main(where: str, model: str, address: str) -> None:
    began = time.monotonic()
    stage = Stage(Path(where), model, address)
    found = stage.cluster.search(stage.queries(7))
    tell(
        "loaded", seconds=time.monotonic() - began, first=found[0].dance_id == id_of("d7"), matches=len(found)
    )
    ray = ray_module()
    nodes = {node["NodeID"] for node in alive_nodes(ray)}
    spread = set(stage.cluster._shards._nodes.values())
    tell("spread", nodes=len(nodes), used=len(spread & nodes), tracks=stage.cluster.tracks)
    tell("same", whole=stage.same(1, 7, 50, 299), collection=stage.same(3, only=DanceFilter(collection="b1")),
         but=stage.same(7, only=DanceFilter(but=frozenset({id_of("d7"), id_of("d9")}))))  # fmt: skip
    changed(stage)
    lost_actor(stage)
    lost_node(stage)
    lost_everything(stage)


def changed(stage: Stage) -> None:
    """Dances come and go."""
    stage.add([DANCES])
    began = time.monotonic()
    (first, *_) = stage.cluster.search(stage.queries(DANCES))
    added = time.monotonic() - began
    stage.catalogue.remove("d7")
    names = {match.dance_id for match in stage.cluster.search(stage.queries(7), limit=400)}
    stage.catalogue.edit([EditDance("d9", merge_into="d8")])
    (merged, *_) = stage.cluster.search(stage.queries(9))
    tell("changed", first=first.dance_id == id_of(f"d{DANCES}"), seconds=added, gone=id_of("d7") not in names,
         merged=merged.dance_id == id_of("d8"), same=stage.same(7, 8, 9, DANCES))  # fmt: skip


def lost_actor(stage: Stage) -> None:
    ray = ray_module()
    pid = ray.get(stage.cluster._shards._actors[1].process.remote())
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    same = stage.same(12)
    tell("lost actor", seconds=time.monotonic() - began, same=same)


def lost_node(stage: Stage) -> None:
    """Searches go on in another thread while the node is killed."""
    answers, stop = [], threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            began = time.monotonic()
            found = stage.cluster.search(stage.queries(31), limit=40)
            answers.append((began, time.monotonic(), found))

    expected = stage.catalogue.engine().search(stage.queries(31), limit=40)
    thread = threading.Thread(target=go_on)
    thread.start()
    while len(answers) < 3:
        time.sleep(0.01)
    tell("kill a node")
    killed = time.monotonic()
    wait_for_it()
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not any(began > killed + 2 for began, _, _ in answers):
        time.sleep(0.05)
    stop.set()
    thread.join()
    slowest = max(end - began for began, end, _ in answers)
    wrong = sum(found != expected for _, _, found in answers)
    left = len(alive_nodes(ray_module()))
    tell("lost node", slowest=slowest, answers=len(answers), wrong=wrong, same=stage.same(2, 40), left=left)


def lost_everything(stage: Stage) -> None:
    """A part that cannot be made anew is an error in time, never an answer without it."""
    stage.cluster._patience = 3.0
    stage.cluster._shards._start = lambda _number: None
    ray = ray_module()
    os.kill(ray.get(stage.cluster._shards._actors[0].process.remote()), signal.SIGKILL)
    began = time.monotonic()
    try:
        stage.cluster.search(stage.queries(1))
        reason = ""
    except ClusterError as error:
        reason = str(error)
    tell("no hope", reason=reason, seconds=time.monotonic() - began)
    stage.cluster.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
