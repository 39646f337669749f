"""Two performances of one dance, moment by moment: where, by how much and how late they differ.

A difference is the angle between the two directions of a bone, in degrees, after each dancer is turned
to face forward. A direction does not depend on the dancer's build or on the bones it hangs from: an arm held
too low at the shoulder is one difference, not one of elbow and hand as well. Lateness is relative to an even
tempo through the whole performance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dancematch.model.tokeniser import Tokeniser
from dancematch.motion import canonicalise, mirror
from dancematch.pipeline.query import QueryDancer
from dancematch.report.poses import Poses
from dancematch.search.engine import Engine
from dancematch.search.explain import EvidenceMatrix, evidence_of
from dancematch.search.stage2.local_alignment import AlignedSegment
from dancematch.skeletons import BODY15
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, FloatArray, Match, Motion, Span, Verdict

if TYPE_CHECKING:
    import pandas as pd

# A bone's name, and the joints that it runs between; the two lines across show leaning and twisting.
BONES: dict[str, tuple[str, str]] = {
    "head": ("neck", "head"),
    "torso": ("pelvis", "neck"),
    "shoulders": ("right_shoulder", "left_shoulder"),
    "hips": ("right_hip", "left_hip"),
    **{
        f"{side} {bone}": (f"{side}_{upper}", f"{side}_{lower}")
        for bone, upper, lower in (
            ("upper arm", "shoulder", "elbow"),
            ("forearm", "elbow", "wrist"),
            ("thigh", "hip", "knee"),
            ("shin", "knee", "ankle"),
        )
        for side in ("left", "right")
    },
}
# The channels whose names a layman knows, and the bones of each.
LIMBS: Mapping[str, tuple[str, ...]] = {
    **{f"{side}_arm": (f"{side} upper arm", f"{side} forearm") for side in ("left", "right")},
    "torso": ("head", "torso", "shoulders", "hips"),
    **{f"{side}_leg": (f"{side} thigh", f"{side} shin") for side in ("left", "right")},
}
WORST_MOMENTS = 5  # that are named
MATCHED_SHARE = 0.5  # of the time in matching passages, that a possible match needs
LATEST_SECONDS = 0.4  # from the place that the words give: farther apart, it is another movement
MOMENT_SECONDS = 0.5  # length of a moment
NO_DIFFERENCE = 1.0  # degrees up to which two bones do not differ
_MOMENT_GAP_SECONDS = 1.5  # between two moments that are both named
_LATENESS_COST = 0.02  # per frame of lateness gained or lost: as much as 12 degrees in all bones
_NAMED_BONES = 3  # per moment
_UNCUT_SHARE = 0.75  # of a passage, that must be left where it meets another
_STEADY_SECONDS = 3.0  # over which offsets from the even tempo are smoothed
_ENDS = np.array([[BODY15.index(joint) for joint in ends] for ends in BONES.values()])
# By axis, less and more of it: what stands after "too".
_TENDENCIES = (("far to the right", "far to the left"), ("low", "high"), ("far back", "far forward"))

IntArray = NDArray[np.int64]
Seconds = NDArray[np.float64]


@dataclass(frozen=True)
class BoneDifference:
    """How far a bone of the clip differs from the reference's, in degrees."""

    bone: str
    mean: float
    high: float  # the 90th percentile
    worst_at: float  # seconds of the clip
    tendency: str = ""  # "low" or "far to the right": mostly too much so; empty if there is none


@dataclass(frozen=True)
class MomentDifference:
    """A moment at which the two differ much."""

    query: float  # seconds of the clip
    reference: float
    degrees: float  # mean over the bones
    late: float  # seconds; below 0 where the clip is early
    bones: tuple[BoneDifference, ...]  # that differ most


