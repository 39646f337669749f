"""Programmes of clips as skeletons: every dancer of every excerpt is a motion on the programme's clock."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dancematch.evaluation.medley.changes import change_motion
from dancematch.evaluation.medley.motion_programmes import TEMPO_RANGE, Draw, clip_span
from dancematch.evaluation.medley.programme import ItemKind, Part, Programme, ProgrammeItem, ProgrammeSource
from dancematch.evaluation.methods.recogniser import MotionRecording
from dancematch.evaluation.real.clip_index import ClipKind, IndexedClip
from dancematch.motion import excerpt
from dancematch.pose.selection import select_motions
from dancematch.types import Motion, Span

LEAST_SECONDS = 0.5  # of a dancer in an excerpt; a tracker sees less as well, and ignores it

_UNKNOWN: Mapping[ClipKind, ItemKind] = {"single": "unknown dance", "no-dance": "not dancing"}
_Seen = tuple[IndexedClip, MotionRecording, Span]  # and from when to when a dancer is seen


def draw_recordings(
    clips: Sequence[IndexedClip],
    recordings: Sequence[MotionRecording],
    part: Part,
    rng: np.random.Generator,
) -> Draw:
    """A catalogue of the dances, and the sources of a programme.

    `another person`: of each dance one performance, drawn, is shown, and the others are known; where the time
    lags are known, only what the known recordings have too is shown. `changed`: one performance is
    known, and it and its copies are shown. Single dances and clips without dance are shown and unknown.
    """
    seen = [
        (clip, recording, span)
        for clip, recording in zip(clips, recordings, strict=True)
        if (span := seen_span(recording.motions)) is not None
    ]
    known: list[MotionRecording] = []
    sources = [
        ProgrammeSource(clip.file, _UNKNOWN[clip.kind], span)
        for clip, _, span in seen
        if clip.kind != "dance"
    ]
    for dance in dict.fromkeys(clip.dance for clip, *_ in seen if clip.kind == "dance"):
        own = [one for one in seen if one[0].dance == dance]
        performances = list(dict.fromkeys(clip.performance for clip, *_ in own))
        drawn = performances[int(rng.integers(len(performances)))]
        inside = [one for one in own if one[0].performance == drawn]
        outside = [one for one in own if one[0].performance != drawn]
        kept = inside[:1] if part == "changed" else outside
        if not kept:
            continue  # no dancer is seen in the others
        known += [recording for _, recording, _ in kept]
        sources += _sources_of(inside, kept, part)
    return known, sources


def _sources_of(shown: Sequence[_Seen], known: Sequence[_Seen], part: Part) -> Iterator[ProgrammeSource]:
    """Yield what is shown of one performance: its first recording, and of changed ones the copies too."""
    first = shown[0]
    for clip, _, span in shown if part == "changed" else shown[:1]:
        low, high = TEMPO_RANGE
        if not low <= span.seconds / first[2].seconds <= high:
            continue  # a copy at a tempo that is not searched
        common = span if part == "changed" else _common_span(clip, span, known)
        if common is not None:
            yield ProgrammeSource(clip.file, part, common, clip.dance)


def _common_span(clip: IndexedClip, span: Span, known: Sequence[_Seen]) -> Span | None:
    """The part of a clip that recordings of the catalogue have too, as far as the lags are known."""
    if clip.lag_seconds is None or any(other.lag_seconds is None for other, *_ in known):
        return span
    shifts = [(own, clip.lag_seconds - (other.lag_seconds or 0.0)) for other, _, own in known]
    start = max(span.start, min(own.start + shift for own, shift in shifts))
    end = min(span.end, max(own.end + shift for own, shift in shifts))
    return Span(start, end) if start < end else None


def seen_span(motions: Sequence[Motion]) -> Span | None:
    """From when to when a dancer is seen; None if none is."""
    spans = [motion.span for motion in select_motions(motions)[0].values()]
    return Span(min(one.start for one in spans), max(one.end for one in spans)) if spans else None


def place_dancers(programme: Programme, dancers: Mapping[str, Sequence[Motion]]) -> list[Motion]:
    """Every dancer of every item, in order of appearance, with the programme's clock."""
    placed = [
        motion
        for item in programme.items
        if item.recording is not None
        for motion in _place(item, dancers[item.recording])
    ]
    return sorted(placed, key=lambda motion: motion.start)


def _place(item: ProgrammeItem, dancers: Sequence[Motion]) -> Iterator[Motion]:
    wanted = item.excerpt
    for motion in dancers:
        if min(wanted.end, motion.span.end) - max(wanted.start, motion.start) < LEAST_SECONDS:
            continue
        part = clip_span(wanted, motion)
        changed = change_motion(item, excerpt(motion, part.start, part.end))
        late = max(0.0, motion.start + part.start - wanted.start) / item.tempo
        start = item.span.start + late
        yield Motion(changed.joints, changed.fps, changed.skeleton, changed.visibility, start)
