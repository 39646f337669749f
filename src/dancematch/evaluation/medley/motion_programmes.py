"""Programmes of AIST++ as one motion: excerpts joined in place, so that no jump over the floor tells a seam.

Each excerpt keeps its heading: synchrony compares directions as the camera sees them, and a camera that
looks from elsewhere is another change. Between two excerpts is a hard cut, or a cross-fade of a third of a
second. Gaps are unseen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from dancematch.evaluation.medley.changes import change_motion
from dancematch.evaluation.medley.programme import Part, Programme, ProgrammeItem, ProgrammeSource
from dancematch.evaluation.methods.recogniser import MotionRecording
from dancematch.evaluation.suites.aist import AistClip, dance_of
from dancematch.motion import FPS, excerpt, resample
from dancematch.skeletons import BODY15
from dancematch.types import FloatArray, Motion, Span

FADE_SECONDS = 1 / 3
KNOWN_SHARE = 2 / 3  # of the dances; the others are unknown
TEMPO_RANGE = (0.7, 1.43)  # that are searched: README.md, "Limits"

ON_FLOOR = np.array([1, 0, 1], dtype=np.float32)

Draw = tuple[list[MotionRecording], list[ProgrammeSource]]  # a catalogue, and what is shown


def name_clip(clip: AistClip) -> str:
    """The id of a recording."""
    return "/".join((*clip.name.choreography, clip.name.dancer, clip.name.music))


def draw_clips(clips: Sequence[AistClip], part: Part, rng: np.random.Generator) -> Draw:
    """A catalogue of one recording per dance, and the sources of a programme.

    `changed`: two thirds of all dances are known, and shown are the recordings of the catalogue. `another
    person`: the same of basic dances, of which other dancers' recordings are shown; advanced dances, danced
    once, are in the catalogue and not shown. The other dances are unknown.
    """
    dances: dict[str, list[AistClip]] = {}
    for clip in clips:
        dances.setdefault(dance_of(clip.name), []).append(clip)
    order = [list(dances)[place] for place in rng.permutation(len(dances)).tolist()]
    chosen = {name: dances[name][int(rng.integers(len(dances[name])))] for name in order}
    shown = [name for name in order if part == "changed" or chosen[name].name.kind == "BM"]
    known = set(shown[: round(KNOWN_SHARE * len(shown))])
    sources: list[ProgrammeSource] = []
    for name in shown:
        one = chosen[name]
        if name not in known:
            sources.append(ProgrammeSource(name_clip(one), "unknown dance", one.motion.span))
            continue
        recordings = [one] if part == "changed" else _by_others(one, dances[name])
        sources += [ProgrammeSource(name_clip(clip), part, clip.motion.span, name) for clip in recordings]
    kept = [name for name in order if name in known or name not in shown]
    return [MotionRecording(name_clip(chosen[name]), name, (chosen[name].motion,)) for name in kept], sources


def _by_others(known: AistClip, clips: Sequence[AistClip]) -> list[AistClip]:
    """Recordings by other dancers, at a tempo that is searched: all have the same beats."""
    low, high = TEMPO_RANGE
    return [
        clip
        for clip in clips
        if clip.name.dancer != known.name.dancer and low <= known.motion.seconds / clip.motion.seconds <= high
    ]


def join_motions(programme: Programme, motions: Mapping[str, Motion]) -> Motion:
    """The programme as one dancer's motion in the world frame, on body15."""
    joints = np.full((programme.frames, len(BODY15.joints), 3), np.nan, dtype=np.float32)
    visibility = np.zeros(joints.shape[:2], dtype=np.float32)
    place = np.zeros(3, dtype=np.float32)  # on the floor, where the dancer before ended
    for item in programme.items:
        if item.recording is not None:
            first = round(item.span.start * FPS)
            cut = _cut(item, motions[item.recording])
            pelvis = cut.joints[np.isfinite(cut.joints[:, 0, 0]), 0] * ON_FLOOR
            begin, end = (pelvis[0], pelvis[-1]) if len(pelvis) else (place, place)
            joints[first : first + item.frames] = cut.joints + (place - begin)
            visibility[first : first + item.frames] = cut.visibility
            place = place - begin + end
    for fade in _fades(programme):
        fade(joints)
        fade(visibility)
    return Motion(joints, FPS, BODY15, visibility)


def _cut(item: ProgrammeItem, motion: Motion) -> Motion:
    """The item's excerpt, changed, at thirty frames per second, with as many frames as the item."""
    wanted = clip_span(item.excerpt, motion)
    changed = change_motion(item, excerpt(motion, wanted.start, wanted.end))
    times = np.arange(len(changed.joints)) / changed.fps
    even = resample(times, changed.joints, changed.visibility, changed.skeleton)
    # A change of tempo may be a frame short or long.
    places = np.minimum(np.arange(item.frames), len(even.joints) - 1)
    return Motion(even.joints[places], FPS, BODY15, even.visibility[places])


def clip_span(span: Span, motion: Motion) -> Span:
    """The part of a span within a motion, in seconds after the motion's own start."""
    return Span(max(0.0, span.start - motion.start), min(motion.seconds, span.end - motion.start))


def _fades(programme: Programme) -> Iterator[Callable[[FloatArray], None]]:
    """Yield functions that put straight lines into an array [frames, ...] where items fade."""
    half = round(FADE_SECONDS * FPS / 2)
    for before, after in pairwise(programme.items):
        middle = round(after.span.start * FPS)
        if after.fades and min(before.frames, after.frames) > 2 * half:

            def fade(values: FloatArray, first: int = middle - half, last: int = middle + half) -> None:
                share = np.linspace(0, 1, last - first + 1, dtype=np.float32)
                share = share.reshape(-1, *(1,) * (values.ndim - 1))
                values[first : last + 1] = values[first] * (1 - share) + values[last] * share

            yield fade
