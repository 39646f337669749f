"""What notebooks show: a motion as a moving figure, an answer and a match as a sentence and a table.

Each is a piece of HTML that needs no script, no style sheet and no network, and takes its ink from the text
around it, so that it is seen on light and dark pages.
"""

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.motion import canonicalise
from dancematch.pipeline.answer import Answer, DancerAnswer
from dancematch.pipeline.wording import (
    accident_cell,
    describe_span,
    list_changes,
    recalibration_sentence,
    verdict_sentence,
)
from dancematch.report.page import render_page
from dancematch.report.poses import FADED_OPACITY, Poses
from dancematch.skeletons import BODY15
from dancematch.types import Match, Motion

FIGURE_SECONDS = 20.0  # that move; of a longer motion the beginning is shown
FIGURE_FPS = 10.0  # of the figure: browsers move it evenly from one pose to the next
SHOWN_CANDIDATES = 5  # per dancer
_HEAD_RADIUS = 9  # centimetres
_MARGIN = 14  # centimetres around the figure
_HEIGHT = 220  # pixels of the figure
# Legible on white and on black; the middle has the colour of the text.
_COLOURS = {"left": "#d9622b", "right": "#4a86e8", "middle": "currentColor"}


@singledispatch
def draw_value(value: object) -> str:
    """Return the piece of HTML that a notebook shows."""
    raise TypeError(f"there is no view of a {type(value).__name__} for notebooks")


@draw_value.register
def _(value: Answer) -> str:
    sentences = [] if value.recalibrated is None else [recalibration_sentence(value.recalibrated)]
    if not value.candidates:
        sentences.append(str(value))
    dancers = [_describe_dancer(one) for one in value.dancers if one.candidates]
    return render_page("notebook_answer.html", dancers=dancers, sentences=sentences)


@draw_value.register
def _(value: Match) -> str:
    shown = {"title": verdict_sentence(value), "rows": [_describe_match(value)]}
    return render_page("notebook_answer.html", dancers=[shown], sentences=[])


def _describe_dancer(one: DancerAnswer) -> dict[str, Any]:
    rows = [_describe_match(match) for match in one.candidates[:SHOWN_CANDIDATES]]
    return {"title": verdict_sentence(one.candidates[0]), "rows": rows}


def _describe_match(match: Match) -> tuple[str, ...]:
    """The cells of a row, as `templates/notebook_answer.html` heads them."""
    return (
        match.name, match.recording or "", match.verdict, describe_span(match.query),
        describe_span(match.reference), ", ".join(list_changes(match)), accident_cell(match.evalue),
    )  # fmt: skip


@draw_value.register
def _(value: Motion) -> str:
    canonical = canonicalise(value)
    step = max(1, round(canonical.fps / FIGURE_FPS))
    frames = slice(0, round(FIGURE_SECONDS * canonical.fps), step)
    poses = Poses.of(canonical)[frames]
    points = np.round(100 * poses.joints[..., :2] * np.array([1, -1]))  # centimetres, y down
    cut = f", the first {FIGURE_SECONDS:g} s move" if value.seconds > FIGURE_SECONDS else ""
    return render_page(
        "notebook_motion.html",
        caption=f"{value.span}, {value.fps:g} fps, {value.skeleton.name}{cut}",
        box=_fit_box(points),
        height=_HEIGHT,
        seconds=len(poses) * step / canonical.fps,
        bones=list(_move_bones(points, poses.seen)),
        head=_move_head(points[:, BODY15.index("head")], poses.seen[:, BODY15.index("head")]),
        radius=_HEAD_RADIUS,
    )


def _fit_box(points: NDArray[np.floating]) -> str:
    """The view box that the figure needs; a box of one body where no joint is known."""
    known = points[np.isfinite(points).all(axis=2)]
    low, high = (known.min(axis=0), known.max(axis=0)) if len(known) else (np.array([-90, -120]),) * 2
    left, top = low - _MARGIN
    width, height = np.maximum(high - low, 1) + 2 * _MARGIN
    return f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}"


def _move_bones(points: NDArray[np.floating], seen: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """Each bone that is known at any time: its colour, its places in each frame, and how faded it is."""
    for joint, parent in enumerate(BODY15.parents):
        ends = points[:, [parent, joint]]
        known = np.isfinite(ends).all(axis=(1, 2))
        if parent < 0 or not known.any():
            continue
        side = BODY15.joints[joint].partition("_")[0]
        places = [f"{a:.0f},{b:.0f} {c:.0f},{d:.0f}" for a, b, c, d in _hold(ends, known).reshape(-1, 4)]
        yield {
            "colour": _COLOURS.get(side, _COLOURS["middle"]),
            "places": places,
            "opacities": _fade(known, seen[:, parent] & seen[:, joint]),
        }


def _move_head(points: NDArray[np.floating], seen: NDArray[np.bool_]) -> dict[str, Any] | None:
    known = np.isfinite(points).all(axis=1)
    if not known.any():
        return None
    x, y = ([f"{value:.0f}" for value in axis] for axis in _hold(points, known).T)
    return {"x": x, "y": y, "opacities": _fade(known, seen)}


def _hold(values: NDArray[np.floating], known: NDArray[np.bool_]) -> NDArray[np.floating]:
    """The values, those that are not known replaced by the last known ones or, before these, the first."""
    last = np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))
    return values[np.where(last < 0, int(known.argmax()), last)]


def _fade(known: NDArray[np.bool_], seen: NDArray[np.bool_]) -> Sequence[str]:
    """The opacity in each frame, once if it is the same in all: not seen is faded, not known is not drawn."""
    opacities = [f"{value:g}" for value in np.where(known, np.where(seen, 1.0, FADED_OPACITY), 0.0)]
    return opacities[:1] if len(set(opacities)) == 1 else opacities
