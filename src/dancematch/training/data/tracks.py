"""Training tracks: one dancer's motion each, in the canonical frame, with who dances what.

An index says so (`sources.py`), or the file's name: an AIST++ name gives dancer and choreography, and
`view_<name>` is a pose estimator's view of the motion <name>.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dancematch.errors import InputError
from dancematch.formats.motion_capture.aist_names import parse_name
from dancematch.motion import canonicalise
from dancematch.training.data.files import VIEW
from dancematch.training.data.sources import IndexedFile
from dancematch.types import FloatArray, Motion


@dataclass(frozen=True, eq=False)
class TrainingTrack:
    """One dancer's motion in the canonical frame."""

    name: str
    joints: FloatArray  # [frames, joints of the canonical skeleton, 3]
    dance: str  # equal for tracks that must not be contrasted with each other
    dancer: str | None = None  # None where it is not known
    view_of: str | None = None  # name of the track that a pose estimator saw
    source: str = ""  # name of the `TrainingSource`
    file: str = ""  # tracks of one file were recorded together
    start: float = 0.0  # seconds of the file at which it begins
    lag_seconds: float | None = None  # the file's time minus the dance's, where it is known


def make_tracks(
    path: Path, motions: Sequence[Motion], source: str = "", indexed: IndexedFile | None = None
) -> list[TrainingTrack]:
    """A file's motions as tracks; from the second dancer on a name carries a number."""
    names = [path.stem if number == 1 else f"{path.stem}#{number}" for number in range(1, len(motions) + 1)]
    tracks = [
        make_track(name, motion) if indexed is None else _make_indexed_track(name, motion, source, indexed)
        for name, motion in zip(names, motions, strict=True)
    ]
    if indexed is None and len(tracks) > 1:  # a duet: one dance for all that can be paired
        tracks = [replace(track, dance=tracks[0].dance) for track in tracks]
    return [
        replace(track, source=source, file=str(path), start=motion.start)
        for track, motion in zip(tracks, motions, strict=True)
    ]


def make_track(name: str, motion: Motion) -> TrainingTrack:
    """A motion as a track; dance, dancer and what it is a view of are read from its name."""
    joints = canonicalise(motion).joints
    source = name.removeprefix(VIEW)
    view_of = source if source != name else None
    parsed = parse_name(source)
    if parsed is None or parsed.kind != "BM":  # only basic choreographies have several dancers
        return TrainingTrack(name, joints, source, view_of=view_of)
    return TrainingTrack(name, joints, "/".join(parsed.choreography), parsed.genre + parsed.dancer, view_of)


def _make_indexed_track(name: str, motion: Motion, source: str, indexed: IndexedFile) -> TrainingTrack:
    joints, dance = canonicalise(motion).joints, f"{source}/{indexed.group}"
    return TrainingTrack(name, joints, dance, indexed.performer, lag_seconds=indexed.lag_seconds)


def split_tracks(
    tracks: Sequence[TrainingTrack], share: float, seed: int
) -> tuple[list[TrainingTrack], list[TrainingTrack]]:
    """Tracks to train on, and held-out tracks of other dances, at least two of them.

    With a single held-out dance the contrast between dances could not be measured.
    """
    dances = sorted({track.dance for track in tracks})
    if len(dances) < 3:
        raise InputError(
            f"training needs three dances or more, two of them held out to measure progress, "
            f"got {len(dances)}; give more motions"
        )
    count = min(len(dances) - 1, max(2, round(share * len(dances))))
    held_out = set(np.random.default_rng(seed).permutation(dances)[:count].tolist())
    training = [track for track in tracks if track.dance not in held_out]
    return training, [track for track in tracks if track.dance in held_out]
