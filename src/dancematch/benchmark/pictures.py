"""Pictures for reports, as text that stands inside an HTML page: frames, skeletons, word timelines."""

import base64
import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import DanceMatchError
from dancematch.motion import canonicalise
from dancematch.pipeline.pictures import word_colours
from dancematch.pose.video import read_frames
from dancematch.skeletons import BODY15
from dancematch.types import Codebook, Fingerprint, FloatArray, Motion, Span

_FRAME_HEIGHT = 240
_SECOND = 60.0  # width of a second in a timeline, in its own units
_ROW = 11.0


def frames_at(video: Path, moments: Sequence[float]) -> list[str]:
    """The frames of a video nearest to the moments (seconds), as data: addresses of JPEG pictures."""
    wanted = np.asarray(moments)
    nearest = np.full(len(wanted), np.inf)
    images: list[NDArray[np.uint8] | None] = [None] * len(wanted)
    with read_frames(video) as frames:
        for frame in frames:
            closer = np.abs(wanted - frame.seconds) < nearest
            for place in np.flatnonzero(closer):
                nearest[place] = abs(wanted[place] - frame.seconds)
                images[place] = frame.image
            if frame.seconds > wanted.max() + 1:
                break
    return [_jpeg(image) for image in images if image is not None]


def _jpeg(image: NDArray[np.uint8]) -> str:
    import cv2

    height, width = image.shape[:2]
    small = cv2.resize(
        image, (round(width * _FRAME_HEIGHT / height), _FRAME_HEIGHT), interpolation=cv2.INTER_AREA
    )
    written, data = cv2.imencode(".jpg", small[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 80])
    if not written:
        raise DanceMatchError("a frame could not be written as JPEG")
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode()


def skeletons_at(motion: Motion, moments: Sequence[float]) -> list[str]:
    """The dancer's skeleton at the moments, from the front, as SVG; left and right in two colours."""
    canonical = canonicalise(motion)
    places = np.round((np.asarray(moments) - canonical.start) * canonical.fps).astype(int)
    places = np.clip(places, 0, len(canonical.joints) - 1)
    return [_skeleton(canonical.joints[place, 1:]) for place in places]


def _skeleton(joints: FloatArray) -> str:
    bones = []
    for joint, parent in enumerate(BODY15.parents):
        if parent < 0 or not np.isfinite(joints[[joint, parent]]).all():
            continue
        # A dancer who faces us has the left side on our right.
        (x1, y1), (x2, y2) = ((float(p[0]), float(-p[1])) for p in joints[[parent, joint]])
        side = BODY15.joints[joint].partition("_")[0]
        kind = side if side in ("left", "right") else "middle"
        bones.append(f'<line class="{kind}" x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"/>')
    head = joints[BODY15.index("head")]
    if np.isfinite(head).all():
        bones.append(f'<circle class="middle" cx="{head[0]:.2f}" cy="{-head[1]:.2f}" r="0.09"/>')
    return f'<svg class="skeleton" viewBox="-0.9 -1.2 1.8 2.2" role="img">{"".join(bones)}</svg>'


def timeline(fingerprint: Fingerprint, codebook: Codebook, matched: Span | None) -> str:
    """A fingerprint as coloured strips, one a body part; like words have like colours. SVG."""
    step = fingerprint.seconds_per_word * _SECOND
    rows = [
        f'<text x="-4" y="{(channel + 0.8) * _ROW:.1f}">{escape(name.replace("_", " "))}</text>'
        + "".join(_runs(fingerprint, codebook, channel, step))
        for channel, name in enumerate(codebook.channels)
    ]
    height = len(codebook.channels) * _ROW
    width = len(fingerprint) * step
    end = fingerprint.start + width / _SECOND
    ticks = "".join(
        f'<text class="tick" x="{(second - fingerprint.start) * _SECOND:.1f}"'
        f' y="{height + 11}">{second} s</text>'
        for second in range(math.ceil(fingerprint.start), int(end) + 1, 2)
    )
    frame = ""
    if matched is not None:
        left = (matched.start - fingerprint.start) * _SECOND
        frame = (
            f'<rect class="matched" x="{left:.1f}" y="-2" width="{matched.seconds * _SECOND:.1f}"'
            f' height="{height + 4:.1f}"/>'
        )
    box = f"-62 -4 {width + 70:.0f} {height + 20:.0f}"
    return f'<svg class="timeline" viewBox="{box}" role="img">{"".join(rows)}{ticks}{frame}</svg>'


def _runs(fingerprint: Fingerprint, codebook: Codebook, channel: int, step: float) -> Iterator[str]:
    """A rectangle for each stretch of equal words; unseen ones are left empty."""
    colours = _colours(codebook.vectors[channel])
    words = np.where(fingerprint.visibility[:, channel] > 0, fingerprint.words[:, channel].astype(int), -1)
    edges = [0, *(np.flatnonzero(np.diff(words)) + 1).tolist(), len(words)]
    for first, last in pairwise(edges):
        if words[first] < 0:
            continue
        yield (
            f'<rect x="{first * step:.1f}" y="{channel * _ROW:.1f}" width="{(last - first) * step:.1f}"'
            f' height="{_ROW - 1:.1f}" fill="{colours[words[first]]}">'
            f"<title>word {words[first]}</title></rect>"
        )


def _colours(vectors: FloatArray) -> list[str]:
    """A colour a word, as HTML writes it."""
    return ["#" + bytes(np.round(255 * colour).astype(np.uint8)).hex() for colour in word_colours(vectors)]
