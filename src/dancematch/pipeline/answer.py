"""The answer to "which dance is this?": one verdict per dancer, with the candidates it was chosen from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dancematch.pipeline.analysis.file_analysis import describe_ignored
from dancematch.pipeline.query import QueryClip
from dancematch.pipeline.searcher import Searcher
from dancematch.pipeline.wording import verdict_sentence
from dancematch.search.confidence.verdict import MAX_EVALUE, require_max_evalue, verdict_of
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DanceFilter, Settings
from dancematch.types import IgnoredTrack, Match, Span, Verdict

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
class Answer:
    """What a search says of a clip."""

    dancers: tuple[DancerAnswer, ...]
    query: QueryClip = field(default=QueryClip(()), repr=False, compare=False)

    @property
    def ignored(self) -> tuple[IgnoredTrack, ...]:
        """The tracks of the clip that are no dancers, with the reason."""
        return self.query.ignored

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

    def with_recordings(self, recordings: Mapping[str, str]) -> "Answer":
        """The same, each candidate with the file name of its dance's recording."""
        dancers = [
            replace(
                one,
                candidates=tuple(replace(m, recording=recordings.get(m.dance_id)) for m in one.candidates),
            )
            for one in self.dancers
        ]
        return replace(self, dancers=tuple(dancers))

    def __str__(self) -> str:
        """The verdict on each dancer in a sentence or two."""
        sentences = [verdict_sentence(one.candidates[0]) for one in self.dancers if one.candidates]
        return "\n".join(sentences) or "No match: there is no dance to compare with."

    def described(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "verdict": self.verdict,
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
        }

    def to_arrow(self) -> "pa.Table":
        """One row per dancer and candidate, columns named as `--json` has them."""
        from dancematch.pipeline.tables import candidates_to_arrow

        return candidates_to_arrow(self.dancers)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a data frame."""
        from dancematch.pipeline.tables import to_pandas

        return to_pandas(self.to_arrow())


def _key(match: Match) -> tuple[float, float, str]:
    return -(match.log_ratio or 0.0), -match.score, match.dance_id


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
