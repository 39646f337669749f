"""Clips looked at on all nodes of a cluster; what comes of them goes to the one process that writes.

A clip goes by its path, which costs nothing where storage is shared; a node that does not see the path
says so, and gets the content instead. What is being looked at is bounded, so that neither videos nor
skeletons pile up. Ray looks again at a clip whose node was lost. Nothing is kept here of what was done:
the catalogue knows, by the content, what it has.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from dancematch.cluster.connect import AUTO, connect
from dancematch.cluster.looking import Clip, Looked, Way, look
from dancematch.cluster.quarantine import Quarantine
from dancematch.errors import ClusterError, DanceMatchError, InputError
from dancematch.pipeline.extract import Outcome, Progress, named_anew

RETRIES = 3  # after the loss of a node
_A_PROCESSOR = 2  # clips in flight for each: one is looked at, one is ready
_WAIT_SECONDS = 1.0


@dataclass(frozen=True)
class Ingest:
    """Looks at clips on the nodes of a cluster: `Catalogue.add_many(..., look=Ingest(...))`."""

    way: Way
    quarantine: Quarantine
    address: str = AUTO
    retry: bool = False  # look at quarantined clips again

    def __call__(self, contents: Mapping[Path, str], on_progress: Progress | None) -> Iterator[Outcome]:
        """What comes of clips, given with the names of their contents, in the order in which they end."""
        waiting: deque[Path] = deque()
        for path, content in contents.items():
            known = None if self.retry else self.quarantine.find(content, self.way.limits)
            if known is None:
                waiting.append(path)
            else:
                told = f"in quarantine since {known.date}, {known.reason} --retry tries it again"
                yield Outcome(path, error=InputError(told))
        for done, (path, looked) in enumerate(_Flight(connect(self.address), self.way, waiting), start=1):
            if looked.poisonous:
                allowed = getattr(self.way.limits, looked.limit) if looked.limit else None
                self.quarantine.add(contents[path], str(path), f"{looked.error}.", looked.limit, allowed)
            else:
                self.quarantine.discard(contents[path])
            if on_progress is not None:
                on_progress(done / max(1, len(contents)))
            wrong = named_anew(looked.error, path.absolute(), path)  # as whoever gave it names it
            yield Outcome(path, looked.motions, wrong, looked.words, looked.ignored)


@dataclass
class _Flight:
    """Clips on their way through the nodes."""

    ray: ModuleType
    way: Way
    waiting: deque[Path]
    flying: dict[Any, tuple[Path, bool]] = field(default_factory=dict)  # and whether the content went along

    def __iter__(self) -> Iterator[tuple[Path, Looked]]:
        task = self.ray.remote(num_cpus=1, max_retries=RETRIES)(look)
        try:
            while self.waiting or self.flying:
                while self.waiting and len(self.flying) < self._most():
                    self._send(task, self.waiting.popleft(), with_content=False)
                done, _ = self.ray.wait(list(self.flying), num_returns=1, timeout=_WAIT_SECONDS)
                for call in done:
                    path, sent = self.flying.pop(call)
                    looked = self._result(call)
                    if looked.invisible and not sent and path.is_file():
                        self._send(task, path, with_content=True)
                    else:
                        yield path, looked if not looked.invisible else _unseen(path)
        finally:  # whoever stops listening stops the work
            for call in self.flying:
                self.ray.cancel(call, force=True)

    def _most(self) -> int:
        """Asked again and again: nodes come and go."""
        processors = int(self.ray.cluster_resources().get("CPU", 0))
        if not processors:
            raise ClusterError("no node of the Ray cluster has a processor to offer; 'ray status' shows them")
        return _A_PROCESSOR * processors

    def _send(self, task: Any, path: Path, *, with_content: bool) -> None:
        try:
            clip = Clip(str(path.absolute()), -1 if path.is_dir() else path.stat().st_size)
            content = self.ray.put(path.read_bytes()) if with_content else None
        except OSError as error:
            failed = Looked(error=InputError(f"{path} cannot be read: {error.strerror}"))
            self.flying[self.ray.put(failed)] = path, True
            return
        self.flying[task.remote(clip, self.way, content)] = path, with_content

    def _result(self, call: Any) -> Looked:
        errors = self.ray.exceptions
        try:
            looked: Looked = self.ray.get(call)
            return looked
        except errors.OutOfMemoryError:
            reason = InputError("the clip took more memory than its node has; try a shorter or smaller one")
            return Looked(error=reason, poisonous=True)
        except errors.RayTaskError as error:
            if isinstance(error.cause, DanceMatchError):
                return Looked(error=error.cause)
            raise error.cause from None
        except errors.RayError:
            lost = f"the nodes that looked at the clip were lost {RETRIES + 1} times; add it again"
            return Looked(error=ClusterError(lost))


def _unseen(path: Path) -> Looked:
    return Looked(error=InputError(f"{path} is a folder that not all nodes see; put it on shared storage"))
