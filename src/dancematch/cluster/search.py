"""A `Searcher` on many nodes: the shards of a catalogue, searched as one."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dancematch.catalogue.records import ShardOf
from dancematch.catalogue.store import Store
from dancematch.cluster.connect import AUTO, connect
from dancematch.cluster.entry_numbers import MAX_SHARDS
from dancematch.cluster.shard import CatalogueSource, ShardReport, StaleError
from dancematch.cluster.shard_actors import LostShardError, ShardActors
from dancematch.cluster.sharded_search import ShardView, ask_all, prepare_shards, search_shards
from dancematch.errors import ClusterError, InputError
from dancematch.pipeline.catalogue import Catalogue
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DEFAULT_SETTINGS, DanceFilter, Settings
from dancematch.types import Match

T = TypeVar("T")

SHARDS = 4
PATIENCE_SECONDS = 120.0  # that a search waits for shards that are loaded or started again
_PAUSE_SECONDS = 0.1


class ClusterSearch:
    """A catalogue searched by a cluster, with the answers of one process.

    The shards are loaded by the first search and end with this process. Every search sees the catalogue as
    it was when it began. Searches may run in several threads.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        where: str | Path,
        address: str = AUTO,
        *,
        shards: int = SHARDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """`where`: the catalogue's file, which all nodes must see, or its database URL with the password."""
        if not 1 <= shards <= MAX_SHARDS:
            raise InputError(f"a catalogue is split into 1 to {MAX_SHARDS} shards, got {shards}")
        place = str(where) if "://" in str(where) else str(Path(where).absolute())
        tokeniser = catalogue.tokeniser
        self._catalogue, self._patience = catalogue, patience_seconds
        self._source = CatalogueSource(place, tokeniser.codebook, catalogue.background)
        self._store = Store(place, tokeniser.model_id, create=False)
        self._shards = ShardActors(connect(address), self._source, shards)
        self._lock = threading.Lock()
        self._view: ShardView | None = None

    def search(
        self,
        queries: Sequence[Query],
        *,
        limit: int = DEFAULT_LIMIT,
        settings: Settings | None = None,
        only: DanceFilter = ALL_DANCES,
    ) -> list[Match]:
        """As `Engine.search`; waits while shards are loaded, brought up to date or started again."""
        chosen = settings or DEFAULT_SETTINGS
        return self._retry(lambda view: search_shards(self._shards, view, queries, limit, chosen, only))

    def _retry(self, work: Callable[[ShardView], T]) -> T:
        """The result of `work` on all shards; repeated while some are lost or out of date."""
        deadline = time.monotonic() + self._patience
        while True:
            view = None
            try:
                view = self._current(deadline)
                return work(view)
            except (StaleError, LostShardError):
                # An answer from the remaining shards alone would be wrong: all begins again.
                self._invalidate_view(view)
                self._require_time(deadline)
                time.sleep(_PAUSE_SECONDS)

    def _invalidate_view(self, view: ShardView | None) -> None:
        """Let the next search synchronise the shards again, unless another thread has."""
        with self._lock:
            if self._view is view:
                self._view = None

    def _require_time(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise ClusterError(
                f"shards of the catalogue were lost and did not start again within {self._patience:.0f} s; "
                f"'ray status' shows which nodes are left"
            )

    @property
    def tracks(self) -> int:
        """How many dancer tracks all shards hold."""
        return self._retry(lambda view: view.index_size.tracks)

    def engine_for(self, dance_id: str) -> Engine:
        """An engine of one dance with the word statistics of all shards, to explain a match."""
        view = self._retry(lambda view: view)
        engine = Engine(view.codebook)
        engine.add(self._catalogue.tracks([dance_id]))
        engine.weigh_among(view.usage)
        return engine

    def _current(self, deadline: float) -> ShardView:
        """All shards, brought up to date with the catalogue."""
        with self._lock:
            self._shards.deadline = deadline
            view = self._view
            if view is not None:
                changes = self._store.changes(*view.state)
                if changes is not None and (changes.generation, changes.token) == view.state:
                    return view
            self._view = None
            reports = self._synchronise()
            catalogue = self._catalogue
            self._view = prepare_shards(
                self._shards, reports, catalogue.tokeniser.codebook, catalogue.background, DEFAULT_SETTINGS
            )
            return self._view

    def _synchronise(self) -> list[ShardReport]:
        """What the shards hold once all are at the same state of the catalogue."""
        reports: list[ShardReport] = ask_all(self._shards, "report")
        oldest = min((report.state for report in reports), key=lambda state: state.generation)
        changes = self._store.changes(*oldest)
        if changes is None:  # restored from a backup, or too far behind
            self._shards.renew()
            raise StaleError
        if all((changes.generation, changes.token) == report.state for report in reports):
            return reports
        shards = [ShardOf(number, self._shards.count) for number in range(self._shards.count)]
        own = [[track for track in changes.added if shard.holds(track.dance_key)] for shard in shards]
        arguments = {one.number: (replace(changes, added=tuple(own[one.number])),) for one in shards}
        answers = self._shards.ask("apply_changes", arguments)
        return [answers[one.number] for one in shards]

    def close(self) -> None:
        """End the shards and close the database."""
        self._shards.close()
        self._store.close()

    def __enter__(self) -> "ClusterSearch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
