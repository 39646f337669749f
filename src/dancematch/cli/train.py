"""dancematch train: fit a tokeniser."""

import os
from pathlib import Path

import click

from dancematch.cli.output import counted, say
from dancematch.errors import ModelError


@click.command("train")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    default="model",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder for the model; must be new.",
)
@click.option(
    "--tokeniser",
    type=click.Choice(["kmeans"]),
    default="kmeans",
    show_default=True,
    help="What to fit.",
    expose_value=False,
)
@click.option(
    "--layout", type=click.Choice(["parts7", "whole"]), default="parts7", show_default=True,
    help="Words for seven body parts, or for the whole body at once.",
)  # fmt: skip
@click.option(
    "--vocabulary", type=click.IntRange(2, 4096), default=256, show_default=True, help="Words a channel."
)
@click.option("--seed", type=int, default=0, show_default=True)
def train_command(folders: tuple[Path, ...], output: Path, layout: str, vocabulary: int, seed: int) -> None:
    """Fit a tokeniser on all motion files below FOLDERS and keep it in OUTPUT.

    \b
    Example:
      dancematch train --tokeniser kmeans aistpp/ -o my-model
      dancematch add dances.db clips/ --model my-model
    """
    from dancematch.errors import DanceMatchError, InputError
    from dancematch.index.calibrate import FEWEST
    from dancematch.model.tokeniser import save_model
    from dancematch.training.data import describe_files, motion_files, read_motions
    from dancematch.training.kmeans import fit_kmeans, pick_background
    from dancematch.types import Motion

    if (output / "config.json").exists():
        raise ModelError(f"{output} already holds a model; choose another folder or remove it first")
    _check_place(output)
    groups, used = [], []
    for folder in folders:
        files = motion_files([folder])
        found: list[Motion] = []
        for path, result in counted(read_motions(files), f"reading {folder}", total=len(files)):
            if isinstance(result, DanceMatchError):
                say(f"left out: {result}")
                continue
            found += result
            used.append(path)
        if not found:
            raise InputError(f"no motion file below {folder} could be read")
        groups.append(found)
    motions = [motion for group in groups for motion in group]
    say(f"{len(motions)} motions, {sum(motion.seconds for motion in motions) / 60:.0f} minutes")
    model = fit_kmeans(
        motions, layout=layout, vocabulary=vocabulary, seed=seed, trained_on=describe_files(used),
        on_part=lambda name: say(f"fitted {name}"),
    )  # fmt: skip
    background = pick_background(model, groups, seed=seed)
    if len(background) < FEWEST:
        say(
            f"only {len(background)} motions to judge scores by, {FEWEST} are needed: "
            f"searches with this model will answer 'no match' unless --max-evalue is raised"
        )
    save_model(model, output, background)
    click.echo(f"{output}: {model.model_id}")


def _check_place(output: Path) -> None:
    """Say before the long work, not after it, that its result could not be kept."""
    nearest = next(place for place in (output, *output.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise ModelError(
            f"the model cannot be kept in {output}: {nearest} is no folder that can be written to"
        )
