"""Which tracks are dancers: enough seconds, enough of a body, movement of its own.

All numbers that decide it are here, chosen on real clips (docs/decisions.md, "Who is a dancer").
Seconds, body and movement are checked for every motion, whatever file it comes from; size in the picture
and the way through it only for tracks, where the picture is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import NoDancerError
from dancematch.motion import BONE_LENGTHS, FPS, to_body15
from dancematch.pose.track import (
    JOINT_SEEN_FROM,
    Track,
    frame_heights_per_metre,
    metres_travelled,
    prominence,
    seconds_seen,
    share_of_frame,
)
from dancematch.skeletons import BODY15
from dancematch.types import FloatArray, IgnoredTrack, Motion, Span

SHORTEST_SECONDS = 2.0  # in view; in a clip shorter than twice this, half of the clip
FRAGMENT_SECONDS = 0.5  # shorter ignored tracks are counted, not listed, and are never called still
SEEN_SHARE = 0.5  # of the frames from the first to the last: flicker is a false detection
LIMB_SHARE = 0.3  # of elbows and wrists, or of knees and ankles, that must be seen
STILL_METRES = 0.02  # least deviation of a dancer's joint within a second; the stillest of AIST++ has 0.035
TREMBLE_METRES = 0.04  # the same in the picture's plane, of an estimate: few poses per second tremble more
TREMBLE_SMOOTHING_SECONDS = 0.25  # an estimator's tremble is quicker than a movement
COLLAPSED, GIANT = 0.001, 1000  # times the length of the canonical body's bones
SMALLEST_SHARE = 0.05  # of the picture, along the larger side
BACKGROUND = 0.5  # size in the picture, over the main dancer's, below which a person is in the background
CROSSING_METRES = 1.5  # way through the picture of a person who crosses it ...
CROSSING_SECONDS = 5.0  # ... in less than this, and half of the clip

_OFTEN_SEEN = 0.25  # of the frames: a joint seen less often says little about movement
_ARMS = [BODY15.index(f"{side}_{joint}") for side in ("left", "right") for joint in ("elbow", "wrist")]
_LEGS = [BODY15.index(f"{side}_{joint}") for side in ("left", "right") for joint in ("knee", "ankle")]


@dataclass(frozen=True)
class Selection:
    """The tracks of a clip: its dancers, the most prominent first, and the ignored ones."""

    dancers: tuple[Track, ...] = ()
    ignored: tuple[IgnoredTrack, ...] = ()


def select_dancers(tracks: Sequence[Track]) -> Selection:
    """Split tracks into dancers, numbered by prominence, and ignored ones with the reason.

    The clip is as long as the tracks say (`Track.clip_seconds`) or, if they do not, as it is from
    the first to the last frame in which a person is seen.
    """
    tracks = [track for track in tracks if len(track.times)]
    if not tracks:
        return Selection()
    first, last = min(track.times[0] for track in tracks), max(track.times[-1] for track in tracks)
    clip_seconds = tracks[0].clip_seconds or float(last - first)
    reasons = {id(track): _find_track_fault(track, clip_seconds) for track in tracks}
    dancers = sorted(
        (track for track in tracks if reasons[id(track)] is None),
        key=lambda track: (-prominence(track), float(track.times[0])),
    )
    for track in dancers[1:]:
        if _is_in_background(track, dancers[0]):
            reasons[id(track)] = "in the background"
    chosen = [track for track in dancers if reasons[id(track)] is None]
    return Selection(
        tuple(replace(track, dancer=number) for number, track in enumerate(chosen, start=1)),
        _describe_ignored([(track, reason) for track in tracks if (reason := reasons[id(track)])]),
    )


def _describe_ignored(ignored: Sequence[tuple[Track, str]]) -> tuple[IgnoredTrack, ...]:
    """Return the ignored tracks, the longest seen first; fragments, perhaps dozens, as one entry."""
    ordered = sorted(ignored, key=lambda one: (-seconds_seen(one[0]), float(one[0].times[0])))
    fragments = [track for track, _ in ordered if seconds_seen(track) < FRAGMENT_SECONDS]
    entries = [
        IgnoredTrack(_span(track), f"{seconds_seen(track):.1f} s, {reason}")
        for track, reason in ordered
        if len(fragments) < 2 or track not in fragments
    ]
    if len(fragments) > 1:
        spans = [_span(track) for track in fragments]
        whole = Span(min(span.start for span in spans), max(span.end for span in spans))
        entries.append(IgnoredTrack(whole, f"{len(fragments)} fragments shorter than {FRAGMENT_SECONDS} s"))
    return tuple(entries)


def require_dancer(selection: Selection, what: object) -> Selection:
    """Return the selection; a NoDancerError says why if it has no dancer, and names the clip as `what`."""
    if not selection.dancers:
        raise NoDancerError(no_dancer(what, selection.ignored))
    return selection


def no_dancer(what: object, ignored: Sequence[IgnoredTrack]) -> str:
    """Return one sentence on why a clip has no dancer: the reason of the longest ignored track."""
    if not ignored:
        return f"no dancer in {what}: no person was seen; a clip that shows a person was expected"
    return f"no dancer in {what}: {ignored[0].reason}"


def select_motions(motions: Sequence[Motion]) -> tuple[dict[int, Motion], tuple[IgnoredTrack, ...]]:
    """Split the motions of a file into dancers, by number from 1, and ignored ones, the longest first."""
    if not motions:
        return {}, ()
    clip_seconds = max(one.span.end for one in motions) - min(one.span.start for one in motions)
    faults = {dancer: find_fault(one, clip_seconds) for dancer, one in enumerate(motions, start=1)}
    dancing = {dancer: motions[dancer - 1] for dancer, fault in faults.items() if fault is None}
    ignored = [
        IgnoredTrack(motions[dancer - 1].span, f"{motions[dancer - 1].seconds:.1f} s, {fault}")
        for dancer, fault in faults.items()
        if fault is not None
    ]
    return dancing, tuple(sorted(ignored, key=lambda one: -one.span.seconds))


def find_fault(motion: Motion, clip_seconds: float) -> str | None:
    """Return why a motion is no dancer's, in plain words; None if it is a dancer's."""
    body = to_body15(motion)
    seen: NDArray[np.bool_] = np.asarray(body.visibility >= JOINT_SEEN_FROM)  # [frames, joints]
    frames = seen.any(axis=1)
    if frames.sum() / body.fps < min(SHORTEST_SECONDS, clip_seconds / 2):
        return "too short"
    if (fault := _find_size_fault(body.joints)) is not None:
        return fault
    if max(seen[frames][:, limbs].mean() for limbs in (_ARMS, _LEGS)) < LIMB_SHARE:
        return "head and shoulders only"
    if metres_moved(body) < STILL_METRES * min(1.0, body.seconds):
        return _describe_stillness(body.seconds)
    return None


def _describe_stillness(seconds: float) -> str:
    """Return the reason for a motion without movement: a fragment is too short to show any."""
    return "too short" if seconds < FRAGMENT_SECONDS else "does not move"


def metres_moved(body: Motion, *, axes: int = 3) -> float:
    """Return the deviation, within a second, of the joint that moves most from its mean position.

    About the pelvis, root mean square over all seconds in which it is seen, on the canonical body. Within
    a second, because a person who shifts about now and then deviates from the mean of a whole clip as
    much as a dancer. Two `axes` leave out the depth, which a pose estimator only guesses.
    """
    seen = body.visibility >= JOINT_SEEN_FROM
    places = (body.joints - body.joints[:, :1])[..., :axes]
    places = np.where(seen[..., None], places, np.nan)
    if body.seconds >= 1:  # a shorter motion would be smoothed away
        places = _smooth_tremble(places, body.fps)
    width = min(max(2, round(body.fps)), len(places))
    starts = range(0, len(places) - width + 1, max(1, width // 2))
    windows = np.stack([places[start : start + width] for start in starts])  # [windows, frames, joints, axes]
    known = np.asarray(np.isfinite(windows[..., 0]))  # [windows, frames, joints]
    enough = known.sum(axis=1) >= width / 2  # [windows, joints]
    enough &= enough.sum(axis=0) >= _OFTEN_SEEN * enough.any(axis=1).sum()
    if not enough.any():
        return 0.0
    deviation = _temporal_variance(windows, known)
    spread = (deviation * enough).sum(axis=0) / np.maximum(enough.sum(axis=0), 1)  # [joints]
    return float(np.sqrt(spread.max())) / (_relative_size(body.joints) or 1.0)


def _temporal_variance(windows: FloatArray, known: NDArray[np.bool_]) -> FloatArray:
    """Return the variance of positions [windows, frames, joints, axes] over the known frames."""
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)[..., None]
    places = np.where(known[..., None], windows, 0)
    offsets = np.where(known[..., None], windows - places.sum(axis=1, keepdims=True) / count, 0)
    return np.asarray((np.square(offsets).sum(axis=1) / count[:, 0]).sum(axis=2), dtype=np.float32)


def _smooth_tremble(places: FloatArray, fps: float) -> FloatArray:
    """Return the moving mean over `TREMBLE_SMOOTHING_SECONDS`; unseen where less than half of it is seen."""
    width = max(1, min(round(TREMBLE_SMOOTHING_SECONDS * fps), len(places)))
    seen = np.isfinite(places)

    def sum_windows(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.cumsum(np.concatenate([np.zeros_like(values[:1]), values]), axis=0)
        return np.asarray(total[width:] - total[:-width])

    count = sum_windows(seen.astype(np.float64))
    total = sum_windows(np.where(seen, places, 0.0).astype(np.float64))
    return np.where(count >= width / 2, total / np.maximum(count, 1), np.nan).astype(np.float32)


def _find_size_fault(joints: FloatArray) -> str | None:
    """Return what is wrong with the size of a body, perhaps because of a wrong unit; None if nothing is."""
    size = _relative_size(joints)
    if size is not None and size < COLLAPSED:
        return "all joints lie on one point"
    bones = np.linalg.norm(joints - joints[:, list(BODY15.parents)], axis=2)[:, 1:]
    if size is not None and (usual := np.nanmedian(bones) / np.median(BONE_LENGTHS[1:])) > GIANT:
        return f"the body is some {usual:,.0f} times as large as a person; joints in metres were expected"
    return None


def _relative_size(joints: FloatArray) -> float | None:
    """Return the size over the canonical body's, by each bone's greatest length; None if no bone is seen."""
    bones = np.linalg.norm(joints - joints[:, list(BODY15.parents)], axis=2)[:, 1:]
    longest = np.nan_to_num(bones, nan=-1.0).max(axis=0)
    seen = longest >= 0
    return float(longest[seen].sum() / BONE_LENGTHS[1:][seen].sum()) if seen.any() else None


def _find_track_fault(track: Track, clip_seconds: float) -> str | None:
    motion = track.motion()
    fault = find_fault(motion, clip_seconds)
    if fault is not None:
        return fault
    if metres_moved(to_body15(motion), axes=2) < TREMBLE_METRES * min(1.0, motion.seconds):
        return _describe_stillness(motion.seconds)
    if share_of_frame(track) < SMALLEST_SHARE:
        return "too small"
    if seconds_seen(track) < SEEN_SHARE * (track.times[-1] - track.times[0]):
        return "seen only now and then"
    brief = seconds_seen(track) < min(CROSSING_SECONDS, clip_seconds / 2)
    if brief and metres_travelled(track) > CROSSING_METRES:
        return "crosses the picture"
    return None


def _is_in_background(track: Track, main: Track) -> bool:
    """Whether a person is much smaller than the main dancer in the same picture, not after a cut."""
    together = (track.times >= main.times[0]) & (track.times <= main.times[-1])
    if together.mean() < 0.5:
        return False
    size, usual = frame_heights_per_metre(track), frame_heights_per_metre(main)
    return size is not None and usual is not None and size < BACKGROUND * usual


def _span(track: Track) -> Span:
    start = max(0.0, float(track.times[0]))
    return Span(start, max(float(track.times[-1]), start + 1 / FPS))  # a single frame lasts for a frame
