"""Following several people from frame to frame, each under one identity.

A person seen once is followed by the landmark network alone: each pose says where to look next.
The detector runs only now and then, for newcomers and for people who were lost. All positions are
in pixels of the frame, y down.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dancematch.pose.blazepose.detector import Detection
from dancematch.pose.blazepose.landmarks import Pose
from dancematch.pose.blazepose.regions import Points, Region, SearchWindow, tiles
from dancematch.pose.video import Image

_MIN_SCORE = 0.5  # of a pose that is believed
_SAME_POSE = 0.1  # mean distance of the joints, in region sizes, below which two poses are one person
_INSIDE = 0.6  # share of a newcomer's box within a known body above which it is no newcomer
_COVERED = 0.2  # distance, in region sizes, of a detection that needs no second look
_LINK_SECONDS = 2.0  # how long a lost dancer keeps the identity
LINK_COST = 1.0  # strangeness above which a pose cannot be that person's
_LOYALTY = 0.3  # strangeness forgiven to the pose that was found by following
_APART = 0.4  # distance, in region sizes, of people who do not touch
_SEARCH_EVERY = 3  # frames between searches for a lost dancer
_FILLS = 0.8  # size of somebody, over the frame's shorter side, next to whom the small matter little
_DISPLACES = 1.5  # how much larger a newcomer must be to take the smallest one's place
_MEMORY = 0.9  # share of the old in the running means of colour and velocity


class Sight(Protocol):
    """The two networks, as the tracker needs them."""

    def detect(self, image: Image, view: SearchWindow) -> list[Detection]:
        """Find people in a part of the frame."""

    def pose(self, image: Image, region: Region) -> Pose:
        """Read the pose of the person in a region."""


@dataclass(eq=False)
class Followed:
    """One identity: every pose so far, and what is needed to recognise the person again."""

    times: list[float] = field(default_factory=list)
    poses: list[Pose] = field(default_factory=list)
    velocity: tuple[float, float] = (0.0, 0.0)  # pixels a second
    colours: NDArray[np.float32] | None = None

    @property
    def pose(self) -> Pose:
        """The latest."""
        return self.poses[-1]

    def expected(self, seconds: float) -> Region:
        """Where the person should be by now, if nothing changed; speed is trusted for a second."""
        ahead = min(seconds - self.times[-1], 1.0)
        last = self.pose.region
        return Region(
            last.x + ahead * self.velocity[0], last.y + ahead * self.velocity[1], last.size, last.angle
        )

    def strangeness(self, pose: Pose, seconds: float) -> float:
        """How badly a pose fits this person: place, size and clothes; 0 is a perfect fit."""
        expected, gap = self.expected(seconds), seconds - self.times[-1]
        moved = expected.distance(pose.region) / (1 + gap)
        grown = abs(np.log((pose.region.size + 1) / (expected.size + 1)))
        recoloured = 0.0 if self.colours is None else 1 - np.minimum(self.colours, pose.colours).sum()
        return float(moved + grown + recoloured)

    def add(self, seconds: float, pose: Pose, *, alone: bool) -> None:
        """Take a pose as this person's; only `alone` are the colours surely the person's own."""
        if self.colours is None:
            self.colours = pose.colours
        else:
            self._learn_velocity(seconds - self.times[-1], pose.region)
            memory = np.float32(_MEMORY if alone else 1)
            self.colours = memory * self.colours + (1 - memory) * pose.colours
        self.times.append(seconds)
        self.poses.append(pose)

    def _learn_velocity(self, step: float, now: Region) -> None:
        before = self.pose.region
        self.velocity = (
            0.5 * (self.velocity[0] + (now.x - before.x) / step),
            0.5 * (self.velocity[1] + (now.y - before.y) / step),
        )


class Tracker:
    """Feeds frames to the networks and keeps people apart; `people` are all that were ever followed."""

    def __init__(self, sight: Sight, *, max_dancers: int, detect_every: int) -> None:
        self.people: list[Followed] = []
        self._sight = sight
        self._max_dancers = max_dancers
        self._detect_every = detect_every
        self._active: list[Followed] = []
        self._lost: list[Followed] = []
        self._frame = 0
        self._turn = 0

    def step(self, seconds: float, image: Image) -> None:
        """Take in the next frame."""
        self._follow(seconds, image)
        self._lost = [person for person in self._lost if seconds - person.times[-1] <= _LINK_SECONDS]
        if self._frame == 0:
            self._look_everywhere(seconds, image)
        elif views := self._due_views(seconds, image):
            self._meet(seconds, image, self._detections(image, views))
        self._frame += 1

    def _look_everywhere(self, seconds: float, image: Image) -> None:
        """Search the first frame; closely only if nobody fills it, for that costs a dozen looks."""
        height, width = image.shape[:2]
        coarse = [SearchWindow(0, 0, width, height), *tiles(width, height, fine=False)]
        found = self._detections(image, coarse)
        if not any(detection.region.size > _FILLS * min(width, height) for detection in found):
            found += self._detections(image, tiles(width, height, fine=True))
        self._meet(seconds, image, found)

    def _follow(self, seconds: float, image: Image) -> None:
        """Read everybody's next pose; who gets none, or one that is another's, is lost."""
        read = [(person, self._next_pose(seconds, image, person)) for person in self._active]
        seen = [(person, pose) for person, pose in read if pose is not None]
        people = self._active + self._lost
        given = _share_out(_without_doubles(seen), people, seconds)
        for person, pose in given:
            person.add(seconds, pose, alone=_stands_alone(pose, given))
        self._active = [person for person, _ in given]
        self._lost = [person for person in people if person not in self._active]

    def _next_pose(self, seconds: float, image: Image, person: Followed) -> Pose | None:
        pose = self._sight.pose(image, person.pose.region)
        return pose if pose.score >= _MIN_SCORE else self._look_around(seconds, image, person)

    def _look_around(self, seconds: float, image: Image, person: Followed) -> Pose | None:
        """Search the neighbourhood of somebody who was there a frame ago."""
        expected = person.expected(seconds)
        height, width = image.shape[:2]
        found = self._sight.detect(image, SearchWindow.about(expected, width, height))
        if not found:
            return None
        nearest = min(found, key=lambda detection: expected.distance(detection.region))
        pose = self._sight.pose(image, nearest.region)
        fits = pose.score >= _MIN_SCORE and person.strangeness(pose, seconds) < LINK_COST
        return pose if fits else None

    def _due_views(self, seconds: float, image: Image) -> list[SearchWindow]:
        """Choose the parts of this frame to search: usually none.

        The more people are followed already, the less looking costs beside it.
        """
        if self._frame % self._detect_every == 0 or not self._active:
            return [self._next_view(image) for _ in range(1 + max(1, len(self._active)))]
        if self._frame % _SEARCH_EVERY == 0:
            height, width = image.shape[:2]
            return [SearchWindow.about(person.expected(seconds), width, height) for person in self._lost]
        return []

    def _next_view(self, image: Image) -> SearchWindow:
        """Take turns: the whole frame, each coarse tile, one fine tile, and again with the next fine one."""
        height, width = image.shape[:2]
        coarse, fine = (tiles(width, height, fine=size) for size in (False, True))
        lap, place = divmod(self._turn, 2 + len(coarse))
        self._turn += 1
        return [SearchWindow(0, 0, width, height), *coarse, fine[lap % len(fine)]][place]

    def _detections(self, image: Image, views: list[SearchWindow]) -> list[Detection]:
        """List the people in these views whom nobody follows yet, largest first."""
        fresh: list[Detection] = []
        known = [person.pose.region for person in self._active]
        found = [detection for view in views for detection in self._sight.detect(image, view)]
        for detection in sorted(found, key=lambda d: (-d.score, -d.region.size)):
            if not any(_alike(detection.region, region) for region in known):
                known.append(detection.region)
                fresh.append(detection)
        return sorted(fresh, key=lambda detection: -detection.region.size)

    def _meet(self, seconds: float, image: Image, detections: list[Detection]) -> None:
        """Read the poses of new detections and give each to a lost dancer or to a new one."""
        poses: list[Pose] = []
        for detection in detections[: self._max_dancers]:
            if not self._has_room(detection.region.size):
                break
            pose = self._sight.pose(image, detection.region)
            rivals = [person.pose for person in self._active] + poses
            if pose.score >= _MIN_SCORE and not any(_belongs_to(pose, rival) for rival in rivals):
                poses.append(pose)
        for pose, person in _recognise(poses, self._lost, seconds):
            if self._has_room(pose.region.size):
                self._admit(person, pose, seconds)

    def _has_room(self, size: float) -> bool:
        """Whether somebody of this size would be followed: always if there is a place left."""
        if len(self._active) < self._max_dancers:
            return True
        return size > _DISPLACES * min(person.pose.region.size for person in self._active)

    def _admit(self, person: Followed, pose: Pose, seconds: float) -> None:
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


def _without_doubles(seen: list[tuple[Followed, Pose]]) -> list[tuple[Followed, Pose]]:
    """Keep one pose a body, the surer one: somebody hidden is drawn onto the body in front."""
    kept: list[tuple[Followed, Pose]] = []
    for person, pose in sorted(seen, key=lambda pair: -pair[1].score):
        if not any(pose_distance(pose, other) < _SAME_POSE for _, other in kept):
            kept.append((person, pose))
    return kept


def _share_out(
    seen: list[tuple[Followed, Pose]], people: list[Followed], seconds: float
) -> list[tuple[Followed, Pose]]:
    """Give each pose to whom it fits best, in doubt to the one who was followed to it.

    Dancers who cross are drawn onto each other's bodies; place, size and clothes tell who is who.
    """
    costs = []
    for i, (owner, pose) in enumerate(seen):
        for j, person in enumerate(people):
            cost = person.strangeness(pose, seconds)
            if person is owner:
                costs.append((cost - _LOYALTY, i, j))
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


def _stands_alone(pose: Pose, others: list[tuple[Followed, Pose]]) -> bool:
    return all(pose is other or pose.region.distance(other.region) > _APART for _, other in others)


def _recognise(poses: list[Pose], lost: list[Followed], seconds: float) -> list[tuple[Pose, Followed]]:
    """Pair each pose with the lost person it fits best, or with somebody new."""
    costs = [
        (cost, i, j)
        for i, pose in enumerate(poses)
        for j, person in enumerate(lost)
        if (cost := person.strangeness(pose, seconds)) < LINK_COST
    ]
    found = dict(_cheapest_pairs(costs))
    return [(pose, lost[found[i]] if i in found else Followed()) for i, pose in enumerate(poses)]


def pose_distance(one: Pose, other: Pose) -> float:
    """Mean distance of the joints of two poses, in units of the larger region."""
    apart = np.linalg.norm(one.image - other.image, axis=1).mean()
    return float(apart) / (max(one.region.size, other.region.size) + 1e-9)


def _belongs_to(pose: Pose, other: Pose) -> bool:
    """Whether a newly found pose is the other body again, or a part of it that a tile has cut out."""
    (low, high), (other_low, other_high) = _body_box(pose), _body_box(other)
    shared = np.clip(np.minimum(high, other_high) - np.maximum(low, other_low), 0, None).prod()
    return float(shared / max((high - low).prod(), 1e-9)) > _INSIDE or pose_distance(pose, other) < _SAME_POSE


def _body_box(pose: Pose) -> tuple[Points, Points]:
    """Give the corners of the box around the visible joints."""
    seen = pose.visibility > 0.5
    points = pose.image[seen] if seen.sum() > 1 else pose.image
    return points.min(axis=0), points.max(axis=0)


def _alike(one: Region, other: Region) -> bool:
    ratio = min(one.size, other.size) / (max(one.size, other.size) + 1e-9)
    return ratio > 0.6 and one.distance(other) < _COVERED