@dataclass(frozen=True, eq=False)
class Comparison:
    """A clip and a reference, frame by frame."""

    match: Match
    tempo: float  # the clip's speed over the reference's
    matched: float  # share of the time in passages whose words match
    query: Seconds  # [frames] seconds of the clip
    reference: Seconds  # [frames] of the reference
    late: Seconds  # [frames] below 0 = early
    degrees: FloatArray  # [frames, bones] by `BONES`, NaN where either does not show the bone
    query_poses: Poses  # [frames] mirrored if the match is
    reference_poses: Poses  # [frames]
    query_motion: Motion  # all of it, canonical, mirrored if the match is
    reference_motion: Motion  # the same of the reference

    @property
    def query_joints(self) -> FloatArray:
        """[frames, 15, 3] the clip's joints, NaN where they were not seen."""
        return self.query_poses.measured

    @property
    def reference_joints(self) -> FloatArray:
        """[frames, 15, 3] the reference's joints, NaN where they were not seen."""
        return self.reference_poses.measured

    @property
    def verdict(self) -> Verdict:
        """The match's verdict; a possible match also needs passages that match for long.

        With nothing else to compare with, two dances of one style are easily a possible match. Passages
        alone do not make one: in clips in which hardly anything moves, all words match.
        """
        verdict = self.match.verdict
        return "no match" if verdict == "possible match" and self.matched < MATCHED_SHARE else verdict

    @property
    def same(self) -> bool:
        """Whether the two are a match or a possible one."""
        return self.verdict != "no match"

    @cached_property
    def mean(self) -> FloatArray:
        """[frames] mean over the bones; NaN where none is shown."""
        return _finite_means(self.degrees, axis=1)

    @cached_property
    def bones(self) -> tuple[BoneDifference, ...]:
        """Each bone that both show, the largest difference first."""
        return tuple(self._list_bones(np.arange(len(self.degrees))))

    @cached_property
    def worst(self) -> tuple[MomentDifference, ...]:
        """The moments at which the two differ most, and more than on average, in order of time."""
        if not np.isfinite(self.mean).any():
            return ()
        rate = 1 / float(np.median(np.diff(self.reference))) if len(self.reference) > 1 else 1.0
        half, gap = max(1, round(MOMENT_SECONDS * rate / 2)), round(_MOMENT_GAP_SECONDS * rate)
        frames = np.arange(len(self.mean))
        windows = [frames[max(0, frame - half) : frame + half + 1] for frame in frames.tolist()]
        smooth = np.array([_finite_means(self.mean[window], axis=0) for window in windows])
        least = max(float(_finite_means(self.mean, axis=0)), NO_DIFFERENCE)
        worst = list[int]()
        for frame in np.argsort(-np.nan_to_num(smooth, nan=-1.0), kind="stable").tolist():
            apart = all(abs(frame - one) >= gap for one in worst)
            if smooth[frame] > least and len(worst) < WORST_MOMENTS and apart:
                worst.append(frame)
        return tuple(self._moment(frame, windows[frame], float(smooth[frame])) for frame in sorted(worst))

    def to_pandas(self) -> "pd.DataFrame":
        """One row per frame: seconds of both, lateness, the degrees of each bone and of all on average."""
        from dancematch.pipeline.tables import columns_to_pandas

        bones = {f"degrees.{bone}": self.degrees[:, number] for number, bone in enumerate(BONES)}
        clocks = {"query": self.query, "reference": self.reference, "late": self.late}
        return columns_to_pandas({**clocks, "degrees": self.mean, **bones})

    def __repr__(self) -> str:
        own, theirs = compared_spans(self)
        return f"<Comparison {self.verdict}, {own} beside {theirs}, x{self.tempo:.2f}>"

    def _moment(self, frame: int, window: IntArray, degrees: float) -> MomentDifference:
        late = float(np.median(self.late[window]))
        bones = tuple(self._list_bones(window)[:_NAMED_BONES])
        return MomentDifference(float(self.query[frame]), float(self.reference[frame]), degrees, late, bones)

    def _list_bones(self, frames: IntArray) -> list[BoneDifference]:
        shown = np.flatnonzero(np.isfinite(self.degrees[frames]).any(axis=0)).tolist()
        return sorted((self._bone(bone, frames) for bone in shown), key=lambda one: -one.mean)

    def _bone(self, bone: int, frames: IntArray) -> BoneDifference:
        seen = frames[np.isfinite(self.degrees[frames, bone])]
        values = self.degrees[seen, bone]
        apart = (
            bone_directions(self.query_joints[seen])[:, bone]
            - bone_directions(self.reference_joints[seen])[:, bone]
        )
        return BoneDifference(
            list(BONES)[bone], float(values.mean()), float(np.quantile(values, 0.9)),
            float(self.query[seen[values.argmax()]]), name_tendency(apart),
        )  # fmt: skip


