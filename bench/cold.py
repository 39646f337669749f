"""How long a new process takes: to the first frame of a video, to the answer for skeletons, and to compile.

    python bench/cold.py [--repeats 5] [--compile] [--before FOLDER]

A catalogue of twelve procedural dances; `dancematch search` in a process of its own per measurement. The
peer in the same run is a process that imports numpy. The least of the repeats, wall-clock and processor time
(of all threads): other work on the machine adds to both, to the former far more; and the median of the ratios
within one round. `first frame` is from the
start of the process until the first frame of the clip is decoded. With --compile the same search for
skeletons where no kernel is compiled yet, once: the children that compile count too. With --before the same
from the sources of another checkout, whose kernels an earlier search has compiled.
"""

import argparse
import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from dancematch import open_catalogue, write_motions
from dancematch.search.kernels.kernel_folder import FOLDER_VARIABLE
from dancematch.search.kernels.preparation import prepare_kernels
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.synthetic.rendering.renderer import render

DANCES = 12
# The command line, with a reader of frames that ends the process at the first one.
TO_FIRST_FRAME = """
import contextlib, os, sys
from dancematch.pose import video
read_frames = video.read_frames

@contextlib.contextmanager
def read_first(*arguments, **options):
    with read_frames(*arguments, **options) as reader:
        next(iter(reader))
        os._exit(0)

video.read_frames = read_first
from dancematch.cli import main
main()
"""


def measure(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Wall-clock and processor seconds of a process and its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_catalogue(folder: Path) -> tuple[Path, Path, Path]:
    """A catalogue, and one of its dances as skeletons and as a video."""
    files = [folder / f"dance-{seed}.npz" for seed in range(DANCES)]
    for seed, file in enumerate(files):
        write_motions(file, [perform(compose_dance(seed, eight_counts=2), Dancer())])
    with open_catalogue(folder / "dances.db") as catalogue:
        for file in files:
            catalogue.add(file)
    video = folder / "clip.mp4"
    render(perform(compose_dance(3, eight_counts=1), Dancer()), video)
    return folder / "dances.db", files[3], video


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--before", metavar="FOLDER", help="src of another checkout")
    options = parser.parse_args()
    prepare_kernels()
    with tempfile.TemporaryDirectory() as folder:
        catalogue, skeletons, video = map(str, make_catalogue(Path(folder)))
        python = sys.executable
        search = [python, "-m", "dancematch", "search", catalogue]
        work = {
            "import numpy": [python, "-c", "import numpy"],
            "import numba": [python, "-c", "import numba"],
            "first frame of a video": [python, "-c", TO_FIRST_FRAME, "search", catalogue, video],
            "answer for skeletons": [*search, skeletons],
        }
        runs = {name: (command, {}) for name, command in work.items()}
        if options.before:
            other = {"PYTHONPATH": options.before}
            measure([*search, skeletons], other)  # compiles
            for name in ("first frame of a video", "answer for skeletons"):
                runs[f"{name}, before"] = work[name], other
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for command, environment in runs.values():
            measure(command, environment)  # writes bytecode
        for _ in range(options.repeats):  # one after the other, so that other work is the same for all
            for name, run in runs.items():
                taken[name].append(measure(*run))
        if options.compile:
            empty = {FOLDER_VARIABLE: str(Path(folder) / "empty")}
            taken["answer for skeletons, nothing compiled"] = [measure([*search, skeletons], empty)]
    peers = [cpu for _, cpu in taken["import numpy"]]
    for name, times in taken.items():
        wall, cpu = (min(column) for column in zip(*times, strict=True))
        ratios = [taken / peer for (_, taken), peer in zip(times, peers, strict=False)]
        print(
            json.dumps(
                {"bench": "cold", "what": name, "wall_seconds": round(wall, 2), "cpu_seconds": round(cpu, 2),
                 "times_import_numpy": round(cpu / min(peers), 1),
                 "median_times_import_numpy": round(median(ratios), 1)}
            )
        )  # fmt: skip


if __name__ == "__main__":
    main()
