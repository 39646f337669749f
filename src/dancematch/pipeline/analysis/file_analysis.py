"""File -> Motions: what one video or motion file shows, and how it travels between processes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch import errors, formats
from dancematch.errors import DanceMatchError, InputError
from dancematch.formats import fingerprint as words_files
from dancematch.formats import npz
from dancematch.pose import PoseEstimator, estimate_dancers
from dancematch.types import Fingerprint, FloatArray, IgnoredTrack, Motion, Span

Progress = Callable[[float], None]  # receives the share that is done, 0..1
MakeEstimator = Callable[[], PoseEstimator]

_MOTIONS, _WORDS, _IGNORED, _IMAGES = "motions.npz", "words.npz", "ignored.json", "images.npz"


@dataclass(frozen=True, eq=False)
class ImageTrack:
    """Where one dancer is in the frames of a video."""

    times: NDArray[np.float64]  # [n] seconds
    image: FloatArray  # [n, joints, 2] of width and height, y down
    visibility: FloatArray  # [n, joints]


@dataclass(frozen=True)
class Analysis:
    """What one file shows, or the reason why it shows nothing."""

    path: Path
    motions: tuple[Motion, ...] = ()  # one per dancer, the most prominent first
    error: DanceMatchError | None = None
    words: tuple[Fingerprint, ...] = ()  # one per dancer, if the worker was asked for them
    ignored: tuple[IgnoredTrack, ...] = ()  # other tracks of a video, and why they are no dancers
    images: tuple[ImageTrack, ...] = ()  # one per dancer of a video


def analyse_file(
    path: str | Path,
    *,
    estimator: PoseEstimator | None = None,
    on_progress: Progress | None = None,
) -> Analysis:
    """The dancers of a video, or every motion of a motion file."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if formats.is_motion_file(path):
        return Analysis(path, tuple(formats.read(path)))
    found = estimate_dancers(path, estimator, on_progress)
    images = [
        ImageTrack(one.times, one.image, one.visibility) for one in found.dancers if one.image is not None
    ]
    motions = tuple(track.motion() for track in found.dancers)
    return Analysis(path, motions, ignored=found.ignored, images=tuple(images))


def extract_motions(
    path: str | Path, *, estimator: PoseEstimator | None = None, on_progress: Progress | None = None
) -> list[Motion]:
    """The motion of every dancer in a video or motion file, the most prominent first."""
    return list(analyse_file(path, estimator=estimator, on_progress=on_progress).motions)


def describe_ignored(ignored: IgnoredTrack) -> dict[str, Any]:
    """An ignored track as JSON has it."""
    span = ignored.span
    return {"start": round(span.start, 3), "end": round(span.end, 3), "reason": ignored.reason}


def write_analysis(folder: Path, analysis: Analysis) -> None:
    """Write an analysis without error to a folder, for another process to read."""
    npz.write(folder / _MOTIONS, analysis.motions, overwrite=True)
    if analysis.words:
        words_files.write(folder / _WORDS, list(analysis.words), overwrite=True)
    ignored = [{**vars(one.span), "reason": one.reason} for one in analysis.ignored]
    (folder / _IGNORED).write_text(json.dumps(ignored), encoding="utf-8")
    arrays = {
        f"{name}_{n}": values for n, one in enumerate(analysis.images) for name, values in vars(one).items()
    }
    with (folder / _IMAGES).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_analysis(folder: Path, path: Path) -> Analysis:
    """What `write_analysis` wrote about the file `path`."""
    motions = tuple(npz.read(folder / _MOTIONS))
    words = tuple(words_files.read(folder / _WORDS)) if (folder / _WORDS).is_file() else ()
    described = json.loads((folder / _IGNORED).read_text(encoding="utf-8"))
    ignored = tuple(IgnoredTrack(Span(one["start"], one["end"]), one["reason"]) for one in described)
    return Analysis(path, motions, None, words, ignored, _read_images(folder / _IMAGES))


def _read_images(path: Path) -> tuple[ImageTrack, ...]:
    with np.load(path, allow_pickle=False) as arrays:
        count = sum(name.startswith("times_") for name in arrays.files)
        names = ("times", "image", "visibility")
        return tuple(ImageTrack(*(arrays[f"{name}_{n}"] for name in names)) for n in range(count))


def error_named(name: str, message: str) -> DanceMatchError:
    """The error that a worker reported by the name of its class."""
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, DanceMatchError):
        return kind(message)
    return InputError(message)
