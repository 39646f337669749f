"""The engine of a catalogue in this process, up to date with the database, its arrays cached on disk.

The index cache lies beside the database's file or, where that cannot be written, in the user's cache folder.
It is never needed and never a reason to fail. Removing a dance deletes it: nothing of the dance may remain.
"""

import glob
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.cache_folder import cache_folder
from dancematch.catalogue.packed import read_packed_tracks
from dancematch.catalogue.records import ShardOf
from dancematch.catalogue.sql.database import State
from dancematch.catalogue.store import Changes, Store
from dancematch.errors import CatalogueError
from dancematch.pipeline.analysis.clip_files import CACHE_SUFFIX
from dancematch.search.kernels.preparation import prepare_kernels
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DanceFilter, Settings
from dancematch.types import Codebook, Fingerprint, Match

if TYPE_CHECKING:
    from dancematch.search.engine import Engine
    from dancematch.search.query import Query

log = logging.getLogger(__name__)

MIN_CACHED_TRACKS = 1000  # fewer are entered faster than a cache is worth
_LOADING_SECONDS = 5  # that closing waits for; what takes longer is compiled by other processes
CHANGED_SHARE = 0.1  # of the tracks: when so many have been added since, the cache is written again


class CachedEngine:
    """The engine of one catalogue: a `Searcher` in this process."""

    def __init__(
        self,
        store: Store,
        codebook: Codebook,
        background: Sequence[Fingerprint],
        shard: ShardOf | None = None,
    ) -> None:
        """For all dances, or for one `shard` of them."""
        self._store, self._codebook, self._background, self._shard = store, codebook, background, shard
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._state = State(0, "")  # of the catalogue, as the engine has it
        self._added = 0  # tracks since the cache was written
        self._may_cache = True
        self._writer: threading.Thread | None = None
        self._loader: threading.Thread | None = None

    def current(self) -> "Engine":
        """The engine, brought up to date with what other processes have added and removed."""
        with self._lock:
            if self._engine is None:
                prepare_kernels()
                found = self._open()
                if found is not None and found.wants_descriptors and self._shard is None:
                    self._write_cache(found)  # written where faiss was not installed
                self._engine = found or self._build()
                return self._engine
            changes = self._store.changes(*self._state)
            if changes is None:
                self._engine = self._build()
            else:
                self._follow(self._engine, changes)
            return self._engine

    def start_loading(self) -> None:
        """Load the engine in a thread, while a clip is read; `current` waits for it.

        What goes wrong is not lost: `current` tries again, and fails with it.
        """
        if self._engine is None and self._loader is None:
            self._loader = threading.Thread(target=self._load, name="dancematch-engine", daemon=True)
            self._loader.start()

    def _load(self) -> None:
        with suppress(Exception):
            self.current()

    @property
    def tracks(self) -> int:
        """How many dancer tracks the latest search had; the database is not asked again."""
        return self.latest().tracks

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
        """The state of the catalogue that the engine has."""
        return self._state

    def follow(self, changes: Changes) -> None:
        """Apply changes that the caller has read; some of them may have been applied before."""
        engine = self.latest()
        with self._lock:
            self._follow(engine, changes)

    def latest(self) -> "Engine":
        """The engine as it is, without asking the database for changes."""
        return self._engine or self.current()

    def _follow(self, engine: "Engine", changes: Changes) -> None:
        self._apply(engine, changes)
        if self._added > max(MIN_CACHED_TRACKS, CHANGED_SHARE * engine.tracks):
            self._write_cache(engine)

    def remove_cache(self) -> None:
        """Delete the index caches: they hold a dance that was removed."""
        from dancematch.search.words.index_cache import remove_index_cache

        self._may_cache = False  # the engine's own arrays still hold what was removed
        self.close()
        for folder in [*self._folders(), *self._shard_folders()]:
            remove_index_cache(folder)

    def _shard_folders(self) -> Iterator[Path]:
        database = Path(self._store.where)
        if database.is_file():
            pattern = f"{glob.escape(database.name)}.*-of-*{CACHE_SUFFIX}"
            yield from database.parent.glob(pattern)

    def _folders(self) -> Iterator[Path]:
        """Where the cache may be, the better place first."""
        database = Path(self._store.where)
        if self._shard is not None:
            # Nowhere else: removing a dance must find every cache that holds it.
            if database.is_file():
                number, of = self._shard
                yield database.with_name(f"{database.name}.{number}-of-{of}{CACHE_SUFFIX}")
            return
        if database.is_file():
            yield database.with_name(database.name + CACHE_SUFFIX)
        try:
            yield cache_folder() / "engines" / self._store.identity
        except (OSError, RuntimeError):
            return  # there is no home folder

    def _stamp(self) -> str:
        return json.dumps(self._state._asdict())

    def _open(self) -> "Engine | None":
        """The engine from the cache, with the changes since."""
        for folder in self._folders():
            found = self._open_from(folder)
            if found is not None:
                return found
        return None

    def _open_from(self, folder: Path) -> "Engine | None":
        from dancematch.search.engine import Engine
        from dancematch.search.words.index_cache import read_stamp

        stamp = read_stamp(folder)
        try:
            cached = json.loads(stamp or "{}")
            since = State(int(cached["generation"]), str(cached["token"]))
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
        added = [t for t in changes.added if self._shard is None or self._shard.holds(t.dance_key)]
        replaced = [track.key for track in added]
        removed = engine.remove([*changes.removed, *replaced]) - set(replaced)
        engine.add(added)
        self._state = State(changes.generation, changes.token)
        self._added += len(added)
        if removed:
            self.remove_cache()

    def _build(self) -> "Engine":
        """A new engine of all dances in the database."""
        from dancematch.search.engine import Engine

        engine = Engine(self._codebook, background=self._background)
        self._state, pieces = read_packed_tracks(self._store, self._shard)
        for piece in pieces:
            engine.enter(piece)
        self._may_cache = True
        if engine.tracks >= MIN_CACHED_TRACKS:
            self._write_cache(engine)
        return engine

    def _write_cache(self, engine: "Engine") -> None:
        """Write the cache in a thread of its own, while searches go on."""
        if self._may_cache:
            self._wait_for_writer()
            self._added = 0
            work = (engine, list(self._folders()), self._stamp())
            self._writer = threading.Thread(target=self._write_to_first, args=work, name="dancematch-cache")
            self._writer.start()

    def _write_to_first(self, engine: "Engine", folders: Sequence[Path], stamp: str) -> None:
        if self._shard is None:  # what is approximate would not be the same in any number of shards
            engine.build_descriptors()
        for folder in folders:
            try:
                engine.save(folder, stamp)
                return
            except (CatalogueError, OSError) as error:
                log.info("%s", error)
        self._may_cache = False

    def close(self) -> None:
        """Wait until the cache is written."""
        if self._loader is not None:
            self._loader.join(_LOADING_SECONDS)
            self._loader = None
        self._wait_for_writer()

    def _wait_for_writer(self) -> None:
        if self._writer is not None:
            self._writer.join()
            self._writer = None
