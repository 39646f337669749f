"""What a node does with one clip: it is analysed by a worker, which the node keeps for the next."""

from dataclasses import dataclass, replace
from pathlib import Path

from dancematch.errors import DanceMatchError, InputError
from dancematch.pipeline.analysis.clip_files import rename_in_error
from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.analysis.limits import Limit
from dancematch.pipeline.analysis.worker_process import (
    Worker,
    WorkerDiedError,
    WorkerSetup,
    WorkerTooSlowError,
)
from dancematch.temporary_folder import temporary_folder


@dataclass(frozen=True)
class NodeClip:
    """A file, by a path that this node may or may not see."""

    path: str
    bytes: int  # -1 for a folder


@dataclass(frozen=True, eq=False)
class NodeResult:
    """What a node says of a clip; without an analysis, the node does not see the path."""

    analysis: Analysis | None = None
    quarantined: bool = False  # its worker died or had to be ended
    exceeded: Limit | None = None  # the limit that it went beyond, or may have


_workers: list[Worker] = []  # of this process: none or one


def analyse_clip(clip: NodeClip, setup: WorkerSetup, content: bytes | None = None) -> NodeResult:
    """Analyse a clip by its path or, if it is given, by its content."""
    if content is None:
        if not _is_visible(Path(clip.path), clip.bytes):
            return NodeResult()
        return _analyse(Path(clip.path), setup)
    with temporary_folder() as folder:
        path = folder / Path(clip.path).name
        path.write_bytes(content)
        result = _analyse(path, setup)
    if result.analysis is None:
        return result
    error = rename_in_error(result.analysis.error, path, Path(clip.path))
    return replace(result, analysis=replace(result.analysis, path=Path(clip.path), error=error))


def _is_visible(path: Path, size: int) -> bool:
    try:
        return path.is_dir() if size < 0 else path.stat().st_size == size
    except OSError:
        return False


def _analyse(path: Path, setup: WorkerSetup) -> NodeResult:
    limits = setup.limits
    assert limits is not None  # noqa: S101  (a node always has some)
    try:
        return NodeResult(_worker(setup).analyse(path))
    except WorkerTooSlowError:
        return _quarantine(path, f"took more than {limits.seconds:.0f} s", "seconds")
    except WorkerDiedError:
        most = limits.memory_bytes >> 20
        reason = f"ended two processes: it is damaged, or takes more than {most} MB"
        return _quarantine(path, reason, "memory_bytes")
    except DanceMatchError as error:
        return NodeResult(Analysis(path, error=error))


def _quarantine(path: Path, reason: str, limit: Limit) -> NodeResult:
    error = InputError(f"the clip {reason}; try a shorter or smaller one, or other limits")
    return NodeResult(Analysis(path, error=error), quarantined=True, exceeded=limit)


def _worker(setup: WorkerSetup) -> Worker:
    if not _workers or _workers[0].setup != setup:
        end_worker()
        _workers.append(Worker(setup))
    return _workers[0]


def end_worker() -> None:
    """End the worker of this process, if there is one."""
    while _workers:
        _workers.pop().close()
