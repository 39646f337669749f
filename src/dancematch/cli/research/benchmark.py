"""dancematch benchmark: clips into a benchmark that can be published."""

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import JOBS_SETTINGS, MODEL_HELP, json_option, option, option_group
from dancematch.cli.output import emit_json, say, stage_bars

if TYPE_CHECKING:
    from dancematch.benchmark.build import BuildResult


@dataclass(frozen=True)
class EditionOptions:
    """Which clips the benchmark has."""

    labels: Path | None = option(
        "--labels", type=click.Path(path_type=Path), help="CSV of labels: id, name, perhaps aliases."
    )
    name: str = option("--name", default="recorded", show_default=True, help="What the edition is called.")
    synthetic: bool = option("--synthetic", is_flag=True, help="Render the clips instead of taking VIDEOS.")
    choreographies: int = option(
        "--choreographies", type=click.IntRange(1), default=20, show_default=True, help="To render."
    )
    performances: int = option(
        "--performances", type=click.IntRange(1), default=10, show_default=True, help="Of each."
    )
    seconds: float = option(
        "--seconds", type=click.FloatRange(1, 60), default=8.0, show_default=True, help="Of each clip."
    )
    seed: int = option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is rendered."
    )


@dataclass(frozen=True)
class BuildOptions:
    """Where and how it is built."""

    output: Path = option(
        "-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to build in."
    )
    model: str | None = option("--model", help=MODEL_HELP)
    jobs: int = option("--jobs", **JOBS_SETTINGS)
    weights: Path | None = option(
        "--weights", type=click.Path(path_type=Path), help="Folder with the pose networks."
    )
    retry: bool = option("--retry", is_flag=True, help="Analyse clips that failed again.")
    force: bool = option("--force", is_flag=True, help="Replace a finished release.")


@click.command("benchmark")
@click.argument("videos", nargs=-1, type=click.Path(path_type=Path))
@option_group("wanted", EditionOptions)
@option_group("how", BuildOptions)
@json_option
def benchmark_command(
    videos: tuple[Path, ...], wanted: EditionOptions, how: BuildOptions, as_json: bool
) -> None:
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
    if wanted.synthetic == bool(videos) or wanted.synthetic == (wanted.labels is not None):
        raise click.UsageError("give VIDEOS and --labels, or --synthetic without them")
    from dancematch.benchmark.build import build
    from dancematch.benchmark.build_folder import BuildFolder
    from dancematch.benchmark.build_plan import Edition
    from dancematch.benchmark.labels import read_labels
    from dancematch.benchmark.synthetic_edition import EditionSettings, render_edition
    from dancematch.pose.blazepose import BlazePose

    with stage_bars() as on_stage:
        if wanted.synthetic:
            settings = EditionSettings(
                wanted.choreographies, wanted.performances, wanted.seed, wanted.seconds
            )
            # No person needs protection, and the same seed must give the same bytes.
            secret = hashlib.sha256(settings.name.encode()).hexdigest()
            build_folder = BuildFolder(how.output, secret=secret)
            places: tuple[Path, ...] = (how.output / "videos",)
            rendered = render_edition(
                settings, places[0], jobs=how.jobs, force=how.force, on_progress=on_stage("rendering")
            )
            edition = Edition(settings.name, tuple(rendered), synthetic=True)
        else:
            edition = Edition(wanted.name, tuple(read_labels(wanted.labels or "")))
            build_folder, places = BuildFolder(how.output), videos
        built = build(
            places, build_folder, edition, jobs=how.jobs, model=how.model, force=how.force, retry=how.retry,
            make_estimator=partial(BlazePose, weights_dir=how.weights), on_stage=on_stage,
        )  # fmt: skip
    _show_built(built, how.output, as_json)


def _show_built(built: "BuildResult", output: Path, as_json: bool) -> None:
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
