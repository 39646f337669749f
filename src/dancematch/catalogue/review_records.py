"""Reviews and recalibrations: possible matches that people decide on, and the gate for their values."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args
from uuid import uuid4

from dancematch.catalogue.records import MAX_DANCER, MAX_SECONDS, find_name_problem, is_moment, lies_within
from dancematch.errors import InputError
from dancematch.types import MAX_OFFSET, Span, Verdict

Decision = Literal["confirmed", "rejected", "changed"]
ReviewState = Literal["waiting", "decided", "all"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
_MAX_RATIO = 100.0  # decades; no calibration gives as many
_MAX_TEMPO = 100.0
_REVIEW_ID, _HASH = re.compile("r[0-9a-f]{15}"), re.compile("[0-9a-f]{64}")
_SPANS = ("query", "reference")
_SHOWN = 60  # characters of a wrong value that a message repeats


@dataclass(frozen=True)
class Recalibration:
    """What is added to every log likelihood ratio of a catalogue's searches, and what it was fitted on."""

    offset: float  # decades
    reviews: int  # decisions that it was fitted on
    fitted: str  # UTC, ISO 8601
    by: str  # who asked for it

    def to_json(self) -> str:
        """Return it as the catalogue keeps it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Recalibration":
        """Read it again; a ValueError if it is damaged."""
        values = json.loads(text)
        if not isinstance(values, dict) or set(values) != set(cls.__dataclass_fields__):
            raise ValueError("it does not have the names of a recalibration")
        made = cls(**values)
        for problem in find_recalibration_problems(made):
            raise ValueError(problem)
        return made


@dataclass(frozen=True)
class NewReview:
    """A possible match to be put on the list: what a search said of one dancer of a clip."""

    query_id: str  # the SHA-256 of the clip's content
    query_file: str  # its own name, without its folder
    dancer: int  # of the clip
    recording_id: str
    verdict: Verdict
    log_ratio: float
    evalue: float
    query: Span
    reference: Span
    mirrored: bool = False
    tempo: float | None = None
    offset: float = 0.0  # decades that a recalibration had added to the ratio


@dataclass(frozen=True)
class Review:
    """A possible match on the list, and what was decided, by whom and when."""

    review_id: str
    query_file: str
    query_id: str
    dancer: int
    dance: str  # its name
    dance_id: str
    recording: str  # the file's name
    recording_id: str
    verdict: Verdict
    log_ratio: float
    evalue: float
    offset: float
    query: Span
    reference: Span
    mirrored: bool
    tempo: float | None
    asked: str  # UTC, ISO 8601
    decision: Decision | None = None  # None: it waits
    decided_by: str | None = None
    decided: str | None = None  # UTC, ISO 8601
    note: str | None = None


def new_review_id() -> str:
    """Return a random id that no other review has."""
    return "r" + uuid4().hex[:15]


def row_of(new: NewReview, asked: str) -> dict[str, Any]:
    """Return the row of a possible match that waits; one that cannot be kept is refused."""
    row: dict[str, Any] = {name: value for name, value in vars(new).items() if name != "recording_id"}
    for name in _SPANS:
        span: Span = row.pop(name)
        row |= {f"{name}_start": span.start, f"{name}_end": span.end}
    waiting = {"decision": None, "decided_by": None, "decided": None, "note": None}
    row |= {"review_id": new_review_id(), "asked": asked, **waiting}
    for problem in find_review_problems(row):
        raise InputError(f"{new.query_file[:_SHOWN]!r} was not put on the list for review: {problem}")
    return row


def review_of(row: Any) -> Review:
    """Return the review in a row of the table with the names of its dance and recording."""
    values = {name: row[name] for name in Review.__dataclass_fields__ if name not in _SPANS}
    spans = {name: Span(row[f"{name}_start"], row[f"{name}_end"]) for name in _SPANS}
    return Review(**values | spans)


def find_review_problems(row: Any) -> Iterator[str]:
    """Yield what is wrong with the values of a row of `reviews`; nothing if it can be kept."""
    if not _matches(_REVIEW_ID, row["review_id"]):
        yield f"a review's id is an r and 15 hex digits, got {_shown(row['review_id'])}"
    if not _matches(_HASH, row["query_id"]):
        yield f"a clip's hash is the 64 hex digits of a SHA-256, got {_shown(row['query_id'])}"
    yield from filter(None, [find_name_problem("file", row["query_file"])])
    if not (type(row["dancer"]) is int and lies_within(row["dancer"], 1, MAX_DANCER)):
        yield f"dancers are counted from 1 to {MAX_DANCER}, got {_shown(row['dancer'])}"
    if row["verdict"] not in get_args(Verdict):
        yield f"a verdict is one of {', '.join(get_args(Verdict))}, got {_shown(row['verdict'])}"
    if not is_moment(row["asked"]):
        yield f"the time of the search is in ISO 8601, got {_shown(row['asked'])}"
    yield from _find_number_problems(row)
    yield from _find_decision_problems(row)


def _find_number_problems(row: Any) -> Iterator[str]:
    limits = {
        "log_ratio": (-_MAX_RATIO, _MAX_RATIO), "evalue": (0.0, 1e12), "offset": (-MAX_OFFSET, MAX_OFFSET),
        "query_start": (0.0, MAX_SECONDS), "query_end": (0.0, MAX_SECONDS),
        "reference_start": (0.0, MAX_SECONDS), "reference_end": (0.0, MAX_SECONDS),
    }  # fmt: skip
    wrong = [name for name, (low, high) in limits.items() if not lies_within(row[name], low, high)]
    wrong += [] if row["tempo"] is None or lies_within(row["tempo"], 0, _MAX_TEMPO) else ["tempo"]
    wrong += [] if isinstance(row["mirrored"], bool) else ["mirrored"]
    yield from (f"the {name} of a review is {_shown(row[name])}" for name in wrong)
    if not wrong:
        reversed_ = [name for name in _SPANS if row[f"{name}_start"] >= row[f"{name}_end"]]
        yield from (f"a review's time in the {name} ends before it starts" for name in reversed_)
        if row["evalue"] == 0:
            yield "the E-value of a review is 0"


def _find_decision_problems(row: Any) -> Iterator[str]:
    decision, by, decided, note = (row[name] for name in ("decision", "decided_by", "decided", "note"))
    if decision is None:
        if not (by is None and decided is None and note is None):
            yield "a review that waits has no name, time or note of a decision"
        return
    if decision not in DECISIONS:
        yield f"a decision is one of {', '.join(DECISIONS)}, got {_shown(decision)}"
    if not is_moment(decided):
        yield f"the time of a decision is in ISO 8601, got {_shown(decided)}"
    yield from filter(None, [find_name_problem("person", by)])
    yield from filter(None, [None if note is None else find_name_problem("note", note)])


def find_recalibration_problems(made: Recalibration) -> Iterator[str]:
    """Yield what is wrong with a recalibration; nothing if it can be kept."""
    if not lies_within(made.offset, -MAX_OFFSET, MAX_OFFSET):
        yield f"a ratio is shifted by {MAX_OFFSET:g} decades at most, got {_shown(made.offset)}"
    if not (type(made.reviews) is int and made.reviews > 0):
        yield f"a recalibration is fitted on one review or more, got {_shown(made.reviews)}"
    if not is_moment(made.fitted):
        yield f"the time of a recalibration is in ISO 8601, got {_shown(made.fitted)}"
    yield from filter(None, [find_name_problem("person", made.by)])


def _matches(pattern: "re.Pattern[str]", value: object) -> bool:
    return isinstance(value, str) and bool(pattern.fullmatch(value))


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN]
