"""Stage one at scale: how fast, how large and how exact the columns are, beside faiss and numpy.

    python bench/stage1.py [--words whole] [--entries 1000000 --peer-entries 200000]

Entries are made of the shipped background: segments of a few dances in another order, some words
replaced by those of others. A query is an entry with still more words replaced. Words:
`parts`, the default model's; `whole`, one channel of 512 (the whole-body model's, folded).
The peers search the same weighted, normalised histograms, written side by side in float32, on one
thread as well; on as many entries as `--peer-entries`, their time scaled up linearly to all.
faiss is left out where it is not installed. One JSON object per figure; times are
processor time, medians of questions asked in turn with the peers'.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is there: one thread for everybody

import json
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from numba import njit

from dancematch.model.tokeniser import load_background, load_model
from dancematch.search import thread_pool
from dancematch.search.stage1.blocks import ROWS
from dancematch.search.stage1.columns import HistogramColumns
from dancematch.search.stage1.histogram import unit_histogram

thread_pool.MAX_THREADS = 1  # as the peers
MODELS = {"parts": ("network", 256), "whole": ("floor-whole", 512)}
STEPS = 100
# What a question costs depends on how many words it shares with an entry. In two segments of 100 steps of
# AIST++ these are 164 over all parts, and 7 of the whole body; of 50 and 55 distinct words a channel.
# Replacing this share of the words comes near: 173 and 7, of 46 and 48.
REPLACED = 0.2
QUERY_REPLACED = 0.25


@njit(cache=True)
def entries_of(pool, vocabulary, first, count, steps, replaced):
    """Counts [count, channels, vocabulary]; the same number gives the same dance, more or less replaced."""
    channels, segment, reach = pool.shape[1], 12, 200
    counts = np.zeros((count, channels, vocabulary), np.uint8)
    for entry in range(count):
        np.random.seed(first + entry)  # noqa: NPY002  (numba's own)
        dance = np.random.randint(0, len(pool) - reach - segment)  # noqa: NPY002
        for step in range(steps):
            if step % segment == 0:
                start = dance + np.random.randint(0, reach)  # noqa: NPY002
            for channel in range(channels):
                at = start + step % segment
                other = np.random.randint(0, len(pool))  # noqa: NPY002
                if np.random.random() < replaced:  # noqa: NPY002
                    at = other
                counts[entry, channel, pool[at, channel] % vocabulary] += 1
    return counts


def word_pool(words: str) -> tuple[np.ndarray, int]:
    name, vocabulary = MODELS[words]
    background = load_background(load_model(name), name)
    return np.concatenate([fingerprint.words for fingerprint in background]), vocabulary


def batches(pool: np.ndarray, vocabulary: int, entries: int) -> Iterator[np.ndarray]:
    for first in range(0, entries, ROWS):
        yield entries_of(pool, vocabulary, first, min(ROWS, entries - first), STEPS, REPLACED)


def seconds(work) -> float:
    """Processor time of this thread, which does all the work: load on the machine does not count."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def wall_seconds(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def read_bandwidth() -> float:
    """Bytes a second that one core reads from memory, at best."""
    array = np.ones(1 << 25, np.uint64)
    return array.nbytes / min(seconds(array.sum) for _ in range(7))


def show(**figures) -> None:
    print(json.dumps({"bench": "stage1", **figures}), flush=True)


def vectors(columns: HistogramColumns, counts: np.ndarray) -> np.ndarray:
    """Histograms whose product is the score, as long as every channel is seen: [n, channels * words]."""
    idf = columns._snapshot.weights.idf.reshape(counts.shape[1:])
    values = unit_histogram(counts, idf, columns.weighting) / np.sqrt(counts.shape[1])
    return values.reshape(len(counts), -1)


def warm_up(channels: int, vocabulary: int) -> None:
    """Have every kernel compiled."""
    columns = HistogramColumns(channels, vocabulary)
    for _ in range(2):
        columns.append(np.ones((1, channels, vocabulary), np.uint8))
    columns.top(np.ones((channels, vocabulary)), np.ones(channels), 1)
    columns.delete([0])


def build(options, pool, vocabulary) -> HistogramColumns:
    columns = HistogramColumns(pool.shape[1], vocabulary)
    spent = 0.0
    for batch in batches(pool, vocabulary, options.entries):
        spent += seconds(lambda batch=batch: columns.append(batch))
    query = batch[0], np.ones(pool.shape[1])
    fresh = seconds(lambda: columns.top(*query, 1))
    plain = seconds(lambda: columns.top(*query, 1))
    usage = columns.usage().documents
    show(
        figure="build",
        entries=len(columns),
        entries_a_second=round(len(columns) / spent),
        megabytes=round(columns.nbytes / 1e6, 1),
        dense_bytes_megabytes=round(len(columns) * pool.shape[1] * vocabulary / 1e6, 1),
        distinct_words_a_channel=round(float(usage.sum() / len(columns) / pool.shape[1]), 1),
        weights_anew_seconds=round(fresh - plain, 3),
    )
    return columns


def peers(known: np.ndarray, size: int) -> dict:
    """Ways to the same best entries: name -> a function from a query's vector to their numbers."""

    def product(vector):
        scores = known @ vector
        best = np.argpartition(scores, -size)[-size:]
        return best[np.argsort(-scores[best])]

    found = {"numpy GEMV": product}
    if find_spec("faiss"):
        import faiss

        faiss.omp_set_num_threads(1)
        index = faiss.IndexFlatIP(known.shape[1])
        index.add(known)
        found["faiss IndexFlatIP"] = lambda vector: index.search(vector[None], size)[1][0]
    return found


