"""Searches of all kinds with every shipped model, in a process of its own, and the table of kernels.

    python tests/kernel_trial.py

Prints what is missing in src/dancematch/search/kernels/signatures.txt, which had to be compiled, and what is
there for no search. Nothing if all is well.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numba.core import event

from dance_samples import dance, digest, recorded
from dancematch.catalogue.records import ShardOf, StoredTrack
from dancematch.catalogue.store import Store
from dancematch.cluster.shard import CatalogueSource, Shard
from dancematch.cluster.sharded_search import ask_all, prepare_shards, search_shards
from dancematch.model.tokeniser import load_background, load_model, shipped_models
from dancematch.pipeline import cached_engine
from dancematch.pipeline.catalogue import Catalogue
from dancematch.search import engine as engine_module
from dancematch.search import settings as search_settings
from dancematch.search.engine import Engine, Query
from dancematch.search.kernels.table import Signature, read_lines, read_signature
from dancematch.search.metrics.registry import METRICS
from dancematch.search.settings import ALL_DANCES, DEFAULT_SETTINGS, SETTINGS, DanceFilter, Settings
from dancematch.search.stage2.synchrony import lag_curve, synchrony_peak
from dancematch.tracks import KnownTrack
from dancematch.types import BONE_NUMBERS, Fingerprint

EVERY_METRIC = Settings({name: 1 / len(METRICS) for name in METRICS})
FEW, MANY = 300, 1200  # entries: more than the shortlist takes; so many that no list of all is made


class Here:
    """Shards in this process."""

    def __init__(self, source: CatalogueSource, count: int) -> None:
        self.count = count
        self.shards = [Shard(source, ShardOf(number, count)) for number in range(count)]

    def ask(self, question, arguments):
        """As Ray would, one after the other."""
        return {number: getattr(self.shards[number], question)(*told) for number, told in arguments.items()}


def shuffled(background: list[Fingerprint], count: int, seed: int) -> Iterator[Fingerprint]:
    """Dances in the model's words, made of unrelated ones."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        one = background[number % len(background)]
        order = rng.permutation(len(one))
        bones = rng.integers(-60, 60, (len(one), BONE_NUMBERS)).astype(np.int8)
        yield replace(one, words=one.words[order], visibility=one.visibility[order], bones=bones)


def search_engine(engine: Engine, query: Fingerprint) -> None:
    """All that an engine can be asked for."""
    variants = [Query(query), Query(query, mirrored=True)]
    for settings in (DEFAULT_SETTINGS, SETTINGS["paper"], EVERY_METRIC):
        engine.search(variants, settings=settings)
    engine.search(variants, only=DanceFilter(periodic=False))
    engine.score_shortlist(variants[0])


def try_engine(name: str) -> None:
    """An engine that grows, shrinks, is saved and is opened again, memory-mapped."""
    model = load_model(name)
    background = load_background(model, name)
    entries = MANY if name in ("network", "floor-whole") else FEW  # words of one byte and of two
    dances = [(f"dance {n}", one) for n, one in enumerate(shuffled(background, entries, 1))]
    engine = Engine(model.codebook, dances[:100], background=background)
    engine.add([KnownTrack(n, dances[n][0], 1, dances[n][1], recording_key=n) for n in range(100, entries)])
    search_engine(engine, dances[7][1])
    engine.build_descriptors()
    search_engine(engine, dances[7][1])
    paper = Engine(model.codebook, dances, background=background, settings=SETTINGS["paper"])
    search_engine(paper, dances[7][1])
    with tempfile.TemporaryDirectory() as folder:
        engine.save(folder, "stamp")
        opened = Engine.load(folder, "stamp", model.codebook, background=background)
        assert opened is not None
        search_engine(opened, dances[8][1])
        opened.remove([8, 9, 10])
        search_engine(opened, dances[8][1])
    engine.remove(list(range(50)))
    search_engine(engine, dances[9][1])
    lag_curve(dances[1][1].bones, dances[2][1].bones, 1.0, 0.13)
    synchrony_peak(dances[1][1], dances[2][1], [1.0, 1.2])


def try_catalogue(folder: Path, name: str) -> None:
    """A catalogue of motions: search, labels, excluded segments, reasons, and again from its index cache."""
    with Catalogue(folder / f"{name}.db", model=name) as known:
        for seed in range(3):
            new = recorded(
                f"dance {seed}", f"{seed}.npz", digest(seed), 9.0, label="pop", collection="studio"
            )
            known.learn(new, [dance(seed)])
        answer = known.search(dance(1))
        known.search(dance(1), label="pop", collection="studio")
        for settings in (DEFAULT_SETTINGS, EVERY_METRIC):
            known.explain(answer.query, answer.candidates[0], settings)
        known.remove("dance 0")
        known.search(dance(1))
    with Catalogue(folder / f"{name}.db", model=name) as known:
        known.search(dance(2))


def try_shards(folder: Path, name: str) -> None:
    """The same words in two shards."""
    model = load_model(name)
    background = load_background(model, name)
    store = Store(folder / f"{name}-shards.db", model.model_id)
    store.add_many(
        [
            (recorded(f"d{n}", f"{n}", digest(n), 9.0), [StoredTrack(one)])
            for n, one in enumerate(shuffled(background, FEW, 2))
        ]
    )
    shards = Here(CatalogueSource(store.where, model.codebook, background), 2)
    view = prepare_shards(shards, ask_all(shards, "report"), model.codebook, background, DEFAULT_SETTINGS)
    query = next(shuffled(background, 1, 2))
    search_shards(shards, view, [Query(query), Query(query, mirrored=True)], 10, DEFAULT_SETTINGS, ALL_DANCES)
    store.close()


def compiled_lines(events: list) -> Iterator[str]:
    """What was compiled because Python called it; what that calls in turn is compiled along with it."""
    depth = 0
    for _, one in events:
        if one.is_start and depth == 0:
            yield Signature(one.data["dispatcher"], tuple(one.data["args"])).line
        depth += 1 if one.is_start else -1


def loaded_lines() -> Iterator[str]:
    """What was loaded from the kernel folder."""
    for one in {id(one): one for line in read_lines() for one in [read_signature(line).kernel]}.values():
        for types in one.stats.cache_hits:
            yield Signature(one, tuple(types)).line


def main() -> None:
    """Do all of it."""
    cached_engine.MIN_CACHED_TRACKS = 2
    search_settings.SYNCHRONY_TRACKS = engine_module.SYNCHRONY_TRACKS = FEW  # beyond it there are descriptors
    with event.install_recorder("numba:compile") as recorder, tempfile.TemporaryDirectory() as folder:
        for name in shipped_models():
            try_engine(name)
            try_catalogue(Path(folder), name)
            try_shards(Path(folder), name)
    for line in compiled_lines(recorder.buffer):
        print(f"missing: {line}")
    for line in sorted(set(read_lines()) - set(loaded_lines())):
        print(f"never used: {line}")


if __name__ == "__main__":
    main()
