"""The people whom a pose estimator follows through a long video, on their way between processes."""

import json
from pathlib import Path

import numpy as np

from dancematch.pose.estimators import TracksSoFar
from dancematch.pose.track import Track
from dancematch.skeletons import SKELETONS

_ARRAYS, _DESCRIPTION = "tracks.npz", "tracks.json"
_NAMES = ("times", "world", "image", "visibility")


def write_recent_tracks(folder: Path, read: TracksSoFar) -> None:
    """Write what has been read of a video to a folder, for another process."""
    arrays = {
        f"{name}_{number}": values
        for number, track in enumerate(read.tracks)
        for name in _NAMES
        if (values := getattr(track, name)) is not None
    }
    with (folder / _ARRAYS).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    tracks = [
        {"dancer": one.dancer, "skeleton": one.skeleton.name, "truncated": one.truncated,
         "aspect": one.aspect, "clip_seconds": one.clip_seconds}
        for one in read.tracks
    ]  # fmt: skip
    described = {"seconds": read.seconds, "complete": read.complete, "total_seconds": read.total_seconds}
    (folder / _DESCRIPTION).write_text(json.dumps(described | {"tracks": tracks}), encoding="utf-8")


def read_recent_tracks(folder: Path) -> TracksSoFar:
    """What `write_recent_tracks` wrote."""
    described = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
    facts = described.pop("tracks")
    with np.load(folder / _ARRAYS, allow_pickle=False) as arrays:
        tracks = [
            Track(
                **one
                | {"skeleton": SKELETONS[one["skeleton"]]}
                | {name: arrays.get(f"{name}_{number}") for name in _NAMES}
            )
            for number, one in enumerate(facts)
        ]
    return TracksSoFar(tracks, **described)
