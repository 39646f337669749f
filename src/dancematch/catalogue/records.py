"""What goes into a catalogue and comes out of it, and the one gate for names and values.

Whatever writes dances calls the gate: a name that cannot be read or typed, or a number that is none, is
refused whether it comes by `add`, by a copy of another catalogue or folder, or through the service. What is
read is not checked again, so that a dance of a database edited by hand can still be listed and removed;
`verify.py` reports it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from numbers import Integral, Real
from typing import NamedTuple
from uuid import uuid4

from dancematch.control_characters import CONTROL_CLASS, has_controls
from dancematch.errors import InputError
from dancematch.formats.jpeg import require_small_jpeg
from dancematch.formats.limits import require_positions
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Motion, Span

MAX_NAME_LENGTH = 200  # characters
MAX_FILE_NAME_LENGTH = 255  # characters; file systems have 255 bytes
MAX_REASON_LENGTH = 1000  # characters
MAX_NOTES_LENGTH = 2000  # characters
MAX_URL_LENGTH = 2000  # characters, about what browsers take
MAX_LABELS = 100  # of a dance
MAX_POSTER_BYTES, MAX_POSTER_SIDE = 64 << 10, 640  # pixels
LABEL_SEPARATOR = ";"  # where several labels are written as one text
MAX_SECONDS = 1e6  # eleven days: a million frames, the most that is read, at one per second
MAX_DANCER = 1_000_000
MAX_STRENGTH = 1e6  # of a period; by itself it is 0 to 1
_SHOWN = 60  # characters of a wrong value that a message repeats

TEXT_PATTERN = f"^[^{CONTROL_CLASS}]*$"
# With one character or more that can be seen: no white space, soft hyphen, joiner or filler.
_UNSEEN_CLASS = r"\s\u00ad\u115f\u1160\u200b-\u200f\u2060-\u2064\u3164\ufeff\uffa0"
NAME_PATTERN = rf"^[^{CONTROL_CLASS}]*[^{CONTROL_CLASS}{_UNSEEN_CLASS}][^{CONTROL_CLASS}]*$"
_NAME, _HASH = re.compile(NAME_PATTERN), re.compile("[0-9a-f]{64}")
_DANCE_ID, _DATE = re.compile("d[0-9a-f]{15}"), re.compile(r"\d{4}(-\d\d(-\d\d)?)?", re.ASCII)
_HOST = r"(?:\[[0-9a-f:.]+\]|[^\s/?#@:\[\]]+)"
_URL = re.compile(rf"https?://(?:[^\s/?#@]*@)?{_HOST}(?::\d*)?(?:[/?#]\S*)?", re.IGNORECASE)
_NAMES = {
    "name": ("a dance's name", MAX_NAME_LENGTH),
    "dance": ("a dance's name", MAX_NAME_LENGTH),  # or its id, where it only says which one is meant
    "dance_id": ("a dance's id", MAX_NAME_LENGTH),
    "recording_id": ("a recording's id", MAX_NAME_LENGTH),
    "label": ("a label", MAX_NAME_LENGTH),
    "collection": ("a collection's name", MAX_NAME_LENGTH),
    "notes": ("a dance's notes", MAX_NOTES_LENGTH),
    "file": ("a file's name", MAX_FILE_NAME_LENGTH),
    "performer": ("a performer's name", MAX_NAME_LENGTH),
    "url": ("a web address", MAX_URL_LENGTH),
    "date": ("a date", MAX_NAME_LENGTH),
    "model_id": ("a model's id", MAX_NAME_LENGTH),
    "reason": ("a reason", MAX_REASON_LENGTH),
    "person": ("the name of who decides", MAX_NAME_LENGTH),
    "note": ("a note", MAX_REASON_LENGTH),
}


_TRIMMED = frozenset({"name", "label", "collection", "performer"})  # with blanks they would look like others


def find_name_problem(kind: str, name: object) -> str | None:
    """Return what is wrong with a name of a kind, such as "label"; None if it can be kept."""
    what, longest = _NAMES[kind]
    if isinstance(name, str) and len(name) <= longest and _NAME.fullmatch(name) and _is_encodable(name):
        return _find_form_problem(kind, name)
    if not isinstance(name, str):
        return f"{what} is text, got {_shown(name)}"
    if has_controls(name):
        return f"{what} is one line without control characters, got {_shown(name)}"
    if not _NAME.fullmatch(name):
        return f"{what} needs a character that can be seen, got {_shown(name)}"
    return f"{what} has at most {longest} characters, got {len(name)}: {_shown(name)}"


def _find_form_problem(kind: str, name: str) -> str | None:
    """Return what is wrong with a text that has a form of its own."""
    if kind in _TRIMMED and name != name.strip():
        return f"{_NAMES[kind][0]} has no blanks at its ends, got {_shown(name)}"
    if kind == "name" and _DANCE_ID.fullmatch(name):
        return f"a dance's name does not look like the id of one, got {_shown(name)}"
    if kind == "label" and LABEL_SEPARATOR in name:
        return f"a label has no {LABEL_SEPARATOR!r}, which stands between labels, got {_shown(name)}"
    if kind == "url" and not _URL.fullmatch(name):
        return f"a web address begins with http:// or https:// and has no blanks, got {_shown(name)}"
    if kind == "date" and not _is_date(name):
        return f"a date is a year, a month or a day, as in 2020, 2020-12 or 2020-12-31, got {_shown(name)}"
    return None


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text + "-01-01"[len(text) - 4 :]))
    except ValueError:
        return False


def _is_encodable(name: str) -> bool:
    """Whether a text is made of whole characters, which patterns of other languages take for granted."""
    return name.isascii() or not has_controls(name)


def require_name(name: str, kind: str = "name") -> None:
    """Refuse a name that cannot be read or typed."""
    problem = find_name_problem(kind, name)
    if problem is not None:
        raise InputError(f"{problem}; give another {'name' if kind == 'dance' else kind}")


def new_dance_id() -> str:
    """Return a random id that no other dance has."""
    return "d" + uuid4().hex[:15]  # a letter first: spreadsheets rewrite what looks like a number


def _shown(value: object) -> str:
    """Return a wrong value as a message repeats it: printable, and not too long."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}..."
    return repr(value)[:_SHOWN]


