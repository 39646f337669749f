"""Pictures as text that stands inside an HTML page: frames, skeletons, an alignment, distributions.

SVG without colours of its own, except for greys: the page's style says what "left", "right", "middle"
and "matched" look like.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import canonicalise
from dancematch.pose.stills import grey_png, stills_at
from dancematch.report.footage import MarkedStill
from dancematch.search.explain import EvidenceMatrix as Alignment
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, FloatArray, Motion

STRONG = 0.6  # evidence that is drawn darkest: word for word it is seldom more
_MOST_CELLS = 500  # of the alignment's matrix, either way
_STEPS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)  # seconds between two ticks
_BINS = 44  # of a histogram
_WIDTH, _HEIGHT = 480.0, 110.0  # of a histogram or curve
_BOX = f"-40 -42 {_WIDTH + 80:.0f} {_HEIGHT + 74:.0f}"  # with what is written around it
_ROWS = ("possible", "limit", "match")  # of texts above it, the lowest first
_STAGE = "-0.9 -1.2 1.8 2.2"  # metres: all that a dancer reaches
_ROOM = 0.16  # metres around dancers


def frames_at(video: Path, moments: Sequence[float]) -> list[str]:
    """The frames of a video nearest to the moments (seconds), as data: addresses of JPEG pictures."""
    return [_address("jpeg", still.jpeg) for still in stills_at(video, moments)]


def _address(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


# ---- dancers


def skeletons_at(motion: Motion, moments: Sequence[float]) -> list[str]:
    """The dancer's skeleton at the moments, from the front; left and right in two colours."""
    canonical = canonicalise(motion)
    places = np.round((np.asarray(moments) - canonical.start) * canonical.fps).astype(int)
    places = np.clip(places, 0, len(canonical.joints) - 1)
    return [skeleton(canonical.joints[place, 1:]) for place in places]


def skeleton(joints: FloatArray, label: str = "", stage: str = _STAGE) -> str:
    """A dancer who faces us [15, 3], in metres: the left side is on our right."""
    shape = _bones(joints[:, :2] * np.array([1, -1]), head=0.09)
    return f'<svg class="skeleton" viewBox="{stage}" role="img"{_named(label)}>{shape}</svg>'


def stage_of(*joints: FloatArray) -> str:
    """What of the plane all these dancers [frames, 15, 3] need, to be drawn at one scale."""
    points = np.concatenate(joints)[:, :, :2].reshape(-1, 2) * np.array([1, -1])
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return _STAGE
    (left, top), (right, bottom) = points.min(axis=0) - _ROOM, points.max(axis=0) + _ROOM
    return f"{left:.2f} {top:.2f} {right - left:.2f} {bottom - top:.2f}"


def marked_picture(picture: MarkedStill, label: str = "") -> str:
    """A frame with the dancer's skeleton over it."""
    still = picture.still
    shape = "" if picture.joints is None else _bones(picture.joints, head=0.025 * still.height)
    return (
        f'<svg class="still" viewBox="0 0 {still.width} {still.height}" role="img"{_named(label)}>'
        f'<image href="{_address("jpeg", still.jpeg)}" width="{still.width}" height="{still.height}"/>'
        f"{shape}</svg>"
    )


def _named(label: str) -> str:
    return f' aria-label="{escape(label)}"' if label else ""


def _bones(points: FloatArray, head: float) -> str:
    """Lines between points [15, 2], y down; what is not seen is left out."""
    drawn = []
    for joint, parent in enumerate(BODY15.parents):
        if parent < 0 or not np.isfinite(points[[joint, parent]]).all():
            continue
        (x1, y1), (x2, y2) = points[[parent, joint]].tolist()
        side = BODY15.joints[joint].partition("_")[0]
        kind = side if side in ("left", "right") else "middle"
        drawn.append(f'<line class="{kind}" x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"/>')
    x, y = points[BODY15.index("head")].tolist()
    if np.isfinite([x, y]).all():
        drawn.append(f'<circle class="middle" cx="{x:.2f}" cy="{y:.2f}" r="{head:.2f}"/>')
    return "".join(drawn)


# ---- an alignment


