"""Pictures of matches and comparisons, drawn with matplotlib (the extra `plot`).

Times are in seconds on the clocks of the two clips; what is not seen stays empty.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError, MissingExtraError
from dancematch.formats.files import write_bytes
from dancematch.pipeline.wording import accident_sentence
from dancematch.report.compare import BONES, Comparison
from dancematch.report.compare_page import summarise
from dancematch.report.poses import FADED_LEGEND, FADED_OPACITY, fade_dashes
from dancematch.report.svg import STRONG, word_colours
from dancematch.search.explain import EvidenceMatrix
from dancematch.search.stage2.local_alignment import group_repeats
from dancematch.skeletons import BODY15
from dancematch.types import SEEN_FROM, Codebook, Fingerprint, FloatArray, Match

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
_DPI = 110
_FAINT, _INK = "#8a867f", "#1c1b1a"
_SIDES = {"left": "#d9622b", "right": "#2b6cd9"}  # as in every page of the project
_PASSAGES = ("#d9622b", "#7a3fb5", "#1c7c4a", "#b3261e")
_UNSEEN = "#f0eeea"
_HEAD = 1.4  # radius in widths of a bone's line


def require_drawable(path: Path) -> None:
    """Raise now if a picture cannot be drawn there later."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} cannot be drawn: pictures are {', '.join(SUFFIXES)} files")
    new_figure(1, 1)


