"""Files -> Analyses, in this process or in several workers."""

import base64
import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError
from dancematch.pipeline.analysis.file_analysis import Analysis, MakeEstimator, Progress, analyse_file
from dancematch.pipeline.analysis.worker_process import Worker, WorkerDiedError, WorkerSetup
from dancematch.pose import PoseEstimator, default_estimator
from dancematch.pose.processor_threads import share_of_threads

# Analyses clips, given with their content hashes, and yields one result per clip, in any order.
Analyser = Callable[[Mapping[Path, str], Progress | None], Iterator[Analysis]]

_POLL_SECONDS = 0.2
_AHEAD = 16  # files per worker that are analysed before their turn: more skeletons than these never wait


def analyse_files(
    paths: Sequence[Path],
    *,
    jobs: int = 1,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
    posters: bool = False,
) -> Iterator[Analysis]:
    """What each file shows, in their order; a bad file spoils only its own result.

    With `posters`, a small picture of each video comes along.
    With several `jobs`, `make_estimator` runs once in each worker process and must be importable there.
    Closing the iterator ends the work; files that wait are never begun.
    """
    if jobs < 1:
        raise InputError(f"jobs must be 1 or more, got {jobs}")
    report = on_progress or (lambda _share: None)
    # Made here in any case: what it lacks is downloaded, or complained of, once and not in every worker.
    estimator = None if all(map(formats.is_motion_file, paths)) else make_estimator()
    if jobs == 1 or len(paths) < 2:
        for done, path in enumerate(paths):
            tell = partial(_tell_share, report, done, len(paths))
            yield _analyse_here(path, estimator, tell, posters)
            report((done + 1) / len(paths))
        return
    encoded = base64.b64encode(pickle.dumps(make_estimator)).decode()
    workers = min(jobs, len(paths))
    setup = WorkerSetup(estimator=encoded, posters=posters, threads=share_of_threads(workers))
    yield from _analyse_in_workers(paths, workers, setup, report)


def _tell_share(report: Progress, done: int, count: int, share: float) -> None:
    report((done + share) / count)


def _analyse_here(path: Path, estimator: PoseEstimator | None, report: Progress, posters: bool) -> Analysis:
    try:
        return analyse_file(path, estimator=estimator, on_progress=report, posters=posters)
    except DanceMatchError as error:
        return Analysis(path, error=error)


def _analyse_in_workers(
    paths: Sequence[Path], jobs: int, setup: WorkerSetup, report: Progress
) -> Iterator[Analysis]:
    idle: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(jobs):
        idle.put(Worker(setup))
    shares, stop = [0.0] * len(paths), threading.Event()

    def analyse(number: int) -> Analysis:
        worker = idle.get()
        try:
            return _analyse_there(
                worker, paths[number], lambda share: shares.__setitem__(number, share), stop
            )
        finally:
            shares[number] = 1.0
            idle.put(worker)

    with ThreadPoolExecutor(jobs, thread_name_prefix="dancematch-worker") as pool:
        numbers = iter(range(len(paths)))
        futures = deque(pool.submit(analyse, number) for number in islice(numbers, _AHEAD * jobs))
        try:
            while futures:
                future = futures.popleft()  # not kept: thousands of videos' skeletons would pile up
                while not wait([future], _POLL_SECONDS).done:
                    report(sum(shares) / len(paths))
                futures.extend(pool.submit(analyse, number) for number in islice(numbers, 1))
                yield future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
            while not idle.empty():
                idle.get().close()
    report(1.0)


def _analyse_there(worker: Worker, path: Path, report: Progress, stop: threading.Event) -> Analysis:
    try:
        return worker.analyse(path, on_progress=report, stop=stop)
    except DanceMatchError as error:
        return Analysis(path, error=error)
    except WorkerDiedError:
        reason = f"the process that read {path} died, perhaps for lack of memory"
        return Analysis(path, error=InputError(f"{reason}; try a shorter or smaller clip"))
