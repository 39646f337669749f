"""What runs a search: an engine in this process, or the shards of a cluster."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DanceFilter, Settings
from dancematch.types import Match

if TYPE_CHECKING:
    from dancematch.search.engine import Engine
    from dancematch.search.query import Query


class Searcher(Protocol):
    """Searches all dances of a catalogue: `CachedEngine` in this process, `ClusterSearch` on many nodes."""

    @property
    def tracks(self) -> int:
        """How many dancer tracks are searched."""

    def search(
        self,
        queries: "Sequence[Query]",
        *,
        limit: int = DEFAULT_LIMIT,
        settings: Settings | None = None,
        only: DanceFilter = ALL_DANCES,
    ) -> list[Match]:
        """The dances most like any of the query's variants, best first."""

    def engine_for(self, dance_id: str) -> "Engine":
        """An engine that holds one dance, perhaps among others, and explains a match with it."""

    def close(self) -> None:
        """Finish what is being written, and release what is held."""
