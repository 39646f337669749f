"""A catalogue's engine, up to date with its database and kept on disk between runs.

What is kept is a cache: it lies beside the database's file or, where that cannot be, in the user's
cache folder, is never needed, and never a reason to fail. It is gone as soon as a dance is removed:
nothing of that is to be left anywhere.
"""

import glob
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.cache_folder import cache_folder
from dancematch.catalogue.packed import packed_tracks
from dancematch.catalogue.records import ShardOf
from dancematch.catalogue.sql.database import State
from dancematch.catalogue.store import Changes, Store
from dancematch.errors import CatalogueError
from dancematch.pipeline.files import CACHE_SUFFIX
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DanceFilter, Settings
from dancematch.types import Codebook, Fingerprint, Match

if TYPE_CHECKING:
    from dancematch.search.engine import Engine, Query

log = logging.getLogger(__name__)

FEWEST_KEPT = 1000  # tracks; fewer are entered faster than a cache is worth
CHANGED_SHARE = 0.1  # of the tracks, that have come since the cache was written: then it is written anew


class CachedEngine:
    """The engine of one catalogue."""

    def __init__(
        self,
        store: Store,
        codebook: Codebook,
        background: Sequence[Fingerprint],
        part: ShardOf | None = None,
    ) -> None:
        """Of all dances, or of one `part` of them."""
        self._store, self._codebook, self._background, self._part = store, codebook, background, part
        self._turn = threading.Lock()
        self._engine: Engine | None = None
        self._state = State(0, "")  # of the catalogue, that the engine is up to date with
        self._come = 0  # tracks since the cache was written
        self._may_keep = True
        self._saver: threading.Thread | None = None

    def current(self) -> "Engine":
        """The engine, brought up to date with what others have added and removed."""
        with self._turn:
            if self._engine is None:
                self._engine = self._opened() or self._built()
                return self._engine
            changes = self._store.changes(*self._state)
            if changes is None:
                self._engine = self._built()
            else:
                self._follow(self._engine, changes)
            return self._engine

    @property
    def tracks(self) -> int:
        """How many dancer tracks are searched."""
        return self.current().tracks

    def search(
        self,
        queries: "Sequence[Query]",
        *,
        limit: int = DEFAULT_LIMIT,
        settings: Settings | None = None,
        only: DanceFilter = ALL_DANCES,
    ) -> list[Match]:
        """The dances most like any of the query's variants, best first."""
        return self.current().search(queries, limit=limit, settings=settings, only=only)

    def engine_for(self, _dance_id: str) -> "Engine":
        """The engine, which holds all dances."""
        return self.current()

    @property
    def state(self) -> State:
        """The state of the catalogue that the engine is up to date with."""
        return self._state

    def follow(self, changes: Changes) -> None:
        """Bring the engine up to date by what has been read already, perhaps some of it a second time."""
        engine = self.held()
        with self._turn:
            self._follow(engine, changes)

    def held(self) -> "Engine":
        """The engine as it is: nobody asks what others have added."""
        return self._engine or self.current()

    def _follow(self, engine: "Engine", changes: Changes) -> None:
        self._apply(engine, changes)
        if self._come > max(FEWEST_KEPT, CHANGED_SHARE * engine.tracks):
            self._keep(engine)

    def remove_cache(self) -> None:
        """Leave nothing on disk: something was removed that is not to be found any more."""
        from dancematch.search.words.index_cache import remove_index_cache

        self._may_keep = False  # the engine still holds in its arrays what was removed
        self.close()
        for folder in [*self._folders(), *self._folders_of_parts()]:
            remove_index_cache(folder)

    def _folders_of_parts(self) -> Iterator[Path]:
        database = Path(self._store.where)
        if database.is_file():
            pattern = f"{glob.escape(database.name)}.*-of-*{CACHE_SUFFIX}"
            yield from database.parent.glob(pattern)

    def _folders(self) -> Iterator[Path]:
        """Where a cache may be: the better place first."""
        database = Path(self._store.where)
        if self._part is not None:
            # Nowhere else: whoever removes a dance must find all that is kept of it.
            if database.is_file():
                number, of = self._part
                yield database.with_name(f"{database.name}.{number}-of-{of}{CACHE_SUFFIX}")
            return
        if database.is_file():
            yield database.with_name(database.name + CACHE_SUFFIX)
        try:
            yield cache_folder() / "engines" / self._store.identity
        except (OSError, RuntimeError):
            return  # nobody has a home

    def _stamp(self) -> str:
        return json.dumps(self._state._asdict())

    def _opened(self) -> "Engine | None":
        """The engine as it was kept, and what has changed since."""
        for folder in self._folders():
            found = self._opened_from(folder)
            if found is not None:
                return found
        return None

    def _opened_from(self, folder: Path) -> "Engine | None":
        from dancematch.search.engine import Engine
        from dancematch.search.words.index_cache import stamp_of

        stamp = stamp_of(folder)
        try:
            told = json.loads(stamp or "{}")
            since = State(int(told["generation"]), str(told["token"]))
        except (ValueError, TypeError, KeyError):
            return None
        if stamp is None:
            return None
        engine = Engine.load(folder, stamp, self._codebook, background=self._background)
        changes = None if engine is None else self._store.changes(*since)
        if engine is None or changes is None:
            return None
        self._apply(engine, changes)
        return engine

    def _apply(self, engine: "Engine", changes: Changes) -> None:
        added = [t for t in changes.added if self._part is None or self._part.holds(t.dance_key)]
        back = [track.key for track in added]
        gone = engine.remove([*changes.removed, *back]) - set(back)
        engine.add(added)
        self._state = State(changes.generation, changes.token)
        self._come += len(added)
        if gone:  # for good: others are back, with something about them changed
            self.remove_cache()

    def _built(self) -> "Engine":
        """A fresh engine of all that is in the database."""
        from dancematch.search.engine import Engine

        engine = Engine(self._codebook, background=self._background)
        self._state, pieces = packed_tracks(self._store, self._part)
        for piece in pieces:
            engine.enter(piece)
        self._may_keep = True
        if engine.tracks >= FEWEST_KEPT:
            self._keep(engine)
        return engine

    def _keep(self, engine: "Engine") -> None:
        """Write the cache where it can be written, while searches go on."""
        if self._may_keep:
            self.close()
            self._come = 0
            work = (engine, list(self._folders()), self._stamp())
            self._saver = threading.Thread(target=self._write, args=work, name="dancematch-cache")
            self._saver.start()

    def _write(self, engine: "Engine", folders: Sequence[Path], stamp: str) -> None:
        for folder in folders:
            try:
                engine.save(folder, stamp)
                return
            except (CatalogueError, OSError) as error:
                log.info("%s", error)
        self._may_keep = False

    def close(self) -> None:
        """Wait until what is being written is written."""
        if self._saver is not None:
            self._saver.join()
            self._saver = None
