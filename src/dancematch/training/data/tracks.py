"""Training tracks: one dancer's motion each, in the canonical frame, with what the file name says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dancematch.errors import InputError
from dancematch.formats.motion_capture.aist_names import parse_name
from dancematch.motion import canonicalise
from dancematch.training.data.files import VIEW
from dancematch.types import FloatArray, Motion


@dataclass(frozen=True, eq=False)
class TrainingTrack:
    """One dancer's motion in the canonical frame."""

    name: str
    joints: FloatArray  # [frames, joints of the canonical skeleton, 3]
    dance: str  # equal for tracks that must not be contrasted with each other
    dancer: str | None = None  # None where the name does not say
    view_of: str | None = None  # name of the track that a pose estimator saw


def make_track(name: str, motion: Motion) -> TrainingTrack:
    """A motion as a track; dance, dancer and source are read from its name."""
    joints = canonicalise(motion).joints
    source = name.removeprefix(VIEW)
    view_of = source if source != name else None
    parsed = parse_name(source)
    if parsed is None or parsed.kind != "BM":  # only basic choreographies have several dancers
        return TrainingTrack(name, joints, source, view_of=view_of)
    return TrainingTrack(name, joints, "/".join(parsed.choreography), parsed.genre + parsed.dancer, view_of)


def make_tracks(path: Path, motions: Sequence[Motion]) -> list[TrainingTrack]:
    """A file's motions as tracks; from the second dancer on a name carries a number."""
    names = [path.stem if number == 1 else f"{path.stem}#{number}" for number in range(1, len(motions) + 1)]
    return [make_track(name, motion) for name, motion in zip(names, motions, strict=True)]


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