def lies_within(value: object, low: float, high: float) -> bool:
    """Whether a value is a number within limits, both included; NaN is within none."""
    is_number = type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))
    return is_number and low <= value <= high  # type: ignore[operator]  # numbers have an order, `Real` has none


@dataclass(frozen=True)
class Dance:
    """One dance of a catalogue; what its recordings say comes after what a person says of it."""

    name: str
    dance_id: str = ""  # never changes; empty: a new one
    labels: tuple[str, ...] = ()  # in order
    collection: str | None = None
    notes: str | None = None
    added: str = ""  # UTC, ISO 8601; empty: now
    recordings: int = 0
    dancers: int = 0  # of all recordings
    seconds: float = 0.0  # of all recordings
    period_seconds: float | None = None  # of the first recording that repeats itself
    period_strength: float | None = None

    def __repr__(self) -> str:
        labels = f", labelled {', '.join(self.labels)!r}" if self.labels else ""
        collection = f", in {self.collection!r}" if self.collection else ""
        count = f"{self.recordings} recording{'s' * (self.recordings != 1)}"
        return f"<Dance {self.name!r}, {count}, {self.seconds:.1f} s{labels}{collection}>"


@dataclass(frozen=True)
class Recording:
    """One file of a dance."""

    recording_id: str  # the SHA-256 of the file's content
    file: str  # its own name, without its folder
    seconds: float = 0.0
    performer: str | None = None
    url: str | None = None
    date: str | None = None  # YYYY, YYYY-MM or YYYY-MM-DD
    added: str = ""  # UTC, ISO 8601; empty: now
    dance_id: str = ""
    dance: str = ""  # its name
    dancers: int = 0
    period_seconds: float | None = None  # of the most prominent dancer, if the dance repeats itself
    period_strength: float | None = None
    poster: bool = False  # whether a picture is kept

    def __repr__(self) -> str:
        of_dance = f" of {self.dance!r}" if self.dance else ""
        performer = f", by {self.performer!r}" if self.performer else ""
        return f"<Recording {self.file!r}{of_dance}, {self.seconds:.1f} s{performer}>"


@dataclass(frozen=True)
class NewRecording:
    """A recording to be stored, and the dance it is of."""

    dance: Dance
    recording: Recording
    poster: bytes | None = field(default=None, repr=False)  # a small JPEG picture
    excluded: tuple["Exclusion", ...] = ()


@dataclass(frozen=True)
class StoredTrack:
    """One dancer of a recording to be stored: the words, and the skeletons (on body15) if they are kept."""

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
    """One of several equal shards of a catalogue; a dance is, with all its recordings, in one of them."""

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
    """A segment of a recording that never matches."""

    dance: str  # its name
    start: float
    end: float
    reason: str | None = None
    file: str = field(default="", compare=False)  # of the recording
    recording_id: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        Span(self.start, self.end)
        for problem in find_exclusion_problems(self.start, self.end, self.reason):
            raise InputError(f"{_shown(self.dance)}: {problem}; give another")


