"""The suite `real`: every clip of a folder searched among all recordings but its own performance.

Three kinds of catalogue: all clips of the folder; these and distractors, recordings of other dances; and
small ones of a few dances, drawn by the seed several times per query. Clips of the kinds single and
no-dance are queries whose dance is not in the catalogue, and recordings in the catalogues of all others.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dancematch.evaluation.methods.recogniser import MotionRecording, Recogniser, RecognitionMethod
from dancematch.evaluation.real.catalogues import DRAWS, SIZES, copies_of, count_dances, draw_catalogue
from dancematch.evaluation.real.clip_index import IndexedClip
from dancematch.evaluation.real.figures import (
    PartFigures,
    QueryOutcome,
    apply_threshold,
    compare_with_truth,
    measure_parts,
)
from dancematch.evaluation.suites.retrieval import TrackProgress, track_silently

SUITE = "real"
ALL, DISTRACTORS = "all clips", "all clips and distractors"


@dataclass(frozen=True)
class QueryLine:
    """The answers of one method to one query; shares are over the draws of its catalogue."""

    suite: str
    line: str  # "query"
    method: str
    catalogue: str
    query: str
    part: str
    dance: str
    draws: int
    rank1: float
    right_accepted: float
    wrong_accepted: float
    answer: Mapping[str, Any] | None  # of a whole catalogue: the first candidate


@dataclass(frozen=True)
class RealResult:
    """The figures of one method with one kind of catalogue."""

    suite: str
    line: str  # "summary"
    method: str
    catalogue: str
    recordings: int  # in the folder and of distractors, that catalogues are made from
    parts: Mapping[str, PartFigures]
    threshold: str  # what "accepted" means: the method's own verdict, or that of 1 % false answers
    draws: int
    seconds: float
    seed: int


@dataclass(frozen=True)
class RealSuite:
    """Clips with their ground truth, and the dancers seen in them."""

    clips: Sequence[IndexedClip]
    recordings: Sequence[MotionRecording]  # one per clip, in the same order
    distractors: Sequence[MotionRecording] = ()
    sizes: Sequence[int] = SIZES
    draws: int = DRAWS
    seed: int = 0
    _by_file: dict[str, MotionRecording] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_file", {one.recording_id: one for one in self.recordings})

    def evaluate(
        self, method: RecognitionMethod, track: TrackProgress = track_silently
    ) -> Iterator[QueryLine | RealResult]:
        """One line per query and then one summary, for every kind of catalogue."""
        yield from self._evaluate_whole(method, ALL, self.recordings, track)
        if self.distractors:
            everything = [*self.recordings, *self.distractors]
            yield from self._evaluate_whole(method, DISTRACTORS, everything, track)
        for size in self.sizes:
            if size <= count_dances(self.clips):
                yield from self._evaluate_small(method, size, track)

    def _evaluate_whole(
        self, method: RecognitionMethod, name: str, known: Sequence[MotionRecording], track: TrackProgress
    ) -> Iterator[QueryLine | RealResult]:
        began = time.perf_counter()
        recogniser = method.build(known)
        outcomes = [
            [self._search(recogniser, clip, copies_of(clip, self.clips))]
            for clip in track(self.clips, f"{method.name}, {name}", len(self.clips))
        ]
        yield from self._report(method.name, name, len(known), outcomes, began)

    def _evaluate_small(
        self, method: RecognitionMethod, size: int, track: TrackProgress
    ) -> Iterator[QueryLine | RealResult]:
        began, name = time.perf_counter(), f"{size} dances" if size > 1 else "1 dance"
        outcomes = []
        for place, clip in enumerate(track(self.clips, f"{method.name}, {name}", len(self.clips))):
            drawn = (
                draw_catalogue(clip, self.clips, size, [self.seed, size, place, draw])
                for draw in range(self.draws)
            )
            built = (method.build([self._by_file[one.file] for one in known]) for known in drawn)
            outcomes.append([self._search(recogniser, clip) for recogniser in built])
        yield from self._report(method.name, name, len(self.recordings), outcomes, began)

    def _search(
        self, recogniser: Recogniser, clip: IndexedClip, without: frozenset[str] = frozenset()
    ) -> QueryOutcome:
        candidates = recogniser.search(self._by_file[clip.file], without)
        dances = {one.recording_id: one.dance_id for one in (*self.recordings, *self.distractors)}
        lags = {one.file: one.lag_seconds for one in self.clips if one.lag_seconds is not None}
        return compare_with_truth(clip, candidates, dances, lags)

    def _report(
        self,
        method: str,
        catalogue: str,
        known: int,
        outcomes: Sequence[Sequence[QueryOutcome]],
        began: float,
    ) -> Iterator[QueryLine | RealResult]:
        flat = apply_threshold([one for draws in outcomes for one in draws])
        own = all(one.answer is None or one.answer.verdict is not None for one in flat)
        draws = len(outcomes[0])
        for first in range(0, len(flat), draws):
            yield _query_line(method, catalogue, flat[first : first + draws])
        seconds = round(time.perf_counter() - began, 1)
        yield RealResult(
            SUITE, "summary", method, catalogue, known, measure_parts(flat),
            threshold="own verdict" if own else "1 % false answers", draws=draws, seconds=seconds,
            seed=self.seed,
        )  # fmt: skip


def _query_line(method: str, catalogue: str, outcomes: Sequence[QueryOutcome]) -> QueryLine:
    query = outcomes[0].query
    return QueryLine(
        SUITE, "query", method, catalogue, query.file, query.part, query.dance, len(outcomes),
        rank1=_share(one.right for one in outcomes),
        right_accepted=_share(one.right and one.accepted for one in outcomes),
        wrong_accepted=_share(one.accepted and not one.right for one in outcomes),
        answer=_describe_answer(outcomes[0]) if len(outcomes) == 1 else None,
    )  # fmt: skip


def _share(values: Iterable[bool]) -> float:
    held = list(values)
    return round(sum(held) / len(held), 4)


def _describe_answer(outcome: QueryOutcome) -> dict[str, Any] | None:
    """The first candidate, for JSON."""
    answer = outcome.answer
    if answer is None:
        return None
    return {
        "recording": answer.recording_id,
        "score": round(answer.score, 4),
        "confidence": round(answer.confidence, 3),
        "verdict": answer.verdict,
        "mirrored": answer.mirrored,
        "tempo": None if answer.tempo is None else round(answer.tempo, 2),
        "dancer": answer.dancer,
        "lag_s": None if answer.lag_seconds is None else round(answer.lag_seconds, 2),
        "lag_error_s": None if outcome.lag_error_seconds is None else round(outcome.lag_error_seconds, 2),
        "rank_of_right": outcome.rank,
        "others_accepted": outcome.others_accepted,
        "accepted_at_1_percent": outcome.accepted_at_1_percent,
    }
