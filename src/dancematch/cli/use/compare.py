"""dancematch compare: where do two performances differ?"""

import dataclasses
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import MODEL_HELP, file_path, json_option, option, option_group
from dancematch.cli.output import emit, emit_json, emit_table, require_free, say, share_bar
from dancematch.errors import InputError

if TYPE_CHECKING:
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.report.compare import BoneDifference, Comparison
    from dancematch.report.lesson import Lesson

_JSON_SECONDS = 0.1  # between two moments of the timeline in JSON


@dataclasses.dataclass(frozen=True)
class ComparisonOptions:
    """What is compared with what, and where it is written."""

    catalogue: str | None = option(
        "--catalogue",
        help="Where CLIP or REFERENCE is a dance's name and no file: its catalogue.",
    )
    mirrored: bool | None = option(
        "--mirrored/--not-mirrored", default=None,
        help="Mirror CLIP, or take it as it is (default: as it fits better).",
    )  # fmt: skip
    report: Path | None = option(
        "--report", type=file_path(),
        help="Write a page with both dancers moving (.html), or a picture (.png, .svg, .pdf).",
    )  # fmt: skip
    plot: Path | None = option(
        "--plot", type=file_path(),
        help="Draw what is kept, changed, moved, mirrored, exchanged, left out (.png, .svg, .pdf).",
    )  # fmt: skip
    force: bool = option("--force", is_flag=True, help="Replace a file that is there.")
    model: str | None = option("--model", help=MODEL_HELP)


@click.command("compare")
@click.argument("clip")
@click.argument("reference")
@option_group("wanted", ComparisonOptions)
@json_option
def compare_command(clip: str, reference: str, wanted: ComparisonOptions, as_json: bool) -> None:
    """Lay CLIP beside REFERENCE (videos or motion files) and say where the dancers differ.

    The choreography comes first, in the counts of the reference: what CLIP keeps, changes, moves, mirrors,
    dances with arms or legs exchanged, leaves out and adds, what one of the two does not show, and what to
    practise. Counts follow the music of REFERENCE, or its movement.
    Differences are angles between the directions of their bones, both dancers turned to face
    forward; one motion by two characters on video is 3 to 10 degrees apart, as a pose estimator
    sees it. Exits with 0 if the two are a match or a possible match and with 3 if they are none.

    \b
    Example:
      dancematch compare mine.mp4 teacher.mp4
      dancematch compare mine.mp4 teacher.mp4 --report lesson.html --plot diff.png
      dancematch compare mine.mp4 thriller --catalogue dances.db --json
    """
    from dancematch.report.compare_clips import compare_in_counts

    for target in (wanted.report, wanted.plot):
        if target is not None:
            _require_writable(target, wanted.force, page=target is wanted.report)
    with _open_catalogue(wanted) as known, share_bar("analysing") as tell:
        lesson = compare_in_counts(
            clip, reference, mirrored=wanted.mirrored, catalogue=known, model=wanted.model, on_progress=tell
        )
    found = lesson.comparison
    if as_json:
        emit_json(_described(found, clip, reference) | {"lesson": lesson.described()})
    else:
        _print(lesson)
    for write, target in ((_write, wanted.report), (_write_plot, wanted.plot)):
        if target is not None and write is _write_plot and not found.same:
            say(f"{target}: not written, since the two do not seem to be one dance")
        elif target is not None:
            write(target, lesson, Path(clip).name, Path(reference).name, wanted.force)
            say(f"{target}: written" + ("; open it in a browser" if target.suffix == ".html" else ""))
    if not found.same:
        say(f"no match: {clip} and {reference} do not seem to be one dance")
        sys.exit(ExitCode.NO_MATCH)


def _require_writable(output: Path, force: bool, *, page: bool) -> None:
    """Refuse, before the work, a file that could not be written after it."""
    from dancematch.report.plots import SUFFIXES, require_drawable

    require_free(output, force)
    if page and output.suffix.lower() not in (".html", *SUFFIXES):
        raise InputError(
            f"{output} cannot be written: a comparison is a {', '.join(('.html', *SUFFIXES))} file"
        )
    if not page or output.suffix.lower() != ".html":
        require_drawable(output)


def _open_catalogue(wanted: ComparisonOptions) -> "AbstractContextManager[Catalogue | None]":
    from dancematch.pipeline.catalogue import open_catalogue

    if wanted.catalogue is None:
        return nullcontext()
    return open_catalogue(wanted.catalogue, model=wanted.model, create=False)


