"""Tracking of several people from frame to frame, each under one identity.

A person seen once is tracked by the landmark network alone: each pose says where to search next.
The detector runs only now and then, for new people and for those who were lost. While everybody is firmly
tracked, fewer frames are looked at. All positions are in pixels of the frame, y down.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dancematch.pose.blazepose.detector import Detection
from dancematch.pose.blazepose.landmarks import Pose
from dancematch.pose.blazepose.regions import Points, Region, SearchWindow, tiles
from dancematch.pose.picture import Image
from dancematch.pose.track import JOINT_SEEN_FROM
from dancematch.pose.video import Frame

_MIN_SCORE = 0.5  # of a pose that is accepted
_SAME_POSE = 0.1  # mean distance of the joints, in region sizes, below which two poses are one person
_INSIDE = 0.6  # share of a found body's box within a tracked body above which it is the same
_COVERED = 0.2  # distance, in region sizes, of a detection that is a known one again
_LINK_SECONDS = 2.0  # how long a lost dancer keeps the identity
LINK_COST = 1.0  # cost above which a pose cannot be that person's
_TRACKED_BONUS = 0.3  # cost subtracted for the person whose region the pose was found in
_APART = 0.4  # distance, in region sizes, of people who do not touch
_NEWCOMER_SECONDS = 0.5  # between searches for new people ...
_NEWCOMER_SECONDS_BESIDE_LARGE = 1.0  # ... and where a person fills the frame already
_LOST_SECONDS = 0.1  # between searches for a person who was lost a moment ago ...
_LONG_LOST_SECONDS = 0.5  # ... and longer ago than this
_FIRM_SECONDS = 1.0  # after which a person who is seen without a gap is firmly tracked
_FIRM_GAP_SECONDS = 0.25  # that is no gap
_EARLY = 0.25  # of the steady interval, by which the next frame may come early
_FILLS = 0.8  # size of a person, over the frame's shorter side, beside whom small people matter little
_DISPLACES = 1.5  # how much larger a new person must be to replace the smallest one
_MEMORY_SECONDS = 1.0  # time constant of the running mean of colour
_MOST_FORGOTTEN = 0.1  # of it, by one pose, however long after the last one
_ROUNDING_SECONDS = 0.005  # by which time stamps may come early


class PersonFinder(Protocol):
    """The two networks, as the tracker needs them."""

    def detect(self, image: Image, window: SearchWindow) -> list[Detection]:
        """Return the people in a part of the frame."""

    def pose(self, image: Image, region: Region) -> Pose:
        """Return the pose of the person in a region."""


@dataclass(eq=False)
class TrackedPerson:
    """One identity: every pose so far, and what recognises the person again."""

    times: list[float] = field(default_factory=list)
    poses: list[Pose] = field(default_factory=list)
    velocity: tuple[float, float] = (0.0, 0.0)  # pixels per second
    colours: NDArray[np.float32] | None = None
    seen_since: float = 0.0  # seconds, without a gap

    @property
    def is_firm(self) -> bool:
        """Whether the person has been seen without a gap for a while."""
        return self.times[-1] - self.seen_since >= _FIRM_SECONDS

    @property
    def pose(self) -> Pose:
        """The latest pose."""
        return self.poses[-1]

    def predict_region(self, seconds: float) -> Region:
        """Return where the person should be now at constant velocity, for at most a second."""
        ahead = min(seconds - self.times[-1], 1.0)
        last = self.pose.region
        return Region(
            last.x + ahead * self.velocity[0], last.y + ahead * self.velocity[1], last.size, last.angle
        )

    def cost_of(self, pose: Pose, seconds: float) -> float:
        """Return how badly a pose fits this person in position, size and clothes; 0 is a perfect fit."""
        expected, gap = self.predict_region(seconds), seconds - self.times[-1]
        moved = expected.distance(pose.region) / (1 + gap)
        grown = abs(np.log((pose.region.size + 1) / (expected.size + 1)))
        recoloured = 0.0 if self.colours is None else 1 - np.minimum(self.colours, pose.colours).sum()
        return float(moved + grown + recoloured)

    def add(self, seconds: float, pose: Pose, *, alone: bool) -> None:
        """Append a pose; only `alone` are its colours surely the person's own."""
        if not self.times or seconds - self.times[-1] > _FIRM_GAP_SECONDS:
            self.seen_since = seconds
        if self.colours is None:
            self.colours = pose.colours
        else:
            step = seconds - self.times[-1]
            self._update_velocity(step, pose.region)
            learnt = np.float32(min(step / _MEMORY_SECONDS, _MOST_FORGOTTEN) if alone else 0)
            self.colours = (1 - learnt) * self.colours + learnt * pose.colours
        self.times.append(seconds)
        self.poses.append(pose)

    def forget(self, before: float) -> None:
        """Drop the poses before that second, but never the latest."""
        first = min(bisect_left(self.times, before), len(self.times) - 1)
        del self.times[:first], self.poses[:first]

    def _update_velocity(self, step: float, now: Region) -> None:
        before = self.pose.region
        self.velocity = (
            0.5 * (self.velocity[0] + (now.x - before.x) / step),
            0.5 * (self.velocity[1] + (now.y - before.y) / step),
        )


