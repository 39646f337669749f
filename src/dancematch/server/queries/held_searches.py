"""Searches held for questions about them: in memory alone, for a while, as many as there is room for."""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from dancematch.pipeline.answer import Answer
from dancematch.pipeline.query import QueryClip
from dancematch.report.evidence import QueryFile
from dancematch.server import limits
from dancematch.server.problems import not_found
from dancematch.server.schemas.searches import SearchResponse
from dancematch.types import Match


@dataclass(frozen=True, eq=False)
class HeldSearch:
    """A query and its answer."""

    response: SearchResponse
    answer: Answer
    clip: QueryFile  # the file
    created: float = field(default_factory=time.monotonic)

    @property
    def query(self) -> QueryClip:
        """The clip as it was read."""
        return self.answer.query

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        dancers, images = self.query.dancers, self.query.images
        motions = sum(one.motion.joints.nbytes + one.motion.visibility.nbytes for one in dancers)
        words = sum(4 * one.words.visibility.nbytes for one in dancers)
        return motions + words + sum(one.image.nbytes + one.visibility.nbytes for one in images)

    @property
    def is_expired(self) -> bool:
        """Whether it is too old to be asked about."""
        return time.monotonic() - self.created > limits.HELD_SECONDS

    @property
    def decoded(self) -> bool:
        """Whether the query was words, and its motion was made from them."""
        return self.clip.kind == "motion words"

    def match(self, dance_id: str, dancer: int | None = None) -> Match:
        """The match of one dance with one dancer; without a number, the dancer whom it fits best."""
        of_dancer = [match for one in self.answer.dancers if one.dancer == dancer for match in one.candidates]
        for match in self.answer.candidates if dancer is None else of_dancer:
            if match.dance_id == dance_id:
                return match
        raise not_found("unknown_dance", f"{dance_id!r} is not among what this search found")


class HeldSearches:
    """The held searches by id; the oldest is dropped first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._searches: OrderedDict[str, HeldSearch] = OrderedDict()
        self._bytes = 0

    def add(self, search_id: str, search: HeldSearch) -> None:
        """Hold a search, and drop those that are too old or too many."""
        with self._lock:
            self._searches[search_id] = search
            self._bytes += search.nbytes
            while self._searches and self._exceeds_limits():
                self._drop(next(iter(self._searches)))

    def find(self, search_id: str) -> HeldSearch:
        """The search with that id, if it is still held."""
        with self._lock:
            found = self._searches.get(search_id)
            if found is None or found.is_expired:
                raise not_found("unknown_search", "there is no such search, or not any more; search again")
            return found

    def remove(self, search_id: str) -> None:
        """Drop a search now."""
        self.find(search_id)
        with self._lock:
            if search_id in self._searches:
                self._drop(search_id)

    def __len__(self) -> int:
        return len(self._searches)

    def _exceeds_limits(self) -> bool:
        oldest = next(iter(self._searches.values()))
        too_many = len(self._searches) > limits.MAX_HELD_SEARCHES
        return oldest.is_expired or too_many or self._bytes > limits.MAX_HELD_BYTES

    def _drop(self, search_id: str) -> None:
        self._bytes -= self._searches.pop(search_id).nbytes
