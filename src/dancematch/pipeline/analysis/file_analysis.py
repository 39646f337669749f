"""File -> Motions: what one video or motion file shows, and how it travels between processes."""

import json
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dancematch import errors, formats
from dancematch.catalogue.records import MAX_POSTER_BYTES
from dancematch.errors import DanceMatchError, InputError
from dancematch.formats import fingerprint as words_files
from dancematch.formats import npz
from dancematch.formats.archive import Archive
from dancematch.formats.web_address import refuse_web_address
from dancematch.pipeline.analysis.poster import cut_poster, read_poster_size
from dancematch.pose import PoseEstimator, dancers_so_far, estimate_dancers
from dancematch.pose.selection import Selection
from dancematch.types import Fingerprint, FloatArray, IgnoredTrack, Motion, Span

Progress = Callable[[float], None]  # receives the share that is done, 0..1
MakeEstimator = Callable[[], PoseEstimator]
FileKind = Literal["video", "motion file", "motion words"]

_MOTIONS, _WORDS, _DESCRIPTION, _IMAGES = "motions.npz", "words.npz", "analysis.json", "images.npz"
_POSTER = "poster.jpg"


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
    words: tuple[Fingerprint, ...] = ()  # one per dancer, if the file holds them or the worker made them
    ignored: tuple[IgnoredTrack, ...] = ()  # other tracks of a video, and why they are no dancers
    images: tuple[ImageTrack, ...] = ()  # one per dancer of a video
    kind: FileKind = "video"
    poster: bytes | None = None  # a small picture of a video (JPEG), if it was asked for
    read_seconds: float | None = None  # of a video that is still being read; None: this is all of it

    @property
    def dancer_seconds(self) -> float:
        """How long all dancers together dance: what a search for them costs grows with it."""
        if self.motions:
            return sum(motion.seconds for motion in self.motions)
        return sum(len(words) * words.seconds_per_word for words in self.words)


def analyse_file(
    path: str | Path,
    *,
    estimator: PoseEstimator | None = None,
    on_progress: Progress | None = None,
    posters: bool = False,
) -> Analysis:
    """The dancers of a video (and a poster of it if `posters`), or every motion of a motion file."""
    path = Path(path)
    if not path.exists():
        refuse_web_address(path)
        raise InputError(f"{path} does not exist")
    if formats.is_motion_file(path):
        return Analysis(path, tuple(formats.read(path)), kind="motion file")
    return analyse_video(path, estimator=estimator, on_progress=on_progress, posters=posters)


def read_motion_upload(path: Path, suffix: str) -> Analysis:
    """The motions or words of a file whose name says nothing; its content was told to be of this suffix."""
    if suffix == ".npz":
        with Archive(path) as archive:
            holds_words = words_files.is_words(archive)
        if holds_words:
            return Analysis(path, words=tuple(words_files.read(path)), kind="motion words")
    return Analysis(path, tuple(formats.read(path, suffix=suffix)), kind="motion file")


def analyse_video(
    path: Path,
    *,
    estimator: PoseEstimator | None = None,
    on_progress: Progress | None = None,
    posters: bool = False,
) -> Analysis:
    """The dancers of a video, and a poster of it if `posters`."""
    found = _analysis_of(path, estimate_dancers(path, estimator, on_progress))
    return replace(found, poster=cut_poster(path, found.images)) if posters else found


def analyse_progressively(
    path: Path, *, estimator: PoseEstimator | None = None, on_progress: Progress | None = None
) -> Generator[Analysis, None, None]:
    """Yield what the part of a video that has been read shows, again and again, and last what all of it does.

    Only a part with a dancer counts; closing the iterator ends the reading.
    """
    with closing(dancers_so_far(path, estimator, on_progress)) as parts:
        for found, seconds in parts:
            yield replace(_analysis_of(path, found), read_seconds=seconds)


def _analysis_of(path: Path, found: Selection) -> Analysis:
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
    if analysis.motions:
        npz.write(folder / _MOTIONS, analysis.motions, overwrite=True)
    if analysis.words:
        words_files.write(folder / _WORDS, list(analysis.words), overwrite=True)
    ignored = [{**vars(one.span), "reason": one.reason} for one in analysis.ignored]
    description = {"kind": analysis.kind, "ignored": ignored, "read_seconds": analysis.read_seconds}
    (folder / _DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
    arrays = {
        f"{name}_{n}": values for n, one in enumerate(analysis.images) for name, values in vars(one).items()
    }
    with (folder / _IMAGES).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    if analysis.poster is not None:
        (folder / _POSTER).write_bytes(analysis.poster)


def read_analysis(folder: Path, path: Path) -> Analysis:
    """What `write_analysis` wrote about the file `path`."""
    motions = tuple(npz.read(folder / _MOTIONS)) if (folder / _MOTIONS).is_file() else ()
    words = tuple(words_files.read(folder / _WORDS)) if (folder / _WORDS).is_file() else ()
    described = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
    ignored = [IgnoredTrack(Span(one["start"], one["end"]), one["reason"]) for one in described["ignored"]]
    images = _read_images(folder / _IMAGES)
    poster = _read_poster(folder / _POSTER)
    return Analysis(
        path, motions, None, words, tuple(ignored), images, described["kind"], poster,
        described["read_seconds"],
    )  # fmt: skip


def _read_images(path: Path) -> tuple[ImageTrack, ...]:
    with np.load(path, allow_pickle=False) as arrays:
        count = sum(name.startswith("times_") for name in arrays.files)
        names = ("times", "image", "visibility")
        return tuple(ImageTrack(*(arrays[f"{name}_{n}"] for name in names)) for n in range(count))


def _read_poster(path: Path) -> bytes | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        content = file.read(MAX_POSTER_BYTES + 1)
    read_poster_size(content)  # another process wrote it, which a hostile file may have misled
    return content


def error_named(name: str, message: str) -> DanceMatchError:
    """The error that a worker reported by the name of its class."""
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, DanceMatchError):
        return kind(message)
    return InputError(message)
