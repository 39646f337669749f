"""dancematch demo: see it work."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import json_option
from dancematch.cli.output import emit_json, emit_table, say, stage_bars

if TYPE_CHECKING:
    from dancematch.synthetic.demo import DemoAnswer


@click.command("demo")
@click.option(
    "-o", "--output", default="demo", show_default=True, type=click.Path(path_type=Path),
    help="Folder for the videos, the catalogue and the report.",
)  # fmt: skip
@json_option
def demo_command(output: Path, as_json: bool) -> None:
    """Render dances, learn them from video, recognise other performances, and write a report.

    Everything shown is rendered: mannequins that dance procedural choreographies. From the
    video files on, the path is the one your own clips take.

    \b
    Example:
      dancematch demo
      dancematch search demo/dances.db your-clip.mp4
    """
    from dancematch.synthetic.demo import run_demo
    from dancematch.synthetic.demo_report import write_report

    began = time.perf_counter()
    with stage_bars() as on_stage:
        demo = run_demo(output, on_stage=on_stage)
    report = write_report(demo)
    seconds = time.perf_counter() - began
    if as_json:
        for answer in demo.answers:
            fields = ("query", "expected", "answer", "verdict", "rank", "score", "correct")
            emit_json({name: getattr(answer, name) for name in fields})
    else:
        emit_table(
            [
                "",
                "clip",
                "what was changed",
                "verdict",
                "answer",
                "where",
                "mirrored",
                "tempo",
                "by accident",
                "next",
            ],
            [_row(answer) for answer in demo.answers],
        )
    right = sum(answer.correct for answer in demo.answers)
    say(f"{right} of {len(demo.answers)} right in {seconds:.0f} s, from rendered videos in {output}/")
    say(f"report: {report}")
    command = _own_command()
    say(f"try your own: {command} add {demo.catalogue} CLIPS, then {command} search {demo.catalogue} CLIP")
    say(f"now open the page: {command} serve {demo.catalogue}, and drop one of {output}/*.mp4 on it")
    if right < len(demo.answers):
        sys.exit(ExitCode.FAILED)


def _own_command() -> str:
    """How this program was called, if by its name: in a virtual environment it may not be on the path."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "dancematch" else "dancematch"


def _row(answer: "DemoAnswer") -> list[str]:
    from dancematch.pipeline.wording import accident_cell

    start = ["ok" if answer.correct else "WRONG", answer.query, answer.story, answer.verdict]
    match = answer.match
    if match is None:
        nearest = answer.nearest[0]
        return [*start, "I don't know this one", "", "", "", "", nearest.name]
    return [
        *start,
        match.name,
        f"{match.reference.start:.1f} to {match.reference.end:.1f} s",
        "yes" if match.mirrored else "no",
        f"x{match.tempo:.2f}",
        accident_cell(match.evalue),
        ", ".join(other.name for other in answer.nearest[1:2]),
    ]
