"""dancematch train: fit a tokeniser."""

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.output import counted, emit, say, share_bar, steps_bar
from dancematch.errors import DanceMatchError, InputError, MissingExtraError, ModelError

if TYPE_CHECKING:
    from dancematch.model.patches import PatchTokeniser
    from dancematch.training.data.batches import TrainingSet
    from dancematch.training.data.sources import TrainingSource
    from dancematch.training.data.tracks import TrainingTrack
    from dancematch.training.network.learner import Learner
    from dancematch.training.recipe import TrainingPlan
    from dancematch.training.run.loop import StepReport
    from dancematch.training.run.run_log import Row
    from dancematch.types import Motion

    Files = list[tuple[Path, list[Motion]]]  # of one folder

EXTRA = ("torch", "onnx", "matplotlib")
NETWORK_ONLY = ("preset", "config", "steps", "resume", "finish")
GOES_ON = ("resume", "finish")  # with a run that was begun before


@click.command("train")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--sources", type=click.Path(path_type=Path), metavar="FILE",
    help="TOML with a list of folders in place of FOLDERS: name, folder, weight, licence, commercial.",
)  # fmt: skip
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path),
    help="Folder for the run, with its model in OUTPUT/model; for the model itself with kmeans. Must be new.",
)  # fmt: skip
@click.option(
    "--tokeniser", type=click.Choice(["network", "kmeans"]), default="network", show_default=True,
    help="What to fit.",
)  # fmt: skip
@click.option(
    "--preset", type=click.Choice(["default", "paper"]),
    help="What works best, or as in the paper, whose words depend on their place in a chunk.",
)  # fmt: skip
@click.option(
    "--config", type=click.Path(path_type=Path),
    help="TOML or JSON with changes to the preset: tables network, training, weights, views.",
)  # fmt: skip
@click.option("--steps", type=click.IntRange(1), help="How long to train.")
@click.option("--resume", is_flag=True, help="Go on with the run in OUTPUT, as it was planned.")
@click.option("--finish", is_flag=True, help="Make the model of the run in OUTPUT as far as it came.")
@click.option(
    "--layout", type=click.Choice(["parts7", "parts14", "whole"]),
    help="Words for seven body parts, for these and seven ways in which they go together, or for the "
    "whole body at once.",
)  # fmt: skip
@click.option("--vocabulary", type=click.IntRange(2, 4096), help="Words per body part.")
@click.option("--seed", type=click.IntRange(0))
@click.option(
    "--without-genres", default="", metavar="PO,LH",
    help="AIST++ genres to learn nothing of, nor of their views.",
)  # fmt: skip
def train_command(
    folders: tuple[Path, ...],
    sources: Path | None,
    output: Path,
    tokeniser: str,
    without_genres: str,
    **options: Any,
) -> None:
    """Fit a tokeniser on all motion files below FOLDERS and keep it in OUTPUT.

    Pairs of the same moment are drawn from each folder as often; --sources gives them weights. What is
    not given is the preset's. A run that was stopped goes on with --resume, and ends with the same
    numbers as if it had not been.

    \b
    Example:
      dancematch train aistpp/ -o runs/first
      dancematch train aistpp/ -o runs/first --resume
      dancematch train aistpp/ -o runs/first --finish
      dancematch train --sources sources.toml -o runs/second
      dancematch train aistpp/ -o my-model --tokeniser kmeans
      dancematch add dances.db clips/ --model runs/first/model
    """
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    genres = [genre for genre in map(str.strip, without_genres.upper().split(",")) if genre]
    _refuse_contradictions(tokeniser, given)
    _check_place(output)
    listed = _list_sources(folders, sources)
    _check_genres([source.folder for source in listed], genres)
    if tokeniser == "kmeans":
        _fit_kmeans(listed, output, genres, given)
    else:
        _train_network(listed, output, genres, given)


def _list_sources(folders: Sequence[Path], listed: Path | None) -> "list[TrainingSource]":
    from dancematch.training.data.sources import name_folders, read_sources, require_different_folders

    if bool(folders) == (listed is not None):
        raise click.UsageError("give FOLDERS or --sources")
    sources = name_folders(folders) if listed is None else read_sources(listed)
    require_different_folders(sources)
    return sources


