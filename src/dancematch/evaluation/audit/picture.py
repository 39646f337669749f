"""The picture of an audit: the figures of each change, and the accept rates at every limit."""

from pathlib import Path
from typing import Any

import numpy as np

from dancematch.evaluation.audit.result import Audit, LimitSuggestion
from dancematch.evaluation.measures.accept_rates import AcceptCurve
from dancematch.report.plots import new_figure, require_drawable, write_figure

_BARS = {
    "rank1": ("named first", "#c9c5be"),
    "accepted": ("and a match", "#2b6cd9"),
    "place": ("place found", "#1c7c4a"),
}
_LEAST, _MOST = 1e-8, 100.0  # E-values shown; smaller ones if the suggestion is


def draw_audit(
    path: Path, audit: Audit, suggestion: LimitSuggestion, limit: float, *, overwrite: bool = False
) -> None:
    """Draw an audit: left the changes, right the accept rates against the limit of the E-value."""
    require_drawable(path)
    figure = new_figure(12.5, max(4.0, 1.5 + 0.38 * len(audit.figures(limit))))
    changes, accepts = figure.subplots(1, 2, width_ratios=[1.1, 1])
    _draw_changes(changes, audit, limit)
    _draw_accepts(accepts, audit.accept_curve(), suggestion, limit)
    figure.suptitle(
        f"{audit.asked} of {audit.dances} dances, changed and searched for", fontsize=13, x=0.02, ha="left"
    )
    write_figure(figure, path, overwrite)


def _draw_changes(axes: Any, audit: Audit, limit: float) -> None:
    figures = audit.figures(limit)
    places, height = np.arange(len(figures)), 0.8 / (len(_BARS) + 1)
    for number, (field, (label, colour)) in enumerate(_BARS.items()):
        shares = [getattr(one, field) or 0.0 for one in figures]
        axes.barh(places + (number - 1.5) * height, shares, height, label=label, color=colour)
    unknown = [one.false_accepts or 0.0 for one in figures]
    axes.barh(places + 1.5 * height, unknown, height, label="left out, yet accepted", color="#b3261e")
    axes.set(yticks=places, xlim=(0, 1.02), xlabel=f"share of the queries (match: E ≤ {limit:g})")
    axes.set_yticklabels([one.change for one in figures])
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_accepts(axes: Any, curve: AcceptCurve | None, suggestion: LimitSuggestion, limit: float) -> None:
    if curve is None:
        axes.axis("off")
        axes.text(0.5, 0.5, "no dance could be left out:\nthe catalogue has no other", ha="center")
        return
    least = max(1e-12, min(_LEAST, suggestion.interval[0] / 100)) if suggestion.interval else _LEAST
    limits = np.concatenate([np.clip(curve.limits, least, _MOST), [_MOST]])
    for shares, label, colour in (
        (curve.true_accepts, "known: named first and a match", "#2b6cd9"),
        (curve.false_accepts, "left out: accepted as another", "#b3261e"),
    ):
        axes.step(limits, [*shares, shares[-1]], where="post", label=label, color=colour)
    axes.axvline(limit, color="#8a867f", linestyle=":", label=f"in use: E ≤ {limit:g}")
    if suggestion.evalue is not None and suggestion.interval is not None:
        low, high = np.clip(suggestion.interval, least, _MOST)
        axes.axvspan(low, high, color="#1c7c4a", alpha=0.12)
        text = f"{suggestion.wanted:.3g} of unknown dances: E ≤ {suggestion.evalue:.2g}"
        axes.axvline(np.clip(suggestion.evalue, least, _MOST), color="#1c7c4a", label=text)
    axes.set(xscale="log", xlim=(least, _MOST), ylim=(0, 1.02))
    axes.set(xlabel="limit of a match: E-value", ylabel="share accepted")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
