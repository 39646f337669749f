"""Small plans, training sets and runs for the tests of training."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from dance_samples import dance
from dancematch.training.data.batches import TrainingSet
from dancematch.training.data.tracks import make_track, split_tracks
from dancematch.training.network.learner import Learner
from dancematch.training.recipe import TrainingPlan, make_plan
from dancematch.training.run.loop import StepReport, train
from dancematch.training.run.run_folder import create_run
from dancematch.training.run.run_log import RunLog

TINY = {
    "network": {"dim": 8, "layers": 1, "heads": 2, "vocabulary": 8, "latent": 4},
    "training": {"steps": 12, "batch": 4, "crop_frames": 32, "check_steps": 3, "head_batches": 4},
}


class StoppedError(Exception):
    """Ends a run from outside."""


def tiny_plan(preset: str = "default", **training: object) -> TrainingPlan:
    return make_plan(preset, {**TINY, "training": {**TINY["training"], **training}})


@cache
def training_sets() -> tuple[TrainingSet, TrainingSet]:
    """Four dances to train on and two held out."""
    tracks = [make_track(f"dance{number}", dance(number)) for number in range(6)]
    training, held_out = split_tracks(tracks, 0.3, seed=0)
    return TrainingSet.from_tracks(training), TrainingSet.from_tracks(held_out)


def stop_at(step: int) -> Callable[[StepReport], None]:
    """A listener that stops a run after so many steps."""

    def on_step(report: StepReport) -> None:
        if report.step == step:
            raise StoppedError

    return on_step


def run_up_to(step: int, plan: TrainingPlan, folder: Path) -> None:
    """Begin a run and stop it after so many steps."""
    create_run(plan, folder)
    try:
        train(*training_sets(), plan, folder, on_step=stop_at(step))
    except StoppedError:
        return
    raise AssertionError(f"the run was finished before step {step}")


def run_to_the_end(folder: Path, plan: TrainingPlan) -> Learner:
    """Begin a run, or resume the one in `folder`, and finish it."""
    if not (folder / "config.json").exists():
        create_run(plan, folder)
    return train(*training_sets(), plan, folder)


def logged(folder: Path) -> list[dict[str, float]]:
    """The log of a run without the only number that differs between two equal runs."""
    return [{**row, "seconds": 0} for row in RunLog(folder).read()]
