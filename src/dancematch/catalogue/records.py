"""What goes into a catalogue and comes out of it, and the one gate for names and values.

Whatever writes dances calls the gate: a name that cannot be read or typed, or a number that is none, is
refused whether it comes by `add`, by a copy of another catalogue or folder, or through the service. What is
read is not checked again, so that a dance of a database edited by hand can still be listed and removed;
`verify.py` reports it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from numbers import Integral, Real
from typing import NamedTuple

from dancematch.control_characters import CONTROL_CLASS, has_controls
from dancematch.errors import InputError
from dancematch.formats.limits import require_positions
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Motion, Span

MAX_NAME_LENGTH = 200  # characters
MAX_FILE_NAME_LENGTH = 255  # characters; file systems have 255 bytes
MAX_REASON_LENGTH = 1000  # characters
MAX_SECONDS = 1e6  # eleven days: a million frames, the most that is read, at one per second
MAX_DANCER = 1_000_000
MAX_STRENGTH = 1e6  # of a period; by itself it is 0 to 1
_SHOWN = 60  # characters of a wrong value that a message repeats

TEXT_PATTERN = f"^[^{CONTROL_CLASS}]*$"
# With one character or more that can be seen: no white space, soft hyphen, joiner or filler.
_UNSEEN_CLASS = r"\s\u00ad\u115f\u1160\u200b-\u200f\u2060-\u2064\u3164\ufeff\uffa0"
NAME_PATTERN = rf"^[^{CONTROL_CLASS}]*[^{CONTROL_CLASS}{_UNSEEN_CLASS}][^{CONTROL_CLASS}]*$"
_NAME, _HASH = re.compile(NAME_PATTERN), re.compile("[0-9a-f]{64}")
_NAMES = {
    "dance_id": ("a dance's name", MAX_NAME_LENGTH),
    "label": ("a label", MAX_NAME_LENGTH),
    "collection": ("a collection's name", MAX_NAME_LENGTH),
    "source": ("a file's name", MAX_FILE_NAME_LENGTH),
    "model_id": ("a model's id", MAX_NAME_LENGTH),
    "reason": ("a reason", MAX_REASON_LENGTH),
}


def find_name_problem(kind: str, name: object) -> str | None:
    """Return what is wrong with a name of a kind, such as "label"; None if it can be kept."""
    what, longest = _NAMES[kind]
    if isinstance(name, str) and len(name) <= longest and _NAME.fullmatch(name) and _is_encodable(name):
        return None
    if not isinstance(name, str):
        return f"{what} is text, got {_shown(name)}"
    if has_controls(name):
        return f"{what} is one line without control characters, got {_shown(name)}"
    if not _NAME.fullmatch(name):
        return f"{what} needs a character that can be seen, got {_shown(name)}"
    return f"{what} has at most {longest} characters, got {len(name)}: {_shown(name)}"


def _is_encodable(name: str) -> bool:
    """Whether a text is made of whole characters, which patterns of other languages take for granted."""
    return name.isascii() or not has_controls(name)


def require_name(name: str, kind: str = "dance_id") -> None:
    """Refuse a name that cannot be read or typed."""
    problem = find_name_problem(kind, name)
    if problem is not None:
        raise InputError(f"{problem}; give another {'id' if kind == 'dance_id' else kind}")


def _shown(value: object) -> str:
    """Return a wrong value as a message repeats it: printable, and not too long."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}..."
    return repr(value)[:_SHOWN]


def _lies_within(value: object, low: float, high: float) -> bool:
    """Whether a value is a number within limits, both included; NaN is within none."""
    is_number = type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))
    return is_number and low <= value <= high  # type: ignore[operator]  # numbers have an order, `Real` has none


@dataclass(frozen=True)
class Dance:
    """One dance of a catalogue."""

    dance_id: str
    source: str
    content_hash: str
    seconds: float
    label: str | None = None
    collection: str | None = None
    added: str = ""  # UTC, ISO 8601; empty: now
    dancers: int = 0
    period_seconds: float | None = None  # of the most prominent dancer, if the dance repeats itself
    period_strength: float | None = None