def name_tendency(apart: FloatArray) -> str:
    """The way in which a bone mostly points too far; empty if there is none."""
    mean = apart.mean(axis=0)
    axis = int(np.abs(mean).argmax())
    # The sine of some ten degrees, and more than half of how far it is off altogether.
    if abs(mean[axis]) < 0.17 or abs(mean[axis]) < 0.5 * np.linalg.norm(apart, axis=1).mean():
        return ""
    return _TENDENCIES[axis][int(mean[axis] > 0)]


def _finite_means(values: FloatArray, axis: int) -> FloatArray:
    """The mean of the finite values; NaN where there are none."""
    known = np.isfinite(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0).sum(axis=axis)
    return np.asarray(total / np.where(count > 0, count, np.nan))


def compare(
    clip: Sequence[QueryDancer],
    reference: Sequence[QueryDancer],
    tokeniser: Tokeniser,
    background: Sequence[Fingerprint],
    *,
    name: str = "reference",
    mirrored: bool | None = None,
) -> Comparison:
    """How the clip differs from the reference, for the two dancers that match best.

    `mirrored` says which variant of the clip is compared; by default, the one that matches better. The
    likelihood ratio is relative to `background`, words of unrelated dances, as in a search of a catalogue
    that holds the reference alone.
    """
    engine = Engine(tokeniser.codebook, background=background)
    engine.add([KnownTrack(one.dancer, name, one.dancer, one.words) for one in reference])
    variants = [
        query for one in clip for query in one.queries() if mirrored is None or query.mirrored == mirrored
    ]
    (match,) = engine.search(variants, limit=1)
    variant = next(one for one in variants if (one.dancer, one.mirrored) == (match.dancer, match.mirrored))
    own = next(one.motion for one in clip if one.dancer == match.dancer)
    theirs = next(one.motion for one in reference if one.dancer == match.reference_dancer)
    shown = canonicalise(mirror(own) if match.mirrored else own)
    return align_dancers(match, evidence_of(engine, variant, match), shown, canonicalise(theirs))


def align_dancers(
    match: Match,
    evidence: EvidenceMatrix,
    clip: Motion,
    reference: Motion,
    segments: Sequence[AlignedSegment] | None = None,
) -> Comparison:
    """The two dancers of a match, frame by frame; both canonical, the clip mirrored if the match is.

    They are aligned along `segments` that do not cross or, if none are given, all that match.
    """
    segments = order_segments(evidence.segments) if segments is None else segments
    times = reference.start + np.arange(len(reference.joints)) / reference.fps
    expected = _expect_times(evidence, times, segments)
    last = clip.start + (len(clip.joints) - 1) / clip.fps
    within = np.flatnonzero((expected >= clip.start - 1e-6) & (expected <= last + 1e-6))
    frames = np.round((expected[within] - clip.start) * clip.fps).astype(np.int64)
    own_poses, their_poses = Poses.of(clip), Poses.of(reference)[within]
    ours, theirs = bone_directions(own_poses.measured), bone_directions(their_poses.measured)
    frames = _follow_frames(ours, theirs, frames, round(LATEST_SECONDS * clip.fps))
    cosines = np.clip((ours[frames] * theirs).sum(axis=2), -1, 1)
    query = clip.start + frames / clip.fps
    slope, begin = _fit_even_tempo(times[within], query)
    return Comparison(
        match, 1 / slope, _matched_share(evidence, query, segments),
        query, times[within], query - (begin + slope * times[within]),
        np.degrees(np.arccos(cosines)).astype(np.float32),
        own_poses[frames], their_poses, clip, reference,
    )  # fmt: skip


def _expect_times(evidence: EvidenceMatrix, times: Seconds, segments: Sequence[AlignedSegment]) -> Seconds:
    """The time of the clip that goes with each time of the reference, by their words.

    The line at an even tempo, plus the smoothed offset of the matching passages from it: where words say
    little, the best path may wander.
    """
    offset, tempo = evidence.line
    query, reference = evidence.query, evidence.reference

    def on_line(moments: NDArray[np.floating]) -> Seconds:
        words = (moments - reference.start) / reference.seconds_per_word - 0.5
        return np.asarray(query.start + ((words - offset) / tempo + 0.5) * query.seconds_per_word)

    parts = [segment.path for segment in segments] or [evidence.line_pairs]
    pairs = np.concatenate(parts)
    own = query.start + (pairs[:, 0] + 0.5) * query.seconds_per_word
    theirs = reference.start + (pairs[:, 1] + 0.5) * reference.seconds_per_word
    beside = own - on_line(theirs)
    half = _STEADY_SECONDS / 2
    steady = [np.median(beside[np.abs(theirs - moment) <= half]) for moment in theirs]
    return np.asarray(on_line(times) + np.interp(times, theirs, steady))


