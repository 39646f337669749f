"""The answer to "which dance is this?": one verdict per dancer, with the candidates it was chosen from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dancematch.catalogue.listing import TrackNames
from dancematch.catalogue.review_records import Recalibration
from dancematch.pipeline.analysis.file_analysis import describe_ignored
from dancematch.pipeline.query import QueryClip
from dancematch.pipeline.searcher import Searcher
from dancematch.pipeline.wording import recalibration_sentence, verdict_sentence
from dancematch.search.confidence.recalibration import shift_evalue, shift_log_ratio
from dancematch.search.confidence.verdict import MAX_EVALUE, require_max_evalue, verdict_of
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DanceFilter, Settings
from dancematch.types import IgnoredTrack, Match, RecordingMatch, ShownInNotebooks, Span, Verdict

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_STRENGTH: dict[Verdict, int] = {"match": 2, "possible match": 1, "no match": 0}


@dataclass(frozen=True)
class DancerAnswer:
    """What was found for one dancer of the clip."""

    dancer: int  # 1 = the most prominent
    span: Span  # when the dancer is in view
    candidates: tuple[Match, ...]  # the likeliest dances, best first

    @property
    def verdict(self) -> Verdict:
        """That of the likeliest dance."""
        return self.candidates[0].verdict if self.candidates else "no match"

    @property
    def matches(self) -> tuple[Match, ...]:
        """The candidates that are a match or a possible one."""
        return tuple(match for match in self.candidates if match.verdict != "no match")


@dataclass(frozen=True)
class Answer(ShownInNotebooks):
    """What a search says of a clip."""

    dancers: tuple[DancerAnswer, ...]
    query: QueryClip = field(default=QueryClip(()), repr=False, compare=False)
    recalibrated: Recalibration | None = None  # what the ratios and verdicts are shifted by

    @property
    def ignored(self) -> tuple[IgnoredTrack, ...]:
        """The tracks of the clip that are no dancers, with the reason."""
        return self.query.ignored

    @property
    def read_seconds(self) -> float | None:
        """How much of a video had been read when this was the answer; None: all of it."""
        return self.query.read_seconds

    @property
    def verdict(self) -> Verdict:
        """The strongest of all dancers'."""
        return max((one.verdict for one in self.dancers), key=_STRENGTH.__getitem__, default="no match")

    @property
    def candidates(self) -> list[Match]:
        """Every candidate dance once, by the dancer it fits best, the likeliest first."""
        best: dict[str, Match] = {}
        for match in (match for one in self.dancers for match in one.candidates):
            if match.dance_id not in best or _key(match) < _key(best[match.dance_id]):
                best[match.dance_id] = match
        return sorted(best.values(), key=_key)

    @property
    def matches(self) -> list[Match]:
        """The candidates that are a match or a possible one."""
        return [match for match in self.candidates if match.verdict != "no match"]

    def with_names(self, names: "Mapping[int, TrackNames]") -> "Answer":
        """The same, each candidate with the names of its dance and recordings, given by track."""
        dancers = [
            replace(one, candidates=tuple(_name_match(match, names) for match in one.candidates))
            for one in self.dancers
        ]
        return replace(self, dancers=tuple(dancers))

    def with_content(self, sha256: str | None) -> "Answer":
        """The same; a dancer who is found in the very file that was asked about is the same performance.

        Timing alone does not show that of clips of a few seconds.
        """
        if sha256 is None:
            return self
        dancers = [
            replace(one, candidates=tuple(_recognise(match, sha256) for match in one.candidates))
            for one in self.dancers
        ]
        return replace(self, dancers=tuple(dancers))

    def recalibrate(self, by: Recalibration, max_evalue: float = MAX_EVALUE) -> "Answer":
        """The same with all ratios shifted, and the E-values and verdicts that follow; the order stays."""
        dancers = [
            replace(one, candidates=tuple(_shift(match, by.offset, max_evalue) for match in one.candidates))
            for one in self.dancers
        ]
        return replace(self, dancers=tuple(dancers), recalibrated=by)

    def __repr__(self) -> str:
        best = self.candidates[:1]
        nearest = f", {'nearest ' * (self.verdict == 'no match')}{best[0]!r}" if best else ""
        return f"<Answer {self.verdict}, {len(self.dancers)} dancer{'s' * (len(self.dancers) != 1)}{nearest}>"

    def __str__(self) -> str:
        """The verdict on each dancer in a sentence or two."""
        sentences = [verdict_sentence(one.candidates[0]) for one in self.dancers if one.candidates]
        if sentences and self.recalibrated is not None:
            sentences.append(recalibration_sentence(self.recalibrated))
        return "\n".join(sentences) or "No match: there is no dance to compare with."

    def described(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "verdict": self.verdict,
            "read_seconds": self.read_seconds,
            "dancers": [
                {
                    "dancer": one.dancer,
                    "span": asdict(one.span),
                    "verdict": one.verdict,
                    "candidates": [asdict(match) for match in one.candidates],
                }
                for one in self.dancers
            ],
            "ignored": [describe_ignored(one) for one in self.ignored],
            "recalibrated": None if self.recalibrated is None else asdict(self.recalibrated),
        }

    def to_arrow(self) -> "pa.Table":
        """One row per dancer and candidate, columns named as `--json` has them."""
        from dancematch.pipeline.tables import candidates_to_arrow

        return candidates_to_arrow(self.dancers)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a data frame."""
        from dancematch.pipeline.tables import arrow_to_pandas

        return arrow_to_pandas(self.to_arrow())


def _key(match: Match) -> tuple[float, float, int]:
    return -(match.log_ratio or 0.0), -match.score, match.track or 0


def _name_match(match: Match, names: "Mapping[int, TrackNames]") -> Match:
    """A match with the names of its dance and recordings; one that has been removed since has none."""
    own = names.get(match.track or 0)
    if own is None:
        return match
    recordings = tuple(_name_recording(one, names) for one in match.recordings)
    named = {"dance": own.dance, "recording": own.recording, "recording_id": own.recording_id}
    return replace(match, **named, recordings=recordings)  # type: ignore[arg-type]


def _name_recording(one: RecordingMatch, names: "Mapping[int, TrackNames]") -> RecordingMatch:
    own = names.get(one.track or 0)
    if own is None:
        return one
    return replace(one, recording=own.recording, recording_id=own.recording_id)


def _recognise(match: Match, sha256: str) -> Match:
    """A match that says it is the same performance if both are one dancer of one file, as seen."""
    is_itself = match.recording_id == sha256 and match.reference_dancer == match.dancer and not match.mirrored
    return replace(match, same_performance=True) if is_itself and match.verdict != "no match" else match


def _shift(match: Match, offset: float, max_evalue: float) -> Match:
    """A match with the offset in all its ratios; what becomes no match is not called the same performance."""
    if match.log_ratio is None or match.evalue is None:
        return match
    evalue = shift_evalue(match.evalue, match.log_ratio, offset)
    verdict = verdict_of(evalue, max_evalue)
    return replace(
        match,
        log_ratio=shift_log_ratio(match.log_ratio, offset),
        evalue=evalue,
        verdict=verdict,
        same_performance=match.same_performance and verdict != "no match",
        recordings=tuple(
            replace(one, log_ratio=one.log_ratio and shift_log_ratio(one.log_ratio, offset))
            for one in match.recordings
        ),
    )


def answer_query(
    searcher: Searcher,
    query: QueryClip,
    *,
    limit: int = DEFAULT_LIMIT,
    max_evalue: float = MAX_EVALUE,
    only: DanceFilter = ALL_DANCES,
    settings: Settings | None = None,
) -> Answer:
    """Search for every dancer of a clip, as seen and mirrored; each gets a verdict of its own.

    `max_evalue`, from 0 to 1, is the decision: a match has at most this E-value.
    """
    require_max_evalue(max_evalue)
    answers = []
    for one in query.dancers:
        found = searcher.search(one.queries(), limit=limit, settings=settings, only=only)
        candidates = [replace(m, verdict=verdict_of(m.evalue or 0.0, max_evalue)) for m in found]
        answers.append(DancerAnswer(one.dancer, one.motion.span, tuple(candidates)))
    return Answer(tuple(answers), query)
