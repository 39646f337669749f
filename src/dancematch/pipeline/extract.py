"""Files -> Motions, one or many, in this process or in several."""

import hashlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError
from dancematch.formats import npz
from dancematch.pose import PoseEstimator, estimate_motions
from dancematch.types import Motion

Progress = Callable[[float], None]  # told the share that is done, 0..1
MakeEstimator = Callable[[], PoseEstimator]

VIDEO_SUFFIXES = frozenset(
    {".3gp", ".avi", ".flv", ".gif", ".m2ts", ".m4v", ".mkv", ".mov"}
    | {".mp4", ".mpeg", ".mpg", ".mts", ".ogv", ".ts", ".webm", ".wmv"}
)
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Outcome:
    """What came of one file: its motions, or the reason why there are none."""

    path: Path
    motions: tuple[Motion, ...] = ()
    error: DanceMatchError | None = None


def default_estimator() -> PoseEstimator:
    """BlazePose, which needs nothing but its weights."""
    from dancematch.pose.blazepose import BlazePose

    return BlazePose()


def motions_of(
    path: str | Path, *, estimator: PoseEstimator | None = None, on_progress: Progress | None = None
) -> list[Motion]:
    """The motion of every dancer in a video or motion file, the most prominent first."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if formats.is_motion_file(path):
        return formats.read(path)
    return estimate_motions(path, estimator, on_progress)


def content_hash(path: str | Path) -> str:
    """A name for a file's content: equal for equal bytes only."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def clips_in(places: Sequence[str | Path]) -> list[Path]:
    """The files named, and the videos and motion files in the folders named, in order of name."""
    found: dict[Path, None] = {}
    for place in map(Path, places):
        if not place.exists():
            raise InputError(f"{place} does not exist")
        inside = sorted(p for p in place.rglob("*") if _is_clip(p)) if place.is_dir() else [place]
        if not inside:
            raise InputError(f"there is no video or motion file in {place}")
        found.update(dict.fromkeys(inside))
    return list(found)


def _is_clip(path: Path) -> bool:
    return path.is_file() and (path.suffix.lower() in VIDEO_SUFFIXES or formats.is_motion_file(path))


def motions_of_many(
    paths: Sequence[Path],
    *,
    jobs: int = 1,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
) -> Iterator[Outcome]:
    """The motions of many files, in their order; a bad file spoils only its own outcome.

    `make_estimator` runs once in each of the `jobs` processes. Whoever stops listening
    stops the work: what was not handed out is dropped.
    """
    if jobs < 1:
        raise InputError(f"jobs must be 1 or more, got {jobs}")
    tell = on_progress or (lambda _share: None)
    if jobs == 1 or len(paths) == 1:
        estimator = None if all(map(formats.is_motion_file, paths)) else make_estimator()
        for done, path in enumerate(paths):
            yield _outcome(path, estimator, lambda share, done=done: tell((done + share) / len(paths)))  # type: ignore[misc]
            tell((done + 1) / len(paths))
        return
    yield from _in_processes(paths, min(jobs, len(paths)), make_estimator, tell)


def _outcome(path: Path, estimator: PoseEstimator | None, tell: Progress) -> Outcome:
    try:
        return Outcome(path, tuple(motions_of(path, estimator=estimator, on_progress=tell)))
    except DanceMatchError as error:
        return Outcome(path, error=error)


def _in_processes(
    paths: Sequence[Path], jobs: int, make_estimator: MakeEstimator, tell: Progress
) -> Iterator[Outcome]:
    context = multiprocessing.get_context("spawn")  # the networks' threads do not survive a fork
    shares = context.Array("d", len(paths), lock=False)
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (make_estimator, shares))
    try:
        futures = [pool.submit(_work, number, path) for number, path in enumerate(paths)]
        for path, future in zip(paths, futures, strict=True):
            while not _ready(future):
                tell(sum(shares) / len(paths))
            yield _result(path, future)
        tell(1.0)
    finally:
        for process in list((pool._processes or {}).values()):  # nothing public ends a busy worker
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _ready(future: "Future[Outcome]") -> bool:
    deadline = time.monotonic() + _POLL_SECONDS
    while not future.done() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS / 10)
    return future.done()


def _result(path: Path, future: "Future[Outcome]") -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool:
        reason = f"the process that read {path} died, perhaps for lack of memory; try it alone with --jobs 1"
        return Outcome(path, error=InputError(reason))


_worker: dict[str, Any] = {}  # filled once in each worker process


def _start_worker(make_estimator: MakeEstimator, shares: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and ends us
    _worker.update(estimator=make_estimator(), shares=shares)


def _work(number: int, path: Path) -> Outcome:
    shares = _worker["shares"]

    def tell(share: float) -> None:
        shares[number] = share

    outcome = _outcome(path, _worker["estimator"], tell)
    shares[number] = 1.0
    return outcome


def extract(
    places: Sequence[str | Path],
    folder: str | Path,
    *,
    jobs: int = 1,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
) -> Iterator[tuple[Outcome, Path | None]]:
    """Write each clip's motions to `folder`/NAME.npz, and say where; None for one that failed.

    A clip whose file is there already, from the same content, comes back at once: an
    interrupted run goes on where it stopped.
    """
    clips = clips_in(places)
    targets = _targets(clips, Path(folder))
    Path(folder).mkdir(parents=True, exist_ok=True)
    hashes = {clip: content_hash(clip) for clip in clips}
    finished = [clip for clip in clips if _is_extracted(targets[clip], hashes[clip])]
    for clip in finished:
        yield Outcome(clip, tuple(npz.read(targets[clip]))), targets[clip]
    waiting = [clip for clip in clips if clip not in set(finished)]
    if not waiting:
        return
    for outcome in motions_of_many(
        waiting, jobs=jobs, make_estimator=make_estimator, on_progress=on_progress
    ):
        if outcome.error is not None:
            yield outcome, None
            continue
        source = {"name": outcome.path.name, "sha256": hashes[outcome.path]}
        npz.write(targets[outcome.path], outcome.motions, source=source)
        yield outcome, targets[outcome.path]


def _targets(clips: Sequence[Path], folder: Path) -> dict[Path, Path]:
    targets = {clip: folder / f"{clip.stem}.npz" for clip in clips}
    taken: dict[Path, Path] = {}
    for clip, target in targets.items():
        if target in taken:
            raise InputError(
                f"{taken[target]} and {clip} would both be written to {target}; extract them apart"
            )
        taken[target] = clip
    return targets


def _is_extracted(target: Path, digest: str) -> bool:
    if not target.exists():
        return False
    if npz.read_source(target).get("sha256") != digest:
        raise InputError(f"{target} exists already and was made from another clip; choose another folder")
    return True
