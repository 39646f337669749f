"""A picture of a scan: lanes of dancers, one colour per dance."""

from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.report.plots import new_figure, write_figure
from dancematch.report.scan_files import NO_KNOWN_DANCE, ScannedVideo

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

# Told apart also by those who see no red and green (Okabe and Ito), then repeated.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6d1f", "#7a3fb5")
_NO_DANCE, _INK = "#e4e1db", "#1c1b1a"
_HATCH = "///"  # of possible matches
_MOST_NAMED = 3  # dancers of a lane
_LEAST_SHARE = 0.04  # of the video, from which on a segment has its name in it
_MINUTE = 60.0


def draw_scan(path: str | Path, scanned: ScannedVideo, *, overwrite: bool = False) -> None:
    """Draw which dance is danced when; possible matches are hatched, no known dance is grey."""
    lanes = pack_lanes(scanned)
    dances = list(dict.fromkeys(segment.dance for segment, _ in scanned.dances))
    colours = {dance: COLOURS[number % len(COLOURS)] for number, dance in enumerate(dances)}
    figure = new_figure(12, 1.6 + 0.55 * len(lanes) + 0.2 * -(-len(dances) // 4))
    axes = figure.subplots()
    in_minutes = scanned.seconds > 2 * _MINUTE
    unit = _MINUTE if in_minutes else 1.0
    for lane, dancers in enumerate(lanes):
        for segment in (one for one in scanned.segments if one.dancer in dancers):
            _draw_segment(axes, segment, lane, unit, scanned.seconds, colours)
    axes.set_xlim(0, scanned.seconds / unit)
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set_yticks(range(len(lanes)), [_name_lane(dancers) for dancers in lanes])
    axes.set_xlabel("minutes" if in_minutes else "seconds")
    axes.set_title(scanned.file, loc="left", color=_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.legend(handles=_list_marks(scanned, colours), loc="outside lower center", ncols=4, frameon=False)
    write_figure(figure, Path(path), overwrite)


def pack_lanes(scanned: ScannedVideo) -> list[list[int]]:
    """The dancers of each lane: who comes when another has gone takes the same."""
    ends: list[float] = []
    lanes: list[list[int]] = []
    spans = {dancer: [s.span for s in scanned.segments if s.dancer == dancer] for dancer in scanned.dancers}
    for dancer, own in sorted(spans.items(), key=lambda item: item[1][0].start):
        lane = next((n for n, end in enumerate(ends) if end <= own[0].start), len(lanes))
        if lane == len(lanes):
            lanes.append([])
            ends.append(0.0)
        lanes[lane].append(dancer)
        ends[lane] = max(span.end for span in own)
    return lanes


def _list_marks(scanned: ScannedVideo, colours: dict[str | None, str]) -> list["Patch"]:
    """The legend: every dance, and what is no plain match where there is any."""
    from matplotlib.patches import Patch

    marks = [Patch(facecolor=colour, label=dance) for dance, colour in colours.items()]
    verdicts = {segment.verdict for segment in scanned.segments}
    if "possible match" in verdicts:
        marks.append(Patch(facecolor="white", edgecolor=_INK, hatch=_HATCH, label="possible match"))
    if "no match" in verdicts:
        marks.append(Patch(facecolor=_NO_DANCE, label=NO_KNOWN_DANCE))
    return marks


def _name_lane(dancers: list[int]) -> str:
    if len(dancers) == 1:
        return f"dancer {dancers[0]}"
    shown = ", ".join(map(str, dancers[:_MOST_NAMED]))
    return f"dancers {shown}{', ...' if len(dancers) > _MOST_NAMED else ''}"


def _draw_segment(
    axes: "Axes", segment: ScanSegment, lane: int, unit: float, total: float, colours: dict[str | None, str]
) -> None:
    span = segment.span
    known = segment.match is not None
    axes.barh(
        lane, span.seconds / unit, left=span.start / unit, height=0.7 if known else 0.12,
        color=colours[segment.dance] if known else _NO_DANCE, edgecolor="white", linewidth=0.6,
        hatch=_HATCH if segment.verdict == "possible match" else None,
    )  # fmt: skip
    if known and span.seconds >= _LEAST_SHARE * total:
        middle = (span.start + span.end) / 2 / unit
        colour = colours[segment.dance]
        axes.text(
            middle, lane, segment.dance or "", ha="center", va="center", fontsize=8, color="white",
            clip_on=True,
            bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.5},  # over the hatching too
        )  # fmt: skip
