"""What became of each unit of a reference in a clip, as passages of a diff.

A unit that was found is kept, changed, moved, mirrored, or danced with arms or legs exchanged. One that was
not found was left out only if the clip shows its time: what lies before the clip begins or after it ends is
not shown. Nothing is said of a unit in which the camera hardly saw arms and legs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from dancematch.report.diff_costs import ARM_PARTS, LEG_PARTS, PARTS, CostTable
from dancematch.types import FloatArray, Span

DiffKind = Literal[
    "kept", "changed", "moved", "mirrored", "arms exchanged", "legs exchanged", "left out", "added",
    "not shown", "hardly seen",
]  # fmt: skip
Exchanged = Literal["arms", "legs"]
CHANGED_DEGREES = 30.0  # by which a limb of a changed unit is off at least
CHANGED_BEYOND = 15.0  # degrees by which it is off more than in most units
_EXCHANGED = 0.1  # by which limbs correlate better if left and right change places, at least
_EXCHANGED_DEGREES = 8.0  # by which they are nearer then
_HARDLY_SEEN = 0.25  # share of arms and legs that is seen, below which a unit is not judged
_CUT_OFF_SECONDS = 0.5  # of a unit that lie beyond an end of the clip, from which on they are not shown
_SHOWN = 0.5  # share of a unit's place within the clip, from which on the clip shows it
_STANDING = 0.25  # share of the reference's speed, below which the dancer stands
_ADDED_SHARE = 0.5  # of a unit, from which on what is left of the clip was added


@dataclass(frozen=True)
class DiffPassage:
    """A passage of the reference, and what became of it in the clip."""

    kind: DiffKind
    reference: Span | None  # None if it was added or is not shown in the reference
    query: Span | None  # None if it was left out or is not shown in the clip
    mirrored: bool = False  # against the rest of the clip
    parts: tuple[str, ...] = ()  # of the body, that were changed, the most first
    degrees: float | None = None  # between the bones of both, mean over the limbs


class Unit(NamedTuple):
    """A unit of the reference."""

    span: Span
    first: int  # sample
    end: int

    @property
    def length(self) -> int:
        """Samples."""
        return self.end - self.first


class Place(NamedTuple):
    """Where in the clip a unit is danced, and how."""

    start: int  # sample
    mirrored: bool
    moved: bool = False
    exchanged: Exchanged | None = None


Places = list[Place | None]  # per unit; None: not found


class _Expected(NamedTuple):
    """Where a unit that was not found would be danced, going by its neighbours."""

    start: int  # sample
    at_end: bool  # before or after all units that were found


def describe_units(table: CostTable, units: Sequence[Unit], places: Places) -> tuple[DiffPassage, ...]:
    """The passages of the diff; what the reference lacks stands where it comes in the clip."""
    places = [
        None if place and _stands(table, unit, place.start) else place
        for unit, place in zip(units, places, strict=True)
    ]
    expected = _expect_places(units, places)
    placed = [
        _find_sides(table, unit, place) if place else _place_at_end(table, unit, around)
        for unit, place, around in zip(units, places, expected, strict=True)
    ]
    passages = _describe(table, units, placed, expected)
    covered = [place or around for place, around in zip(placed, expected, strict=True)]
    starts = [None if one is None else one.start for one in covered]
    return tuple(_insert_added(list(_merge(passages)), _list_added(table, units, starts)))


# ---- units that were not found


def _expect_places(units: Sequence[Unit], places: Places) -> list[_Expected | None]:
    """Where units that were not found would be danced; None for the others, and where there is no room.

    There is none in between where what comes before and after is danced in a row.
    """
    starts = {n: place.start for n, place in enumerate(places) if place is not None and not place.moved}
    expected: list[_Expected | None] = [None] * len(units)
    for number, unit in enumerate(units):
        if places[number] is not None or not starts:
            continue
        before, after = [n for n in starts if n < number], [n for n in starts if n > number]
        beside = before[-1] if before else after[0]
        start = starts[beside] + unit.first - units[beside].first
        inside = bool(before and after)
        if not inside or starts[after[0]] - start >= _SHOWN * unit.length:
            expected[number] = _Expected(start, not inside)
    return expected


def _place_at_end(table: CostTable, unit: Unit, expected: _Expected | None) -> Place | None:
    """The place of a unit before or after all others, if the clip shows a dancer who moves there.

    Something is danced at its time, so it was changed, not left out.
    """
    if expected is None or not expected.at_end or _lies_outside(table, unit, expected):
        return None
    return None if _stands(table, unit, expected.start) else Place(expected.start, mirrored=False)


def _stands(table: CostTable, unit: Unit, start: int) -> bool:
    """Whether the clip's dancer hardly moves at a place, other than the reference's in the unit."""
    theirs, ours = table.speeds(unit.first, unit.end, start)
    return ours < _STANDING * theirs


def _lies_outside(table: CostTable, unit: Unit, expected: _Expected) -> bool:
    return expected.at_end and table.inside_share(expected.start, unit.length) < _SHOWN


# ---- left and right


def _find_sides(table: CostTable, unit: Unit, place: Place) -> Place:
    """The place with what is exchanged there: arms, legs or, as both are, all of it.

    Limbs must both move and point like the other side's: symmetric moves are not exchanged.
    """
    plain, turned = (
        table.limb_degrees(unit.first, unit.end, place.start, mirrored=mirrored) for mirrored in (False, True)
    )
    gains = table.exchange_gains(unit.first, unit.end, place.start)
    nearer = [_mean(plain[parts]) - _mean(turned[parts]) for parts in (ARM_PARTS, LEG_PARTS)]
    arms, legs = (
        gain >= _EXCHANGED and degrees >= _EXCHANGED_DEGREES
        for gain, degrees in zip(gains, nearer, strict=True)
    )
    if arms and legs:
        return place._replace(mirrored=True)
    # Of a unit that goes better mirrored on the whole, the other limbs must contradict.
    if arms and (not place.mirrored or gains[1] <= -_EXCHANGED):
        return place._replace(mirrored=False, exchanged="arms")
    if legs and (not place.mirrored or gains[0] <= -_EXCHANGED):
        return place._replace(mirrored=False, exchanged="legs")
    return place


def _measure_limbs(table: CostTable, unit: Unit, place: Place) -> FloatArray:
    """Degrees of each limb, the exchanged ones beside the other side's."""
    plain, turned = (
        table.limb_degrees(unit.first, unit.end, place.start, mirrored=mirrored) for mirrored in (False, True)
    )
    degrees = (turned if place.mirrored else plain).copy()
    if place.exchanged:
        parts = ARM_PARTS if place.exchanged == "arms" else LEG_PARTS
        degrees[parts] = turned[parts]
    return degrees


