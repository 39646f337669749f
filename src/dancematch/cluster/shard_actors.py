"""The shards of a catalogue as Ray actors on the nodes; a lost one is started again elsewhere."""

import threading
import time
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from dancematch.catalogue.records import ShardOf
from dancematch.cluster.connect import alive_nodes
from dancematch.cluster.shard import CatalogueSource, Shard
from dancematch.errors import ClusterError

_ALIVE_SECONDS = 0.5


class LostShardError(Exception):
    """A shard was lost and is being started again: the search must begin again."""


class ShardActors:
    """Shards on the nodes of a cluster; they end with this process.

    Ray would restart an actor by itself, perhaps on the very node that is going down. A lost one is
    therefore started again here, on another node.
    """

    def __init__(self, ray: ModuleType, source: CatalogueSource, count: int) -> None:
        self.count = count
        self.deadline = float("inf")  # of time.monotonic(), for every answer
        self._ray, self._source = ray, ray.put(source)
        self._kind = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(Shard)
        self._replacing = threading.Lock()
        self._actors: dict[int, Any] = {}
        self._nodes: dict[int, str] = {}  # of each shard
        for number in range(count):
            self._start(number)

    def _start(self, number: int) -> None:
        """Start a shard on the node that has fewest; not on the one it was on, if there is another."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = [node["NodeID"] for node in alive_nodes(self._ray)]
        before = self._nodes.pop(number, None)
        others = [node for node in nodes if node != before] or nodes
        if not others:
            raise ClusterError("the Ray cluster has no node that is alive; start one with 'ray start'")
        load = list(self._nodes.values())
        self._nodes[number] = min(others, key=lambda node: (load.count(node), node))
        strategy = NodeAffinitySchedulingStrategy(self._nodes[number], soft=True)
        placed = self._kind.options(scheduling_strategy=strategy)
        self._actors[number] = placed.remote(self._source, ShardOf(number, self.count))

    def ask(self, method: str, arguments: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        """Call a method of `Shard` on some shards, by number, all at once."""
        errors = self._ray.exceptions
        answers = {
            number: getattr(self._actors[number], method).remote(*values)
            for number, values in arguments.items()
        }
        try:
            found = self._ray.get(list(answers.values()), timeout=self._seconds_left())
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.GetTimeoutError:
            raise ClusterError(
                f"some of the {self.count} shards of the catalogue did not answer in time; "
                f"'ray status' shows whether nodes are missing or overloaded"
            ) from None
        except errors.RayError:
            self._replace_lost()
            raise LostShardError from None
        return dict(zip(answers, found, strict=True))

    def _seconds_left(self) -> float | None:
        return None if self.deadline == float("inf") else max(0.0, self.deadline - time.monotonic())

    def _replace_lost(self) -> None:
        """Start those again that are known to be gone; a silent one may be busy or loading."""
        with self._replacing:
            calls = {actor.__ray_ready__.remote(): number for number, actor in self._actors.items()}
            done, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=_ALIVE_SECONDS)
            for call in done:
                try:
                    self._ray.get(call)
                except self._ray.exceptions.RayError:
                    self._end(calls[call])
                    self._start(calls[call])

    def renew(self) -> None:
        """Start all shards again."""
        for number in range(self.count):
            self._end(number)
            self._start(number)

    def _end(self, number: int) -> None:
        # An actor on a lost node cannot be reached; it is gone as well.
        try:
            self._ray.kill(self._actors[number], no_restart=True)
        except (self._ray.exceptions.RayError, ValueError):
            return

    def close(self) -> None:
        """End all shards."""
        for number in range(self.count):
            self._end(number)