@dataclass(frozen=True)
class StoredTrack:
    """One dancer of a dance to be stored: the words, and the skeletons (on body15) if they are kept."""

    fingerprint: Fingerprint
    motion: Motion | None = None
    period_seconds: float | None = None  # None if the dance does not repeat itself
    period_strength: float = 0.0
    dancer: int = 0  # from 1 on; 0 = by the place in the list

    def __post_init__(self) -> None:
        words, number = self.fingerprint, self.dancer or 1
        clock = (words.start, words.seconds_per_word)
        for problem in find_track_problems(number, *clock, self.period_seconds, self.period_strength):
            raise InputError(problem)
        require_positions(words.words.size)


class ShardOf(NamedTuple):
    """One of several equal shards of a catalogue; a dance is wholly in one of them."""

    number: int  # from 0
    of: int

    def holds(self, dance_key: int) -> bool:
        """Whether a dance, by its key in the database, is in this shard."""
        return dance_key % self.of == self.number


@dataclass(frozen=True)
class Changes:
    """How to bring data derived from a catalogue up to date: remove, then add."""

    generation: int  # that the data are of afterwards
    removed: tuple[int, ...]  # keys; some may have been added and removed in between
    added: tuple[KnownTrack, ...]
    token: str = field(default="", compare=False)  # of that generation


@dataclass(frozen=True)
class Exclusion:
    """A segment of a dance that never matches."""

    dance_id: str
    start: float
    end: float
    reason: str | None = None

    def __post_init__(self) -> None:
        Span(self.start, self.end)
        for problem in find_exclusion_problems(self.start, self.end, self.reason):
            raise InputError(f"{_shown(self.dance_id)}: {problem}; give another")


def find_dance_problems(dance: Dance) -> Iterator[str]:
    """Yield what is wrong with the names and values of a dance; nothing if it can be kept."""
    for kind in ("dance_id", "source", "label", "collection"):
        name = getattr(dance, kind)
        without = name is None and kind in ("label", "collection")
        problem = None if without else find_name_problem(kind, name)
        if problem is not None:
            yield problem
    if not (isinstance(dance.content_hash, str) and _HASH.fullmatch(dance.content_hash)):
        yield f"a content hash is the 64 hex digits of a SHA-256, got {_shown(dance.content_hash)}"
    if not _lies_within(dance.seconds, 0, MAX_SECONDS) or dance.seconds == 0:
        yield f"a dance lasts more than 0 and at most {MAX_SECONDS:.0f} seconds, got {_shown(dance.seconds)}"
    if not _is_moment(dance.added):
        yield f"the time of adding is in ISO 8601, as in 2020-12-31T23:59:59+00:00, got {_shown(dance.added)}"


def require_dance(dance: Dance) -> None:
    """Refuse a dance that cannot be kept."""
    for problem in find_dance_problems(dance):
        raise InputError(f"{_shown(dance.dance_id)} was not added: {problem}")


def _is_moment(text: object) -> bool:
    try:
        return isinstance(text, str) and text.isascii() and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def find_track_problems(
    dancer: object, start: object, seconds_per_word: object, period_seconds: object, period_strength: object
) -> Iterator[str]:
    """Yield what is wrong with a dancer's number, clock and period; nothing if they can be kept."""
    if not (isinstance(dancer, Integral) and _lies_within(dancer, 1, MAX_DANCER)):
        yield f"dancers are counted from 1 to {MAX_DANCER}, got {_shown(dancer)}"
    if not _lies_within(start, 0, MAX_SECONDS):
        yield f"the words start at 0 to {MAX_SECONDS:.0f} seconds, got {_shown(start)}"
    if not _lies_within(seconds_per_word, 0, MAX_SECONDS) or seconds_per_word == 0:
        yield f"a word lasts more than 0 seconds, got {_shown(seconds_per_word)}"
    period_fits = period_seconds is None or _lies_within(period_seconds, 0, MAX_SECONDS)
    if not period_fits or period_seconds == 0 or not _lies_within(period_strength, 0, MAX_STRENGTH):
        yield f"the period is {_shown(period_seconds)} s, of strength {_shown(period_strength)}"


def find_exclusion_problems(start: object, end: object, reason: object) -> Iterator[str]:
    """Yield what is wrong with an excluded segment; nothing if it can be kept."""
    inside = _lies_within(start, 0, MAX_SECONDS) and _lies_within(end, 0, MAX_SECONDS)
    if not inside or not start < end:  # type: ignore[operator]
        yield f"a segment from {_shown(start)} to {_shown(end)} s is excluded"
    problem = None if reason is None else find_name_problem("reason", reason)
    if problem is not None:
        yield problem