class Tracker:
    """Tracks people from frame to frame; `people` are all that were ever tracked.

    While all of them are firmly tracked, `steady_fps` frames per second are looked at; None: all.
    """

    def __init__(self, finder: PersonFinder, *, max_dancers: int, steady_fps: float | None = None) -> None:
        self.people: list[TrackedPerson] = []
        self._finder = finder
        self._max_dancers = max_dancers
        self._steady_seconds = (1 - _EARLY) / steady_fps if steady_fps is not None else 0.0
        self._latest: float | None = None  # seconds of the frame before
        self._active: list[TrackedPerson] = []
        self._lost: list[TrackedPerson] = []
        self._newcomers_due: float | None = None  # seconds of the next search; None before the first frame
        self._lost_searched = -inf  # seconds
        self._turn = 0

    def choose(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        """Yield the frames to look at; each one by `step`, before the next is asked for."""
        return (frame for frame in frames if self.is_due(frame.seconds))

    def is_due(self, seconds: float) -> bool:
        """Whether the frame of this moment is to be looked at.

        All are while a person is new or was just lost: a flash, a cut or a fast turn takes a few frames only.
        An empty picture is in no hurry.
        """
        if self._latest is None or seconds >= self._latest + self._steady_seconds:
            return True
        return self._is_urgent(seconds) or not all(person.is_firm for person in self._active)

    def _is_urgent(self, seconds: float) -> bool:
        """Whether a person was lost a moment ago."""
        return any(seconds - person.times[-1] <= _LONG_LOST_SECONDS for person in self._lost)

    def step(self, seconds: float, image: Image) -> None:
        """Update all people by the next frame."""
        self._latest = seconds
        self._follow(seconds, image)
        self._lost = [person for person in self._lost if seconds - person.times[-1] <= _LINK_SECONDS]
        if self._newcomers_due is None:
            self._search_everywhere(seconds, image)
            self._newcomers_due = seconds + self._newcomer_seconds(image)
        elif windows := self._choose_windows(seconds, image):
            self._add_people(seconds, image, self._detect_new(image, windows))

    def forget(self, before: float) -> None:
        """Drop the poses before that second, and the people who have no others and are not followed."""
        followed = self._active + self._lost
        for person in self.people:
            person.forget(before)
        self.people = [one for one in self.people if one in followed or one.times[-1] >= before]

    def _search_everywhere(self, seconds: float, image: Image) -> None:
        """Search the first frame; with fine tiles, which take long, only if no person fills it."""
        height, width = image.shape[:2]
        coarse = [SearchWindow(0, 0, width, height), *tiles(width, height, fine=False)]
        found = self._detect_new(image, coarse)
        if not _is_filled(image, [detection.region for detection in found]):
            found += self._detect_new(image, tiles(width, height, fine=True))
        self._add_people(seconds, image, found)

    def _follow(self, seconds: float, image: Image) -> None:
        """Give each tracked person the next pose; one without a pose of their own is lost."""
        read = [(person, self._next_pose(seconds, image, person)) for person in self._active]
        seen = [(person, pose) for person, pose in read if pose is not None]
        people = self._active + self._lost
        given = _assign_poses(_remove_doubles(seen), people, seconds)
        for person, pose in given:
            person.add(seconds, pose, alone=_stands_alone(pose, given))
        self._active = [person for person, _ in given]
        self._lost = [person for person in people if person not in self._active]

    def _next_pose(self, seconds: float, image: Image, person: TrackedPerson) -> Pose | None:
        pose = self._finder.pose(image, person.pose.region)
        return pose if pose.score >= _MIN_SCORE else self._search_around(seconds, image, person)

    def _search_around(self, seconds: float, image: Image, person: TrackedPerson) -> Pose | None:
        """Search the neighbourhood of a person who was there a moment ago."""
        expected = person.predict_region(seconds)
        height, width = image.shape[:2]
        found = self._finder.detect(image, SearchWindow.about(expected, width, height))
        if not found:
            return None
        nearest = min(found, key=lambda detection: expected.distance(detection.region))
        pose = self._finder.pose(image, nearest.region)
        fits = pose.score >= _MIN_SCORE and person.cost_of(pose, seconds) < LINK_COST
        return pose if fits else None

    def _choose_windows(self, seconds: float, image: Image) -> list[SearchWindow]:
        """Return the parts of this frame to search: usually none.

        The more people are tracked already, the less a search adds to the cost.
        """
        if not self._active or (self._newcomers_due is not None and seconds >= self._newcomers_due):
            self._newcomers_due = seconds + self._newcomer_seconds(image)
            windows = max(1, len(self._active)) + (not self._is_filled(image))
            return [self._next_window(image) for _ in range(windows)]
        pause = _LOST_SECONDS if self._is_urgent(seconds) else _LONG_LOST_SECONDS
        if self._lost and seconds >= self._lost_searched + pause - _ROUNDING_SECONDS:
            self._lost_searched = seconds
            height, width = image.shape[:2]
            return [
                SearchWindow.about(person.predict_region(seconds), width, height) for person in self._lost
            ]
        return []

    def _newcomer_seconds(self, image: Image) -> float:
        filled = self._is_filled(image)
        return (_NEWCOMER_SECONDS_BESIDE_LARGE if filled else _NEWCOMER_SECONDS) - _ROUNDING_SECONDS

    def _is_filled(self, image: Image) -> bool:
        return _is_filled(image, [person.pose.region for person in self._active])

    def _next_window(self, image: Image) -> SearchWindow:
        """Return in turn the whole frame, each coarse tile and one fine tile, each time another.

        Beside a person who fills the frame there is no fine tile: small people matter little there.
        """
        height, width = image.shape[:2]
        coarse, fine = (tiles(width, height, fine=size) for size in (False, True))
        lap, place = divmod(self._turn, 2 + len(coarse))
        if place > len(coarse) and self._is_filled(image):
            self._turn += 1
            place = 0
        self._turn += 1
        return [SearchWindow(0, 0, width, height), *coarse, fine[lap % len(fine)]][place]

    def _detect_new(self, image: Image, windows: list[SearchWindow]) -> list[Detection]:
        """Return the people in these windows who are not tracked yet, largest first."""
        fresh: list[Detection] = []
        known = [person.pose.region for person in self._active]
        found = [detection for window in windows for detection in self._finder.detect(image, window)]
        for detection in sorted(found, key=lambda d: (-d.score, -d.region.size)):
            if not any(_is_same_region(detection.region, region) for region in known):
                known.append(detection.region)
                fresh.append(detection)
        return sorted(fresh, key=lambda detection: -detection.region.size)

    def _add_people(self, seconds: float, image: Image, detections: list[Detection]) -> None:
        """Give the pose of each new detection to a lost person or to a new one."""
        poses: list[Pose] = []
        for detection in detections[: self._max_dancers]:
            if not self._has_room(detection.region.size):
                break
            pose = self._finder.pose(image, detection.region)
            rivals = [person.pose for person in self._active] + poses
            if pose.score >= _MIN_SCORE and not any(_belongs_to(pose, rival) for rival in rivals):
                poses.append(pose)
        for pose, person in _match_lost(poses, self._lost, seconds):
            if self._has_room(pose.region.size):
                self._track_person(person, pose, seconds)

    def _has_room(self, size: float) -> bool:
        """Whether a person of this size is tracked: always below the limit, else if clearly larger."""
        if len(self._active) < self._max_dancers:
            return True
        return size > _DISPLACES * min(person.pose.region.size for person in self._active)

    def _track_person(self, person: TrackedPerson, pose: Pose, seconds: float) -> None:
        if len(self._active) >= self._max_dancers:
            smallest = min(self._active, key=lambda other: other.pose.region.size)
            self._active.remove(smallest)
            self._lost.append(smallest)
        if person in self._lost:
            self._lost.remove(person)
        else:
            self.people.append(person)
        rivals = [(other, other.pose) for other in self._active]
        person.add(seconds, pose, alone=_stands_alone(pose, rivals))
        self._active.append(person)


def _is_filled(image: Image, regions: list[Region]) -> bool:
    """Whether a person in one of these regions fills the frame."""
    return any(region.size > _FILLS * min(image.shape[:2]) for region in regions)


def _remove_doubles(seen: list[tuple[TrackedPerson, Pose]]) -> list[tuple[TrackedPerson, Pose]]:
    """Keep one pose per body, the surer one: a hidden person's pose jumps to the body in front."""
    kept: list[tuple[TrackedPerson, Pose]] = []
    for person, pose in sorted(seen, key=lambda pair: -pair[1].score):
        if not any(pose_distance(pose, other) < _SAME_POSE for _, other in kept):
            kept.append((person, pose))
    return kept


def _assign_poses(
    seen: list[tuple[TrackedPerson, Pose]], people: list[TrackedPerson], seconds: float
) -> list[tuple[TrackedPerson, Pose]]:
    """Give each pose to the person whom it fits best, in doubt to the one it was found for.

    Poses of dancers who cross jump to each other's bodies; position, size and clothes tell them apart.
    """
    costs = []
    for i, (owner, pose) in enumerate(seen):
        for j, person in enumerate(people):
            cost = person.cost_of(pose, seconds)
            if person is owner:
                costs.append((cost - _TRACKED_BONUS, i, j))
            elif cost < LINK_COST:
                costs.append((cost, i, j))
    pairs = _cheapest_pairs(costs)
    return [(people[j], seen[i][1]) for i, j in pairs]


def _cheapest_pairs(costs: list[tuple[float, int, int]]) -> list[tuple[int, int]]:
    """Pair left and right numbers, each at most once, the cheapest pairs first."""
    pairs: dict[int, int] = {}
    for _, i, j in sorted(costs):
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return sorted(pairs.items())


def _stands_alone(pose: Pose, others: list[tuple[TrackedPerson, Pose]]) -> bool:
    return all(pose is other or pose.region.distance(other.region) > _APART for _, other in others)


def _match_lost(
    poses: list[Pose], lost: list[TrackedPerson], seconds: float
) -> list[tuple[Pose, TrackedPerson]]:
    """Pair each pose with the lost person whom it fits best, or with a new one."""
    costs = [
        (cost, i, j)
        for i, pose in enumerate(poses)
        for j, person in enumerate(lost)
        if (cost := person.cost_of(pose, seconds)) < LINK_COST
    ]
    found = dict(_cheapest_pairs(costs))
    return [(pose, lost[found[i]] if i in found else TrackedPerson()) for i, pose in enumerate(poses)]


def pose_distance(one: Pose, other: Pose) -> float:
    """Return the mean distance of the joints of two poses, in units of the larger region."""
    distance = np.linalg.norm(one.image - other.image, axis=1).mean()
    return float(distance) / (max(one.region.size, other.region.size) + 1e-9)


def _belongs_to(pose: Pose, other: Pose) -> bool:
    """Whether a newly found pose is the other body again, or a part of it that a tile has cut out."""
    (low, high), (other_low, other_high) = _body_box(pose), _body_box(other)
    shared = np.clip(np.minimum(high, other_high) - np.maximum(low, other_low), 0, None).prod()
    return float(shared / max((high - low).prod(), 1e-9)) > _INSIDE or pose_distance(pose, other) < _SAME_POSE


def _body_box(pose: Pose) -> tuple[Points, Points]:
    """Return the corners of the box around the visible joints."""
    seen = pose.visibility > JOINT_SEEN_FROM
    points = pose.image[seen] if seen.sum() > 1 else pose.image
    return points.min(axis=0), points.max(axis=0)


def _is_same_region(one: Region, other: Region) -> bool:
    ratio = min(one.size, other.size) / (max(one.size, other.size) + 1e-9)
    return ratio > 0.6 and one.distance(other) < _COVERED
