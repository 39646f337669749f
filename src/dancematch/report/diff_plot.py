"""A picture of a diff: the reference above, the clip below, and what became of each passage between them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dancematch.pipeline.counts.counts import COUNTS_PER_BAR, Counts
from dancematch.report.diff_passages import DiffKind, DiffPassage
from dancematch.report.lesson import Lesson
from dancematch.report.plots import new_figure, require_drawable, write_figure
from dancematch.types import Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart also by those who see no red and green (Okabe and Ito).
COLOURS: dict[DiffKind, str] = {
    "kept": "#b9c4cc",
    "changed": "#e69f00",
    "moved": "#0072b2",
    "mirrored": "#cc79a7",
    "arms exchanged": "#56b4e9",
    "legs exchanged": "#f0e442",
    "left out": "#d55e00",
    "added": "#009e73",
    "not shown": "#ffffff",
    "hardly seen": "#e8e6e3",
}
# Told apart from what was danced otherwise too.
HATCHES: dict[DiffKind, str] = {"left out": "///", "hardly seen": "..."}
_INK, _FAINT = "#1c1b1a", "#6b6863"
_ABOVE, _BELOW, _HEIGHT = 1.0, 0.0, 0.22  # of the lanes
_MOST_TICKS = 24  # bars or seconds that are numbered


def draw_diff(path: Path, lesson: Lesson, *, clip: str, reference: str, overwrite: bool = False) -> None:
    """Draw what the clip does with the choreography of the reference, and write what to practise below."""
    require_drawable(path)
    from matplotlib.patches import Patch

    figure = new_figure(12, 3.6 + 0.25 * max(1, len(lesson.practice)))
    axes = figure.subplots()
    for line in lesson.diff:
        _draw_passage(axes, line.passage)
    own, theirs = lesson.comparison.query_motion.span, lesson.comparison.reference_motion.span
    axes.set_xlim(min(own.start, theirs.start), max(own.end, theirs.end))
    axes.set_ylim(_BELOW - 0.75 * _HEIGHT, _ABOVE + 2.1 * _HEIGHT)
    axes.set_yticks([_ABOVE, _BELOW], [reference[-28:], clip[-28:]])
    axes.set_xlabel("seconds")
    axes.set_title(f"What {clip} does with {reference}", loc="left", color=_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if lesson.counted.counts is not None:
        _draw_bars(axes, lesson.counted.counts, theirs)
    kinds = list(dict.fromkeys(line.passage.kind for line in lesson.diff))
    marks = [Patch(label=kind, **_paint(kind)) for kind in sorted(kinds, key=list(COLOURS).index)]
    figure.legend(handles=marks, loc="outside upper right", ncols=len(kinds), frameon=False, fontsize=9)
    if lesson.practice:
        text = "\n".join(f"{number}. {one}" for number, one in enumerate(lesson.practice, start=1))
        figure.supxlabel(f"To practise\n{text}", x=0.02, ha="left", fontsize=10, color=_INK)
    write_figure(figure, path, overwrite)


def _draw_passage(axes: "Axes", passage: DiffPassage) -> None:
    colour = COLOURS[passage.kind]
    above, below = passage.reference, passage.query
    if above is not None and below is not None:
        axes.fill(
            [above.start, above.end, below.end, below.start],
            [_ABOVE - _HEIGHT / 2] * 2 + [_BELOW + _HEIGHT / 2] * 2,
            color=colour, alpha=0.25, linewidth=0,
        )  # fmt: skip
    for span, lane in ((above, _ABOVE), (below, _BELOW)):
        if span is not None:
            _draw_block(axes, span, lane, passage.kind)
    if passage.parts and above is not None:
        middle = (above.start + above.end) / 2
        label = "\n".join(passage.parts[:3])
        axes.text(middle, _ABOVE - 0.8 * _HEIGHT, label, ha="center", va="top", fontsize=8, color=_INK)


def _draw_block(axes: "Axes", span: Span, lane: float, kind: DiffKind) -> None:
    axes.barh(lane, span.seconds, left=span.start, height=_HEIGHT, **_paint(kind))


def _paint(kind: DiffKind) -> dict[str, Any]:
    """How the blocks of a kind look; of what is not shown there is an outline."""
    outline = "--" if kind == "not shown" else "-"
    edge = "white" if kind != "not shown" else _FAINT
    return {
        "facecolor": COLOURS[kind], "edgecolor": edge, "linewidth": 0.8, "linestyle": outline,
        "hatch": HATCHES.get(kind),
    }  # fmt: skip


def _draw_bars(axes: "Axes", counts: Counts, span: Span) -> None:
    """The beats of the reference as ticks above it, bars with their numbers."""
    beats = [(number, time) for number, time in enumerate(counts.beats) if span.start <= time <= span.end]
    every = -(-len(beats) // COUNTS_PER_BAR // _MOST_TICKS) or 1  # bars from one number to the next
    for number, time in beats:
        first = number % COUNTS_PER_BAR == 0
        top = _ABOVE + (1.05 if first else 0.75) * _HEIGHT
        axes.plot([time, time], [_ABOVE + 0.55 * _HEIGHT, top], color=_FAINT, linewidth=1.2 if first else 0.6)
        bar = number // COUNTS_PER_BAR
        if first and bar % every == 0:
            axes.text(time, top, f" bar {bar + 1}", fontsize=8, color=_FAINT, va="bottom")
