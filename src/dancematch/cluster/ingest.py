"""Clips analysed on all nodes of a cluster; the results go to the one process that writes the catalogue.

A clip goes by its path, which costs nothing where storage is shared; a node that does not see the path
gets the content instead. The number of clips in flight is bounded, so that neither videos nor skeletons
pile up. Ray repeats a clip whose node was lost. Nothing is recorded here: the catalogue knows, by content,
what it has.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from dancematch.cluster.connect import AUTO, connect
from dancematch.cluster.node_analysis import NodeClip, NodeResult, analyse_clip
from dancematch.errors import ClusterError, DanceMatchError, InputError
from dancematch.pipeline.analysis.clip_files import rename_in_error
from dancematch.pipeline.analysis.file_analysis import Analysis, Progress
from dancematch.pipeline.analysis.quarantine import Quarantine
from dancematch.pipeline.analysis.worker_process import WorkerSetup

RETRIES = 3  # after the loss of a node
_CLIPS_PER_PROCESSOR = 2  # one is analysed, one is ready
_WAIT_SECONDS = 1.0


@dataclass(frozen=True)
class ClusterAnalyser:
    """Analyses clips on the nodes of a cluster: `Catalogue.add_many(..., analyser=ClusterAnalyser(...))`."""

    setup: WorkerSetup
    quarantine: Quarantine
    address: str = AUTO
    retry: bool = False  # analyse quarantined clips again

    def __call__(self, contents: Mapping[Path, str], on_progress: Progress | None) -> Iterator[Analysis]:
        """What each clip, given with its content hash, shows; in the order in which they end."""
        limits = self.setup.limits
        assert limits is not None  # noqa: S101  (a node always has some)
        waiting: deque[Path] = deque()
        for path, content in contents.items():
            known = None if self.retry else self.quarantine.find(content, limits)
            if known is None:
                waiting.append(path)
            else:
                reason = f"in quarantine since {known.date}, {known.reason} --retry tries it again"
                yield Analysis(path, error=InputError(reason))
        for done, (path, result) in enumerate(_Flight(connect(self.address), self.setup, waiting), start=1):
            analysis = result.analysis or _invisible(path)
            if result.quarantined:
                allowed = getattr(limits, result.exceeded) if result.exceeded else None
                self.quarantine.add(contents[path], str(path), f"{analysis.error}.", result.exceeded, allowed)
            else:
                self.quarantine.discard(contents[path])
            if on_progress is not None:
                on_progress(done / max(1, len(contents)))
            error = rename_in_error(analysis.error, path.absolute(), path)  # as the user names it
            yield replace(analysis, path=path, error=error)


@dataclass
class _Flight:
    """Clips on their way through the nodes."""

    ray: ModuleType
    setup: WorkerSetup
    waiting: deque[Path]
    flying: dict[Any, tuple[Path, bool]] = field(default_factory=dict)  # and whether the content went along

    def __iter__(self) -> Iterator[tuple[Path, NodeResult]]:
        task = self.ray.remote(num_cpus=1, max_retries=RETRIES)(analyse_clip)
        try:
            while self.waiting or self.flying:
                while self.waiting and len(self.flying) < self._capacity():
                    self._send(task, self.waiting.popleft(), with_content=False)
                done, _ = self.ray.wait(list(self.flying), num_returns=1, timeout=_WAIT_SECONDS)
                for call in done:
                    path, sent = self.flying.pop(call)
                    result = self._result(call, path)
                    if result.analysis is None and not sent and path.is_file():
                        self._send(task, path, with_content=True)
                    else:
                        yield path, result
        finally:  # closing the iterator ends the work
            for call in self.flying:
                self.ray.cancel(call, force=True)

    def _capacity(self) -> int:
        """How many clips may be in flight now: nodes come and go."""
        processors = int(self.ray.cluster_resources().get("CPU", 0))
        if not processors:
            raise ClusterError("no node of the Ray cluster has a processor to offer; 'ray status' shows them")
        return _CLIPS_PER_PROCESSOR * processors

    def _send(self, task: Any, path: Path, *, with_content: bool) -> None:
        try:
            clip = NodeClip(str(path.absolute()), -1 if path.is_dir() else path.stat().st_size)
            content = self.ray.put(path.read_bytes()) if with_content else None
        except OSError as error:
            failed = Analysis(path, error=InputError(f"{path} cannot be read: {error.strerror}"))
            self.flying[self.ray.put(NodeResult(failed))] = path, True
            return
        self.flying[task.remote(clip, self.setup, content)] = path, with_content

    def _result(self, call: Any, path: Path) -> NodeResult:
        errors = self.ray.exceptions
        try:
            result: NodeResult = self.ray.get(call)
            return result
        except errors.OutOfMemoryError:
            reason = InputError("the clip took more memory than its node has; try a shorter or smaller one")
            return NodeResult(Analysis(path, error=reason), quarantined=True)
        except errors.RayTaskError as error:
            if isinstance(error.cause, DanceMatchError):
                return NodeResult(Analysis(path, error=error.cause))
            raise error.cause from None
        except errors.RayError:
            lost = f"the nodes that analysed the clip were lost {RETRIES + 1} times; add it again"
            return NodeResult(Analysis(path, error=ClusterError(lost)))


def _invisible(path: Path) -> Analysis:
    reason = f"{path} is a folder that not all nodes see; put it on shared storage"
    return Analysis(path, error=InputError(reason))