def new_figure(width: float, height: float) -> "Figure":
    """An empty picture, in inches; raises an error that names the missing extra."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("pictures need matplotlib: pip install 'dancematch[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: "Figure", path: Path, overwrite: bool) -> None:
    """Write a picture in the format that its name says; the same picture gives the same bytes."""
    buffer = io.BytesIO()
    # The creation date would make every file differ from the last.
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    figure.savefig(buffer, format=path.suffix.lower()[1:], dpi=_DPI, metadata=dated)
    write_bytes(path, buffer.getvalue(), overwrite=overwrite)


# ---- a match


def draw_match(
    path: Path, match: Match, evidence: EvidenceMatrix, clip: str, *, overwrite: bool = False
) -> None:
    """Draw how a clip lies in a known dance: evidence and paths, both in words, agreement by body part."""
    require_drawable(path)
    shown = _list_seen_channels(evidence)
    rows = 0.17 * len(shown) + 0.5
    figure = new_figure(12.5, 6.5 + 2 * rows)
    panels: Any = figure.subplots(
        3, 2, sharex="col", gridspec_kw={"height_ratios": [6.5, rows, rows], "width_ratios": [1.2, 9]}
    )
    figure.suptitle(_title(match, clip), fontsize=13, x=0.02, ha="left")
    (beside, matrix), (corner, below), (empty, agreement) = panels
    corner.axis("off")
    empty.axis("off")
    _draw_matrix(matrix, evidence, figure)
    beside.sharey(matrix)
    _draw_words(beside, evidence.reference, evidence.codebook, shown, upright=True)
    beside.set_ylabel(f"{match.name}, seconds", fontsize=11)
    matrix.tick_params(labelleft=False)
    _draw_words(below, evidence.query, evidence.codebook, shown)
    below.set_title("the clip in motion words; like words have like colours", loc="left", fontsize=9)
    _draw_agreement(agreement, evidence, shown, figure)
    agreement.set_xlabel(f"{clip}{', mirrored' if match.mirrored else ''}, seconds", fontsize=11)
    matrix.set_xlim(*_edges(evidence.query))
    matrix.set_ylim(*_edges(evidence.reference))
    write_figure(figure, path, overwrite)


def _title(match: Match, clip: str) -> str:
    mirrored = "mirrored" if match.mirrored else "not mirrored"
    return (
        f"{clip} in {match.name}: {match.verdict}. {accident_sentence(match.evalue)}\n"
        f"seconds {match.reference.start:.1f} to {match.reference.end:.1f} of it, {mirrored}, "
        f"tempo x{match.tempo or 1:.2f}"
    )


def _edges(fingerprint: Fingerprint) -> tuple[float, float]:
    whole = fingerprint.span(0, len(fingerprint) - 1)
    return whole.start, whole.end


def _draw_matrix(axes: "Axes", evidence: EvidenceMatrix, figure: "Figure") -> None:
    left, right = _edges(evidence.query)
    bottom, top = _edges(evidence.reference)
    image = axes.imshow(
        evidence.matrix.T, cmap="Greys", vmin=0, vmax=STRONG, origin="lower", aspect="auto",
        extent=(left, right, bottom, top), interpolation="nearest",
    )  # fmt: skip
    figure.colorbar(image, ax=axes, label="evidence of a pair of words", pad=0.01, fraction=0.03)
    groups = group_repeats(evidence.segments)
    for number, group in enumerate(groups):
        colour = _PASSAGES[number % len(_PASSAGES)]
        for place, segment in enumerate(group):
            name = f"passage {number + 1}" + (f", {len(group)} times" if len(group) > 1 else "")
            axes.plot(
                _middles(evidence.query, segment.path[:, 0]),
                _middles(evidence.reference, segment.path[:, 1]),
                color=colour, linewidth=2.5 if place == 0 else 1.5,
                linestyle="-" if place == 0 else (0, (2, 1)), label=name if place == 0 else None,
            )  # fmt: skip
    line = evidence.line_pairs
    axes.plot(
        _middles(evidence.query, line[:, 0]), _middles(evidence.reference, line[:, 1]),
        color="#2b6cd9", linewidth=1, linestyle=":", label="the place, at an even tempo",
    )  # fmt: skip
    axes.legend(loc="upper left", fontsize=9, framealpha=0.9)
    axes.set_title("dark: the words of both agree, beyond what any two words do", loc="left", fontsize=9)


def _middles(fingerprint: Fingerprint, steps: Any) -> Any:
    return fingerprint.start + (np.asarray(steps) + 0.5) * fingerprint.seconds_per_word


def _draw_words(
    axes: "Axes", fingerprint: Fingerprint, codebook: Codebook, shown: list[int], *, upright: bool = False
) -> None:
    """One strip of colours per body part, along x or, `upright`, along y."""
    channels = len(shown)
    picture = np.ones((channels, len(fingerprint), 4), dtype=np.float32)
    for row, channel in enumerate(shown):
        picture[row, :, :3] = word_colours(codebook.vectors[channel])[fingerprint.words[:, channel]]
        picture[row, fingerprint.visibility[:, channel] < SEEN_FROM, 3] = 0
    start, end = _edges(fingerprint)
    if upright:
        axes.imshow(
            picture.transpose(1, 0, 2), origin="lower", aspect="auto", interpolation="nearest",
            extent=(-0.5, channels - 0.5, start, end),
        )  # fmt: skip
        axes.set_xticks([])  # the same body parts, in the order in which they are named below
    else:
        axes.imshow(
            picture, aspect="auto", interpolation="nearest", extent=(start, end, channels - 0.5, -0.5)
        )
        _name_rows(axes, codebook, shown)
        axes.tick_params(axis="x", labelbottom=False)
    axes.set_facecolor(_UNSEEN)


def _name_rows(axes: "Axes", codebook: Codebook, shown: list[int]) -> None:
    names = [codebook.channels[channel].replace("_", " ") for channel in shown]
    axes.set_yticks(np.arange(len(shown)), names, fontsize=8)


def _list_seen_channels(evidence: EvidenceMatrix) -> list[int]:
    """The channels that either clip shows."""
    seen = [(one.visibility >= SEEN_FROM).any(axis=0) for one in (evidence.query, evidence.reference)]
    return np.flatnonzero(seen[0] | seen[1]).tolist()


def _draw_agreement(axes: "Axes", evidence: EvidenceMatrix, shown: list[int], figure: "Figure") -> None:
    """How far each body part agrees at each moment of the clip, along the path of the match."""
    picture = np.full((len(shown), len(evidence.query)), np.nan, dtype=np.float32)
    for pairs in (evidence.line_pairs, evidence.path):
        picture[:, pairs[:, 0]] = evidence.agreement(pairs).T[shown]
    start, end = _edges(evidence.query)
    image = axes.imshow(
        picture, cmap="RdYlBu", vmin=0, vmax=1, aspect="auto", interpolation="nearest",
        extent=(start, end, len(shown) - 0.5, -0.5),
    )  # fmt: skip
    axes.set_facecolor(_UNSEEN)
    _name_rows(axes, evidence.codebook, shown)
    figure.colorbar(image, ax=axes, label="agreement", pad=0.01, fraction=0.03)
    axes.set_title(
        "agreement by body part along the best passage and, beyond it, the line; empty: unseen",
        loc="left",
        fontsize=9,
    )


# ---- a comparison


def draw_comparison(
    path: Path, comparison: Comparison, *, clip: str, reference: str, overwrite: bool = False
) -> None:
    """Draw where two performances differ: both at the worst moments, each bone over time, lateness."""
    require_drawable(path)
    figure = new_figure(12.5, 10)
    parts: Any = figure.subfigures(2, 1, height_ratios=[4.2, 5.8])
    above, below = parts
    first, _, rest = summarise(comparison).partition(": ")
    figure.suptitle(f"{clip} beside {reference}\n{first}:\n{rest}", fontsize=11, x=0.02, ha="left")
    _draw_worst(above, comparison, clip, reference)
    bones, late = below.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [4, 1]})
    _draw_bones(bones, comparison, below)
    late.axhline(0, color=_FAINT, linewidth=0.8)
    late.fill_between(comparison.query, comparison.late, color=_SIDES["right"], alpha=0.6, step="mid")
    late.set_ylabel("seconds late", fontsize=9)
    late.set_ylim(*(np.array([-1, 1]) * max(0.3, 1.1 * float(np.abs(comparison.late).max()))))
    late.set_xlabel(f"{clip}, seconds", fontsize=11)
    write_figure(figure, path, overwrite)


def _draw_worst(figure: Any, comparison: Comparison, clip: str, reference: str) -> None:
    moments = comparison.worst
    if not moments:
        return
    panels: Any = figure.subplots(2, len(moments), squeeze=False)
    for column, moment in enumerate(moments):
        place = int(np.abs(comparison.reference - moment.reference).argmin())
        bones = "\n".join(
            f"{bone.bone} {bone.mean:.0f}°{f' too {bone.tendency}' if bone.tendency else ''}"
            for bone in moment.bones
        )
        panels[0, column].set_title(bones, fontsize=8)
        for axes, poses, second in (
            (panels[0, column], comparison.query_poses, moment.query),
            (panels[1, column], comparison.reference_poses, moment.reference),
        ):
            draw_pose(axes, poses.joints[place], poses.seen[place])
            axes.set_xlabel(f"{second:.1f} s", fontsize=9, labelpad=1)
    figure.supxlabel(FADED_LEGEND, fontsize=8, color=_FAINT, x=0.02, ha="left")
    for row, name in enumerate((clip, reference)):
        panels[row, 0].set_ylabel(name, fontsize=9)


def draw_pose(axes: "Axes", joints: FloatArray, seen: NDArray[np.bool_]) -> None:
    """Draw the dancer [15, 3] from the front: the left side is on the viewer's right; faded if not seen."""
    for joint, parent in enumerate(BODY15.parents):
        if parent >= 0:
            colour = _SIDES.get(BODY15.joints[joint].partition("_")[0], _INK)
            ends, look = joints[[parent, joint]], _look(bool(seen[[parent, joint]].all()))
            axes.plot(ends[:, 0], ends[:, 1], color=colour, linewidth=2.5, solid_capstyle="round", **look)
    number = BODY15.index("head")
    alpha = _look(bool(seen[number]))["alpha"]
    axes.plot(*joints[number, :2], "o", markersize=7, color=_INK, fillstyle="none", alpha=alpha)
    axes.set_xlim(-1, 1)
    axes.set_ylim(-1.05, 1.05)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _look(seen: bool) -> dict[str, Any]:
    return {"alpha": 1.0} if seen else {"alpha": FADED_OPACITY, "linestyle": (0, fade_dashes(_HEAD))}


def _draw_bones(axes: "Axes", comparison: Comparison, figure: Any) -> None:
    shown = np.flatnonzero(np.isfinite(comparison.degrees).any(axis=0))
    names = [list(BONES)[bone] for bone in shown.tolist()]
    # The clip's tempo varies: each moment is as wide as it lasts.
    edges = np.append(comparison.query, 2 * comparison.query[-1] - comparison.query[-2:-1])
    edges = np.maximum.accumulate(edges + 1e-6 * np.arange(len(edges)))
    image = axes.pcolormesh(
        edges, np.arange(len(shown) + 1) - 0.5, comparison.degrees[:, shown].T, cmap="OrRd", vmin=0, vmax=90
    )
    axes.set_facecolor("#d7dde4")
    axes.set_yticks(np.arange(len(shown)), names, fontsize=9)
    axes.invert_yaxis()
    for moment in comparison.worst:
        axes.axvline(moment.query, color=_INK, linewidth=0.8, linestyle=":")
    axes.set_title(
        "difference by bone, degrees; grey: unseen; dotted: the moments above", loc="left", fontsize=9
    )
    figure.colorbar(image, ax=axes, label="degrees", pad=0.01, fraction=0.03)
