"""A picture of a lineage: the dance as a line of passages coloured by rarity, other dances below by date."""

from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.pipeline.lineage import Lineage, LineageNode, Order
from dancematch.report.plots import new_figure, require_drawable, write_figure
from dancematch.search.rarity import Rarity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RARITY: dict[Rarity, str] = {
    "rare": "#009e73",
    "shared": "#e69f00",
    "common": "#93a1ab",
    "not known": "#dde2e6",
}
_LABELS: dict[Rarity, str] = {"common": "common property", "not known": "rarity not known"}
_ORDER: dict[Order, str] = {
    "earlier": "#0072b2",
    "later": "#d55e00",
    "same time": "#7a3fb5",
    "undated": "#6b6863",
}
_INK = "#1c1b1a"
MOST_DANCES = 20  # that are drawn, those that share most


def draw_lineage(path: Path, found: Lineage, *, overwrite: bool = False) -> None:
    """Draw which passages of a dance other dances hold, a lane per dance; the first recording alone."""
    require_drawable(path)
    most = sorted(found.nodes[1:], key=lambda node: -node.shared_seconds)[:MOST_DANCES]
    nodes = [node for node in found.nodes[1:] if node in most]
    figure = new_figure(12, 1.9 + 0.5 * (1 + len(nodes)))
    axes = figure.subplots()
    recording = found.passages[0].recording_id if found.passages else ""
    shown = [one for one in found.passages if one.recording_id == recording]
    for one in shown:
        axes.barh(
            0, one.span.seconds, left=one.span.start, height=0.6, color=_RARITY[one.rarity],
            edgecolor="white", linewidth=0.8,
        )  # fmt: skip
    for lane, node in enumerate(nodes, start=1):
        _draw_dance(axes, found, node, lane, recording)
    names = [f"{one.name}, {one.date or 'no date'}" for one in (found.nodes[0], *nodes)]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, max((one.span.end for one in shown), default=1.0))
    axes.set_xlabel(f"seconds of {shown[0].recording}" if shown else "seconds")
    axes.set_title(f"What {found.name} shares with other dances", loc="left", color=_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    _label_colours(axes, {one.rarity for one in shown}, {node.order for node in nodes if node.order})
    figure.legend(loc="outside lower center", ncols=7, frameon=False, fontsize=9)
    write_figure(figure, path, overwrite)


def _draw_dance(axes: "Axes", found: Lineage, node: LineageNode, lane: int, recording: str) -> None:
    """The passages of the dance that another holds, with where it has them."""
    for edge in found.edges:
        if edge.dance_id != node.dance_id or edge.own_recording_id != recording:
            continue
        axes.barh(
            lane, edge.own.seconds, left=edge.own.start, height=0.5, color=_ORDER[node.order or "undated"],
            edgecolor="white", linewidth=0.8, alpha=1.0 if edge.verdict == "match" else 0.5,
        )  # fmt: skip
        mirrored = ", mirrored" if edge.mirrored else ""
        label = f"its {edge.other.start:.0f}-{edge.other.end:.0f} s{mirrored}"
        middle = (edge.own.start + edge.own.end) / 2
        axes.text(middle, lane, label, ha="center", va="center", fontsize=8, color="white", clip_on=True)


def _label_colours(axes: "Axes", rarities: set[Rarity], orders: set[Order]) -> None:
    for rarity, colour in _RARITY.items():
        if rarity in rarities:
            axes.barh(0, 0, color=colour, label=_LABELS.get(rarity, rarity))
    for order, colour in _ORDER.items():
        if order in orders:
            axes.barh(0, 0, color=colour, label=order)
