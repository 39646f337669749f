"""What the dancer of a clip should practise, in sentences: whole passages first, then limbs and timing."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.pipeline.counts.counts import Counts, describe_eight_count
from dancematch.report.compare import (
    BONES,
    LATEST_SECONDS,
    Comparison,
    IntArray,
    Seconds,
    bone_directions,
    name_tendency,
)
from dancematch.report.diff import DiffPassage

PRACTICE = 3  # things that are named
PRACTICE_DEGREES = 25.0  # by which a bone is off over a whole count
PRACTICE_SECONDS = 0.2  # by which the dancer is late or early over a whole count
_PASSAGES = 2  # of the things, that may be passages
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
    whole = list(_practise_passages(passages, grid, named=counts is not None))[:_PASSAGES]
    faults = _choose_faults(list(_find_faults(comparison, grid, passages)))
    mirrored = comparison.match.mirrored
    single = [
        _practise(one, _when(one.first, one.last, grid, counts is not None), mirrored) for one in faults
    ]
    return tuple([*whole, *single][:PRACTICE])


def _practise_passages(passages: Sequence[DiffPassage], grid: Counts, *, named: bool) -> Iterator[str]:
    """The passages that are left out in the middle, mirrored or moved, the longest first."""
    shown = [number for number, one in enumerate(passages) if one.query is not None]
    text = {
        "left out": "You leave something out {}: learn it again.",
        "mirrored": "You dance the other way round {}: change sides there.",
        "moved": "What comes {} you dance at another time: keep the order.",
    }
    known = [
        (one.kind, one.reference)
        for number, one in enumerate(passages)
        if one.reference is not None and one.kind in text and shown and shown[0] <= number <= shown[-1]
    ]
    for kind, span in sorted(known, key=lambda one: -one[1].seconds):
        yield text[kind].format(_when(*grid.within(span), grid, named))


def _when(first: int, last: int, grid: Counts, named: bool) -> str:
    if named:
        return describe_eight_count(first, last)
    start, end = (grid.first + beat * grid.seconds_per_count for beat in (first, last + 1))
    return f"from second {start:.1f} to {end:.1f} of the reference"


# ---- faults


def _find_faults(comparison: Comparison, grid: Counts, passages: Sequence[DiffPassage]) -> Iterator[_Fault]:
    """Every fault in the passages that both dance in the same order and on the same side."""
    kept = [one for one in passages if one.kind == "kept"]
    frames, late = _frames_by_count(
        comparison, grid, [*kept, *(one for one in passages if one.kind == "changed")]
    )
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
    # Where movements are other ones, their timing says nothing.
    frames, late = _frames_by_count(comparison, grid, kept)
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
        # Without a tendency there is no advice to give, unless there is nothing better.
        if one.tendency and all(_limb(one.what) != _limb(other.what) for other in chosen):
            chosen.append(one)
    return chosen[:PRACTICE]


def _limb(bone: str) -> str:
    side, _, part = bone.partition(" ")
    return f"{side} {'arm' if part in ('upper arm', 'forearm') else 'leg'}" if part else bone


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
