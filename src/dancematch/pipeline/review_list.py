"""Possible matches that wait for a decision, decisions, and verdicts refitted on them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.catalogue.review_records import Decision, NewReview, Recalibration, Review, ReviewState
from dancematch.catalogue.reviews import ReviewStore
from dancematch.catalogue.store import Store
from dancematch.pipeline.ingest import name_file
from dancematch.pipeline.tables import csv_line
from dancematch.search.confidence.recalibration import DecidedMatch, OffsetFit, fit_offset
from dancematch.search.confidence.verdict import MAX_EVALUE, verdict_of
from dancematch.types import Match, Verdict

if TYPE_CHECKING:
    from dancematch.pipeline.answer import Answer

_COLUMNS = (
    "review_id", "query_file", "query_id", "dancer", "dance", "dance_id", "recording", "recording_id",
    "verdict", "log_ratio", "evalue", "offset", "query.start", "query.end", "reference.start",
    "reference.end", "mirrored", "tempo", "asked", "decision", "decided_by", "decided", "note",
)  # fmt: skip


@dataclass(frozen=True)
class ChangedVerdict:
    """A decided match whose verdict another offset changes."""

    review: Review
    before: Verdict
    after: Verdict


@dataclass(frozen=True)
class Refit:
    """What refitted verdicts would be like, and what they are now."""

    fit: OffsetFit
    now: float  # the offset in decades that verdicts are shifted by
    changed: tuple[ChangedVerdict, ...]  # of the decided matches, at the usual limit of a match


class ReviewList:
    """The reviews of one catalogue."""

    def __init__(self, store: Store) -> None:
        self._reviews = ReviewStore(store)

    def keep(self, answer: "Answer", query_file: str, query_id: str) -> int:
        """Put the possible matches of an answer on the list; returns how many of them wait.

        A dancer whose likeliest dance is a possible match has one. Asked again, it has the new numbers if it
        waits, and stays as it is if it was decided.
        """
        offset = 0.0 if answer.recalibrated is None else answer.recalibrated.offset
        best = [one.candidates[0] for one in answer.dancers if one.verdict == "possible match"]
        name = name_file(Path("/", query_file))  # "." names no folder of this machine
        found = [_review_of(match, name, query_id, offset) for match in best if match.recording_id]
        return self._reviews.add(found) if found else 0

    def read(
        self,
        state: ReviewState = "waiting",
        *,
        dance: str | None = None,
        query_id: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Review]:
        """Those of a state, the oldest first: of a dance, of a clip by its hash, the next after a review."""
        return self._reviews.read(state, dance=dance, query_id=query_id, after=after, limit=limit)

    def find(self, review: str) -> Review:
        """One review, by its id or the beginning of it."""
        return self._reviews.find(review)

    def count_waiting(self) -> int:
        """How many wait."""
        return self._reviews.count_waiting()

    def decide(
        self, review: str, decision: Decision | None, by: str | None = None, note: str | None = None
    ) -> Review:
        """Keep a decision with who and when; None lets the possible match wait again."""
        return self._reviews.decide(review, decision, by, note)

    @property
    def recalibration(self) -> Recalibration | None:
        """What all verdicts are shifted by; None if they are not."""
        return self._reviews.recalibration

    def propose_refit(self) -> Refit:
        """What a refit on all decisions would do; nothing is changed. Too few are an `InputError`."""
        decided = self.read("decided")
        now = self.recalibration
        offset = 0.0 if now is None else now.offset
        fit = fit_offset(
            [DecidedMatch(_plain(one), one.decision != "rejected", one.query_id) for one in decided]
        )
        changed = (
            ChangedVerdict(
                one, *(verdict_of(_plain(one) * 10**-by, MAX_EVALUE) for by in (offset, fit.offset))
            )
            for one in decided
        )
        return Refit(fit, offset, tuple(one for one in changed if one.before != one.after))

    def refit(self, by: str) -> Refit:
        """Shift all verdicts from now on as the decisions propose."""
        refit = self.propose_refit()
        fitted = datetime.now(UTC).isoformat(timespec="seconds")
        self._reviews.recalibrate(Recalibration(refit.fit.offset, refit.fit.decisions, fitted, by))
        return refit

    def reset_refit(self) -> None:
        """Shift no verdict any more."""
        self._reviews.recalibrate(None)


def _plain(review: Review) -> float:
    """The E-value of a review as the shipped calibration gives it."""
    return float(review.evalue * 10.0**review.offset)


def _review_of(match: Match, query_file: str, query_id: str, offset: float) -> NewReview:
    return NewReview(
        query_id=query_id,
        query_file=query_file,
        dancer=match.dancer,
        recording_id=match.recording_id or "",
        verdict=match.verdict,
        log_ratio=match.log_ratio or 0.0,
        evalue=match.evalue or 0.0,
        query=match.query,
        reference=match.reference,
        mirrored=match.mirrored,
        tempo=match.tempo,
        offset=offset,
    )


def reviews_to_csv(reviews: Iterable[Review]) -> Iterator[str]:
    """Yield the lines of a table of reviews, the names of the columns first."""
    yield csv_line(_COLUMNS)
    for review in reviews:
        values = dict(vars(review))
        for name in ("query", "reference"):
            span = values.pop(name)
            values |= {f"{name}.start": span.start, f"{name}.end": span.end}
        yield csv_line(values[name] for name in _COLUMNS)