def _mean(values: FloatArray) -> float:
    """The mean of what is known; NaN, which no limit is met by, if nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


# ---- what became of each


def _describe(
    table: CostTable, units: Sequence[Unit], places: Places, expected: Sequence[_Expected | None]
) -> list[DiffPassage]:
    """One passage per unit; two where the clip begins or ends within it."""
    degrees = np.full((len(units), len(PARTS)), np.nan, np.float32)
    for number, (unit, place) in enumerate(zip(units, places, strict=True)):
        if place is not None:
            degrees[number] = _measure_limbs(table, unit, place)
    seen = np.isfinite(degrees)
    usual = np.array(
        [np.median(column[ok]) if ok.any() else 0.0 for column, ok in zip(degrees.T, seen.T, strict=True)]
    )
    limits = np.maximum(CHANGED_DEGREES, usual + CHANGED_BEYOND)
    passages = []
    for unit, place, around, row in zip(units, places, expected, degrees, strict=True):
        if place is None:
            passages.append(_describe_missing(table, unit, around))
        else:
            passages += _cut_off(table, unit, place, _describe_placed(table, unit, place, row, limits))
    return passages


def _describe_missing(table: CostTable, unit: Unit, expected: _Expected | None) -> DiffPassage:
    """A unit that was not found."""
    if expected is None:
        return DiffPassage("left out", unit.span, None)
    if _lies_outside(table, unit, expected):
        return DiffPassage("not shown", unit.span, None)
    if _is_hardly_seen(table, unit, expected.start):
        span = table.seconds(expected.start, expected.start + unit.length)
        return DiffPassage("hardly seen", unit.span, span)
    return DiffPassage("left out", unit.span, None)


def _describe_placed(
    table: CostTable, unit: Unit, place: Place, degrees: FloatArray, limits: FloatArray
) -> DiffPassage:
    """A unit that was found."""
    span = table.seconds(place.start, place.start + unit.length)
    if _is_hardly_seen(table, unit, place.start):
        return DiffPassage("hardly seen", unit.span, span)
    off = [int(part) for part in np.argsort(-np.nan_to_num(degrees)) if degrees[part] >= limits[part]]
    known = degrees[np.isfinite(degrees)]
    return DiffPassage(
        _name_kind(place, changed=bool(off)), unit.span, span, place.mirrored,
        tuple(PARTS[part] for part in off), float(known.mean()) if len(known) else None,
    )  # fmt: skip


def _cut_off(table: CostTable, unit: Unit, place: Place, passage: DiffPassage) -> Iterator[DiffPassage]:
    """The passage, without what lies beyond an end of the clip: that is not shown."""
    before, after = (
        beyond if beyond >= _CUT_OFF_SECONDS else 0.0
        for beyond in table.seconds_outside(place.start, unit.length)
    )
    start, end = unit.span.start + before, unit.span.end - after
    if end <= start:
        yield DiffPassage("not shown", unit.span, None)
        return
    if before:
        yield DiffPassage("not shown", Span(unit.span.start, start), None)
    yield replace(passage, reference=Span(start, end))
    if after:
        yield DiffPassage("not shown", Span(end, unit.span.end), None)


def _is_hardly_seen(table: CostTable, unit: Unit, start: int) -> bool:
    return min(table.seen_shares(unit.first, unit.end, start)) < _HARDLY_SEEN


def _name_kind(place: Place, *, changed: bool) -> DiffKind:
    if place.moved:
        return "moved"
    if place.exchanged:
        return "arms exchanged" if place.exchanged == "arms" else "legs exchanged"
    if place.mirrored:
        return "mirrored"
    return "changed" if changed else "kept"


def _merge(passages: Sequence[DiffPassage]) -> Iterator[DiffPassage]:
    """Neighbours of one kind as one."""
    taken: list[DiffPassage] = []
    for one in passages:
        if taken and not _continues(taken[-1], one):
            yield _join(taken)
            taken = []
        taken.append(one)
    yield _join(taken)


def _continues(before: DiffPassage, one: DiffPassage) -> bool:
    if (before.kind, before.mirrored, set(before.parts)) != (one.kind, one.mirrored, set(one.parts)):
        return False
    if before.query is None or one.query is None:
        return True
    return abs(one.query.start - before.query.end) <= 0.5 * one.query.seconds


def _join(passages: Sequence[DiffPassage]) -> DiffPassage:
    first, last = passages[0], passages[-1]
    known = [one.degrees for one in passages if one.degrees is not None]
    return replace(
        first,
        reference=Span(first.reference.start, last.reference.end)
        if first.reference and last.reference
        else None,
        query=Span(first.query.start, last.query.end) if first.query and last.query else None,
        degrees=round(float(np.mean(known)), 1) if known else None,
    )


# ---- what the reference does not have


def _list_added(table: CostTable, units: Sequence[Unit], starts: Sequence[int | None]) -> list[DiffPassage]:
    """What is left of the clip, where it is half a unit or longer.

    Before and after all units it is as long as a unit, and not shown in the reference.
    """
    first, last = table.edge, table.width - table.edge
    typical = float(np.median([unit.length for unit in units]))
    free = np.zeros(table.width + 2, bool)
    free[first + 1 : last + 1] = True
    for unit, start in zip(units, starts, strict=True):
        if start is not None:
            free[max(start, 0) + 1 : max(start + unit.length, 0) + 1] = False
    edges = np.flatnonzero(np.diff(free.astype(np.int8)))
    passages = list[DiffPassage]()
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        at_end = begin == first or end == last
        if end - begin >= typical * (1 if at_end else _ADDED_SHARE):
            kind: DiffKind = "not shown" if at_end else "added"
            passages.append(DiffPassage(kind, None, table.seconds(begin, end)))
    return passages


def _insert_added(passages: list[DiffPassage], added: Sequence[DiffPassage]) -> list[DiffPassage]:
    """The passages with each that was added behind the one that is danced before it."""
    for one in added:
        start = one.query.start if one.query else 0.0
        before = [
            number for number, known in enumerate(passages)
            if known.query is not None and known.kind != "moved" and known.query.end <= start + 0.5
        ]  # fmt: skip
        passages.insert(before[-1] + 1 if before else 0, one)
    return passages