class _Plane:
    """Seconds of the clip to the right, seconds of the dance upwards."""

    width, height, left, below = 640.0, 300.0, 46.0, 34.0

    def __init__(self, query: Fingerprint, reference: Fingerprint) -> None:
        whole = [one.span(0, len(one) - 1) for one in (query, reference)]
        self.query, self.reference = whole

    def x(self, seconds: float) -> float:
        return self.width * (seconds - self.query.start) / self.query.seconds

    def y(self, seconds: float) -> float:
        return self.height * (1 - (seconds - self.reference.start) / self.reference.seconds)

    def ticks(self) -> Iterator[str]:
        for second in _ticks(self.query.start, self.query.end):
            yield f'<text class="tick" x="{self.x(second):.1f}" y="{self.height + 14:.0f}">{second:g}</text>'
        for second in _ticks(self.reference.start, self.reference.end):
            yield f'<text class="side" x="-6" y="{self.y(second) + 4:.1f}">{second:g}</text>'


def alignment_picture(alignment: Alignment, moments: Sequence[tuple[float, float]]) -> str:
    """How a clip lies in a known dance: what pairs of words say, the ways through, moments by number."""
    plane = _Plane(alignment.query, alignment.reference)
    matrix = pool_matrix(alignment.matrix, _MOST_CELLS).T
    shades = 255 - np.round(255 * np.clip(matrix / STRONG, 0, 1))
    picture = _address("png", grey_png(np.ascontiguousarray(shades[::-1]).astype(np.uint8)))
    straight = alignment.straight
    dots = "".join(
        f'<circle class="moment" cx="{plane.x(own):.1f}" cy="{plane.y(theirs):.1f}" r="8"/>'
        f'<text class="number" x="{plane.x(own):.1f}" y="{plane.y(theirs) + 3.5:.1f}">{number}</text>'
        for number, (own, theirs) in enumerate(moments, start=1)
    )
    return (
        f'<svg class="alignment" viewBox="{-plane.left:.0f} -10 {plane.left + plane.width + 12:.0f} '
        f'{plane.height + plane.below + 10:.0f}" role="img" aria-label="How the clip lies in the dance">'
        f'<image href="{picture}" width="{plane.width:.0f}" height="{plane.height:.0f}" '
        'preserveAspectRatio="none"/>'
        f'<rect class="border" width="{plane.width:.0f}" height="{plane.height:.0f}"/>'
        f"{_line(plane, alignment, straight[[0, -1]], 'straight')}"
        f"{''.join(_ways(plane, alignment))}{dots}{''.join(plane.ticks())}"
        f'<text class="tick" x="{plane.width / 2:.0f}" y="{plane.height + 30:.0f}">seconds of the clip</text>'
        f'<text class="tick" transform="translate(-34 {plane.height / 2:.0f}) rotate(-90)">'
        "seconds of the dance</text></svg>"
    )


def _ways(plane: _Plane, alignment: Alignment) -> Iterator[str]:
    """The passages that match, those along the line last, so that they lie on top."""
    for kind, segments in (("again", alignment.elsewhere), ("passage", alignment.on_the_line)):
        yield from (_line(plane, alignment, one.path, kind) for one in segments)


def _line(plane: _Plane, alignment: Alignment, pairs: NDArray[np.int64], kind: str) -> str:
    own, theirs = alignment.query, alignment.reference
    points = " ".join(
        f"{plane.x(own.start + (i + 0.5) * own.seconds_per_word):.1f},"
        f"{plane.y(theirs.start + (j + 0.5) * theirs.seconds_per_word):.1f}"
        for i, j in pairs.tolist()
    )
    return f'<polyline class="{kind}" points="{points}"/>'


def _ticks(start: float, end: float, most: int = 8) -> list[float]:
    step = next((step for step in _STEPS if (end - start) / step <= most), 1800)
    first = int(np.ceil(start / step - 1e-9))
    return [step * number for number in range(first, int(end / step + 1e-9) + 1)]


