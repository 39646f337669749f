"""The method `dtw-angles` of the suite `real`: time warping over joint angles, as dance-scoring apps do it.

Ten angles of the most prominent dancer, ten times per second, each minus its mean over the clip and divided
by its standard deviation. The shorter of two clips is aligned as a whole with the part of the longer one
where that costs least (subsequence dynamic time warping, Müller 2007), between half and twice its tempo. The
cost is the mean difference of the angles that both show.

An app compares a learner with one teacher. A search compares clips of all lengths, and a few seconds match
any dance at little cost; so the score is how far the cost lies below that of unrelated values, times the
square root of the frames compared. Both normalisations were chosen on the clips that the figures are about.
There is no threshold.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dancematch.evaluation.methods.recogniser import CANDIDATES, Candidate, MotionRecording
from dancematch.motion import clean, to_body15
from dancematch.search.kernels.kernel import kernel
from dancematch.skeletons import BODY15
from dancematch.types import FloatArray, Motion

FRAMES_PER_SECOND = 10.0
LEAST_SECONDS = 2.0  # a shorter clip matches any other at little cost
FEWEST_ANGLES = 3  # that two moments must both show to be compared
UNRELATED_COST = 1.128  # 2 / sqrt(pi): the mean difference of two independent standard normal values
LEAST_DEVIATION = 0.1  # radians: noise of an angle that hardly changes is not amplified
SEEN = 0.5  # visibility of a joint

_SIDES = (
    ("shoulder", "elbow", "wrist"),
    ("hip", "shoulder", "elbow"),
    ("other shoulder", "shoulder", "elbow"),
    ("shoulder", "hip", "knee"),
    ("hip", "knee", "ankle"),
)  # each: two ends and, in the middle, the joint whose angle it is


def _joints_of(side: str, other: str) -> list[list[int]]:
    names = [
        [f"{other}_{name.split()[1]}" if " " in name else f"{side}_{name}" for name in angle]
        for angle in _SIDES
    ]
    return [[BODY15.index(name) for name in angle] for angle in names]


ANGLES = np.array([*_joints_of("left", "right"), *_joints_of("right", "left")])  # [angles, 3]


class AngleTrack(NamedTuple):
    """Joint angles over time."""

    angles: FloatArray  # [frames, angles] radians, or standard deviations; NaN = unseen
    start: float  # seconds

    def mirrored(self) -> "AngleTrack":
        """The mirrored track: left and right are swapped, the angles stay."""
        return AngleTrack(np.roll(self.angles, len(_SIDES), axis=1), self.start)


class Warping(NamedTuple):
    """The best alignment of one clip with a part of another, and its cost."""

    cost: float  # mean difference per angle, standard deviations
    frames: int  # of the shorter clip
    lag_seconds: float  # time in the reference minus time in the query, in the middle of the path
    tempo: float
    mirrored: bool

    @property
    def score(self) -> float:
        """How far the cost lies below that of unrelated clips, in proportion to standard errors."""
        return float((UNRELATED_COST - self.cost) * np.sqrt(self.frames))


def read_angles(motion: Motion) -> AngleTrack:
    """The joint angles of one dancer at an even frame rate."""
    even = to_body15(clean(motion))
    step = round(even.fps / FRAMES_PER_SECOND)
    joints = np.where((even.visibility >= SEEN)[..., None], even.joints, np.nan)[::step]
    one, joint, other = (joints[:, ANGLES[:, place]] for place in range(3))
    first, second = one - joint, other - joint  # [frames, angles, 3]
    lengths = np.linalg.norm(first, axis=2) * np.linalg.norm(second, axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = (first * second).sum(axis=2) / lengths
    return AngleTrack(np.arccos(cosines.clip(-1, 1)).astype(np.float32), even.start)


def standardise(track: AngleTrack) -> AngleTrack:
    """Each angle minus its mean over the clip, in standard deviations: posture is no movement."""
    seen = np.isfinite(track.angles)
    counts = np.maximum(seen.sum(axis=0), 1)
    centred = track.angles - np.where(seen, track.angles, 0).sum(axis=0) / counts
    deviations = np.sqrt((np.where(seen, centred, 0) ** 2).sum(axis=0) / counts)
    return AngleTrack((centred / np.maximum(deviations, LEAST_DEVIATION)).astype(np.float32), track.start)


def warp(query: AngleTrack, reference: AngleTrack, *, mirrored: bool) -> Warping:
    """The best alignment of the shorter of two clips with the longer one."""
    swapped = len(query.angles) > len(reference.angles)
    short, long = (reference, query) if swapped else (query, reference)
    cost, first, last = align_within(short.angles, long.angles, FEWEST_ANGLES, UNRELATED_COST)
    middle_of_short = (len(short.angles) - 1) / 2 / FRAMES_PER_SECOND + short.start
    middle_of_long = (first + last) / 2 / FRAMES_PER_SECOND + long.start
    lag = middle_of_long - middle_of_short
    tempo = max(last - first, 1) / max(len(short.angles) - 1, 1)  # the short one's speed over the long one's
    if swapped:
        lag, tempo = -lag, 1 / tempo
    return Warping(float(cost), len(short.angles), lag, tempo, mirrored)


@kernel
def _distance(one: FloatArray, other: FloatArray, fewest: int, unseen: float) -> float:
    total, count = 0.0, 0
    for angle in range(len(one)):
        difference = abs(one[angle] - other[angle])
        if difference == difference:  # neither is NaN
            total += difference
            count += 1
    return total / count if count >= fewest else unseen


@kernel
def align_within(short: FloatArray, long: FloatArray, fewest: int, unseen: float) -> tuple[float, int, int]:
    """The least mean cost of `short` against a part of `long`, and that part's first and last frame.

    A step advances by (1, 1), (1, 2) or (2, 1) frames of the two: every frame of `short` costs once on
    any path. `long` must not be the shorter one.
    """
    rows, columns = len(short), len(long)
    cost = np.empty((rows, columns), np.float32)
    for i in range(rows):
        for j in range(columns):
            cost[i, j] = _distance(short[i], long[j], fewest, unseen)
    totals = np.full((rows, columns), np.inf, np.float32)
    starts = np.zeros((rows, columns), np.int32)
    for j in range(columns):
        totals[0, j], starts[0, j] = cost[0, j], j
    for i in range(1, rows):
        for j in range(1, columns):
            best, start = totals[i - 1, j - 1] + cost[i, j], starts[i - 1, j - 1]
            if j > 1 and totals[i - 1, j - 2] + cost[i, j] < best:
                best, start = totals[i - 1, j - 2] + cost[i, j], starts[i - 1, j - 2]
            if i > 1 and totals[i - 2, j - 1] + cost[i - 1, j] + cost[i, j] < best:
                best, start = totals[i - 2, j - 1] + cost[i - 1, j] + cost[i, j], starts[i - 2, j - 1]
            totals[i, j], starts[i, j] = best, start
    last = int(np.argmin(totals[rows - 1]))
    return totals[rows - 1, last] / rows, int(starts[rows - 1, last]), last


class AngleMethod:
    """The most prominent dancers compared, as seen and mirrored; every pair of clips is aligned once."""

    name = "dtw-angles"

    def __init__(self) -> None:
        self._tracks: dict[str, AngleTrack | None] = {}
        self._warpings: dict[tuple[str, str], Warping] = {}

    def build(self, recordings: Sequence[MotionRecording]) -> "AngleRecogniser":
        """Read the angles of the recordings."""
        return AngleRecogniser(self, [one for one in recordings if self.track(one) is not None])

    def track(self, recording: MotionRecording) -> AngleTrack | None:
        """The angles of the most prominent dancer; None if no dancer is seen for long enough."""
        key = recording.recording_id
        if key not in self._tracks:
            read = standardise(read_angles(recording.motions[0])) if recording.motions else None
            long_enough = read is not None and len(read.angles) >= LEAST_SECONDS * FRAMES_PER_SECOND
            self._tracks[key] = read if long_enough else None
        return self._tracks[key]

    def warping(self, query: MotionRecording, reference: MotionRecording) -> Warping | None:
        """The better of the query as seen and mirrored."""
        own, other = self.track(query), self.track(reference)
        if own is None or other is None:
            return None
        key = (query.recording_id, reference.recording_id)
        if key not in self._warpings:
            both = warp(own, other, mirrored=False), warp(own.mirrored(), other, mirrored=True)
            self._warpings[key] = min(both, key=lambda one: one.cost)
        return self._warpings[key]


class AngleRecogniser:
    """Recordings that a query is aligned with one by one."""

    def __init__(self, method: AngleMethod, recordings: Sequence[MotionRecording]) -> None:
        self._method, self._recordings = method, recordings

    def search(self, query: MotionRecording, without: frozenset[str] = frozenset()) -> list[Candidate]:
        """The recordings with the highest score; no verdict."""
        known = [one for one in self._recordings if one.recording_id not in without]
        found = [(one.recording_id, self._method.warping(query, one)) for one in known]
        ranked = sorted((-one.score, name, one) for name, one in found if one is not None)
        return [
            Candidate(
                name, score=one.score, confidence=one.score, verdict=None,
                lag_seconds=one.lag_seconds, mirrored=one.mirrored, tempo=one.tempo,
            )
            for _, name, one in ranked[:CANDIDATES]
        ]  # fmt: skip
