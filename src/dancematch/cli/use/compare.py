"""dancematch compare: where do two performances differ?"""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import MODEL_HELP, file_path, json_option, option, option_group
from dancematch.cli.output import emit, emit_json, emit_table, require_free, say, share_bar
from dancematch.errors import InputError, UnknownDanceError
from dancematch.formats.web_address import refuse_web_address

if TYPE_CHECKING:
    from dancematch.model.tokeniser import Tokeniser
    from dancematch.pipeline.analysis.file_analysis import Progress
    from dancematch.pipeline.counts.counts import Counted
    from dancematch.pipeline.query import QueryDancer
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
        help="Draw which passages are kept, changed, moved, mirrored, left out (.png, .svg, .pdf).",
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
    leaves out and adds, and what to practise. Counts follow the music of REFERENCE, or its movement.
    Differences are angles between the directions of their bones, both dancers turned to face
    forward; one motion by two characters on video is 3 to 10 degrees apart, as a pose estimator
    sees it. Exits with 0 if the two are a match or a possible match and with 3 if they are none.

    \b
    Example:
      dancematch compare mine.mp4 teacher.mp4
      dancematch compare mine.mp4 teacher.mp4 --report lesson.html --plot diff.png
      dancematch compare mine.mp4 thriller --catalogue dances.db --json
    """
    from dancematch.model.tokeniser import load_background, load_model
    from dancematch.report.compare import compare
    from dancematch.report.lesson import make_lesson

    for target in (wanted.report, wanted.plot):
        if target is not None:
            _require_writable(target, wanted.force, page=target is wanted.report)
    tokeniser = load_model(wanted.model)
    with share_bar("analysing") as tell:
        own = _dancers(clip, wanted, tokeniser, lambda share: tell(share / 2))
        theirs = _dancers(reference, wanted, tokeniser, lambda share: tell((1 + share) / 2))
    background = load_background(tokeniser, wanted.model)
    found = compare(own, theirs, tokeniser, background, name=Path(reference).name, mirrored=wanted.mirrored)
    lesson = make_lesson(found, theirs, _count_music(reference))
    if as_json:
        emit_json(_described(found, clip, reference) | {"lesson": lesson.described()})
    else:
        _print(lesson)
    for write, target in ((_write, wanted.report), (_write_plot, wanted.plot)):
        if target is not None:
            write(target, lesson, Path(clip).name, Path(reference).name, wanted.force)
            say(f"{target}: written" + ("; open it in a browser" if target.suffix == ".html" else ""))
    if not found.same:
        say(f"no match: {clip} and {reference} do not seem to be one dance")
        sys.exit(ExitCode.NO_MATCH)


def _count_music(reference: str) -> "Counted | None":
    """The counts of the reference's sound track; None where it is no video."""
    from dancematch import formats
    from dancematch.pipeline.counts.music import count_music

    path = Path(reference)
    return count_music(path) if path.exists() and not formats.is_motion_file(path) else None


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


def _dancers(
    what: str, wanted: ComparisonOptions, tokeniser: "Tokeniser", tell: "Progress"
) -> "list[QueryDancer]":
    """The dancers of a file or, where there is no such file, of a dance of the catalogue."""
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.pipeline.query import query_of_motions, read_query

    if Path(what).exists():
        return list(read_query(what, tokeniser, on_progress=tell).dancers)
    catalogue = wanted.catalogue
    if catalogue is None:
        refuse_web_address(what)
        raise InputError(f"{what} does not exist; where it is a dance's name, say --catalogue too")
    with open_catalogue(catalogue, model=wanted.model, create=False) as known:
        try:
            motions = known.motions(what)
        except UnknownDanceError:
            refuse_web_address(what)
            reason = f"{what} is neither a file nor a dance of {catalogue}; 'dancematch list' names them"
            raise InputError(reason) from None
    if not motions:
        raise InputError(f"{catalogue} keeps no skeletons of {what!r}; compare with its clip")
    return list(query_of_motions(motions, tokeniser, what).dancers)


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
    if found.same:
        _print_choreography(lesson)
    if not found.bones:
        return
    if max(one.high for one in found.bones) < NO_DIFFERENCE:
        emit(f"The two do not differ: every bone by less than {NO_DIFFERENCE:.0f} degree.")
        return
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
        ["bone", "mean", "a tenth of the time above", "most at", "on the whole"],
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
