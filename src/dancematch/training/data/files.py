"""Motions to train on: whatever the package reads, from any folders.

What a file's name says is used where it says something: AIST++ names tell who danced which
choreography, and `view_<name>` is what a pose estimator saw of the motion <name>.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError, NoDancerError
from dancematch.formats.motion_capture.aist_names import AistName, parse_name, sequences
from dancematch.motion import canonicalise, to_body15
from dancematch.types import FloatArray, Motion

VIEW = "view_"


def motion_files(folders: Sequence[str | Path], *, without_genres: Sequence[str] = ()) -> list[Path]:
    """Every motion file below the folders, by name; AIST++ without its ignore list and these genres."""
    files = _files_below(folders)
    kept = [path for path in files if genre_of(path.stem) not in without_genres]
    if not kept:
        raise InputError(f"all motion files are of the genres left out, {', '.join(without_genres)}")
    return kept


def require_genres(folders: Sequence[str | Path], genres: Sequence[str]) -> None:
    """Refuse genres of which there is no motion file below any of the folders: leaving them out is a slip."""
    there = sorted({genre for genre in (genre_of(path.stem) for path in _files_below(folders)) if genre})
    missing = sorted(set(genres) - set(there))
    if missing:
        raise InputError(
            f"there is no clip of the genre(s) {', '.join(missing)}; there are {', '.join(there) or 'none'}"
        )


def _files_below(folders: Sequence[str | Path]) -> list[Path]:
    files: list[Path] = []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder; give folders with motion files to train on")
        wanted = set(sequences(folder))
        files += [
            path
            for path in sorted(folder.rglob("*"))
            if path.is_file() and formats.holds_motion(path) and (path in wanted or not parse_name(path.stem))
        ]
    if not files:
        raise InputError(f"there is no motion file below {', '.join(map(str, folders))}")
    return files


def read_motions(files: Sequence[Path]) -> Iterator[tuple[Path, list[Motion] | DanceMatchError]]:
    """Each file's motions in which somebody is seen, or why it has none."""
    for path in files:
        try:
            seen = [motion for motion in formats.read(path) if shows_dancer(motion)]
        except DanceMatchError as error:
            yield path, error
        else:
            yield path, seen or NoDancerError(f"nobody is ever seen in {path}")


def shows_dancer(motion: Motion) -> bool:
    """Whether any joint is seen together with the pelvis, from which the canonical frame starts."""
    seen = np.asarray(np.isfinite(to_body15(motion).joints).all(axis=2))
    return bool((seen[:, 0] & seen[:, 1:].any(axis=1)).any())


def aist_name(stem: str) -> AistName | None:
    """Who danced what, by the name of a motion or of a view of it; None if the name does not say."""
    return parse_name(stem.removeprefix(VIEW))


def genre_of(stem: str) -> str | None:
    """The AIST++ genre of a motion or a view of it."""
    name = aist_name(stem)
    return name.genre if name else None


def describe_files(files: Sequence[Path]) -> dict[str, object]:
    """What to write beside a model about what it has seen: counts, and the AIST++ genres among it."""
    genres = {genre for genre in (genre_of(path.stem) for path in files) if genre}
    return {"files": len(files), "aist_genres": sorted(genres)}


@dataclass(frozen=True, eq=False)
class TrainingTrack:
    """A motion to learn from, in the canonical frame."""

    name: str
    joints: FloatArray  # [frames, joints of the canonical skeleton, 3]
    group: str  # what is danced: equal for clips that are never to be told apart
    dancer: str | None = None  # None where the name does not say
    view_of: str | None = None  # the clip that a pose estimator saw


def make_track(name: str, motion: Motion) -> TrainingTrack:
    """A motion as a clip, with what its name says."""
    joints = canonicalise(motion).joints
    source = name.removeprefix(VIEW)
    view_of = source if source != name else None
    known = parse_name(source)
    if known is None or known.kind != "BM":  # only the basic choreographies are danced by several
        return TrainingTrack(name, joints, source, view_of=view_of)
    return TrainingTrack(name, joints, "/".join(known.choreography), known.genre + known.dancer, view_of)


def make_tracks(path: Path, motions: Sequence[Motion]) -> list[TrainingTrack]:
    """A file's motions as clips; a second dancer's name carries a number."""
    names = [path.stem if number == 1 else f"{path.stem}#{number}" for number in range(1, len(motions) + 1)]
    return [make_track(name, motion) for name, motion in zip(names, motions, strict=True)]


def split(
    clips: Sequence[TrainingTrack], share: float, seed: int
) -> tuple[list[TrainingTrack], list[TrainingTrack]]:
    """Clips to learn from, and clips of other dances to judge by.

    Two dances or more are kept apart: what tells a dance from itself alone says nothing.
    """
    groups = sorted({clip.group for clip in clips})
    if len(groups) < 3:
        raise InputError(
            f"training needs three dances or more, two of them to judge by, got {len(groups)}; "
            f"give more motions"
        )
    count = min(len(groups) - 1, max(2, round(share * len(groups))))
    apart = set(np.random.default_rng(seed).permutation(groups)[:count].tolist())
    learned = [clip for clip in clips if clip.group not in apart]
    return learned, [clip for clip in clips if clip.group in apart]
