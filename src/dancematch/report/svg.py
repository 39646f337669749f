"""Geometry of the drawings in HTML pages: frames, skeletons, an alignment, distributions, words over time.

Each function returns what the macro of that name in `templates/svg.html` draws: plain numbers, y down.
"""

import base64
import colorsys
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import canonicalise
from dancematch.pose.stills import grey_png, stills_at
from dancematch.report.footage import MarkedStill
from dancematch.report.poses import FADED_OPACITY, Poses, fade_dashes
from dancematch.search.explain import EvidenceMatrix
from dancematch.skeletons import BODY15
from dancematch.types import Codebook, Fingerprint, FloatArray, Motion, Span

STRONG = 0.6  # evidence of a pair of words that is drawn darkest: it is seldom more
STAGE = "-0.9 -1.2 1.8 2.2"  # metres: all that a dancer reaches
_STAGE_MARGIN = 0.16  # metres around dancers
_MAX_CELLS = 500  # of the alignment's matrix, either way
_TICK_STEPS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)  # seconds between two ticks
_PLANE_WIDTH, _PLANE_HEIGHT = 640, 300  # of an alignment
_BINS = 44  # of a histogram
_WIDTH, _HEIGHT = 480, 110  # of a histogram or curve
_BOX = f"-40 -42 {_WIDTH + 80} {_HEIGHT + 74}"  # with the texts around it
_MARK_ROWS = ("possible", "limit", "match")  # of texts above it, the lowest first
_SECOND_WIDTH, _ROW_HEIGHT = 60.0, 11.0  # of words over time

Drawing = dict[str, Any]  # the values of one macro


def frames_at(video: Path, moments: Sequence[float]) -> list[str]:
    """The frames of a video nearest to the moments (seconds), as data: addresses of JPEG pictures."""
    return [_data_address("jpeg", still.jpeg) for still in stills_at(video, moments)]