def bytes_read(columns: HistogramColumns, query: np.ndarray) -> int:
    """What a question reads: the lists and dense columns of its words, and the norms of its channels."""
    cells = np.flatnonzero(query)
    total = 4 * len(columns) * len(query)
    for block in columns._snapshot.blocks:
        (groups, _, ends, _), (rows, nibbles) = block.occurrences
        total += 2 * int((ends[groups[cells + 1]] - ends[groups[cells]]).sum(dtype=np.int64))
        total += nibbles.shape[1] * int((rows[cells] >= 0).sum())
    return total


def compare(options, pool, vocabulary, columns, queries) -> None:
    """The time of a question, ours and theirs."""
    count = min(options.peer_entries, len(columns))
    known = np.concatenate([vectors(columns, batch) for batch in batches(pool, vocabulary, count)])
    seen = np.ones(pool.shape[1])
    others = peers(known, options.size)
    times: dict[str, list[float]] = {name: [] for name in ("columns", *others)}
    for query in queries:
        vector = vectors(columns, query[None])[0]
        times["columns"].append(seconds(lambda query=query: columns.top(query, seen, options.size)))
        for name, ask in others.items():
            times[name].append(seconds(lambda ask=ask, vector=vector: ask(vector)))
    median = {name: float(np.median(values)) for name, values in times.items()}
    usage = columns.usage().documents.reshape(queries.shape[1:])
    touched = np.mean([usage[query > 0].sum() for query in queries])
    read = float(np.mean([bytes_read(columns, query) for query in queries]))
    show(
        figure="question",
        entries=len(columns),
        columns_ms=round(1000 * median["columns"], 2),
        columns_best_ms=round(1000 * min(times["columns"]), 2),
        words_shared_with_an_entry=round(touched / len(columns), 1),
        nanoseconds_a_shared_word=round(1e9 * median["columns"] / touched, 2),
        bytes_read_an_entry=round(read / len(columns)),
        share_of_read_bandwidth=round(read / median["columns"] / read_bandwidth(), 2),
    )
    for name in others:
        scaled = median[name] * len(columns) / count
        show(
            figure="peer",
            peer=name,
            entries=count,
            measured_ms=round(1000 * median[name], 2),
            scaled_to_all_ms=round(1000 * scaled, 2),
            times_slower_than_columns=round(scaled / median["columns"], 1),
        )


def check(options, pool, vocabulary, columns, queries) -> None:
    """Recall against the plain product over all entries, made anew batch by batch."""
    asked = vectors(columns, queries).T
    scores = np.concatenate(
        [vectors(columns, batch) @ asked for batch in batches(pool, vocabulary, len(columns))]
    )
    seen = [np.ones(pool.shape[1])] * len(queries)
    recalls, errors = [], []
    for number, top in enumerate(columns.top_of_each(list(queries), seen, options.size)):
        limit = np.sort(scores[:, number])[-options.size]
        # An entry as good as the last one within rounding is as right as that.
        recalls.append(np.mean(scores[top.rows, number] >= limit - 1e-6))
        errors.append(np.abs(scores[top.rows, number] - top.scores).max())
    show(
        figure="exactness",
        queries=len(queries),
        size=options.size,
        recall=float(np.mean(recalls)),
        largest_error=float(f"{max(errors):.1e}"),
    )


def keep(columns: HistogramColumns, query: np.ndarray) -> None:
    """Saving and opening, in time that passes; and what a change costs."""
    with tempfile.TemporaryDirectory() as parent:
        saved = wall_seconds(lambda: columns.save(f"{parent}/cache", "bench"))
        opened = wall_seconds(lambda: HistogramColumns.load(f"{parent}/cache", "bench"))
        mapped = HistogramColumns.load(f"{parent}/cache", "bench")
        first = wall_seconds(lambda: mapped.top(query, np.ones(len(query)), 1))
    one = query[None].astype(np.uint8)

    def ask() -> None:
        columns.top(query, np.ones(len(query)), 1)

    unchanged = [seconds(ask) for _ in range(16)]
    added, after_adding, removed, after_removing = [], [], [], []
    for _ in range(64):
        added.append(seconds(lambda: columns.append(one)))
        after_adding.append(seconds(ask))
    for row in columns.rows[:: len(columns) // 8].tolist():
        removed.append(seconds(lambda row=row: columns.delete([row])))
        after_removing.append(seconds(ask))
    show(
        figure="cache and changes",
        save_seconds=round(saved, 2),
        open_seconds=round(opened, 2),
        first_question_seconds=round(first, 2),
        append_one_ms=round(1000 * float(np.mean(added)), 2),
        delete_one_ms=round(1000 * float(np.mean(removed)), 2),
        question_ms=round(1000 * float(np.mean(unchanged)), 2),
        question_after_append_ms=round(1000 * float(np.mean(after_adding)), 2),
        question_after_delete_ms=round(1000 * float(np.mean(after_removing)), 2),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", choices=MODELS, default="parts")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--peer-entries", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=16)
    parser.add_argument("--checked", type=int, default=4, help="queries compared with the plain product")
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    pool, vocabulary = word_pool(options.words)
    show(figure="run", channels=pool.shape[1], vocabulary=vocabulary, **vars(options))
    warm_up(pool.shape[1], vocabulary)
    columns = build(options, pool, vocabulary)
    rng = np.random.default_rng(options.seed)
    chosen = rng.choice(options.entries, options.queries, replace=False)
    queries = np.concatenate(
        [entries_of(pool, vocabulary, int(number), 1, STEPS, QUERY_REPLACED) for number in chosen]
    )
    compare(options, pool, vocabulary, columns, queries)
    check(options, pool, vocabulary, columns, queries[: options.checked])
    keep(columns, queries[0])


if __name__ == "__main__":
    main()
