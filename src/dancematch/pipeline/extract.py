"""Files -> Motions, one or many, in this process or in several."""

import glob
import hashlib
import json
import multiprocessing
import os
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError
from dancematch.formats import npz
from dancematch.pose import PoseEstimator, default_estimator, estimate_dancers
from dancematch.pose.video import VIDEO_SUFFIXES
from dancematch.types import Fingerprint, IgnoredTrack, Motion, Span

Progress = Callable[[float], None]  # told the share that is done, 0..1
MakeEstimator = Callable[[], PoseEstimator]

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Outcome:
    """What came of one file: its motions, or the reason why there are none."""

    path: Path
    motions: tuple[Motion, ...] = ()
    error: DanceMatchError | None = None
    words: tuple[Fingerprint, ...] = ()  # of the motions, one per dancer, if they have been put into words
    ignored: tuple[IgnoredTrack, ...] = ()  # what else was followed in a video, and why it is no dancer


# Looks at clips, given with the names of their contents, and tells of each, in any order.
Look = Callable[[Mapping[Path, str], Progress | None], Iterator[Outcome]]


def motions_of(
    path: str | Path, *, estimator: PoseEstimator | None = None, on_progress: Progress | None = None
) -> list[Motion]:
    """The motion of every dancer in a video or motion file, the most prominent first."""
    return list(observe(path, estimator=estimator, on_progress=on_progress).motions)