def _matched_share(evidence: EvidenceMatrix, query: Seconds, segments: Sequence[AlignedSegment]) -> float:
    """The share of the clip's times within the segments."""
    spans = [evidence.query.span(*segment.query) for segment in segments]
    inside = [(query >= span.start) & (query < span.end) for span in spans]
    return float(np.any(inside, axis=0).mean()) if inside else 0.0


def order_segments(segments: Sequence[AlignedSegment]) -> list[AlignedSegment]:
    """The segments, taken best first, that do not cross a better one; in order of time.

    Where two overlap a little, the worse one is cut.
    """
    taken: list[AlignedSegment] = []
    for segment in segments:
        path = segment.path
        for one in taken:
            before = (path[:, 0] < one.query[0]) & (path[:, 1] < one.reference[0])
            after = (path[:, 0] > one.query[1]) & (path[:, 1] > one.reference[1])
            path = path[before if before.sum() > after.sum() else after]
        if len(path) > _UNCUT_SHARE * len(segment.path):
            taken.append(replace(segment, path=path))
    return sorted(taken, key=lambda segment: segment.query)


def bone_directions(joints: FloatArray) -> FloatArray:
    """The directions of the bones, [frames, bones, 3] of length 1; NaN where one is not seen."""
    bones = joints[:, _ENDS[:, 1]] - joints[:, _ENDS[:, 0]]
    length = np.linalg.norm(bones, axis=2, keepdims=True)
    return np.asarray(bones / np.where(length > 1e-6, length, np.nan))


def _follow_frames(ours: FloatArray, theirs: FloatArray, frames: IntArray, reach: int) -> IntArray:
    """The frame of the clip that goes with each frame of the reference, near the expected one.

    The cheapest path: the difference of the poses, plus a little for each frame by which the clip gets later
    or earlier, at most one at a time.
    """
    shifts = np.arange(-reach, reach + 1)
    last = len(ours) - 1
    cost = np.stack([_pose_cost(ours[np.clip(frames + shift, 0, last)], theirs) for shift in shifts], axis=1)
    outside = (frames[:, None] + shifts < 0) | (frames[:, None] + shifts > last)
    cost[outside] += 2.0  # more than any pose differs
    best, came = cost[0].copy(), np.zeros(cost.shape, dtype=np.int64)
    for row in range(1, len(cost)):
        earlier = np.concatenate([[np.inf], best[:-1]]) + _LATENESS_COST
        later = np.concatenate([best[1:], [np.inf]]) + _LATENESS_COST
        ways = np.stack([earlier, best, later])
        chosen = np.where(ways[1] <= ways.min(axis=0), 1, ways.argmin(axis=0))
        best = ways[chosen, np.arange(len(shifts))] + cost[row]
        came[row] = chosen - 1
    place = int(best.argmin())
    path = np.empty(len(cost), dtype=np.int64)
    for row in range(len(cost) - 1, -1, -1):
        path[row] = place
        place += int(came[row, place])
    # Where the expected frames stand still, a step earlier would go back in time.
    return np.maximum.accumulate(np.clip(frames + shifts[path], 0, last))


def _pose_cost(ours: FloatArray, theirs: FloatArray) -> Seconds:
    """1 - cosine of the bones, mean per frame; 0 where none is shown."""
    return np.nan_to_num(_finite_means(1 - (ours * theirs).sum(axis=2), axis=1)).astype(np.float64)


def _fit_even_tempo(reference: Seconds, query: Seconds) -> tuple[float, float]:
    """Slope and start of the straight line through the times: median of slopes, then of starts.

    Slopes are of times half the performance apart, so that a hesitation does not turn the line.
    """
    half = len(reference) // 2
    if half == 0:
        return 1.0, float(query[0] - reference[0])
    slope = float(np.median((query[half:] - query[:-half]) / (reference[half:] - reference[:-half])))
    slope = min(max(slope, 0.25), 4.0)
    return slope, float(np.median(query - slope * reference))


def compared_spans(comparison: Comparison) -> tuple[Span, Span]:
    """The spans of the clip and of the reference that were compared."""
    own, theirs = comparison.query, comparison.reference
    return Span(float(own[0]), float(own[-1]) + 1e-3), Span(float(theirs[0]), float(theirs[-1]) + 1e-3)
