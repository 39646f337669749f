"""Fragments of one dancer joined into one track.

The tracker decides frame by frame; after a flash, a blurred turn or a cut it may lose a dancer and find
a new one at the same place. With the whole clip known, the fragments can be joined. Gaps stay gaps:
nothing is made up for the frames in which the dancer was not seen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import GAP_SECONDS
from dancematch.pose.blazepose.regions import Region
from dancematch.pose.blazepose.tracker import LINK_COST, TrackedPerson

LONGEST_GAP_SECONDS = 4.0  # after which even the same clothes at the same place prove little
SHORTEST_GAP_SECONDS = 0.5  # that even the shortest fragments may be apart
CUT_SECONDS = 0.5  # between the last pose before a cut and the first after it
CUT_CLOTHES = 0.2  # difference of clothes, 0 to 1, below which they alone tell the dancer after a cut
TOGETHER_SECONDS = 0.2  # fragments seen at the same time for longer are two people
# Poses at an edge whose median position and size count: the last pose of a lost dancer is often wrong.
_EDGE_SECONDS = 0.15
_LEAST_EDGE_POSES = 3


def join_fragments(people: Sequence[TrackedPerson]) -> list[TrackedPerson]:
    """Return the people with the fragments of one dancer joined, the best-fitting pair first.

    Two fragments are one dancer if they are not seen at the same time and if position, size and
    clothes agree wherever one is followed by the other. At a cut, across which nothing is
    tracked, position and size say nothing, and clothes must agree more closely.
    """
    fragments = dict(enumerate(_Fragment.of(person) for person in people if person.times))
    spans = np.array([(one.times[0], one.times[-1]) for one in fragments.values()])
    costs: dict[tuple[int, int], float] = {}

    def compare(one: int, others: Iterable[int]) -> None:
        for other in others:
            cost = _fragment_cost(fragments[one], fragments[other], spans)
            if cost < LINK_COST:
                costs[one, other] = cost

    for number in fragments:
        compare(number, range(number))
    while costs:
        pair = min(costs, key=lambda pair: (costs[pair], pair))
        joined = _join(*(fragments.pop(number) for number in pair))
        for old in [known for known in costs if set(known) & set(pair)]:
            del costs[old]
        number, others = 1 + max(*fragments, *pair), list(fragments)
        fragments[number] = joined
        compare(number, others)
    return sorted((one.person for one in fragments.values()), key=lambda person: person.times[0])


@dataclass(frozen=True, eq=False)
class _Fragment:
    person: TrackedPerson
    times: NDArray[np.float64]  # [n] seconds
    regions: NDArray[np.float64]  # [n, 3] x, y, size in pixels
    clothes: NDArray[np.float64]  # mean histogram of the torso's colours, sums to 1
    seconds: float  # in view

    @classmethod
    def of(cls, person: TrackedPerson) -> "_Fragment":
        regions = [(pose.region.x, pose.region.y, pose.region.size) for pose in person.poses]
        clothes = np.stack([pose.colours for pose in person.poses]).mean(axis=0, dtype=np.float64)
        times = np.array(person.times)
        steps = np.diff(times)
        return cls(person, times, np.array(regions), clothes, float(steps[steps <= GAP_SECONDS].sum()))

    def region_up_to(self, last: int) -> Region:
        """Return the median position and size of the poses that end with number `last`."""
        since = int(np.searchsorted(self.times, self.times[last] - _EDGE_SECONDS))
        return self._median_region(max(0, min(since, last + 1 - _LEAST_EDGE_POSES)), last + 1)

    def region_from(self, first: int) -> Region:
        """Return the median position and size of the poses that begin with number `first`."""
        until = int(np.searchsorted(self.times, self.times[first] + _EDGE_SECONDS, side="right"))
        return self._median_region(first, max(until, first + _LEAST_EDGE_POSES))

    def _median_region(self, first: int, end: int) -> Region:
        x, y, size = np.median(self.regions[first:end], axis=0)
        return Region(float(x), float(y), float(size))


def _fragment_cost(one: _Fragment, other: _Fragment, spans: NDArray[np.float64]) -> float:
    """Return how badly two fragments fit together as one dancer: 0 is perfect, infinite impossible.

    `spans` [n, 2] are the first and last seconds of every fragment of the clip.
    """
    # A gap longer than the fragments around it would often be bridged by accident: there is always some
    # false detection within a few seconds.
    longest = float(np.clip(max(one.seconds, other.seconds), SHORTEST_GAP_SECONDS, LONGEST_GAP_SECONDS))
    apart = max(one.times[0] - other.times[-1], other.times[0] - one.times[-1])
    if apart > longest or _shared_seconds(one, other) > TOGETHER_SECONDS:
        return np.inf
    junctions = _find_junctions(one, other)
    if any(junction.gap > longest for junction in junctions):
        return np.inf
    clothes = 1 - float(np.minimum(one.clothes, other.clothes).sum())
    if clothes < CUT_CLOTHES and all(_is_cut(junction, spans) for junction in junctions):
        return min(clothes + max(map(_position_cost, junctions)), LINK_COST * clothes / CUT_CLOTHES)
    return clothes + max(map(_position_cost, junctions))


def _shared_seconds(one: _Fragment, other: _Fragment) -> float:
    """Return how long both are seen at the same time."""
    shared = np.intersect1d(one.times, other.times, assume_unique=True)
    steps = np.diff(one.times if len(one.times) > 1 else other.times)
    return len(shared) * float(np.median(steps)) if len(steps) else 0.0


@dataclass(frozen=True)
class _Junction:
    """Where one fragment is followed by the other."""

    start: float  # seconds of the last pose before
    end: float  # seconds of the first pose after
    before: Region
    after: Region

    @property
    def gap(self) -> float:
        return self.end - self.start


def _find_junctions(one: _Fragment, other: _Fragment) -> list[_Junction]:
    owner = np.repeat([0, 1], [len(one.times), len(other.times)])
    place = np.concatenate([np.arange(len(one.times)), np.arange(len(other.times))])
    times = np.concatenate([one.times, other.times])
    order = np.lexsort((owner, times))
    found = []
    for before, after in pairwise(order):
        if owner[before] != owner[after]:
            first, second = (one, other) if owner[before] == 0 else (other, one)
            ends = first.region_up_to(int(place[before])), second.region_from(int(place[after]))
            found.append(_Junction(float(times[before]), float(times[after]), *ends))
    return found


def _position_cost(junction: _Junction) -> float:
    """Return the change of position and size for the time between, as the tracker weighs a lost dancer."""
    before, after = junction.before, junction.after
    moved = before.distance(after) / (1 + junction.gap)
    return moved + abs(float(np.log((after.size + 1) / (before.size + 1))))


def _is_cut(junction: _Junction, spans: NDArray[np.float64]) -> bool:
    """Whether no fragment continues from before the junction to after it."""
    through = (spans[:, 0] < junction.start - TOGETHER_SECONDS) & (
        spans[:, 1] > junction.end + TOGETHER_SECONDS
    )
    return junction.gap <= CUT_SECONDS and not through.any()


def _join(one: _Fragment, other: _Fragment) -> _Fragment:
    """Return one dancer of both; of poses at the same time, the surer one."""
    poses = dict(zip(one.person.times, one.person.poses, strict=True))
    for seconds, pose in zip(other.person.times, other.person.poses, strict=True):
        if seconds not in poses or pose.score > poses[seconds].score:
            poses[seconds] = pose
    times = sorted(poses)
    return _Fragment.of(TrackedPerson(times, [poses[seconds] for seconds in times]))
