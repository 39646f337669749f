"""Two performances in the counts of the reference: the diff of their choreographies, and what to practise."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dancematch.pipeline.counts.counts import COUNTS_PER_BAR, Counted, Counts, describe_beats, place_beat
from dancematch.pipeline.counts.movement import count_dance
from dancematch.pipeline.query import QueryDancer
from dancematch.pipeline.wording import capitalise
from dancematch.report.compare import Comparison
from dancematch.report.diff import diff_dances
from dancematch.report.diff_passages import DiffPassage
from dancematch.report.practice import list_practice
from dancematch.types import Span


@dataclass(frozen=True)
class BeatPair:
    """A beat of the reference and when the clip has it."""

    bar: int
    count: int
    reference: float  # seconds
    query: float


@dataclass(frozen=True)
class DiffLine:
    """A passage of the diff with its names."""

    passage: DiffPassage
    where: str  # "counts 5-8 of bar 3", of the reference; without counts "0:04-0:06"
    text: str  # a sentence


@dataclass(frozen=True, eq=False)
class Lesson:
    """A comparison in counts."""

    comparison: Comparison
    counted: Counted  # of the reference
    diff: tuple[DiffLine, ...]
    practice: tuple[str, ...]  # sentences for the clip's dancer, the most important first

    @property
    def beats(self) -> tuple[BeatPair, ...]:
        """The beats that both show."""
        both, counts = self.comparison, self.counted.counts
        if counts is None:
            return ()
        shown = [(n, t) for n, t in enumerate(counts.beats) if both.reference[0] <= t <= both.reference[-1]]
        placed = np.interp([time for _, time in shown], both.reference, both.query)
        return tuple(
            BeatPair(*place_beat(number), round(time, 3), round(float(own), 3))
            for (number, time), own in zip(shown, placed, strict=True)
        )

    def described(self) -> dict[str, Any]:
        """All of it but the comparison, as JSON has it."""
        counts = self.counted.counts
        return {
            "counts": None if counts is None else asdict(counts) | {"counts_per_bar": COUNTS_PER_BAR},
            "counts_reason": self.counted.reason,
            "beats": [asdict(beat) for beat in self.beats],
            "diff": [asdict(line.passage) | {"where": line.where, "text": line.text} for line in self.diff],
            "practice": list(self.practice),
        }

    @property
    def counted_by(self) -> str:
        """How the counts were found, or why there are none, in a sentence."""
        counts = self.counted.counts
        if counts is None:
            return f"No counts: {self.counted.reason}. Passages are given in seconds."
        return (
            f"Counted by the {counts.source} of the reference at {counts.bpm:.0f} beats per minute; "
            f"count 1 of bar 1 is at {max(0.0, counts.first):.1f} s of it, and a bar is an eight-count."
        )

    def where(self, reference: float) -> str:
        """The count of a moment of the reference: "count 5 of bar 3"; empty without counts."""
        counts = self.counted.counts
        return "" if counts is None else describe_beats(*[counts.beat_before(reference)] * 2)


def make_lesson(
    comparison: Comparison, reference: Sequence[QueryDancer], music: Counted | None = None
) -> Lesson:
    """The comparison in the counts of the reference, whose dancers are given.

    Counts are those of its `music` or, where it has none, of the movement of the dancer that was compared.
    """
    dancer = comparison.match.reference_dancer
    counted = count_dance(next(one.motion for one in reference if one.dancer == dancer), music)
    passages = diff_dances(
        comparison.query_motion, comparison.reference_motion, _list_tempi(comparison), counted.counts
    )
    lines = tuple(_describe(one, counted.counts) for one in passages)
    practice = list_practice(comparison, counted.counts, passages) if comparison.same else ()
    return Lesson(comparison, counted, lines, practice)


def _list_tempi(comparison: Comparison) -> Iterator[float]:
    """Tempi of the clip over the reference's: an even one through all, the match's, the same."""
    yield from (comparison.tempo, comparison.match.tempo or 1.0, 1.0)


# ---- the diff


def _describe(passage: DiffPassage, counts: Counts | None) -> DiffLine:
    if passage.reference is None:
        where = describe_seconds(passage.query) if passage.query else ""
        fate = "were added" if passage.kind == "added" else "are not shown in the reference"
        return DiffLine(passage, where, f"Seconds {where} of the clip {fate}.")
    where = name_span(passage.reference, counts)
    begin = capitalise(where) if counts else f"Seconds {where}"
    parts = ", ".join(passage.parts)
    also = f"; changed: {parts}" if parts else ""
    place = f"seconds {describe_seconds(passage.query)} of the clip" if passage.query else ""
    turned = ", mirrored" if passage.mirrored else ""
    text = {
        "kept": f"{begin} kept",
        "changed": f"{begin} changed: {parts}",
        "mirrored": f"{begin} mirrored{also}",
        "moved": f"{begin} moved to {place}{turned}{also}",
        "arms exchanged": f"{begin} with the arms exchanged{also}",
        "legs exchanged": f"{begin} with the legs exchanged{also}",
        "left out": f"{begin} left out",
        "not shown": f"{begin} not shown in the clip",
        "hardly seen": f"{begin} hardly seen: too little of the body to compare",
    }[passage.kind]
    return DiffLine(passage, where, f"{text}.")


def name_span(span: Span, counts: Counts | None) -> str:
    """What a span of the reference is called: in counts or, without, in seconds."""
    return describe_seconds(span) if counts is None else counts.describe(span)


def describe_seconds(span: Span) -> str:
    """A time range to a tenth of a second: "4.0-6.0"."""
    return f"{span.start:.1f}-{span.end:.1f}"
