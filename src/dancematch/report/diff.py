"""The diff of two choreographies: where a clip dances each unit of a reference, and what became of it.

The reference is cut into units of four counts. First the units are laid along the clip in order, each as
danced or mirrored, where leaving one out and dancing something else in between have their price. Units that
found no place in order are then sought in what is left of the clip: they were moved. Of the rest,
`diff_passages.py` tells what was left out from what the clip does not show.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.pipeline.counts.counts import Counts, units_of
from dancematch.report.diff_costs import Costs, CostTable
from dancematch.report.diff_passages import DiffPassage, Place, Places, Unit, describe_units
from dancematch.types import Motion, Span

UNIT_BEATS = 4  # counts of a unit
UNIT_SECONDS = 2.0  # of a unit where there are no counts
_LEFT_OUT = 0.65  # cost of leaving a unit out; one that goes with its place perfectly costs 0, by accident 1
_ADDED = 0.4  # cost of as much of the clip as a unit lasts in between: with the above, a little more than 1
_ADDED_OUTSIDE = 0.3  # the same before the first unit and after the last
_MIRRORED = 0.15  # that a mirrored unit costs more: symmetric moves are not mirrored
_MOVED = 0.6  # cost of a unit that is found at another place, at most
_OVERLAP = 0.02  # cost per sample by which a unit begins before the one before has ended
_OVERLAPS = 3  # samples
_FREE = 0.75  # share of a moved unit's place that others have left


def diff_dances(
    clip: Motion, reference: Motion, tempi: Iterable[float], counts: Counts | None
) -> tuple[DiffPassage, ...]:
    """What the clip does with the reference, in its order; what the reference lacks stands where it comes.

    Both are canonical; `counts` are the reference's. The clip's tempo over the reference's is that of `tempi`
    at which they go together best.
    """
    cut = list(units_of(counts, reference.span, UNIT_BEATS, UNIT_SECONDS))
    ways = [_lay_in_order(CostTable.of(clip, reference, tempo), cut) for tempo in dict.fromkeys(tempi)]
    table, units, places, _ = min(ways, key=lambda way: way.cost)
    return describe_units(table, units, _place_moved(table, units, places))


class _Way(NamedTuple):
    """Units laid along the clip at one tempo."""

    table: CostTable
    units: list[Unit]
    places: Places
    cost: float


# ---- in order


def _lay_in_order(table: CostTable, cut: Sequence[Span]) -> _Way:
    """The cheapest way to lay units along the clip without crossing."""
    units = [Unit(span, *table.samples(span)) for span in cut]
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


def _unit_costs(table: CostTable, unit: Unit) -> tuple[Costs, NDArray[np.bool_]]:
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
        places.append(None if start < 0 else Place(start, bool(mirrored[start])))
        used = at if start < 0 else int(began[at])
    return places[::-1]


# ---- out of order


def _place_moved(table: CostTable, units: Sequence[Unit], places: Places) -> Places:
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
            places[number] = Place(start, found.mirrored, moved=True)
        free[found.start : found.start + units[end - 1].end - units[first].first] = False
    return places


def _list_runs(places: Places) -> Iterator[tuple[int, int]]:
    """All runs of units that have no place when their turn comes, the longest first."""
    length = len(places)
    for size in range(length, 0, -1):
        for first in range(length - size + 1):
            if all(place is None for place in places[first : first + size]):
                yield first, first + size


def _find_moved(table: CostTable, first: Unit, last: Unit, free: NDArray[np.bool_]) -> Place | None:
    costs, mirrored = _unit_costs(table, Unit(first.span, first.first, last.end))
    length = last.end - first.first
    left = np.convolve(free, np.ones(length))[length - 1 :][: len(costs)]  # samples within that are free
    costs = np.where(left >= _FREE * length, costs, np.inf)
    start = int(costs.argmin())
    return Place(start, bool(mirrored[start])) if costs[start] <= _MOVED else None
