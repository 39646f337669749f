"""The kind of a catalogue's words: all its tracks are of one, since a search compares every word with all.

The model that made the words decides it, and `model.kmeans.require_words_of` asks that model. Where none is
loaded, as in a copy, the kind of most tracks counts: not that of the first, which may be the one that is
wrong.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.sql.schema import tracks
from dancematch.errors import ModelMismatchError
from dancematch.types import Fingerprint

CLOCK_ROUNDING = 1e-6  # of the seconds per word, which other programs keep as decimals
KINDS_SAMPLED = 100  # tracks, or dances, that tell the kind of all, the first ones: it takes no time


class WordKind(NamedTuple):
    """What the words of two tracks must have in common to be compared."""

    channels: int
    vocabulary: int
    seconds_per_word: float

    def fits(self, other: "WordKind") -> bool:
        """Whether both are one kind, but for the rounding of the clock."""
        return self[:2] == other[:2] and math.isclose(self[2], other[2], rel_tol=CLOCK_ROUNDING)

    def __str__(self) -> str:
        return f"{self.channels} channels of {self.vocabulary} words, each of {self.seconds_per_word:.6g} s"


def _kind_of(fingerprint: Fingerprint) -> WordKind:
    """Return the kind of a fingerprint's words."""
    return WordKind(fingerprint.words.shape[1], fingerprint.vocabulary, fingerprint.seconds_per_word)


def most_common_kind(kinds: Iterable[WordKind]) -> WordKind | None:
    """Return the kind of most, of several as frequent the first; None if there is none."""
    counts = Counter(kinds).most_common(1)
    return counts[0][0] if counts else None


def read_kind(connection: sa.Connection) -> WordKind | None:
    """Return the kind of the words in a catalogue; None if it is empty, or what it holds is damaged."""
    columns = (tracks.c.channels, tracks.c.vocabulary, tracks.c.seconds_per_word)
    rows = connection.execute(sa.select(*columns).order_by(tracks.c.key).limit(KINDS_SAMPLED))
    sound = (row for row in rows if all(type(value) in (int, float) for value in row))
    return most_common_kind(WordKind(*row) for row in sound)


def find_kind_problem(kinds: Iterable[WordKind], expected: WordKind | None) -> str | None:
    """Return what is wrong with a dance whose dancers' words are of these kinds; None if nothing is."""
    for kind in kinds:
        if expected is not None and not kind.fits(expected):
            return f"its words are of another kind than the others: {kind}, not {expected}"
    return None


def require_one_kind(
    where: str,
    batch: Sequence[tuple[str, Sequence[StoredTrack]]],
    expected: WordKind | None = None,
) -> None:
    """Refuse dances, given by name, whose words cannot be compared with those expected, or each other."""
    made = [(name, [_kind_of(track.fingerprint) for track in dancers]) for name, dancers in batch]
    expected = expected or most_common_kind(kind for _, kinds in made for kind in kinds)
    for name, kinds in made:
        problem = find_kind_problem(kinds, expected)
        if problem is not None:
            raise ModelMismatchError(f"{name!r} was not stored in {where}: {problem}")