def observe(
    path: str | Path, *, estimator: PoseEstimator | None = None, on_progress: Progress | None = None
) -> Outcome:
    """The motions of a video's dancers and what was ignored in it; of a motion file, all that it holds."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if formats.is_motion_file(path):
        return Outcome(path, tuple(formats.read(path)))
    found = estimate_dancers(path, estimator, on_progress)
    return Outcome(path, tuple(track.motion() for track in found.dancers), ignored=found.ignored)


def write_ignored(path: Path, ignored: Sequence[IgnoredTrack]) -> None:
    """Keep ignored tracks as JSON, for another process."""
    path.write_text(json.dumps([describe_ignored(one) for one in ignored]), encoding="utf-8")


def read_ignored(path: Path) -> tuple[IgnoredTrack, ...]:
    """What `write_ignored` wrote; nothing if there is no such file."""
    if not path.is_file():
        return ()
    told = json.loads(path.read_text(encoding="utf-8"))
    return tuple(IgnoredTrack(Span(one["start"], one["end"]), one["reason"]) for one in told)


def describe_ignored(ignored: IgnoredTrack) -> dict[str, Any]:
    """An ignored track as JSON has it."""
    span = ignored.span
    return {"start": round(span.start, 3), "end": round(span.end, 3), "reason": ignored.reason}


# Folders beside a catalogue that hold its search arrays, whole or unfinished, or what the service works
# on: plain files, but no clips.
CACHE_SUFFIX = ".cache"
SERVICE_SUFFIX = ".service"
NO_CLIPS = (CACHE_SUFFIX, ".part", SERVICE_SUFFIX)


def content_hash(path: str | Path) -> str:
    """A name for the content of a file, or of all files of a folder: equal for equal bytes only."""
    path = Path(path)
    try:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.is_file())
            hashes = [f"{file.name} {content_hash(file)}" for file in inside]
            return hashlib.sha256("\n".join(hashes).encode(errors="surrogateescape")).hexdigest()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def named_anew(error: DanceMatchError | None, original: Path, path: Path) -> DanceMatchError | None:
    """What is wrong with `original`, said of another file with the same content."""
    if error is None:
        return None
    if path.suffix != original.suffix:  # what was expected of the one may not be of the other
        return type(error)(f"{path} has the very content of another file: {error}")
    whole = rf"(?<![\w./-]){re.escape(str(original))}(?![\w/-])"
    return type(error)(re.sub(whole, lambda _: str(path), str(error)))


def clips_in(places: Sequence[str | Path]) -> list[Path]:
    """The files named, and the videos and motion files in the folders named, in order of name.

    A folder of frames (OpenPose) is one clip. A pattern such as "clips/*.mp4" names all that fits it.
    """
    found: dict[Path, None] = {}
    for place in [path for given in places for path in _fitting(Path(given))]:
        inside = [place] if place.is_file() else list(_clips_below(place))
        if not inside:
            raise InputError(f"there is no video or motion file in {place}")
        found.update(dict.fromkeys(inside))
    return list(found)


def _fitting(place: Path) -> list[Path]:
    """The place itself or, if it is a pattern and no file is called so, what fits it, in order of name."""
    if place.exists():
        return [place]
    if not glob.has_magic(str(place)):
        raise InputError(f"{place} does not exist")
    found = sorted(map(Path, glob.glob(str(place), recursive=True)))  # noqa: PTH207  (Path.glob: no absolute one)
    if not found:
        raise InputError(f"there is no file that fits {place}")
    return found


def _clips_below(folder: Path) -> Iterator[Path]:
    if folder.name.endswith(NO_CLIPS):
        return
    if formats.is_motion_file(folder):
        yield folder
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _clips_below(path)
        elif path.suffix.lower() in VIDEO_SUFFIXES or formats.holds_motion(path):
            yield path


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
    # Made here in any case: what it lacks is fetched, or complained of, once and not in every process.
    estimator = None if all(map(formats.is_motion_file, paths)) else make_estimator()
    if jobs == 1 or len(paths) < 2:
        for done, path in enumerate(paths):
            yield _outcome(path, estimator, lambda share, done=done: tell((done + share) / len(paths)))  # type: ignore[misc]
            tell((done + 1) / len(paths))
        return
    yield from _in_processes(paths, min(jobs, len(paths)), make_estimator, tell)


def _outcome(path: Path, estimator: PoseEstimator | None, tell: Progress) -> Outcome:
    try:
        return observe(path, estimator=estimator, on_progress=tell)
    except DanceMatchError as error:
        return Outcome(path, error=error)


def _in_processes(
    paths: Sequence[Path], jobs: int, make_estimator: MakeEstimator, tell: Progress
) -> Iterator[Outcome]:
    """As `motions_of_many`; if a process dies, what is left goes on one file at a time."""
    done = 0

    def tell_of_all(share_of_rest: float) -> None:
        tell((done + share_of_rest * (len(paths) - done)) / len(paths))

    while done < len(paths):
        try:
            for outcome in _in_pool(paths[done:], jobs, make_estimator, tell_of_all):
                yield outcome
                done += 1
        except BrokenProcessPool:
            # Several at once cannot tell which file was to blame; one at a time can.
            if jobs == 1:
                reason = f"the process that read {paths[done]} died, perhaps for lack of memory"
                yield Outcome(paths[done], error=InputError(f"{reason}; try a shorter or smaller clip"))
                done += 1
            jobs = 1
    tell(1.0)


def _in_pool(
    paths: Sequence[Path], jobs: int, make_estimator: MakeEstimator, tell: Progress
) -> Iterator[Outcome]:
    context = multiprocessing.get_context("spawn")  # the networks' threads do not survive a fork
    shares = context.Array("d", len(paths) + 1, lock=False)  # each file's, and at last whether to stop
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (make_estimator, shares))
    try:
        futures = deque(pool.submit(_work, number, path) for number, path in enumerate(paths))
        while futures:
            future = futures.popleft()  # not kept: thousands of videos' skeletons would pile up
            while not _ready(future):
                tell(sum(shares[:-1]) / len(paths))
            yield future.result()
    finally:
        # Asked, not killed: a worker that dies while it answers would leave the pool waiting for ever.
        shares[len(paths)] = 1.0
        pool.shutdown(cancel_futures=True)


def _ready(future: "Future[Outcome]") -> bool:
    deadline = time.monotonic() + _POLL_SECONDS
    while not future.done() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS / 10)
    return future.done()


_worker: dict[str, Any] = {}  # filled once in each worker process


def end_with_parent() -> None:
    """Let this process end soon after the one that started it, however that one ends."""
    started_by = multiprocessing.parent_process()
    parent = os.getppid() if started_by is None else started_by.pid  # it may be gone already

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _start_worker(make_estimator: MakeEstimator, shares: Any) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and ends us
    _worker.update(make_estimator=cache(make_estimator), shares=shares)


class _Stopped(Exception):  # noqa: N818  (no error: nobody listens any more)
    """Leaves the work on a file in the middle."""


def _work(number: int, path: Path) -> Outcome:
    shares = _worker["shares"]

    def tell(share: float) -> None:
        if shares[-1]:
            raise _Stopped
        shares[number] = share

    tell(0.0)
    try:
        estimator = None if formats.is_motion_file(path) else _worker["make_estimator"]()
    except DanceMatchError as error:
        return Outcome(path, error=error)
    outcome = _outcome(path, estimator, tell)
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
    inside = Path(folder).absolute()
    clips = [clip for clip in clips_in(places) if inside not in clip.absolute().parents]
    targets = _targets(clips, Path(folder))
    _make_folder(Path(folder))
    hashes: dict[Path, str] = {}
    waiting: list[Path] = []
    for clip in clips:
        try:
            hashes[clip] = content_hash(clip)
            if _is_extracted(targets[clip], hashes[clip]):
                yield Outcome(clip, tuple(npz.read(targets[clip]))), targets[clip]
            else:
                waiting.append(clip)
        except InputError as error:
            yield Outcome(clip, error=error), None
    for outcome in motions_of_many(
        waiting, jobs=jobs, make_estimator=make_estimator, on_progress=on_progress
    ):
        if outcome.error is not None:
            yield outcome, None
            continue
        source = {"name": outcome.path.name, "sha256": hashes[outcome.path]}
        npz.write(targets[outcome.path], outcome.motions, source=source)
        yield outcome, targets[outcome.path]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder: {error.strerror}; choose another") from None


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
