"""The answer to a search: one verdict per dancer, with the candidates it was chosen from.

Names are those of `pipeline.answer.Answer.described` and `types.Match`, which 'dancematch search --json'
prints; what is added here puts a match into words for people.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from dancematch.catalogue.review_records import Recalibration
from dancematch.pipeline import wording
from dancematch.pipeline.analysis.file_analysis import describe_ignored
from dancematch.pipeline.answer import Answer, DancerAnswer
from dancematch.server.schemas.base import with_example
from dancematch.types import Match, Span, Verdict


@dataclass(frozen=True)
class MatchResponse(Match):
    """A known dance that a dancer of the query may dance, with the verdict on it."""

    __pydantic_config__ = with_example(
        dance_id="d3f0c2a9b8e7d6c", dance="Thriller", score=0.68, query={"start": 0.0, "end": 8.8},
        reference={"start": 12.1, "end": 20.9}, mirrored=False, turned=False, tempo=1.0, dancer=1,
        recording="thriller.mp4",
        recording_id="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", reference_dancer=1,
        track=7, segment=None,
        verdict="match", log_ratio=5.6, evalue=0.003, same_performance=False,
        parts={"histogram": 0.7, "synchrony": 0.93}, passages=[], recordings=[], likelihood_ratio=300000.0,
        bounded=False, synchrony_reason=None,
    )  # fmt: skip
    likelihood_ratio: float | None = None  # of `log_ratio`, with one significant digit, rounded towards 1
    bounded: bool = False  # whether the calibration's data support no larger (or smaller) ratio
    synchrony_reason: str | None = None  # why synchrony was not measured

    @classmethod
    def of(cls, match: Match) -> "MatchResponse":
        """The match with its ratio and its missing synchrony put into words."""
        ratio = match.log_ratio
        return cls(
            **vars(match),
            likelihood_ratio=None if ratio is None else wording.likelihood_ratio(ratio),
            bounded=ratio is not None and wording.is_bounded(ratio),
            synchrony_reason=wording.synchrony_reason(match),
        )


class DancerResponse(BaseModel):
    """One dancer of a query, and the likeliest dances, best first."""

    dancer: int
    span: Span
    verdict: Verdict
    sentence: str
    candidates: list[MatchResponse]

    @classmethod
    def of(cls, answer: DancerAnswer) -> "DancerResponse":
        """The answer for one dancer."""
        best = answer.candidates[0] if answer.candidates else None
        return cls(
            dancer=answer.dancer,
            span=answer.span,
            verdict=answer.verdict,
            sentence=wording.verdict_sentence(best) if best else "No match.",
            candidates=[MatchResponse.of(match) for match in answer.candidates],
        )


class IgnoredTrackResponse(BaseModel):
    """A person or thing in the clip that is not a dancer."""

    model_config = with_example(start=3.0, end=5.2, reason="2.2 s, head and shoulders only")
    start: float
    end: float
    reason: str


class SearchResponse(BaseModel):
    """One verdict per dancer, the strongest of them overall; without a `search_id` no query is held."""

    search_id: str | None
    filename: str | None
    created: str
    verdict: Verdict
    max_evalue: float
    searched: int
    elapsed_seconds: float
    picture: bool
    read_seconds: float | None  # of a video that is still being read; null: all of it
    dancers: list[DancerResponse]
    ignored: list[IgnoredTrackResponse]
    recalibrated: Recalibration | None  # what ratios and verdicts are shifted by
    recalibration_sentence: str | None

    @classmethod
    def of(cls, answer: Answer, **facts: Any) -> "SearchResponse":
        """An answer, with the `facts` of the request: all fields that the answer does not have."""
        by = answer.recalibrated
        return cls(
            verdict=answer.verdict,
            read_seconds=answer.read_seconds,
            dancers=[DancerResponse.of(one) for one in answer.dancers],
            ignored=[IgnoredTrackResponse(**describe_ignored(one)) for one in answer.ignored],
            recalibrated=by,
            recalibration_sentence=None if by is None else wording.recalibration_sentence(by),
            **facts,
        )
