"""How long the answers to a video take in a process that is warm: the first, and the last.

    python bench/wait.py CLIP.mp4 [--entries 10000] [--repeats 7]

The video is searched for among dances of shuffled_dances.py in a SQLite file, as `search` and the service do
it: answered on what has been read so far, from the fourth second on, and again on all of it. One search
before is not counted. Wall-clock and processor time (of all threads) from the file to the answer, the least
of the repeats and their median; other work on the machine adds to both, to the former far more, so the load
average stands beside them. `read` is the same without any search: the file to the skeletons.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from opening import fill
from shuffled_dances import load_shuffled_dances

os.environ.pop("OMP_NUM_THREADS")  # which opening.py sets for its own figures: here all cores are used

from dancematch import open_catalogue
from dancematch.pipeline.analysis.file_analysis import analyse_video
from dancematch.pose.processor_threads import available_threads
from dancematch.pose.video import probe

Times = tuple[float, float]  # wall-clock and processor seconds


def measure(work: Callable[[], Iterator[object]]) -> tuple[Times, Times, int]:
    """When the first and the last result came, and how many there were."""
    began, used = time.perf_counter(), time.process_time()
    times = [(time.perf_counter() - began, time.process_time() - used) for _ in work()]
    return times[0], times[-1], len(times)


def row(what: str, times: list[Times], **facts: object) -> None:
    walls, cpus = zip(*times, strict=True)
    print(
        json.dumps(
            {"bench": "wait", "what": what, "wall_seconds": round(min(walls), 2),
             "cpu_seconds": round(min(cpus), 2), "median_wall_seconds": round(median(walls), 2),
             "median_cpu_seconds": round(median(cpus), 2), **facts}
        ),
        flush=True,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clip", type=Path)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    info = probe(options.clip)
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "dances.db", load_shuffled_dances("parts"), options.entries).close()
        with open_catalogue(Path(folder) / "dances.db") as catalogue:
            read, first, final = [], [], []
            for repeat in range(options.repeats + 1):
                whole, _, _ = measure(lambda: iter([analyse_video(options.clip)]))
                early, late, answers = measure(lambda: catalogue.search_progressively(options.clip))
                if repeat:
                    read.append(whole)
                    first.append(early)
                    final.append(late)
    facts = {"threads": available_threads(), "load": round(os.getloadavg()[1], 1)}
    clip = {"clip_seconds": round(info.seconds, 1), "size": f"{info.width}x{info.height}"}
    row("read", read, **clip, **facts)
    row("first answer", first, entries=options.entries, **clip, **facts)
    row("last answer", final, entries=options.entries, answers=answers, **clip, **facts)


if __name__ == "__main__":
    main()
