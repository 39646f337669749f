"""The suite `medley`: programmes of ten minutes, scanned; a line per programme, a summary per kind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from dancematch.evaluation.medley.figures import (
    NAMED,
    POSSIBLE,
    CostFigures,
    ScannedProgramme,
    SegmentFigures,
    measure_cost,
    measure_segments,
    name_outcomes,
)
from dancematch.evaluation.medley.makers import ProgrammeMaker
from dancematch.evaluation.medley.programme import Part
from dancematch.evaluation.medley.scanning import CatalogueWriter
from dancematch.evaluation.suites.retrieval import TrackProgress, track_silently
from dancematch.temporary_folder import temporary_folder

SUITE = "medley"
PROGRAMMES = 4  # of each kind and part


@dataclass(frozen=True)
class ProgrammeLine:
    """One programme: the truth, and what was found."""

    suite: str
    line: str  # "programme"
    source: str  # what was scanned: motions, skeletons or videos
    part: Part
    seed: int
    dances: int  # in the catalogue
    recordings: int
    seconds: float
    truth: list[Mapping[str, Any]]
    found: list[Mapping[str, Any]]
    cost: CostFigures


@dataclass(frozen=True)
class MedleyResult:
    """The figures of all programmes of one kind and part."""

    suite: str
    line: str  # "summary"
    source: str
    part: Part
    programmes: int
    hours: float
    match: SegmentFigures  # of segments that are a match
    possible: SegmentFigures  # of those that are a possible match too
    cost: CostFigures
    seed: int


@dataclass(frozen=True)
class MedleySuite:
    """Programmes of several kinds."""

    makers: Sequence[ProgrammeMaker]
    programmes: int = PROGRAMMES
    seed: int = 0

    def evaluate(
        self, writer: CatalogueWriter, track: TrackProgress = track_silently
    ) -> Iterator[ProgrammeLine | MedleyResult]:
        """One line per programme and then a summary, for every kind and part."""
        for maker in self.makers:
            for part in get_args(Part):
                scanned = []
                what = f"{maker.name}, {part}"
                for number in track(range(self.programmes), what, self.programmes):
                    line, one = self._scan(maker, part, number, writer)
                    scanned.append(one)
                    yield line
                yield self._summarise(maker.name, part, scanned)

    def _scan(
        self, maker: ProgrammeMaker, part: Part, number: int, writer: CatalogueWriter
    ) -> tuple[ProgrammeLine, ScannedProgramme]:
        made = maker.make(part, [self.seed, number])
        with temporary_folder() as folder:
            where = folder / "medley.db"
            writer.write(where, made.known, made.distractors)
            outcome = maker.scan(where, made.source)
        known = [*made.known, *made.distractors]
        scanned = ScannedProgramme(made.programme, outcome.found, outcome.cost)
        line = ProgrammeLine(
            SUITE, "programme", maker.name, part, number,
            dances=len({one.dance_id for one in known}), recordings=len(known),
            seconds=round(made.programme.seconds, 2), truth=_describe_truth(scanned),
            found=_describe_found(scanned), cost=measure_cost([scanned]),
        )  # fmt: skip
        return line, scanned

    def _summarise(self, source: str, part: Part, scanned: Sequence[ScannedProgramme]) -> MedleyResult:
        hours = sum(one.programme.seconds for one in scanned) / 3600
        return MedleyResult(
            SUITE, "summary", source, part, len(scanned), round(hours, 3),
            match=measure_segments(scanned, NAMED), possible=measure_segments(scanned, POSSIBLE),
            cost=measure_cost(scanned), seed=self.seed,
        )  # fmt: skip


def _describe_truth(scanned: ScannedProgramme) -> list[Mapping[str, Any]]:
    """The items, for JSON; of dances to be found also what became of them."""
    outcomes = iter(name_outcomes(scanned, NAMED))
    return [
        {
            "start": round(item.span.start, 2), "end": round(item.span.end, 2), "kind": item.kind,
            "dance": item.dance, "recording": item.recording, "change": item.change,
            "tempo": round(item.tempo, 3), "outcome": None if item.dance is None else next(outcomes),
        }
        for item in scanned.programme.items
    ]  # fmt: skip


def _describe_found(scanned: ScannedProgramme) -> list[Mapping[str, Any]]:
    return [
        {
            "start": round(one.span.start, 2), "end": round(one.span.end, 2), "dance": one.dance,
            "verdict": one.verdict, "dancer": one.dancer,
        }
        for one in scanned.found
    ]  # fmt: skip