def pool_matrix(matrix: FloatArray, most: int) -> FloatArray:
    """At most so many rows and columns: the highest of each run of them."""
    for axis, count in enumerate(matrix.shape):
        if count > most:
            matrix = np.maximum.reduceat(matrix, np.arange(most) * count // most, axis=axis)
    return matrix


# ---- distributions


@dataclass(frozen=True)
class Axis:
    """What a picture runs over from left to right, and what is written below it."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]  # a text may have two lines

    def x(self, value: float) -> float:
        """Where a value lies; one beyond an end lies at it."""
        return _WIDTH * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def drawn(self) -> str:
        """The line below a picture, with its ticks."""
        line = f'<line class="border" x1="0" x2="{_WIDTH:.0f}" y1="{_HEIGHT:.0f}" y2="{_HEIGHT:.0f}"/>'
        return line + "".join(
            f'<text class="tick" x="{self.x(value):.0f}" y="{_HEIGHT + 14 + 12 * row:.0f}">'
            f"{escape(text)}</text>"
            for value, lines in self.ticks
            for row, text in enumerate(lines.split("\n"))
        )


@dataclass(frozen=True)
class Mark:
    """A value that is marked by an upright line."""

    value: float
    kind: Literal["match", "limit", "possible"]
    text: str

    def drawn(self, axis: Axis) -> str:
        """The line, and its text in a row of its own above it."""
        x, top = axis.x(self.value), -4 - 12 * _ROWS.index(self.kind)
        beside = {"limit": "start", "possible": "end"}.get(self.kind, "middle")  # not across one another
        anchor = "end" if x > 0.8 * _WIDTH else "start" if x < 0.2 * _WIDTH else beside
        return (
            f'<line class="{self.kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top + 2}" y2="{_HEIGHT:.0f}"/>'
            f'<text class="{self.kind}" text-anchor="{anchor}" x="{x:.1f}" y="{top}">'
            f"{escape(self.text)}</text>"
        )


AGREEMENT_AXIS = Axis(0, 1, [(share, f"{share:g}") for share in (0, 0.2, 0.4, 0.6, 0.8, 1)])


def histogram_picture(
    groups: Sequence[Sequence[float]], axis: Axis, marks: Sequence[Mark], label: str = ""
) -> str:
    """How often which value occurs, one shade per group, one on top of the other; some values are marked."""
    counts = [
        np.histogram(np.clip(one, axis.low, axis.high), _BINS, (axis.low, axis.high))[0] for one in groups
    ]
    tallest = max(1, int(np.sum(counts, axis=0).max()) if counts else 1)
    bars, floor = [], np.zeros(_BINS)
    for number, one in enumerate(counts):
        bars += [
            f'<rect class="group{number}" x="{_WIDTH * place / _BINS + 0.5:.1f}" '
            f'y="{_HEIGHT * (1 - (floor[place] + count) / tallest):.1f}" width="{_WIDTH / _BINS - 1:.1f}" '
            f'height="{_HEIGHT * count / tallest:.1f}"/>'
            for place, count in enumerate(one.tolist())
            if count
        ]
        floor += one
    return (
        f'<svg class="histogram" viewBox="{_BOX}" role="img"{_named(label)}>'
        f'<text class="side" x="-4" y="8">{tallest}</text>'
        f'<text class="side" x="-4" y="{_HEIGHT:.0f}">0</text>'
        f"{axis.drawn()}{''.join(bars)}{''.join(mark.drawn(axis) for mark in marks)}</svg>"
    )


def curve_picture(x: FloatArray, y: FloatArray, marks: Sequence[Mark], label: str = "") -> str:
    """A correlation over time; `x` in seconds, even steps but for gaps."""
    low, high = float(x.min()), float(x.max())
    axis = Axis(low, max(high, low + 1e-6), [(second, f"{second:g}") for second in _ticks(low, high)])
    bottom = min(0.0, float(np.floor(5 * y.min()) / 5))

    def height(value: float) -> float:
        return _HEIGHT * (1 - value) / (1 - bottom)

    points = " ".join(
        f"{axis.x(second):.1f},{height(value):.1f}"
        for second, value in zip(x.tolist(), y.tolist(), strict=True)
    )
    sides = "".join(
        f'<text class="side" x="-4" y="{height(value) + 4:.0f}">{value:g}</text>'
        for value in {bottom, 0.0, 1.0}
    )
    return (
        f'<svg class="histogram" viewBox="{_BOX}" role="img"{_named(label)}>{axis.drawn()}{sides}'
        f'<line class="zero" x1="0" x2="{_WIDTH:.0f}" y1="{height(0):.1f}" y2="{height(0):.1f}"/>'
        f'<polyline class="curve" points="{points}"/>'
        f"{''.join(mark.drawn(axis) for mark in marks)}</svg>"
    )
