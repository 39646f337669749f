"""The diff of two choreographies: what a clip keeps, changes, moves, mirrors, leaves out and adds.

The reference is cut into units of four counts. First the units are laid along the clip in order, each as
danced or mirrored, where leaving one out and dancing something else in between have their price. Units that
found no place in order are then sought in what is left of the clip: they were moved. The rest was left out,
and what is left of the clip was added.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.pipeline.counts.counts import Counts, units_of
from dancematch.report.diff_costs import PARTS, Costs, CostTable
from dancematch.types import FloatArray, Motion, Span

DiffKind = Literal["kept", "changed", "moved", "mirrored", "left out", "added"]
UNIT_BEATS = 4  # counts of a unit
UNIT_SECONDS = 2.0  # of a unit where there are no counts
CHANGED_DEGREES = 30.0  # by which a limb of a changed unit is off at least
CHANGED_BEYOND = 15.0  # degrees by which it is off more than in most units
_LEFT_OUT = 0.65  # cost of leaving a unit out; one that goes with its place perfectly costs 0, by accident 1
_ADDED = 0.4  # cost of as much of the clip as a unit lasts in between: with the above, a little more than 1
_ADDED_OUTSIDE = 0.3  # the same before the first unit and after the last
_MIRRORED = 0.15  # that a mirrored unit costs more: symmetric moves are not mirrored
_MOVED = 0.4  # cost of a unit that is found at another place, at most
_OVERLAP = 0.02  # cost per sample by which a unit begins before the one before has ended
_OVERLAPS = 3  # samples
_FREE = 0.75  # share of a moved unit's place that others have left
_ADDED_SHARE = 0.5  # of a unit, from which on what is left of the clip was added


@dataclass(frozen=True)
class DiffPassage:
    """A passage of the reference, and what became of it in the clip."""

    kind: DiffKind
    reference: Span | None  # None if it was added
    query: Span | None  # None if it was left out
    mirrored: bool = False  # against the rest of the clip
    parts: tuple[str, ...] = ()  # of the body, that were changed, the most first
    degrees: float | None = None  # between the bones of both, mean over the limbs


class _Unit(NamedTuple):
    """A unit of the reference."""

    span: Span
    first: int  # sample
    end: int

    @property
    def length(self) -> int:
        return self.end - self.first


class _Place(NamedTuple):
    """Where in the clip a unit is danced."""

    start: int  # sample
    mirrored: bool
    moved: bool = False


Places = list[_Place | None]  # per unit; None: left out


def diff_dances(
    clip: Motion, reference: Motion, tempi: Iterable[float], counts: Counts | None
) -> tuple[DiffPassage, ...]:
    """What the clip does with the reference, in order of the reference; what was added stands where it comes.

    Both are canonical; `counts` are the reference's. The clip's tempo over the reference's is that of `tempi`
    at which they go together best.
    """
    cut = list(units_of(counts, reference.span, UNIT_BEATS, UNIT_SECONDS))
    ways = [_lay_in_order(CostTable.of(clip, reference, tempo), cut) for tempo in dict.fromkeys(tempi)]
    table, units, places, _ = min(ways, key=lambda way: way.cost)
    places = _place_moved(table, units, places)
    passages = _describe(table, units, places)
    return tuple(_insert_added(list(_merge(passages)), _list_added(table, units, places)))


class _Way(NamedTuple):
    """Units laid along the clip at one tempo."""

    table: CostTable
    units: list[_Unit]
    places: Places
    cost: float


# ---- in order


def _lay_in_order(table: CostTable, cut: Sequence[Span]) -> _Way:
    """The cheapest way to lay units along the clip without crossing."""
    units = [_Unit(span, *table.samples(span)) for span in cut]
    width, typical = table.width, max(1, round(float(np.median([unit.length for unit in units]))))
    outside = _ADDED_OUTSIDE / typical * np.maximum(0, np.arange(width + 1) - table.edge)
    best = outside  # by how many samples of the clip are used up
    steps: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []
    for unit in units:
        costs, mirrored = _unit_costs(table, unit)
        weight = unit.length / typical
        after = best + _LEFT_OUT * weight
        start_of = np.full(width + 1, -1)  # the sample at which this unit starts, -1: left out
        began, entry = _enter(best)
        ends = np.minimum(np.arange(len(costs)) + unit.length, width)
        for start in range(len(costs)):
            cost = entry[start] + weight * costs[start]
            if cost < after[ends[start]] - 1e-12:
                after[ends[start]], start_of[ends[start]] = cost, start
        came = _skip_ahead(after, _ADDED / typical)
        steps.append((np.stack([came, start_of, began[np.maximum(start_of, 0)]]), mirrored))
        best = after
    best = best + np.maximum(0, outside[::-1])
    return _Way(table, units, _trace(steps, int(best.argmin())), float(best.min()))


def _unit_costs(table: CostTable, unit: _Unit) -> tuple[Costs, NDArray[np.bool_]]:
    """The cost of a unit at each place of the clip, and whether it is mirrored there."""
    plain = table.line_costs(unit.first, unit.end, mirrored=False)
    mirrored = table.line_costs(unit.first, unit.end, mirrored=True) + _MIRRORED
    return np.minimum(plain, mirrored), mirrored < plain


def _enter(best: Costs) -> tuple[NDArray[np.int64], Costs]:
    """What it costs to begin a unit at each sample, and how many samples were used up before it."""
    width = len(best)
    ahead = [np.concatenate([best[by:], np.full(by, np.inf)]) + by * _OVERLAP for by in range(_OVERLAPS + 1)]
    chosen = np.argmin(ahead, axis=0)
    return np.arange(width) + chosen, np.min(ahead, axis=0)


def _skip_ahead(costs: Costs, skip: float) -> NDArray[np.int64]:
    """Let samples of the clip be passed over, in place; returns where each came from."""
    came = np.arange(len(costs))
    for sample in range(1, len(costs)):
        if costs[sample - 1] + skip < costs[sample]:
            costs[sample], came[sample] = costs[sample - 1] + skip, came[sample - 1]
    return came


def _trace(steps: Sequence[tuple[NDArray[np.int64], NDArray[np.bool_]]], used: int) -> Places:
    places: Places = []
    for (came, starts, began), mirrored in reversed(steps):
        at = int(came[used])
        start = int(starts[at])
        places.append(None if start < 0 else _Place(start, bool(mirrored[start])))
        used = at if start < 0 else int(began[at])
    return places[::-1]


# ---- out of order


def _place_moved(table: CostTable, units: Sequence[_Unit], places: Places) -> Places:
    """The same with units that were left out in order, where what is left of the clip shows them."""
    places, free = list(places), np.ones(table.width, bool)
    for unit, place in zip(units, places, strict=True):
        if place is not None:
            free[place.start : place.start + unit.length] = False
    for first, end in _list_runs(places):
        found = _find_moved(table, units[first], units[end - 1], free)
        if found is None:
            continue
        for number in range(first, end):
            start = found.start + units[number].first - units[first].first
            places[number] = _Place(start, found.mirrored, moved=True)
        free[found.start : found.start + units[end - 1].end - units[first].first] = False
    return places


def _list_runs(places: Places) -> Iterator[tuple[int, int]]:
    """All runs of units that have no place when their turn comes, the longest first."""
    length = len(places)
    for size in range(length, 0, -1):
        for first in range(length - size + 1):
            if all(place is None for place in places[first : first + size]):
                yield first, first + size


def _find_moved(table: CostTable, first: _Unit, last: _Unit, free: NDArray[np.bool_]) -> _Place | None:
    costs, mirrored = _unit_costs(table, _Unit(first.span, first.first, last.end))
    length = last.end - first.first
    left = np.convolve(free, np.ones(length))[length - 1 :][: len(costs)]  # samples within that are free
    costs = np.where(left >= _FREE * length, costs, np.inf)
    start = int(costs.argmin())
    return _Place(start, bool(mirrored[start])) if costs[start] <= _MOVED else None


# ---- what became of each


def _describe(table: CostTable, units: Sequence[_Unit], places: Places) -> list[DiffPassage]:
    """One passage per unit."""
    degrees = np.full((len(units), len(PARTS)), np.nan, np.float32)
    for number, (unit, place) in enumerate(zip(units, places, strict=True)):
        if place is not None:
            degrees[number] = table.limb_degrees(unit.first, unit.end, place.start, mirrored=place.mirrored)
    seen = np.isfinite(degrees)
    usual = np.array(
        [np.median(column[ok]) if ok.any() else 0.0 for column, ok in zip(degrees.T, seen.T, strict=True)]
    )
    return [
        _describe_unit(table, unit, place, row, usual)
        for unit, place, row in zip(units, places, degrees, strict=True)
    ]


def _describe_unit(
    table: CostTable, unit: _Unit, place: _Place | None, degrees: FloatArray, usual: FloatArray
) -> DiffPassage:
    if place is None:
        return DiffPassage("left out", unit.span, None)
    limits = np.maximum(CHANGED_DEGREES, usual + CHANGED_BEYOND)
    off = [int(part) for part in np.argsort(-np.nan_to_num(degrees)) if degrees[part] >= limits[part]]
    kind: DiffKind = (
        "moved" if place.moved else "mirrored" if place.mirrored else "changed" if off else "kept"
    )
    known = degrees[np.isfinite(degrees)]
    return DiffPassage(
        kind, unit.span, table.seconds(place.start, place.start + unit.length), place.mirrored,
        tuple(PARTS[part] for part in off), float(known.mean()) if len(known) else None,
    )  # fmt: skip


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


def _list_added(table: CostTable, units: Sequence[_Unit], places: Places) -> list[DiffPassage]:
    """What is left of the clip, where it is half a unit or longer; before and after all, a whole one."""
    first, last = table.edge, table.width - table.edge
    typical = float(np.median([unit.length for unit in units]))
    free = np.zeros(table.width + 2, bool)
    free[first + 1 : last + 1] = True
    for unit, place in zip(units, places, strict=True):
        if place is not None:
            free[max(place.start, 0) + 1 : place.start + unit.length + 1] = False
    edges = np.flatnonzero(np.diff(free.astype(np.int8)))
    return [
        DiffPassage("added", None, table.seconds(int(begin), int(end)))
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
        if end - begin >= typical * (1 if begin == first or end == last else _ADDED_SHARE)
    ]


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
