"""Recordings on their way from one catalogue to another, as rows of the tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

from dancematch.catalogue.records import (
    Dance,
    Recording,
    find_dance_problems,
    find_exclusion_problems,
    find_recording_problems,
    find_track_problems,
    require_poster,
)
from dancematch.catalogue.review_records import find_review_problems
from dancematch.catalogue.sql.checksums import (
    OF_SKELETONS,
    OF_WORDS,
    checksum_of_skeletons,
    checksum_of_words,
)
from dancematch.catalogue.sql.schema import DANCE_COLUMNS, RECORDING_COLUMNS, TRACK_COLUMNS
from dancematch.catalogue.word_kinds import WordKind, find_kind_problem
from dancematch.errors import InputError
from dancematch.formats.limits import MAX_POSITIONS

DIFFERS = "is there, but is not the same in"

Checksums = dict[int, tuple[int | None, int | None]]
"""Of words and skeletons, by dancer."""

_ID, _NAME = DANCE_COLUMNS.index("dance_id"), DANCE_COLUMNS.index("name")
_CONTENT, _FILE = RECORDING_COLUMNS.index("recording_id"), RECORDING_COLUMNS.index("file")
_SHOWN_OF_ID = 12  # characters
_DANCER = TRACK_COLUMNS.index("dancer")
_checked_values = itemgetter(
    *map(TRACK_COLUMNS.index, ("dancer", "start", "seconds_per_word", "period_seconds", "period_strength"))
)
_kind_of = itemgetter(*map(TRACK_COLUMNS.index, WordKind._fields))
_WORDS = TRACK_COLUMNS.index("words")
_words_of = itemgetter(*(TRACK_COLUMNS.index(name) for name in OF_WORDS))
_skeletons_of = itemgetter(*(TRACK_COLUMNS.index(name) for name in OF_SKELETONS))
_stored_checksums = itemgetter(*(TRACK_COLUMNS.index(f"{what}_checksum") for what in ("words", "skeletons")))


@dataclass(slots=True, eq=False)
class RecordingRows:
    """One recording: values of `RECORDING_COLUMNS`, those of `TRACK_COLUMNS` per dancer, and its dance."""

    values: tuple[Any, ...]
    dance: tuple[Any, ...]  # the values of `DANCE_COLUMNS`
    labels: tuple[str, ...] = ()  # of the dance
    dancers: list[tuple[Any, ...]] = field(default_factory=list)
    excluded: list[dict[str, Any]] = field(default_factory=list)  # start, end, reason
    reviews: list[dict[str, Any]] = field(default_factory=list)  # `REVIEW_COLUMNS` by name

    @property
    def name(self) -> str:
        """Return the dance's name."""
        return str(self.dance[_NAME])

    @property
    def dance_id(self) -> str:
        """Return the dance's id."""
        return str(self.dance[_ID])

    @property
    def shown(self) -> str:
        """Return how messages name the recording."""
        return f"{self.name} ({self.values[_FILE]})"

    @property
    def content(self) -> str:
        """Return the recording's id, the hash of its content."""
        return str(self.values[_CONTENT])

    @property
    def said(self) -> tuple[Any, ...]:
        """Return all that people say of the recording and its dance."""
        own = dict(zip(RECORDING_COLUMNS, self.values, strict=True))
        segments = sorted((one["start"], one["end"], one["reason"] or "") for one in self.excluded)
        named = (own["performer"], own["url"], own["date"])
        dance = dict(zip(DANCE_COLUMNS, self.dance, strict=True))
        return (
            self.name,
            dance["collection"],
            dance["notes"],
            tuple(sorted(self.labels)),
            named,
            tuple(segments),
        )

    def kinds(self) -> list[WordKind]:
        """Return the kind of each dancer's words."""
        return [WordKind(*_kind_of(values)) for values in self.dancers]

    def count_bytes(self) -> int:
        """Return how many bytes the words and skeletons take."""
        return sum(len(value) for values in self.dancers for value in values if isinstance(value, bytes))

    def stored_checksums(self) -> Checksums:
        """Return the checksums that were stored with the words and skeletons."""
        return {values[_DANCER]: _stored_checksums(values) for values in self.dancers}

    def find_problem(self, kind: WordKind | None) -> str | None:
        """Return why the recording cannot be copied to words of a kind; None if it can.

        It is damaged, does not pass the gate, or has words of another kind.
        """
        if not self.dancers or self.stored_checksums() != checksums_by_dancer(self.dancers):
            return "is damaged; 'dancematch doctor' says more"
        dance = Dance(**dict(zip(DANCE_COLUMNS, self.dance, strict=True)), labels=self.labels)
        own = dict(zip(RECORDING_COLUMNS, self.values, strict=True))
        poster = own.pop("poster")
        problems = chain(
            find_dance_problems(dance),
            find_recording_problems(Recording(**own)),
            _find_poster_problem(poster),
            *(find_track_problems(*_checked_values(values)) for values in self.dancers),
            *(find_exclusion_problems(**segment) for segment in self.excluded),
            *(find_review_problems(review) for review in self.reviews),
            self._find_doubled_reviews(),
        )
        return next(problems, None) or self._find_words_problem(kind)

    def _find_doubled_reviews(self) -> Iterator[str]:
        asked = [(review["query_id"], review["dancer"]) for review in self.reviews]
        if len(set(asked)) < len(asked):
            yield "two reviews are about the same dancer of one clip"

    def _find_words_problem(self, kind: WordKind | None) -> str | None:
        if any(len(values[_WORDS]) // 2 > MAX_POSITIONS for values in self.dancers):
            return f"a dancer has more than {MAX_POSITIONS} words; split the recording"
        return find_kind_problem(self.kinds(), kind)


def name_recordings(reasons: Mapping[RecordingRows, str]) -> dict[str, str]:
    """Return reasons by how messages name recordings; ids tell those of one file name apart."""
    named = Counter(one.shown for one in reasons)
    return {
        one.shown if named[one.shown] == 1 else f"{one.shown}, {one.content[:_SHOWN_OF_ID]}": why
        for one, why in reasons.items()
    }


def _find_poster_problem(poster: bytes | None) -> Iterator[str]:
    try:
        if poster is not None:
            require_poster(poster)
    except InputError as error:
        yield str(error)


def checksums_by_dancer(dancers: Iterable[Sequence[Any]]) -> Checksums:
    """Compute the checksums of rows that begin with `TRACK_COLUMNS`."""
    return {
        row[_DANCER]: (checksum_of_words(*_words_of(row)), checksum_of_skeletons(*_skeletons_of(row)))
        for row in dancers
    }


@dataclass(frozen=True)
class Copied:
    """What became of some recordings that were to be copied."""

    total: int = 0  # recordings of the source
    copied: int = 0
    skipped: int = 0  # there already
    fingerprints: int = 0  # copied, one per dancer
    verified: int = 0  # recordings that are in the target as they are in the source
    failed: dict[str, str] = field(default_factory=dict)  # recordings that are not, and why

    def __add__(self, other: "Copied") -> "Copied":
        return Copied(
            max(self.total, other.total),
            self.copied + other.copied,
            self.skipped + other.skipped,
            self.fingerprints + other.fingerprints,
            self.verified + other.verified,
            self.failed | other.failed,
        )


@dataclass(frozen=True)
class RecordingBatch:
    """Some recordings of a source, and those that could not be read with the reason."""

    recordings: list[RecordingRows]
    unreadable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CopySource:
    """A catalogue, opened to be copied."""

    where: str
    model_id: str
    total: int  # recordings
    kind: WordKind | None  # of most of its words
    batches: Callable[[int], Iterator[RecordingBatch]]  # of about so many dancers each


class CopyTarget(Protocol):
    """A catalogue, opened to be copied into."""

    where: str
    batch_size: int  # dancers, about
    kind: WordKind | None  # of the words that stay in it; None if it has none yet

    def put(self, recordings: Sequence[RecordingRows]) -> Copied:
        """Store the recordings that are not there yet, and compare all of them."""

    def finish(self) -> None:
        """Note that everything has been put."""

    def close(self) -> None:
        """Let go of it."""
