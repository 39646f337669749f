"""dancematch benchmark: clips into a benchmark that can be published."""

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import force_option, jobs_option, json_option, model_option
from dancematch.cli.output import emit_json, say, share_bar

if TYPE_CHECKING:
    from dancematch.benchmark.build import BuildResult


@click.command("benchmark")
@click.argument("videos", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to build in.")
@click.option("--labels", type=click.Path(path_type=Path), help="CSV of labels: id, name, perhaps aliases.")
@click.option("--name", default="recorded", show_default=True, help="What the edition is called.")
@click.option("--synthetic", is_flag=True, help="Render the clips instead of taking VIDEOS.")
@click.option("--choreographies", type=click.IntRange(1), default=20, show_default=True, help="To render.")
@click.option("--performances", type=click.IntRange(1), default=10, show_default=True, help="Of each.")
@click.option("--seconds", type=click.FloatRange(1, 60), default=8.0, show_default=True, help="Of each clip.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is rendered.")
@model_option
@jobs_option
@click.option("--weights", type=click.Path(path_type=Path), help="Folder with the pose networks.")
@click.option("--retry", is_flag=True, help="Look again at clips that failed.")
@force_option("Replace a finished release.")
@json_option
def benchmark_command(
    videos: tuple[Path, ...], output: Path, labels: Path | None, name: str, synthetic: bool,
    choreographies: int, performances: int, seconds: float, seed: int, model: str | None, jobs: int,
    weights: Path | None, retry: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Make a benchmark of VIDEOS, each with yt-dlp's .info.json beside it.

    OUTPUT/release is for publishing: skeletons, words, labels and splits; no video and no names.
    Clips whose label is unclear are listed in OUTPUT/review.csv: fill in label_id (or - to leave a
    clip out) and run again. Clips that fail are listed in OUTPUT/quarantine.csv. A run that was
    interrupted goes on when the same command is run again.

    \b
    Example:
      dancematch benchmark clips -o bench --labels emotes.csv
      dancematch benchmark --synthetic --choreographies 20 --performances 10 --seed 1 -o bench
    """
    if synthetic == bool(videos) or synthetic == (labels is not None):
        raise click.UsageError("give VIDEOS and --labels, or --synthetic without them")
    from dancematch.benchmark.build import build
    from dancematch.benchmark.build_folder import BuildFolder
    from dancematch.benchmark.build_plan import Edition
    from dancematch.benchmark.labels import read_labels
    from dancematch.benchmark.synthetic_edition import EditionSettings, render_edition
    from dancematch.pose.blazepose import BlazePose

    with ExitStack() as stages:

        def on_stage(name: str) -> Callable[[float], None]:
            stages.close()  # the bar of the stage before
            return stages.enter_context(share_bar(name))

        if synthetic:
            settings = EditionSettings(choreographies, performances, seed, seconds)
            # No person needs protection, and the same seed must give the same bytes.
            build_folder = BuildFolder(output, secret=hashlib.sha256(settings.name.encode()).hexdigest())
            places: tuple[Path, ...] = (output / "videos",)
            rendered = render_edition(
                settings, places[0], jobs=jobs, force=force, on_progress=on_stage("rendering")
            )
            edition = Edition(settings.name, tuple(rendered), synthetic=True)
        else:
            edition = Edition(name, tuple(read_labels(labels or "")))
            build_folder, places = BuildFolder(output), videos
        built = build(
            places, build_folder, edition, jobs=jobs, model=model, force=force, retry=retry,
            make_estimator=partial(BlazePose, weights_dir=weights), on_stage=on_stage,
        )  # fmt: skip
    _tell(built, output, as_json)


def _tell(built: "BuildResult", output: Path, as_json: bool) -> None:
    entries = built.release.entries
    facts = {
        "release": str(built.release.folder),
        "clips": len(entries),
        "labels": len({entry.label_id for entry in entries}),
        "performers": len({entry.performer for entry in entries}),
        "clips_given": built.clips_given,
        "for_review": built.for_review,
        "quarantined": built.quarantined,
        "left_out": built.left_out,
    }
    if as_json:
        emit_json(facts)
        return
    kinds = f"{facts['labels']} labels, {facts['performers']} performers"
    say(f"{len(entries)} of {built.clips_given} clips, {kinds} -> {built.release.folder}")
    if built.for_review:
        review = output / "review.csv"
        say(f"{built.for_review} unclear: fill in label_id in {review} and run again with --force")
    if built.quarantined:
        say(f"{built.quarantined} unusable: {output / 'quarantine.csv'} says why")
