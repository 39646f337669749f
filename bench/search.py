"""How long a whole search takes and how that grows with the catalogue, what it holds and how fast it opens.

    python bench/search.py [--words whole] [--entries 10000 100000 1000000]

Dances of shuffled_dances.py, one entry each. A query is 8.8 s, or 3 s, of one of them with more words
replaced, as seen and mirrored: from two fingerprints to ten matches, the shortlist of 200 recordings.
`ms` is time that passes, `cpu_ms` the processor's, both threads together: on a busy machine the first
is not ours alone.
`trigrams` is the way by three words in a row alone, one variant. `plain`, measured in the same run, does
stage one the simple way: a dense product over all histograms (measured on some, scaled up linearly), two
variants. `many recordings`: one dance has a thousand more, nearly alike. One JSON object per figure.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is there: one thread for everybody

import json
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from shuffled_dances import MODELS, STEPS, ShuffledDances, load_shuffled_dances

from dancematch.search.engine import Engine
from dancematch.search.settings import PROPOSED_TRACKS
from dancematch.search.stage1.histogram import word_counts

SHORT = 22  # words: three seconds
RECORDINGS = 1000  # of one dance
PLAIN = 10_000  # entries that the dense product is measured on


def timed(work) -> tuple[float, float]:
    """Milliseconds that passed, and of processor time, all threads together."""
    began, spent = time.perf_counter(), time.process_time()
    work()
    return 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - spent)


def spread(times) -> dict:
    wall, cpu = np.array(times).T
    return {
        "p50_ms": round(float(np.median(wall)), 2),
        "p95_ms": round(float(np.quantile(wall, 0.95)), 2),
        "p50_cpu_ms": round(float(np.median(cpu)), 2),
        "p95_cpu_ms": round(float(np.quantile(cpu, 0.95)), 2),
        "least_ms": round(float(wall.min()), 2),
    }


def show(**figures) -> None:
    print(json.dumps({"bench": "search", **figures}), flush=True)


def build(made: ShuffledDances, count: int) -> Engine:
    engine, spent = made.engine(), 0.0
    for piece in made.pieces(count):
        spent += timed(lambda piece=piece: engine.enter(piece))[0]
    index = engine._index
    first = timed(lambda: engine.search(made.query(0, STEPS)))
    sizes = {name: getattr(index, name).nbytes for name in ("columns", "postings", "word_store")}
    show(
        figure="build",
        entries=count,
        entered_a_second=round(1000 * count / spent),
        first_search_ms=round(first[0]),
        **{f"{name}_mb": round(size / 1e6) for name, size in sizes.items()},
        arrays_gb=round(sum(sizes.values()) / 1e9, 2),
        process_peak_gb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    )
    return engine


def search(made: ShuffledDances, engine: Engine, options, words: int) -> None:
    rng = np.random.default_rng(options.seed)
    numbers = rng.integers(engine.tracks, size=options.queries).tolist()
    begins = rng.integers(STEPS - words + 1, size=options.queries).tolist()
    asked = [made.query(number, words, begin) for number, begin in zip(numbers, begins, strict=True)]
    for query in asked[:3]:
        engine.search(query)
    times, first = [], []
    for number, query in zip(numbers, asked, strict=True):
        found = []
        times.append(timed(lambda query=query, found=found: found.extend(engine.search(query))))
        first.append(found[0].dance_id == f"dance {number}")
    seconds = round(words * 4 / 30, 1)
    show(
        figure="search",
        entries=engine.tracks,
        query_seconds=seconds,
        **spread(times),
        right_first=np.mean(first),
    )
    if words == SHORT:
        postings = engine._index.postings
        route = [timed(lambda q=query: postings.search(q[0].fingerprint, PROPOSED_TRACKS)) for query in asked]
        show(figure="trigrams", entries=engine.tracks, query_seconds=seconds, **spread(route))


def plain(made: ShuffledDances, entries: int, repeats: int = 3) -> None:
    """The peer: stage one as one would first write it."""
    count = min(PLAIN, entries)
    counts = np.stack([word_counts(made.fingerprint(words)) for words in made.words(0, count)])
    known = counts.reshape(count, -1).astype(np.float32)
    product = min(timed(lambda: known @ known[0])[0] for _ in range(repeats)) * entries / count
    show(figure="plain", entries=entries, product_ms=round(2 * product, 1))


def opened(made: ShuffledDances, engine: Engine) -> None:
    """Saving, opening and the first search of what was opened."""
    parent = Path(tempfile.mkdtemp())
    try:
        saved = timed(lambda: engine.save(parent / "cache", "bench"))[0]
        size = sum(path.stat().st_size for path in (parent / "cache").iterdir())
        loaded: list[Engine] = []
        load = timed(
            lambda: loaded.append(
                Engine.load(parent / "cache", "bench", made.codebook, background=made.background)
            )
        )[0]
        query = made.query(5, STEPS)
        first = timed(lambda: loaded[0].search(query))[0]
        same = loaded[0].search(query) == engine.search(query)
    finally:
        shutil.rmtree(parent)
    show(
        figure="cache",
        entries=engine.tracks,
        save_seconds=round(saved / 1000, 2),
        gigabytes=round(size / 1e9, 2),
        open_seconds=round(load / 1000, 2),
        first_search_seconds=round(first / 1000, 2),
        same_matches=same,
    )


def changed(made: ShuffledDances, engine: Engine) -> None:
    """What one dance more costs, and the first search after it."""
    more = made.tracks(10**9, 1)
    add = timed(lambda: engine.enter(more))[0]
    search = timed(lambda: engine.search(made.query(5, STEPS)))[0]
    show(figure="change", entries=engine.tracks, add_one_ms=round(add, 1), next_search_ms=round(search, 1))


def many_recordings(made: ShuffledDances, engine: Engine, options) -> None:
    """What a dance with many recordings costs a search for it, and for others."""
    engine.enter(made.recordings(0, 2 * 10**9, RECORDINGS))
    for number in (0, 1):
        query = made.query(number, STEPS)
        times = [timed(lambda query=query: engine.search(query)) for _ in range(options.queries)]
        found = engine.search(query)
        show(
            figure="many recordings",
            entries=engine.tracks,
            of_the_query=number == 0,
            **spread(times[3:]),
            right_first=found[0].dance_id == f"dance {number}",
            compared=len(found[0].recordings),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", choices=MODELS, default="parts")
    parser.add_argument("--entries", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    made = load_shuffled_dances(options.words)
    channels, vocabulary = made.codebook.similarity.shape[:2]
    show(figure="run", words=options.words, channels=channels, vocabulary=vocabulary, seed=options.seed)
    for count in options.entries:
        engine = build(made, count)
        for words in (STEPS, SHORT):
            search(made, engine, options, words)
        plain(made, count)
        opened(made, engine)
        changed(made, engine)
        many_recordings(made, engine, options)


if __name__ == "__main__":
    main()