def _refuse_contradictions(tokeniser: str, given: dict[str, Any]) -> None:
    useless = [name for name in NETWORK_ONLY if name in given] if tokeniser == "kmeans" else []
    if useless:
        raise click.UsageError(f"--{useless[0]} is for networks; leave it out, or --tokeniser kmeans")
    goes_on = [name for name in GOES_ON if name in given]
    others = [name for name in given if name not in goes_on[:1]] if goes_on else []
    if others:
        raise click.UsageError(
            f"--{goes_on[0]} goes on as planned in OUTPUT/config.json; leave out --{others[0]}"
        )


def _check_place(output: Path) -> None:
    """Say before the long work, not after it, that its result could not be kept."""
    nearest = next(place for place in (output, *output.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise ModelError(
            f"the model cannot be kept in {output}: {nearest} is no folder that can be written to"
        )


def _check_genres(folders: Sequence[Path], genres: Sequence[str]) -> None:
    """A genre that is misspelt would be learnt from after all."""
    from dancematch.training.data.files import require_genres

    if genres:
        require_genres(folders, genres)


def _fit_kmeans(
    sources: "Sequence[TrainingSource]", output: Path, genres: Sequence[str], given: dict[str, Any]
) -> None:
    from dancematch.training.kmeans import fit_kmeans

    if (output / "config.json").exists():
        raise ModelError(f"{output} already holds a model; choose another folder or remove it first")
    _say_that_weights_do_not_count(sources)
    read = [_read(source.folder, genres) for source in sources]
    model = fit_kmeans(
        [motion for files in read for _, found in files for motion in found],
        trained_on=_describe(sources, read),
        on_part=lambda name: say(f"fitted {name}"),
        **given,
    )
    _keep(model, read, output)


def _describe(sources: "Sequence[TrainingSource]", read: Sequence["Files"]) -> dict[str, Any]:
    """What to write beside the model about what it learnt from."""
    from dancematch.training.data.files import describe_files

    listed = [{**source.describe(), "files": len(files)} for source, files in zip(sources, read, strict=True)]
    return {**describe_files([path for files in read for path, _ in files]), "sources": listed}


def _train_network(
    sources: "Sequence[TrainingSource]", output: Path, genres: Sequence[str], given: dict[str, Any]
) -> None:
    _require_extra()
    from dancematch.training.network.export import export_model
    from dancematch.training.run.run_folder import (
        create_run,
        read_plan,
        record_sources,
        require_check,
        require_new_run,
    )
    from dancematch.training.run.run_log import RunLog

    resumed = any(name in given for name in GOES_ON)
    plan = read_plan(output) if resumed else _plan(given)
    if not resumed:
        require_new_run(output)
    if "finish" in given:
        require_check(output)
    read = [_read(source.folder, genres) for source in sources]
    learned, held_out = _materials(sources, read, plan)
    if not resumed:
        create_run(plan, output)
    record_sources(output, [source.describe() for source in sources])
    learner = _watch(learned, held_out, plan, output, finish="finish" in given)
    made = {"seed": plan.training.seed, "steps": RunLog(output).read()[-1]["step"]}
    model = export_model(learner.model, trained_on={**_describe(sources, read), **made})
    _keep(model, read, output / "model")


def _require_extra() -> None:
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"training a network needs {missing[0]}: pip install 'dancematch[train]', or --tokeniser kmeans"
        )


def _plan(given: dict[str, Any]) -> "TrainingPlan":
    """The preset, changed by the config file, changed by the options."""
    from dancematch.training.recipe import make_plan, read_config

    tables = read_config(given["config"]) if "config" in given else {}
    for table, names in (("network", ("layout", "vocabulary")), ("training", ("steps", "seed"))):
        chosen = {name: given[name] for name in names if name in given}
        if chosen:
            tables[table] = {**tables.get(table, {}), **chosen}
    return make_plan(given.get("preset", "default"), tables)


def _read(folder: Path, genres: Sequence[str]) -> "Files":
    """Every file below a folder that can be read, with its motions."""
    from dancematch.training.data.files import find_motion_files, read_motions
    from dancematch.training.data.sources import COLUMNS, INDEX, has_other_index

    files = find_motion_files([folder], without_genres=genres)
    if has_other_index(folder):
        say(f"{folder / INDEX} is not used: it has no columns {', '.join(COLUMNS)}")
    found = []
    for path, result in counted(read_motions(files), f"reading {folder}", total=len(files)):
        if isinstance(result, DanceMatchError):
            say(f"left out: {result}")
        else:
            found.append((path, result))
    if not found:
        raise InputError(f"no motion file below {folder} can be learnt from")
    seconds = sum(motion.seconds for _, motions in found for motion in motions)
    say(f"{folder}: {numbered(len(found), 'file')}, {duration(seconds)}")
    return found


def numbered(count: int, noun: str) -> str:
    """So many of a thing, one or several."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration(seconds: float) -> str:
    """A length of time in seconds, from two minutes on in minutes."""
    return numbered(round(seconds), "second") if seconds < 120 else numbered(round(seconds / 60), "minute")


def _materials(
    sources: "Sequence[TrainingSource]", read: Sequence["Files"], plan: "TrainingPlan"
) -> tuple["TrainingSet", "TrainingSet"]:
    """The motions to learn from, and those held out for checks."""
    from dancematch.training.data.batches import TrainingSet, select_long_tracks
    from dancematch.training.data.tracks import split_tracks

    recipe = plan.training
    tracks = [
        track for source, files in zip(sources, read, strict=True) for track in _make_tracks(source, files)
    ]
    training, held_out = split_tracks(select_long_tracks(tracks, recipe), recipe.holdout, recipe.seed)
    weights = {source.name: source.weight for source in sources}
    with share_bar("aligning dancers") as tell:
        material = TrainingSet.from_tracks(training, weights, tell)
    pairs = [f"{numbered(len(found), 'pair')} of {source}" for source, found in material.pairs.items()]
    say(f"{numbered(len(training), 'motion')} to learn from, {numbered(len(held_out), 'motion')} held out")
    say(", ".join(pairs) or "no pairs: each motion is paired with itself")
    _say_that_weights_do_not_count(source for source in sources if source.name not in material.pairs)
    return material, TrainingSet.from_tracks(held_out, weights)


def _say_that_weights_do_not_count(sources: "Iterable[TrainingSource]") -> None:
    weighted = [source.name for source in sources if source.weight != 1]
    if weighted:
        say(f"the weight of {', '.join(weighted)} has no effect: only pairs are drawn by weight")


def _make_tracks(source: "TrainingSource", files: "Files") -> "Iterator[TrainingTrack]":
    from dancematch.training.data.sources import read_index
    from dancematch.training.data.tracks import make_tracks

    index = read_index(source.folder) or {}
    for path, found in counted(files, f"canonical frame of {source.name}"):
        yield from make_tracks(path, found, source.name, index.get(path))


def _watch(
    learned: "TrainingSet", held_out: "TrainingSet", plan: "TrainingPlan", output: Path, *, finish: bool
) -> "Learner":
    """Train, with a progress bar and one line per check."""
    from dancematch.training.run.loop import train

    with steps_bar("training", plan.training.steps) as show:

        def tell(progress: "StepReport") -> None:
            show(progress.step, progress.losses.get("total"))  # a report of a check has no losses
            if progress.check is not None:
                say(f"step {progress.step}: {_summary(progress.check)}")

        try:
            return train(learned, held_out, plan, output, finish=finish, on_step=tell)
        except KeyboardInterrupt:
            say(say_how_to_go_on(output))
            raise


def say_how_to_go_on(output: Path) -> str:
    """What can be done with a run that was stopped."""
    from dancematch.training.run.run_folder import best_checkpoint, latest_checkpoint

    if not latest_checkpoint(output).exists():
        return f"stopped before the first checkpoint; nothing is kept in {output}, begin again"
    ways = "--resume goes on from the last checkpoint"
    return f"stopped; {ways} in {output}" + (", --finish makes its model" * best_checkpoint(output).exists())


def _summary(row: "Row") -> str:
    """One check in one line."""
    shown = {
        "loss": "loss_total",
        "contrastive": "loss_contrastive",
        "reconstruction": "loss_reconstruction",
        "held out": "held_out_total",
    }
    losses = [f"{name} {row[field]:.3f}" for name, field in shown.items()]
    return ", ".join([*losses, f"usage {row['usage']:.0%}", f"perplexity {row['perplexity']:.0f}"])


def _keep(model: "PatchTokeniser", read: Sequence["Files"], folder: Path) -> None:
    """Save a model with a background cohort, as many motions from every folder."""
    from dancematch.model.tokeniser import save_model
    from dancematch.search.confidence.cohort import FEWEST
    from dancematch.training.background import pick_background

    background = pick_background(
        model, [[motion for _, found in files for motion in found] for files in read]
    )
    if len(background) < FEWEST:
        say(
            f"only {numbered(len(background), 'motion')} for the background cohort, {FEWEST} are needed: "
            f"searches with this model will answer 'no match'; give more motions"
        )
    save_model(model, folder, background)
    emit(f"{folder}: {model.model_id}")
