"""dancematch extract: videos into skeletons."""

import os
import sys
from functools import partial
from pathlib import Path

import click

from dancematch.cli.output import complain, emit_json, ignored_line, json_option, say, share_bar
from dancematch.pose.estimators import ESTIMATORS, make_estimator


@click.command("extract")
@click.argument("videos", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for the .npz files."
)
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count(), help="Processes to use (default: all cores)."
)
@click.option(
    "--weights", type=click.Path(path_type=Path), help="Folder with the pose networks, if you have them."
)
@click.option(
    "--estimator",
    type=click.Choice([entry.name for entry in ESTIMATORS]),
    default=ESTIMATORS[0].name,
    show_default=True,
    help="; ".join(f"{entry.name} {entry.explanation}" for entry in ESTIMATORS) + ".",
)
@json_option
def extract_command(
    videos: tuple[Path, ...], output: Path, jobs: int, weights: Path | None, estimator: str, as_json: bool
) -> None:
    """Write the skeletons of every dancer in VIDEOS to OUTPUT, one .npz a video.

    What is there already is not done again: after Ctrl-C, run the same command.

    \b
    Example:
      dancematch extract clips/*.mp4 -o skeletons
    """
    from dancematch.pipeline.analysis import describe_ignored
    from dancematch.pipeline.extract import extract

    make = partial(make_estimator, estimator, weights)
    failed = 0
    with share_bar("extracting") as tell:
        for outcome, target in extract(videos, output, jobs=jobs, make_estimator=make, on_progress=tell):
            if target is None:
                failed += 1
                complain(outcome.path, outcome.error)
            elif as_json:
                seconds = max(motion.span.end for motion in outcome.motions)
                emit_json(
                    {
                        "video": str(outcome.path),
                        "output": str(target),
                        "dancers": len(outcome.motions),
                        "seconds": seconds,
                        "ignored": [describe_ignored(one) for one in outcome.ignored],
                    }
                )
            else:
                say(f"{outcome.path} -> {target}: {len(outcome.motions)} dancer(s)")
                for one in outcome.ignored:
                    say(f"  {ignored_line(one)}")
    if failed:
        say(f"{failed} of the videos gave nothing")
        sys.exit(1)
