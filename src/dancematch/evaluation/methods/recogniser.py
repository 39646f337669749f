"""The contract of methods that the suite `real` measures: recordings in, ranked candidates per query out.

A method computes what it needs of a recording once, caches it by the recording's id, and builds catalogues
of any recordings from that, so that many small catalogues cost little. To measure another method, write a
class with `name` and `build`, and enter it in `cli/research/evaluate_real.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from dancematch.types import Motion

Verdict = Literal["match", "possible match", "no match"]

CANDIDATES = 10  # that a search returns: enough for the best one of another dance


@dataclass(frozen=True, eq=False)
class MotionRecording:
    """One file of a dance: the motion of every dancer in it, the most prominent first."""

    recording_id: str
    dance_id: str  # the same for all recordings of one dance
    motions: tuple[Motion, ...]  # empty: no dancer was found


@dataclass(frozen=True)
class Candidate:
    """A recording that the query may show, as one method ranks it."""

    recording_id: str
    score: float  # what candidates are ranked by
    confidence: float  # what a threshold is applied to: larger is more certain, comparable between queries
    verdict: Verdict | None  # None: the method has no threshold of its own
    lag_seconds: float | None  # time in the reference minus time in the query
    mirrored: bool = False
    tempo: float | None = None  # query's speed over the reference's
    dancer: int = 1  # of the query


class Recogniser(Protocol):
    """A catalogue that one method searches."""

    def search(self, query: MotionRecording, without: frozenset[str] = frozenset()) -> list[Candidate]:
        """The recordings most similar to the query, best first, as if those `without` were not there."""


class RecognitionMethod(Protocol):
    """A way to search."""

    name: str

    def build(self, recordings: Sequence[MotionRecording]) -> Recogniser:
        """A catalogue of recordings; those without a dancer are left out."""