def _data_address(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


# ---- dancers


def skeletons_at(motion: Motion, moments: Sequence[float]) -> list[Drawing]:
    """The dancer's skeleton at the moments, from the front."""
    canonical = canonicalise(motion)
    frames = np.round((np.asarray(moments) - canonical.start) * canonical.fps).astype(int)
    frames = np.clip(frames, 0, len(canonical.joints) - 1)
    return list(skeletons(Poses.of(canonical)[frames]))


def skeletons(poses: Poses) -> Iterator[Drawing]:
    """Dancers who face the viewer, one drawing per pose: the left side is on the viewer's right."""
    for joints, seen in zip(poses.joints, poses.seen, strict=True):
        yield _body(joints[:, :2] * np.array([1, -1]), seen, head_radius=0.09)


def fit_stage(*dancers: Poses) -> str:
    """The view box that all these dancers need, to be drawn at one scale."""
    joints = np.concatenate([poses.joints for poses in dancers])
    points = joints[:, :, :2].reshape(-1, 2) * np.array([1, -1])
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return STAGE
    (left, top), (right, bottom) = points.min(axis=0) - _STAGE_MARGIN, points.max(axis=0) + _STAGE_MARGIN
    return f"{left:.2f} {top:.2f} {right - left:.2f} {bottom - top:.2f}"


def still(picture: MarkedStill) -> Drawing:
    """A frame with the dancer's skeleton over it."""
    frame, joints = picture.still, picture.joints
    radius = 0.025 * frame.height
    return {
        "address": _data_address("jpeg", frame.jpeg),
        "width": frame.width,
        "height": frame.height,
        "lines": None if joints is None else _body(joints, picture.seen, head_radius=radius),
    }


def poster(content: bytes) -> str:
    """A JPEG picture as a data: address."""
    return _data_address("jpeg", content)


def _body(points: FloatArray, seen: NDArray[np.bool_], head_radius: float) -> Drawing:
    """Bones between points [15, 2], faded if either end was not seen; what is not known is left out."""
    bones = []
    for joint, parent in enumerate(BODY15.parents):
        if parent < 0 or not np.isfinite(points[[joint, parent]]).all():
            continue
        side = BODY15.joints[joint].partition("_")[0]
        kind = side if side in ("left", "right") else "middle"
        ends = (round(value, 2) for value in points[[parent, joint]].ravel().tolist())
        bones.append((kind, not seen[[parent, joint]].all(), *ends))
    number = BODY15.index("head")
    x, y = points[number].tolist()
    head = {"x": round(x, 2), "y": round(y, 2), "radius": round(head_radius, 2), "faded": not seen[number]}
    return {
        "bones": bones,
        "head": head if np.isfinite([x, y]).all() else None,
        "opacity": FADED_OPACITY,
        "dashes": " ".join(f"{length:g}" for length in fade_dashes(head_radius)),
    }


# ---- an alignment


def alignment(evidence: EvidenceMatrix, moments: Sequence[tuple[float, float]]) -> Drawing:
    """How a clip (to the right) lies in a known dance (upwards): pairs of words, passages, moments.

    `moments` are seconds of the clip and of the dance.
    """
    query, reference = (one.span(0, len(one) - 1) for one in (evidence.query, evidence.reference))

    def x(seconds: float) -> float:
        return round(_PLANE_WIDTH * (seconds - query.start) / query.seconds, 1)

    def y(seconds: float) -> float:
        return round(_PLANE_HEIGHT * (1 - (seconds - reference.start) / reference.seconds), 1)

    def line(pairs: NDArray[np.int64]) -> str:
        own, theirs = (
            one.start + (pairs[:, side] + 0.5) * one.seconds_per_word
            for side, one in enumerate((evidence.query, evidence.reference))
        )
        return " ".join(f"{x(i)},{y(j)}" for i, j in zip(own.tolist(), theirs.tolist(), strict=True))

    shades = 255 - np.round(255 * np.clip(pool_matrix(evidence.matrix, _MAX_CELLS).T / STRONG, 0, 1))
    return {
        "box": f"-46 -10 {_PLANE_WIDTH + 58} {_PLANE_HEIGHT + 44}",
        "width": _PLANE_WIDTH,
        "height": _PLANE_HEIGHT,
        "matrix": _data_address("png", grey_png(np.ascontiguousarray(shades[::-1]).astype(np.uint8))),
        # Passages along the line last, so that they lie on top.
        "lines": [
            ("straight", line(evidence.line_pairs[[0, -1]])),
            *(("again", line(segment.path)) for segment in evidence.off_line),
            *(("passage", line(segment.path)) for segment in evidence.on_line),
        ],
        "moments": [(x(own), y(theirs)) for own, theirs in moments],
        "query_ticks": [(x(second), f"{second:g}") for second in _ticks(query.start, query.end)],
        "reference_ticks": [(y(second), f"{second:g}") for second in _ticks(reference.start, reference.end)],
    }


def _ticks(start: float, end: float, most: int = 8) -> list[float]:
    step = next((step for step in _TICK_STEPS if (end - start) / step <= most), 1800)
    first = int(np.ceil(start / step - 1e-9))
    return [step * number for number in range(first, int(end / step + 1e-9) + 1)]


def pool_matrix(matrix: FloatArray, most: int) -> FloatArray:
    """A matrix of at most so many rows and columns: the maximum of each run of them."""
    for axis, count in enumerate(matrix.shape):
        if count > most:
            matrix = np.maximum.reduceat(matrix, np.arange(most) * count // most, axis=axis)
    return matrix


# ---- distributions


@dataclass(frozen=True)
class Axis:
    """The values that a chart shows from left to right, and the texts below it."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]  # a text may have two lines

    def x(self, value: float) -> float:
        """Where a value lies; one beyond an end lies at it."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(_WIDTH * share, 1)


@dataclass(frozen=True)
class Mark:
    """A value that is marked by an upright line, its text in a row of its own above the chart."""

    value: float
    kind: Literal["match", "limit", "possible"]
    text: str

    def drawing(self, axis: Axis) -> Drawing:
        """Where line and text stand."""
        x = axis.x(self.value)
        beside = {"limit": "start", "possible": "end"}.get(self.kind, "middle")  # not across one another
        anchor = "end" if x > 0.8 * _WIDTH else "start" if x < 0.2 * _WIDTH else beside
        top = -4 - 12 * _MARK_ROWS.index(self.kind)
        return {"kind": self.kind, "text": self.text, "x": x, "top": top, "anchor": anchor}


AGREEMENT_AXIS = Axis(0, 1, [(share, f"{share:g}") for share in (0, 0.2, 0.4, 0.6, 0.8, 1)])


def _chart(axis: Axis, marks: Sequence[Mark], sides: Sequence[tuple[float, str]]) -> Drawing:
    return {
        "box": _BOX,
        "width": _WIDTH,
        "height": _HEIGHT,
        "ticks": [(axis.x(value), text) for value, text in axis.ticks],
        "sides": sides,
        "marks": [mark.drawing(axis) for mark in marks],
    }


def histogram(groups: Sequence[Sequence[float]], axis: Axis, marks: Sequence[Mark]) -> Drawing:
    """How often each value occurs, one shade per group, stacked; some values are marked."""
    counts = [
        np.histogram(np.clip(one, axis.low, axis.high), _BINS, (axis.low, axis.high))[0] for one in groups
    ]
    tallest = max(1, int(np.sum(counts, axis=0).max()))
    tops = np.cumsum(counts, axis=0)
    bars = [
        (
            group,
            round(_WIDTH * place / _BINS + 0.5, 1),
            round(_HEIGHT * (1 - tops[group, place] / tallest), 1),
            round(_HEIGHT * count / tallest, 1),
        )
        for group, one in enumerate(counts)
        for place, count in enumerate(one.tolist())
        if count
    ]
    chart = _chart(axis, marks, [(8, str(tallest)), (_HEIGHT, "0")])
    return {**chart, "bars": bars, "bar_width": round(_WIDTH / _BINS - 1, 1)}


def curve(x: FloatArray, y: FloatArray, marks: Sequence[Mark]) -> Drawing:
    """A correlation over time; `x` in seconds, even steps but for gaps."""
    low, high = float(x.min()), float(x.max())
    axis = Axis(low, max(high, low + 1e-6), [(second, f"{second:g}") for second in _ticks(low, high)])
    bottom = min(0.0, float(np.floor(5 * y.min()) / 5))

    def height(value: float) -> float:
        return round(_HEIGHT * (1 - value) / (1 - bottom), 1)

    points = " ".join(
        f"{axis.x(second)},{height(value)}" for second, value in zip(x.tolist(), y.tolist(), strict=True)
    )
    sides = [(height(value) + 4, f"{value:g}") for value in sorted({bottom, 0.0, 1.0})]
    return {**_chart(axis, marks, sides), "points": points, "zero": height(0)}


# ---- words over time


def word_colours(vectors: FloatArray) -> FloatArray:
    """One colour per word, [words, 3] in 0..1: alike where the words are.

    From the two main directions of a word's vector: the first of a PCA basis.
    """
    plane = vectors[:, :2] - vectors[:, :2].mean(axis=0)
    hue = (np.arctan2(plane[:, 1], plane[:, 0]) / (2 * np.pi)) % 1
    reach = np.linalg.norm(plane, axis=1)
    light = 0.75 - 0.35 * reach / max(float(reach.max()), 1e-9)
    mixed = [colorsys.hls_to_rgb(float(h), float(b), 0.6) for h, b in zip(hue, light, strict=True)]
    return np.array(mixed, dtype=np.float32)


def timeline(words: Fingerprint, codebook: Codebook, matched: Span) -> Drawing:
    """Words as coloured strips, one per body part, `matched` in a frame; like words have like colours."""
    step = words.seconds_per_word * _SECOND_WIDTH
    width, height = len(words) * step, len(codebook.channels) * _ROW_HEIGHT
    end = words.start + width / _SECOND_WIDTH
    return {
        "box": f"-62 -4 {width + 70:.0f} {height + 20:.0f}",
        "height": height,
        "row_height": _ROW_HEIGHT - 1,
        "rows": [
            {
                "name": name.replace("_", " "),
                "y": channel * _ROW_HEIGHT,
                "label_y": round((channel + 0.8) * _ROW_HEIGHT, 1),
                "runs": list(_runs(words, codebook, channel, step)),
            }
            for channel, name in enumerate(codebook.channels)
        ],
        "ticks": [
            (round((second - words.start) * _SECOND_WIDTH, 1), second)
            for second in range(math.ceil(words.start), int(end) + 1, 2)
        ],
        "matched": {
            "x": round((matched.start - words.start) * _SECOND_WIDTH, 1),
            "width": round(matched.seconds * _SECOND_WIDTH, 1),
        },
    }


def _runs(
    words: Fingerprint, codebook: Codebook, channel: int, step: float
) -> Iterator[tuple[float, float, str, int]]:
    """Left edge, width, colour and word of each run of equal words; unseen ones are left out."""
    colours = np.round(255 * word_colours(codebook.vectors[channel])).astype(np.uint8)
    numbers = np.where(words.visibility[:, channel] > 0, words.words[:, channel].astype(int), -1)
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    for first, last in pairwise(edges):
        if numbers[first] >= 0:
            colour = "#" + bytes(colours[numbers[first]]).hex()
            yield round(first * step, 1), round((last - first) * step, 1), colour, int(numbers[first])