def _write(output: Path, lesson: "Lesson", clip: str, reference: str, force: bool) -> None:
    from dancematch.report.compare_page import write_comparison
    from dancematch.report.plots import draw_comparison

    if output.suffix.lower() == ".html":
        write_comparison(output, lesson, clip=clip, reference=reference, overwrite=force)
    else:
        draw_comparison(output, lesson.comparison, clip=clip, reference=reference, overwrite=force)


def _write_plot(output: Path, lesson: "Lesson", clip: str, reference: str, force: bool) -> None:
    from dancematch.report.diff_plot import draw_diff

    draw_diff(output, lesson, clip=clip, reference=reference, overwrite=force)


def _print(lesson: "Lesson") -> None:
    from dancematch.report.compare import NO_DIFFERENCE
    from dancematch.report.compare_page import summarise

    found = lesson.comparison
    emit(summarise(found))
    if found.bones and max(one.high for one in found.bones) < NO_DIFFERENCE:
        emit(f"The two do not differ: every bone by less than {NO_DIFFERENCE:.0f} degree.")
        return
    if found.same:
        _print_choreography(lesson)
    if found.bones:
        _print_bones(lesson)


def _print_choreography(lesson: "Lesson") -> None:
    emit(lesson.counted_by)
    emit()
    emit("The choreography")
    for line in lesson.diff:
        emit(f"  {line.text}")
    if lesson.practice:
        emit()
        emit("To practise")
        for number, sentence in enumerate(lesson.practice, start=1):
            emit(f"  {number}. {sentence}")


def _print_bones(lesson: "Lesson") -> None:
    from dancematch.report.compare_page import describe_lateness

    found = lesson.comparison
    emit()
    emit_table(
        ["bone", "mean", "a tenth of the time above", "most at, in the clip", "on the whole"],
        [
            [
                one.bone,
                f"{one.mean:.0f}",
                f"{one.high:.0f}",
                f"{one.worst_at:.1f} s",
                f"too {one.tendency}" if one.tendency else "",
            ]
            for one in found.bones
        ],
    )
    if not found.worst:
        emit()
        emit("No moment differs more than the others.")
        return
    emit()
    emit("The moments that differ most, in degrees")
    emit_table(
        ["clip", "reference", "count", "all", "most of all", ""],
        [
            [
                f"{moment.query:.1f} s",
                f"{moment.reference:.1f} s",
                lesson.where(moment.reference),
                f"{moment.degrees:.0f}",
                ", ".join(_name_bone(bone) for bone in moment.bones),
                describe_lateness(moment.late).lstrip("; "),
            ]
            for moment in found.worst
        ],
    )


def _name_bone(bone: "BoneDifference") -> str:
    too = f" (too {bone.tendency})" if bone.tendency else ""
    return f"{bone.bone} {bone.mean:.0f}{too}"


def _described(found: "Comparison", clip: str, reference: str) -> dict[str, Any]:
    """All of it as JSON: `timeline` holds one value per tenth of a second of the reference."""
    from dancematch.report.compare import BONES, compared_spans
    from dancematch.report.compare_page import round_values

    own, theirs = compared_spans(found)
    step = float(found.reference[1] - found.reference[0]) if len(found.reference) > 1 else _JSON_SECONDS
    kept = slice(None, None, max(1, round(_JSON_SECONDS / step)))
    timeline: dict[str, Any] = {
        "query": round_values(found.query[kept], 3),
        "reference": round_values(found.reference[kept], 3),
        "late": round_values(found.late[kept], 3),
        "degrees": {name: round_values(found.degrees[kept, n], 1) for n, name in enumerate(BONES)},
    }
    (mean,) = round_values([found.mean[found.mean == found.mean].mean() if found.bones else float("nan")], 2)
    names = ("score", "log_ratio", "mirrored", "dancer")
    return {
        "clip": clip,
        "reference_clip": reference,
        **{name: getattr(found.match, name) for name in names},
        "tempo": round(found.tempo, 4),
        "matched": found.matched,
        "verdict": found.verdict,
        "same": found.same,
        "query": dataclasses.asdict(own),
        "reference": dataclasses.asdict(theirs),
        "degrees": mean,
        "bones": [dataclasses.asdict(bone) for bone in found.bones],
        "worst": [dataclasses.asdict(moment) for moment in found.worst],
        "timeline": timeline,
    }
