"""Queries that can still be asked about: in memory alone, for a while, as many as there is room for."""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dancematch.pipeline.answer import Answer
from dancematch.pipeline.query import QueryDancer
from dancematch.report.evidence import QueryFile
from dancematch.server.problems import not_found
from dancematch.types import Match

KEPT_SECONDS = 3600.0
MOST_SEARCHES = 500
MOST_BYTES = 512 << 20


@dataclass(frozen=True, eq=False)
class KeptSearch:
    """A query, as it was read, and what was found."""

    answer: Mapping[str, Any]  # as it was sent
    found: Answer
    clip: QueryFile  # the file
    begun: float = field(default_factory=time.monotonic)

    @property
    def nbytes(self) -> int:
        """The room it takes."""
        query = self.found.query
        motions = sum(p.motion.joints.nbytes + p.motion.visibility.nbytes for p in query.dancers)
        words = sum(4 * p.words.visibility.nbytes for p in query.dancers)
        return motions + words + sum(p.image.nbytes + p.visibility.nbytes for p in query.images)

    @property
    def decoded(self) -> bool:
        """Whether the query was words, and its motion is what they tell of."""
        return self.clip.kind == "motion words"

    def match(self, dance_id: str, dancer: int | None = None) -> Match:
        """What was said of one dance and one dancer; without a number, the dancer whom it fits best."""
        candidates = [one for each in self.found.dancers if each.dancer == dancer for one in each.candidates]
        for one in self.found.candidates if dancer is None else candidates:
            if one.dance_id == dance_id:
                return one
        raise not_found("unknown_dance", f"{dance_id!r} is not among what this search found")

    def dancer(self, number: int) -> QueryDancer:
        """One dancer of the query."""
        return self.found.query.dancer(number)


class Searches:
    """The queries by name, the oldest first to go."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._kept: OrderedDict[str, KeptSearch] = OrderedDict()
        self._bytes = 0

    def keep(self, search_id: str, search: KeptSearch) -> None:
        """Hold a query, and let go of those that are too old or too many."""
        with self._turn:
            self._kept[search_id] = search
            self._bytes += search.nbytes
            while self._kept and self._has_too_much():
                self._drop(next(iter(self._kept)))

    def find(self, search_id: str) -> KeptSearch:
        """The query of that name, if it is still there."""
        with self._turn:
            found = self._kept.get(search_id)
            if found is None or time.monotonic() - found.begun > KEPT_SECONDS:
                raise not_found("unknown_search", "there is no such search, or not any more; search again")
            return found

    def forget(self, search_id: str) -> None:
        """Let go of a query now."""
        self.find(search_id)
        with self._turn:
            if search_id in self._kept:
                self._drop(search_id)

    def __len__(self) -> int:
        return len(self._kept)

    def _has_too_much(self) -> bool:
        oldest = next(iter(self._kept.values()))
        expired = time.monotonic() - oldest.begun > KEPT_SECONDS
        return expired or len(self._kept) > MOST_SEARCHES or self._bytes > MOST_BYTES

    def _drop(self, search_id: str) -> None:
        self._bytes -= self._kept.pop(search_id).nbytes
