"""One small picture of a recording, at a moment at which its most prominent dancer is well seen."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dancematch.catalogue.records import MAX_POSTER_BYTES, MAX_POSTER_SIDE
from dancematch.errors import VideoError
from dancematch.formats.jpeg import require_small_jpeg
from dancematch.pose.stills import picture_at
from dancematch.pose.video import probe

if TYPE_CHECKING:
    from dancematch.pipeline.analysis.file_analysis import ImageTrack

_BYTES, _SIDE = 30_000, 320  # of those that are cut here
_MIDDLE_SHARE = 0.5  # of a track, around its middle, in which the moment is


def cut_poster(video: Path, images: "Sequence[ImageTrack]") -> bytes | None:
    """A small picture of a video as a JPEG without metadata; None if no frame can be decoded.

    `images` say where the dancers are, the most prominent first; without them, it shows the middle.
    """
    try:
        moment = choose_moment(images[0]) if images else probe(video).seconds / 2
        return picture_at(video, moment, longest_side=_SIDE, most_bytes=_BYTES)
    except VideoError:
        return None


def choose_moment(track: "ImageTrack") -> float:
    """The time in the middle part of a track at which most of the dancer is seen within the picture.

    Of several such times, the one nearest to the middle.
    """
    inside = ((track.image >= 0) & (track.image <= 1)).all(axis=2)
    seen = np.where(inside, track.visibility, 0).mean(axis=1)
    half = _MIDDLE_SHARE * (track.times[-1] - track.times[0]) / 2
    beside = np.abs(track.times - (track.times[0] + track.times[-1]) / 2)
    candidates = np.flatnonzero(beside <= half + 1e-6)
    if not len(candidates):  # the dancer was out of view just then
        candidates = np.arange(len(track.times))
    best = min(candidates.tolist(), key=lambda place: (-round(float(seen[place]), 2), beside[place]))
    return float(track.times[best])


def read_poster_size(content: bytes) -> tuple[int, int]:
    """The width and height of a poster, told without decoding it; what is none is an `InputError`."""
    return require_small_jpeg(content, MAX_POSTER_BYTES, MAX_POSTER_SIDE)
