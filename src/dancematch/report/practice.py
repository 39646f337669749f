"""What the dancer of a clip should practise, in sentences, as the diff has it.

What was left out comes first, then what was moved, exchanged or mirrored, then what was changed, the largest
difference first, each with its worst limb. What was kept is named for its timing alone; for a limb, as a
detail, only if the diff has nothing else.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.pipeline.counts.counts import Counts, describe_eight_count
from dancematch.report.compare import (
    BONES,
    LATEST_SECONDS,
    LIMBS,
    Comparison,
    IntArray,
    Seconds,
    bone_directions,
    name_tendency,
)
from dancematch.report.diff_passages import DiffKind, DiffPassage
from dancematch.types import Span

PRACTICE = 3  # things that are named
PRACTICE_DEGREES = 25.0  # by which a bone is off over a whole count
PRACTICE_SECONDS = 0.2  # by which the dancer is late or early over a whole count
_MOMENT_SECONDS = 0.5  # that stand for a count where there are none
_LEAST_FRAMES = 3  # of a count, in which a bone is seen
_OTHER_SIDE = {"left": "right", "right": "left"}
_TIMING = "timing"  # in place of a bone


@dataclass(frozen=True)
class _Fault:
    """A bone, or the timing, that is off in the same way over consecutive counts."""

    what: str
    tendency: str
    first: int  # count
    last: int
    amount: float  # degrees, or as many as the lateness is as bad as

    @property
    def weight(self) -> float:
        return self.amount * math.sqrt(self.last - self.first + 1)


def list_practice(
    comparison: Comparison, counts: Counts | None, passages: Sequence[DiffPassage]
) -> tuple[str, ...]:
    """The most important things to practise, at most three; nothing where nothing stands out."""
    grid = counts or Counts(
        60 / _MOMENT_SECONDS, comparison.reference_motion.start, comparison.reference_motion.span.end,
        0.0, "movement",
    )  # fmt: skip
    practice = _Practice(comparison, grid, named=counts is not None)
    changes = [*practice.whole_passages(passages), *practice.changed_passages(passages)]
    kept = [one for one in passages if one.kind == "kept"]
    others = [*practice.timing(kept), *(practice.details(kept) if not changes else ())]
    return tuple([*changes, *others][:PRACTICE])


@dataclass(frozen=True)
class _Practice:
    """Sentences about a comparison."""

    comparison: Comparison
    grid: Counts
    named: bool  # whether the grid is one of counts, not of moments

    def whole_passages(self, passages: Sequence[DiffPassage]) -> Iterator[str]:
        """The passages that are left out, then those in another place or on the other side; longest first."""
        known = [
            (one.kind != "left out", -one.reference.seconds, _PASSAGES[one.kind], one.reference)
            for one in passages
            if one.reference is not None and one.kind in _PASSAGES
        ]
        for _, _, text, span in sorted(known, key=lambda one: one[:2]):
            yield text.format(self.when(*self.grid.within(span)))

    def changed_passages(self, passages: Sequence[DiffPassage]) -> Iterator[str]:
        """One sentence per changed passage, the largest difference first."""
        changed = [one for one in passages if one.kind == "changed"]
        for passage in sorted(changed, key=lambda one: -(one.degrees or 0.0)):
            limbs = set(passage.parts)
            faults = [
                one for one in _find_faults(self.comparison, self.grid, [passage])
                if _name_limb(one.what) in limbs
            ]  # fmt: skip
            worst = _choose_faults(faults)[:1]
            yield self.practise(worst[0]) if worst else self._look_again(passage)

    def _look_again(self, passage: DiffPassage) -> str:
        """A limb does something else altogether: there is no way to bring it."""
        part = passage.parts[0] if passage.parts else "body"
        what = _swap_sides(part) if self.comparison.match.mirrored else part
        span = passage.reference or Span(0.0, self.grid.seconds_per_count)
        return f"Your {what} does something else {self.when(*self.grid.within(span))}: watch the reference."

    def timing(self, kept: Sequence[DiffPassage]) -> list[str]:
        """Where the dancer is late or early. Where movements are other ones, their timing says nothing."""
        return [
            self.practise(one) for one in _choose_faults(list(_find_delays(self.comparison, self.grid, kept)))
        ]

    def details(self, kept: Sequence[DiffPassage]) -> list[str]:
        """Limbs that are off for a count in what is kept on the whole."""
        faults = _choose_faults(list(_find_faults(self.comparison, self.grid, kept)))
        sentences = [self.practise(one) for one in faults]
        return [f"A detail: {one[0].lower()}{one[1:]}" for one in sentences]

    def practise(self, fault: _Fault) -> str:
        """What to do about a fault."""
        return _practise(fault, self.when(fault.first, fault.last), self.comparison.match.mirrored)

    def when(self, first: int, last: int) -> str:
        """The counts from `first` to `last` or, without counts, the seconds."""
        return _when(first, last, self.grid, self.named)


_PASSAGES: dict[DiffKind, str] = {
    "left out": "You leave something out {}: learn it again.",
    "mirrored": "You dance the other way round {}: change sides there.",
    "moved": "What comes {} you dance at another time: keep the order.",
    "arms exchanged": "You take the other arm {}: let left and right arm change places.",
    "legs exchanged": "You take the other leg {}: let left and right leg change places.",
}


def _when(first: int, last: int, grid: Counts, named: bool) -> str:
    if named:
        return describe_eight_count(first, last)
    start, end = (grid.first + beat * grid.seconds_per_count for beat in (first, last + 1))
    return f"from second {start:.1f} to {end:.1f} of the reference"


# ---- faults


def _find_faults(comparison: Comparison, grid: Counts, passages: Sequence[DiffPassage]) -> Iterator[_Fault]:
    """Every bone that is off in these passages."""
    frames, _ = _frames_by_count(comparison, grid, passages)
    apart = bone_directions(comparison.query_joints) - bone_directions(comparison.reference_joints)
    for number, bone in enumerate(BONES):
        seen = np.isfinite(comparison.degrees[:, number])
        kinds = {}
        for count, every in frames.items():
            rows = every[seen[every]]
            degrees = float(comparison.degrees[rows, number].mean()) if len(rows) >= _LEAST_FRAMES else 0.0
            if degrees >= PRACTICE_DEGREES:
                kinds[count] = (name_tendency(apart[rows, number]), degrees)
        yield from _join_counts(bone, kinds)


def _find_delays(comparison: Comparison, grid: Counts, passages: Sequence[DiffPassage]) -> Iterator[_Fault]:
    """Where these passages are late or early."""
    frames, late = _frames_by_count(comparison, grid, passages)
    delays = {count: float(np.median(late[rows])) for count, rows in frames.items()}
    yield from _join_counts(
        _TIMING,
        {
            count: ("late" if by > 0 else "early", PRACTICE_DEGREES * abs(by) / PRACTICE_SECONDS)
            for count, by in delays.items()
            if abs(by) >= PRACTICE_SECONDS
        },
    )


def _frames_by_count(
    comparison: Comparison, grid: Counts, passages: Sequence[DiffPassage]
) -> tuple[dict[int, IntArray], Seconds]:
    """The frames within the passages by count; and how late each frame is beside most of its passage.

    Left out are frames for which the comparison and the diff disagree on where they are danced.
    """
    times, late = comparison.reference, np.full(len(comparison.reference), np.nan)
    for one in passages:
        own, theirs = one.query, one.reference
        if own is not None and theirs is not None:
            inside = (times >= theirs.start) & (times < theirs.end)
            expected = own.start + (times[inside] - theirs.start) * own.seconds / theirs.seconds
            apart = comparison.query[inside] - expected
            late[inside] = apart - (np.median(apart) if len(apart) else 0.0)
    frames = np.flatnonzero(np.abs(late) <= LATEST_SECONDS)  # not so for NaN either
    # A count lasts from its beat to the next.
    numbers = np.floor((times[frames] - grid.first) / grid.seconds_per_count + 1e-6).astype(np.int64)
    return {int(count): frames[numbers == count] for count in np.unique(numbers) if count >= 0}, late


def _join_counts(what: str, kinds: dict[int, tuple[str, float]]) -> Iterator[_Fault]:
    """Consecutive counts of one tendency as one fault."""
    run: list[int] = []
    for count in sorted(kinds):
        if run and (count > run[-1] + 1 or kinds[count][0] != kinds[run[-1]][0]):
            yield _make_fault(what, run, kinds)
            run = []
        run.append(count)
    if run:
        yield _make_fault(what, run, kinds)


def _make_fault(what: str, run: Sequence[int], kinds: dict[int, tuple[str, float]]) -> _Fault:
    return _Fault(what, kinds[run[0]][0], run[0], run[-1], float(np.mean([kinds[one][1] for one in run])))


def _choose_faults(faults: Sequence[_Fault]) -> list[_Fault]:
    """The worst, each of another limb: a fault of the upper arm is one of the forearm too."""
    chosen: list[_Fault] = []
    for one in sorted(faults, key=lambda one: (-one.weight, one.first, one.what)):
        # Without a tendency there is no advice to give.
        if one.tendency and all(_name_limb(one.what) != _name_limb(other.what) for other in chosen):
            chosen.append(one)
    return chosen[:PRACTICE]


def _name_limb(bone: str) -> str:
    """The part of the body that a bone belongs to, as the diff names it."""
    limb = next((limb for limb, bones in LIMBS.items() if bone in bones), bone)
    return limb.replace("_", " ")


# ---- sentences


def _practise(fault: _Fault, when: str, mirrored: bool) -> str:
    """What to do about a fault; of a clip that was mirrored, the sides are the dancer's own."""
    if fault.what == _TIMING:
        advice = "start earlier" if fault.tendency == "late" else "wait for the beat"
        return f"You are {fault.tendency} {when}: {advice}."
    what, far = (_swap_sides(text) if mirrored else text for text in (fault.what, fault.tendency))
    what = what.replace("upper arm", "arm")
    if what == "torso":
        return (
            f"Stand taller {when}."
            if far == "low"
            else f"You lean too {far} {when}: come back to the middle."
        )
    if what in ("shoulders", "hips"):
        return f"Turn and tilt your {what} as the reference does {when}."
    return _ADVICE[far].format(what=what, when=when)


_ADVICE = {
    "low": "Raise your {what} higher {when}.",
    "high": "Keep your {what} lower {when}.",
    "far back": "Bring your {what} further forward {when}.",
    "far forward": "Bring your {what} further back {when}.",
    "far to the left": "Your {what} is too far to the left {when}: bring it further to the right.",
    "far to the right": "Your {what} is too far to the right {when}: bring it further to the left.",
}


def _swap_sides(text: str) -> str:
    return " ".join(_OTHER_SIDE.get(word, word) for word in text.split())
