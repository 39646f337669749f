"""Why a match was found, and where the two performances differ."""

import numpy as np
from pydantic import BaseModel

from dancematch.report.compare import BONES, BoneDifference, MomentDifference
from dancematch.report.compare_page import round_values
from dancematch.report.lesson import Lesson
from dancematch.report.svg import pool_matrix
from dancematch.search.explain import EvidenceMatrix, Explanation, MetricValue, SharedWord
from dancematch.search.stage2.passage_holders import PassageHolders
from dancematch.search.stage2.periodicity import Period
from dancematch.search.stage2.synchrony import SynchronyPeak
from dancematch.server.limits import MAX_MATRIX_CELLS
from dancematch.server.schemas.base import IntegerRows, round_rows, round_times
from dancematch.server.schemas.lessons import LessonResponse
from dancematch.server.schemas.searches import MatchResponse
from dancematch.types import Match, Passage, Span

_MOMENT_SECONDS = 1 / 15  # between two moments of the timeline


class PathResponse(BaseModel):
    """The alignment: moments that go together, and how alike they are per body part."""

    query: list[float]
    reference: list[float]
    agreement: dict[str, list[float | None]]

    @classmethod
    def of(cls, evidence: EvidenceMatrix) -> "PathResponse":
        """The path through the matrix, in seconds."""
        path, query, reference = evidence.path, evidence.query, evidence.reference
        agreement = evidence.agreement(path)
        return cls(
            query=round_times(query.start + path[:, 0] * query.seconds_per_word),
            reference=round_times(reference.start + path[:, 1] * reference.seconds_per_word),
            agreement={
                name: round_values(agreement[:, number], 3)
                for number, name in enumerate(evidence.codebook.channels)
            },
        )


class MatrixResponse(BaseModel):
    """How much each segment of the clip and each of the dance agree, in hundredths."""

    query: Span
    reference: Span
    values: IntegerRows

    @classmethod
    def of(cls, evidence: EvidenceMatrix) -> "MatrixResponse":
        """The matrix, pool_matrix to a size that can be drawn."""
        return cls(
            query=evidence.query.span(0, len(evidence.query) - 1),
            reference=evidence.reference.span(0, len(evidence.reference) - 1),
            values=round_rows(100 * pool_matrix(evidence.matrix, MAX_MATRIX_CELLS)),
        )


class ExplanationResponse(BaseModel):
    """Why a match is one; names are those of `search.explain.Explanation`."""

    search_id: str
    match: MatchResponse
    path: PathResponse
    matrix: MatrixResponse
    metrics: dict[str, MetricValue]
    words: tuple[SharedWord, ...]
    passages: tuple[tuple[Passage, ...], ...]
    period: Period | None
    query_period: Period | None
    synchrony: SynchronyPeak | None
    rarity: tuple[PassageHolders, ...]

    @classmethod
    def of(
        cls, search_id: str, match: Match, why: Explanation, evidence: EvidenceMatrix
    ) -> "ExplanationResponse":
        """The explanation with the alignment that it is about."""
        return cls(
            search_id=search_id,
            match=MatchResponse.of(match),
            path=PathResponse.of(evidence),
            matrix=MatrixResponse.of(evidence),
            **vars(why),
        )


class TimelineResponse(BaseModel):
    """Moments that go together, with lateness in seconds and degrees per bone."""

    query: list[float]
    reference: list[float]
    late: list[float | None]
    degrees: dict[str, list[float | None]]


class DifferencesResponse(BaseModel):
    """Two performances compared; names are those of 'dancematch compare --json'."""

    search_id: str
    dance_id: str
    dance: str | None
    recording_id: str | None
    mirrored: bool
    tempo: float
    same: bool
    matched: float
    bones: tuple[BoneDifference, ...]
    worst: tuple[MomentDifference, ...]
    worst_counts: list[str]  # where each of `worst` is: "count 5 of bar 3"; empty texts without counts
    timeline: TimelineResponse
    lesson: LessonResponse

    @classmethod
    def of(cls, search_id: str, match: Match, lesson: Lesson) -> "DifferencesResponse":
        """The comparison, thinned to the moments that a player needs."""
        found = lesson.comparison
        times = found.reference
        step = float(np.median(np.diff(times))) if len(times) > 1 else _MOMENT_SECONDS
        chosen = slice(None, None, max(1, round(_MOMENT_SECONDS / step)))
        return cls(
            search_id=search_id,
            dance_id=match.dance_id,
            dance=match.dance,
            recording_id=match.recording_id,
            mirrored=found.match.mirrored,
            tempo=found.tempo,
            same=found.same,
            matched=found.matched,
            bones=tuple(found.bones),
            worst=tuple(found.worst),
            worst_counts=[lesson.where(moment.reference) for moment in found.worst],
            lesson=LessonResponse.of(lesson),
            timeline=TimelineResponse(
                query=round_times(found.query[chosen]),
                reference=round_times(times[chosen]),
                late=round_values(found.late[chosen], 3),
                degrees={name: round_values(found.degrees[chosen, n], 1) for n, name in enumerate(BONES)},
            ),
        )