def find_dance_problems(dance: Dance) -> Iterator[str]:
    """Yield what is wrong with the names and values of a dance; nothing if it can be kept."""
    if not (isinstance(dance.dance_id, str) and _DANCE_ID.fullmatch(dance.dance_id)):
        yield f"a dance's id is a d and 15 hex digits, got {_shown(dance.dance_id)}"
    yield from _find_name_problems(dance, ("name",), ("collection", "notes"))
    if len(dance.labels) > MAX_LABELS:
        yield f"a dance has at most {MAX_LABELS} labels, got {len(dance.labels)}"
    yield from filter(None, (find_name_problem("label", label) for label in dance.labels))
    if not is_moment(dance.added):
        yield f"the time of adding is in ISO 8601, as in 2020-12-31T23:59:59+00:00, got {_shown(dance.added)}"


def find_recording_problems(recording: Recording) -> Iterator[str]:
    """Yield what is wrong with the names and values of a recording; nothing if it can be kept."""
    if not (isinstance(recording.recording_id, str) and _HASH.fullmatch(recording.recording_id)):
        yield f"a content hash is the 64 hex digits of a SHA-256, got {_shown(recording.recording_id)}"
    yield from _find_name_problems(recording, ("file",), ("performer", "url", "date"))
    seconds = recording.seconds
    if not lies_within(seconds, 0, MAX_SECONDS) or seconds == 0:
        yield f"a recording lasts more than 0 and at most {MAX_SECONDS:.0f} seconds, got {_shown(seconds)}"
    if not is_moment(recording.added):
        yield (
            f"the time of adding is in ISO 8601, as in 2020-12-31T23:59:59+00:00, "
            f"got {_shown(recording.added)}"
        )


def _find_name_problems(record: object, needed: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[str]:
    for kind in (*needed, *optional):
        name = getattr(record, kind)
        problem = None if name is None and kind in optional else find_name_problem(kind, name)
        if problem is not None:
            yield problem


def require_new(new: NewRecording) -> None:
    """Refuse a recording, or a dance, that cannot be kept."""
    for problem in (*find_dance_problems(new.dance), *find_recording_problems(new.recording)):
        raise InputError(f"{_shown(new.dance.name)} was not added: {problem}")
    if new.poster is not None:
        require_poster(new.poster)


def require_poster(poster: bytes) -> None:
    """Refuse a picture that is no small JPEG."""
    require_small_jpeg(poster, MAX_POSTER_BYTES, MAX_POSTER_SIDE)


def is_moment(text: object) -> bool:
    """Whether a value is a time in ISO 8601."""
    try:
        return isinstance(text, str) and text.isascii() and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def find_track_problems(
    dancer: object, start: object, seconds_per_word: object, period_seconds: object, period_strength: object
) -> Iterator[str]:
    """Yield what is wrong with a dancer's number, clock and period; nothing if they can be kept."""
    if not (isinstance(dancer, Integral) and lies_within(dancer, 1, MAX_DANCER)):
        yield f"dancers are counted from 1 to {MAX_DANCER}, got {_shown(dancer)}"
    if not lies_within(start, 0, MAX_SECONDS):
        yield f"the words start at 0 to {MAX_SECONDS:.0f} seconds, got {_shown(start)}"
    if not lies_within(seconds_per_word, 0, MAX_SECONDS) or seconds_per_word == 0:
        yield f"a word lasts more than 0 seconds, got {_shown(seconds_per_word)}"
    period_fits = period_seconds is None or lies_within(period_seconds, 0, MAX_SECONDS)
    if not period_fits or period_seconds == 0 or not lies_within(period_strength, 0, MAX_STRENGTH):
        yield f"the period is {_shown(period_seconds)} s, of strength {_shown(period_strength)}"


def find_exclusion_problems(start: object, end: object, reason: object) -> Iterator[str]:
    """Yield what is wrong with an excluded segment; nothing if it can be kept."""
    inside = lies_within(start, 0, MAX_SECONDS) and lies_within(end, 0, MAX_SECONDS)
    if not inside or not start < end:  # type: ignore[operator]
        yield f"a segment from {_shown(start)} to {_shown(end)} s is excluded"
    problem = None if reason is None else find_name_problem("reason", reason)
    if problem is not None:
        yield problem
