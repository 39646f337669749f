"""Motion words as a picture for reports: text that stands inside an HTML page."""

import math
from collections.abc import Iterator
from html import escape
from itertools import pairwise

import numpy as np

from dancematch.report.plots import word_colours
from dancematch.types import Codebook, Fingerprint, FloatArray, Span

_SECOND = 60.0  # width of a second in a timeline, in its own units
_ROW = 11.0


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
