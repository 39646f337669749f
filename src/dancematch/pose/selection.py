"""Who is a dancer: enough seconds, enough of a body, movement of its own.

All numbers that decide it are here, chosen on real clips (docs/decisions.md, "Who is a dancer").
Seconds, body and movement are asked of every motion, whatever file it comes from; size in the picture
and the way through it only of tracks, where the picture is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import NoDancerError
from dancematch.motion import BONE_LENGTHS, FPS, to_body15
from dancematch.pose.track import (
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
FRAGMENT_SECONDS = 0.5  # below which ignored tracks are counted, not listed, and stillness says nothing
SEEN = 0.5  # visibility from which a joint counts as seen
SEEN_SHARE = 0.5  # of the frames from the first to the last: what flickers is a false detection
LIMB_SHARE = 0.3  # of elbows and wrists, or of knees and ankles, that must be seen
STILL_METRES = 0.02  # that a joint of a dancer strays within a second; the stillest of AIST++ by 0.035
TREMBLE_METRES = 0.03  # the same in the picture's plane, of an estimate: photographs tremble by up to 0.026
SMOOTHING_SECONDS = 0.25  # a tremble is quicker than a movement
COLLAPSED, GIANT = 0.001, 1000  # times the length that bones have on a body of our size
SMALLEST_SHARE = 0.05  # of the picture, the wider way
BACKGROUND = 0.5  # size in the picture, over the main dancer's, below which somebody is in the background
CROSSING_METRES = 1.5  # way through the picture of somebody who crosses it ...
CROSSING_SECONDS = 5.0  # ... in less than this, and half of the clip

_OFTEN_SEEN = 0.25  # of the frames: what is seen for less says little about movement
_ARMS = [BODY15.index(f"{side}_{joint}") for side in ("left", "right") for joint in ("elbow", "wrist")]
_LEGS = [BODY15.index(f"{side}_{joint}") for side in ("left", "right") for joint in ("knee", "ankle")]


@dataclass(frozen=True)
class Selection:
    """The tracks of a clip: its dancers, the most prominent first, and what else was followed."""

    dancers: tuple[Track, ...] = ()
    ignored: tuple[IgnoredTrack, ...] = ()


def select_dancers(tracks: Sequence[Track]) -> Selection:
    """Split tracks into dancers, numbered by prominence, and ignored ones with the reason.

    The clip is as long as the tracks say (`Track.clip_seconds`) or, if they do not, as it is from
    the first to the last frame in which anybody is seen.
    """
    tracks = [track for track in tracks if len(track.times)]
    if not tracks:
        return Selection()
    clip_seconds = tracks[0].clip_seconds or _span_of(tracks)
    reasons = {id(track): _track_fault(track, clip_seconds) for track in tracks}
    dancers = sorted(
        (track for track in tracks if reasons[id(track)] is None),
        key=lambda track: (-prominence(track), float(track.times[0])),
    )
    for track in dancers[1:]:
        if _is_behind(track, dancers[0]):
            reasons[id(track)] = "in the background"
    chosen = [track for track in dancers if reasons[id(track)] is None]
    return Selection(
        tuple(replace(track, dancer=number) for number, track in enumerate(chosen, start=1)),
        _describe_ignored([(track, reason) for track in tracks if (reason := reasons[id(track)])]),
    )


def _describe_ignored(ignored: Sequence[tuple[Track, str]]) -> tuple[IgnoredTrack, ...]:
    """Ignored tracks, the longest seen first; fragments, of which there may be dozens, in one entry."""
    ordered = sorted(ignored, key=lambda one: (-seconds_seen(one[0]), float(one[0].times[0])))
    fragments = [track for track, _ in ordered if seconds_seen(track) < FRAGMENT_SECONDS]
    told = [
        IgnoredTrack(_span(track), f"{seconds_seen(track):.1f} s, {reason}")
        for track, reason in ordered
        if len(fragments) < 2 or track not in fragments
    ]
    if len(fragments) > 1:
        spans = [_span(track) for track in fragments]
        whole = Span(min(span.start for span in spans), max(span.end for span in spans))
        told.append(IgnoredTrack(whole, f"{len(fragments)} fragments shorter than {FRAGMENT_SECONDS} s"))
    return tuple(told)


def require_dancer(selection: Selection, what: object) -> Selection:
    """The same, unless there is no dancer: then an error says why; `what` names the clip in it."""
    if not selection.dancers:
        raise NoDancerError(no_dancer(what, selection.ignored))
    return selection


def no_dancer(what: object, ignored: Sequence[IgnoredTrack]) -> str:
    """One sentence on why a clip has no dancer: what is said of the first of those who were ignored."""
    if not ignored:
        return f"no dancer in {what}: nobody was seen; a clip that shows a person was expected"
    return f"no dancer in {what}: {ignored[0].reason}"


def select_motions(motions: Sequence[Motion]) -> tuple[dict[int, Motion], tuple[IgnoredTrack, ...]]:
    """Split the motions of a file into dancers, by number from 1, and ignored ones, the longest first."""
    if not motions:
        return {}, ()
    clip_seconds = max(one.span.end for one in motions) - min(one.span.start for one in motions)
    faults = {dancer: fault_of(one, clip_seconds) for dancer, one in enumerate(motions, start=1)}
    dancing = {dancer: motions[dancer - 1] for dancer, fault in faults.items() if fault is None}
    ignored = [
        IgnoredTrack(motions[dancer - 1].span, f"{motions[dancer - 1].seconds:.1f} s, {fault}")
        for dancer, fault in faults.items()
        if fault is not None
    ]
    return dancing, tuple(sorted(ignored, key=lambda one: -one.span.seconds))


def fault_of(motion: Motion, clip_seconds: float) -> str | None:
    """Why a motion is no dancer's, in plain words; None if it is one's."""
    body = to_body15(motion)
    seen: NDArray[np.bool_] = np.asarray(body.visibility >= SEEN)  # [frames, joints]
    frames = seen.any(axis=1)
    if frames.sum() / body.fps < min(SHORTEST_SECONDS, clip_seconds / 2):
        return "too short"
    if (fault := _size_fault(body.joints)) is not None:
        return fault
    if max(seen[frames][:, limbs].mean() for limbs in (_ARMS, _LEGS)) < LIMB_SHARE:
        return "head and shoulders only"
    if metres_moved(body) < STILL_METRES * min(1.0, body.seconds):
        return _stillness(body.seconds)
    return None


def _stillness(seconds: float) -> str:
    """What is said of a motion without movement: a single frame shows none whoever is in it."""
    return "too short" if seconds < FRAGMENT_SECONDS else "does not move"


def metres_moved(body: Motion, *, axes: int = 3) -> float:
    """How far the joint that moves most strays, within a second, from its mean place about the pelvis.

    Root mean square over all seconds in which it is seen, on a body of our size. Within a second,
    because somebody who shifts about now and then is as far away from the mean of a whole clip as a
    dancer. Two `axes` leave out the depth, which a pose estimator only guesses.
    """
    seen = body.visibility >= SEEN
    places = (body.joints - body.joints[:, :1])[..., :axes]
    places = np.where(seen[..., None], places, np.nan)
    if body.seconds >= 1:  # a shorter motion would be smoothed away
        places = _smoothed(places, body.fps)
    width = min(max(2, round(body.fps)), len(places))
    starts = range(0, len(places) - width + 1, max(1, width // 2))
    windows = np.stack([places[start : start + width] for start in starts])  # [windows, frames, joints, axes]
    known = np.asarray(np.isfinite(windows[..., 0]))  # [windows, frames, joints]
    enough = known.sum(axis=1) >= width / 2  # [windows, joints]
    enough &= enough.sum(axis=0) >= _OFTEN_SEEN * enough.any(axis=1).sum()
    if not enough.any():
        return 0.0
    strayed = _variance(windows, known)
    spread = (strayed * enough).sum(axis=0) / np.maximum(enough.sum(axis=0), 1)  # [joints]
    return float(np.sqrt(spread.max())) / (_size(body.joints) or 1.0)


def _variance(windows: FloatArray, known: NDArray[np.bool_]) -> FloatArray:
    """Variance of places [windows, frames, joints, axes] over the frames in which they are known."""
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)[..., None]
    places = np.where(known[..., None], windows, 0)
    apart = np.where(known[..., None], windows - places.sum(axis=1, keepdims=True) / count, 0)
    return np.asarray((np.square(apart).sum(axis=1) / count[:, 0]).sum(axis=2), dtype=np.float32)


def _smoothed(places: FloatArray, fps: float) -> FloatArray:
    """Moving mean over `SMOOTHING_SECONDS` of what is seen; unseen where less than half of it is."""
    width = max(1, min(round(SMOOTHING_SECONDS * fps), len(places)))
    seen = np.isfinite(places)

    def windowed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.cumsum(np.concatenate([np.zeros_like(values[:1]), values]), axis=0)
        return np.asarray(total[width:] - total[:-width])

    count = windowed(seen.astype(np.float64))
    total = windowed(np.where(seen, places, 0.0).astype(np.float64))
    return np.where(count >= width / 2, total / np.maximum(count, 1), np.nan).astype(np.float32)


def _size_fault(joints: FloatArray) -> str | None:
    """What is wrong with the size of a body: a file read in the wrong unit may be the reason."""
    size = _size(joints)
    if size is not None and size < COLLAPSED:
        return "all joints lie on one point"
    bones = np.linalg.norm(joints - joints[:, list(BODY15.parents)], axis=2)[:, 1:]
    if size is not None and (usual := np.nanmedian(bones) / np.median(BONE_LENGTHS[1:])) > GIANT:
        return f"the body is some {usual:,.0f} times as large as a person; joints in metres were expected"
    return None


def _size(joints: FloatArray) -> float | None:
    """How large the body is beside ours, by the longest that each bone ever is; None if no bone is seen."""
    bones = np.linalg.norm(joints - joints[:, list(BODY15.parents)], axis=2)[:, 1:]
    longest = np.nan_to_num(bones, nan=-1.0).max(axis=0)
    seen = longest >= 0
    return float(longest[seen].sum() / BONE_LENGTHS[1:][seen].sum()) if seen.any() else None


def _track_fault(track: Track, clip_seconds: float) -> str | None:
    motion = track.motion()
    fault = fault_of(motion, clip_seconds)
    if fault is not None:
        return fault
    if metres_moved(to_body15(motion), axes=2) < TREMBLE_METRES * min(1.0, motion.seconds):
        return _stillness(motion.seconds)
    if share_of_frame(track) < SMALLEST_SHARE:
        return "too small"
    if seconds_seen(track) < SEEN_SHARE * (track.times[-1] - track.times[0]):
        return "seen only now and then"
    brief = seconds_seen(track) < min(CROSSING_SECONDS, clip_seconds / 2)
    if brief and metres_travelled(track) > CROSSING_METRES:
        return "crosses the picture"
    return None


def _is_behind(track: Track, main: Track) -> bool:
    """Whether somebody is shown much smaller than the main dancer, in the same picture: not after a cut."""
    together = (track.times >= main.times[0]) & (track.times <= main.times[-1])
    if together.mean() < 0.5:
        return False
    size, usual = frame_heights_per_metre(track), frame_heights_per_metre(main)
    return size is not None and usual is not None and size < BACKGROUND * usual


def _span_of(tracks: Sequence[Track]) -> float:
    return float(max(track.times[-1] for track in tracks) - min(track.times[0] for track in tracks))


def _span(track: Track) -> Span:
    start = max(0.0, float(track.times[0]))
    return Span(start, max(float(track.times[-1]), start + 1 / FPS))  # a single frame lasts for a frame
