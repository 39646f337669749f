"""Search on many machines: a catalogue's parts held by a cluster, as one."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dancematch.catalogue.records import ShardOf
from dancematch.catalogue.store import Store
from dancematch.cluster.actors import Actors, LostPartError
from dancematch.cluster.connect import AUTO, connect
from dancematch.cluster.numbers import MOST_PARTS
from dancematch.cluster.shard import Report, Source, StaleError
from dancematch.cluster.spread import View, ask_all, prepared, search_shards
from dancematch.errors import ClusterError, InputError
from dancematch.pipeline.catalogue import Catalogue
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DEFAULT_SETTINGS, DanceFilter, Settings
from dancematch.types import Match

T = TypeVar("T")

SHARDS = 4
PATIENCE_SECONDS = 120.0  # that a search waits for parts that are being loaded or made anew
_PAUSE_SECONDS = 0.1


class ClusterSearch:
    """A catalogue searched by a cluster: the answers of `Catalogue`, from parts that others hold.

    The parts are loaded by the first search and end with this process. Every search sees what was in
    the catalogue when it began. Searches may run in several threads.
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
        if not 1 <= shards <= MOST_PARTS:
            raise InputError(f"a catalogue is split into 1 to {MOST_PARTS} parts, got {shards}")
        place = str(where) if "://" in str(where) else str(Path(where).absolute())
        tokeniser = catalogue.tokeniser
        self._catalogue, self._patience = catalogue, patience_seconds
        self._source = Source(place, tokeniser.codebook, catalogue.background)
        self._store = Store(place, tokeniser.model_id, create=False)
        self._parts = Actors(connect(address), self._source, shards)
        self._turn = threading.Lock()
        self._view: View | None = None

    def search(
        self,
        queries: Sequence[Query],
        *,
        limit: int = DEFAULT_LIMIT,
        settings: Settings | None = None,
        only: DanceFilter = ALL_DANCES,
    ) -> list[Match]:
        """As `Engine.search`; waits while parts are loaded, brought up to date or made anew."""
        chosen = settings or DEFAULT_SETTINGS
        return self._tried(lambda view: search_shards(self._parts, view, queries, limit, chosen, only))

    def _tried(self, work: Callable[[View], T]) -> T:
        """What `work` makes of all parts; while some are lost or left behind, it is tried again."""
        deadline = time.monotonic() + self._patience
        while True:
            view = None
            try:
                view = self._current(deadline)
                return work(view)
            except (StaleError, LostPartError):
                # No answer is made of what is left: all begins again.
                self._doubt(view)
                self._require_time(deadline)
                time.sleep(_PAUSE_SECONDS)

    def _doubt(self, view: View | None) -> None:
        """Ask all parts again how they are, unless somebody has since."""
        with self._turn:
            if self._view is view:
                self._view = None

    def _require_time(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise ClusterError(
                f"parts of the catalogue were lost and could not be made anew within {self._patience:.0f} s; "
                f"'ray status' shows which nodes are left"
            )

    @property
    def tracks(self) -> int:
        """How many dancers all parts hold together."""
        return self._tried(lambda view: view.index_size.tracks)

    def engine_for(self, dance_id: str) -> Engine:
        """An engine of one dance in which words are worth what they are in all parts: to explain a match."""
        view = self._tried(lambda view: view)
        engine = Engine(view.codebook)
        engine.add(self._catalogue.tracks([dance_id]))
        engine.weigh_among(view.usage)
        return engine

    def _current(self, deadline: float) -> View:
        """All parts, brought up to date with the catalogue."""
        with self._turn:
            self._parts.deadline = deadline
            view = self._view
            if view is not None:
                changes = self._store.changes(*view.state)
                if changes is not None and (changes.generation, changes.token) == view.state:
                    return view
            self._view = None
            reports = self._at_one_state()
            catalogue = self._catalogue
            self._view = prepared(
                self._parts, reports, catalogue.tokeniser.codebook, catalogue.background, DEFAULT_SETTINGS
            )
            return self._view

    def _at_one_state(self) -> list[Report]:
        """What the parts hold once all are at the same state of the catalogue."""
        reports: list[Report] = ask_all(self._parts, "report")
        oldest = min((report.state for report in reports), key=lambda state: state.generation)
        changes = self._store.changes(*oldest)
        if changes is None:  # put back from a backup, or too far behind
            self._parts.renew()
            raise StaleError
        if all((changes.generation, changes.token) == report.state for report in reports):
            return reports
        parts = [ShardOf(number, self._parts.count) for number in range(self._parts.count)]
        own = [[track for track in changes.added if part.holds(track.dance_key)] for part in parts]
        told = {part.number: (replace(changes, added=tuple(own[part.number])),) for part in parts}
        answers = self._parts.ask("follow", told)
        return [answers[part.number] for part in parts]

    def close(self) -> None:
        """End the parts and let go of the catalogue's database."""
        self._parts.close()
        self._store.close()

    def __enter__(self) -> "ClusterSearch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
