"""A run's log as a picture: losses, held-out losses, and the share of words in use."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dancematch.training.run.run_log import Row


def draw_curves(rows: Sequence[Row], path: Path) -> None:
    """Write a PNG of three panels over the steps of a run."""
    figure = Figure(figsize=(9, 9), layout="constrained")
    losses, held_out, words = figure.subplots(3, 1, sharex=True)
    names = list(rows[0]) if rows else []
    changing = [name for name in names if any(row[name] for row in rows)]
    _draw_panel(losses, rows, [name for name in changing if name.startswith("loss_")], "training loss")
    _draw_panel(held_out, rows, [name for name in changing if name.startswith("held_out_")], "held out")
    _draw_panel(words, rows, [name for name in names if name.startswith("usage_")], "words in use, held out")
    words.set_xlabel("step")
    figure.savefig(path, dpi=110)


def _draw_panel(axes: Axes, rows: Sequence[Row], names: Sequence[str], title: str) -> None:
    steps = [row["step"] for row in rows]
    for name in names:
        axes.plot(steps, [row[name] for row in rows], label=name.split("_", 1)[1].replace("_", " "))
    axes.set_title(title)
    axes.grid(alpha=0.3)
    if names:
        axes.legend(fontsize="small", ncols=2)
