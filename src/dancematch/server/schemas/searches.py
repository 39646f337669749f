"""What searches send over the wire, for OpenAPI: verdicts, and what they were made of, with examples."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

_SPAN = {"start": 0.0, "end": 8.8}

Frames = list[list[int | None]]
Verdict = Literal["match", "possible match", "no match"]


def example(**values: Any) -> ConfigDict:
    """The configuration of a model with one example."""
    return ConfigDict(json_schema_extra={"examples": [values]})


class Span(BaseModel):
    """A stretch of time, in seconds."""

    model_config = example(**_SPAN)
    start: float
    end: float


class Passage(BaseModel):
    """A stretch of the query and the stretch of the known dance that goes with it."""

    query: Span
    reference: Span
    tempo: float


class Synchrony(BaseModel):
    """How far both move at the same moments: height 1 is in step throughout, 0 is unrelated."""

    model_config = example(height=0.93, lag_seconds=12.1, overlap_seconds=8.8, ratio=6.1)
    height: float
    lag_seconds: float
    overlap_seconds: float
    ratio: float


class MatchEvidence(BaseModel):
    """What a verdict was made of; `reason` says why there is no synchrony, where there is none."""

    words: dict[str, float]
    synchrony: Synchrony | None
    reason: str | None


class Match(BaseModel):
    """A known dance that a dancer of the query may dance, with the verdict on it."""

    model_config = example(
        dance_id="thriller", verdict="match", likelihood_ratio=400000.0, bounded=False, evalue=0.003,
        score=0.68, query=_SPAN, reference={"start": 12.1, "end": 20.9}, mirrored=False, tempo=1.0,
        dancer=1, reference_dancer=1, same_performance=False,
        evidence={"words": {"histogram": 0.7}, "synchrony": None, "reason": "..."}, passages=[],
    )  # fmt: skip
    dance_id: str
    verdict: Verdict
    likelihood_ratio: float | None
    bounded: bool
    evalue: float | None
    score: float
    query: Span
    reference: Span
    mirrored: bool
    tempo: float | None
    dancer: int
    reference_dancer: int
    same_performance: bool
    evidence: MatchEvidence
    passages: list[Passage]


class DancerAnswer(BaseModel):
    """One dancer of a query, and the likeliest dances, best first."""

    dancer: int
    start: float
    seconds: float
    verdict: Verdict
    sentence: str
    candidates: list[Match]


class IgnoredTrack(BaseModel):
    """Somebody or something in the clip that is no dancer."""

    model_config = example(start=3.0, end=5.2, reason="2.2 s, head and shoulders only")
    start: float
    end: float
    reason: str


class Search(BaseModel):
    """The answer to a search: one verdict per dancer; the overall verdict is the strongest of them."""

    search_id: str | None
    filename: str | None
    created: str
    verdict: Verdict
    max_evalue: float
    searched: int
    elapsed_seconds: float
    picture: bool
    dancers: list[DancerAnswer]
    ignored: list[IgnoredTrack]


class Path(BaseModel):
    """The alignment: moments that go together, and how alike they are by body part."""

    query: list[float]
    reference: list[float]
    agreement: dict[str, list[float | None]]


class Matrix(BaseModel):
    """What each stretch of the clip and each of the dance say for each other, in hundredths."""

    query: Span
    reference: Span
    values: Frames


class MetricValue(BaseModel):
    """What one metric says."""

    weight: float
    overall: float | None
    by_channel: dict[str, float]


class SharedWord(BaseModel):
    """A word of the clip that speaks for the match."""

    channel: str
    word: int
    share: float
    same: float
    query: list[Span]
    reference: list[Span]


class Period(BaseModel):
    """After how long a dance repeats itself, and how truly."""

    seconds: float
    strength: float
    peaks: int


class Explanation(BaseModel):
    """Why a match is one."""

    search_id: str
    match: Match
    reference_dancer: int
    path: Path
    matrix: Matrix
    metrics: dict[str, MetricValue]
    words: list[SharedWord]
    passages: list[list[Passage]]
    period: Period | None
    query_period: Period | None


class Bone(BaseModel):
    """How far a bone is from where the reference has it, in degrees."""

    bone: str
    mean: float
    high: float
    worst_at: float
    tendency: str


class Moment(BaseModel):
    """A moment at which the two differ much."""

    query: float
    reference: float
    degrees: float
    late: float
    bones: list[Bone]


class Differences(BaseModel):
    """Two performances, moment by moment."""

    search_id: str
    dance_id: str
    mirrored: bool
    tempo: float
    same: bool
    matched: float
    query: list[float]
    reference: list[float]
    late: list[float | None]
    degrees: dict[str, list[float | None]]
    bones: list[Bone]
    worst: list[Moment]
