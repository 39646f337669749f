"""Where a training run is kept, and what it refuses before it has done anything."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cli_samples import Answer, run_main
from dance_samples import dance, save_small_model, small_model, write_dance
from dancematch import formats
from dancematch.cli.research.train import duration, numbered
from dancematch.errors import DanceMatchError, InputError, ModelError
from dancematch.model.tokeniser import load_background, load_model, save_model
from dancematch.training.data.batches import TrainingSet
from dancematch.training.data.files import make_track, shows_dancer, split
from dancematch.training.kmeans import fit_kmeans
from dancematch.training.recipe import TrainingPlan, make_plan
from dancematch.training.run.folder import create_run, lock_run, read_plan, require_new_run
from dancematch.training.run.loop import train
from dancematch.types import Motion

TINY = {
    "network": {"dim": 8, "layers": 1, "heads": 2, "vocabulary": 8, "latent": 4},
    "training": {"steps": 4, "batch": 4, "crop_frames": 32, "check_steps": 2, "heads": "random"},
}


@cache
def materials() -> tuple[TrainingSet, TrainingSet]:
    clips = [make_track(f"dance{number}", dance(number)) for number in range(5)]
    learned, held_out = split(clips, 0.3, seed=0)
    return TrainingSet.of(learned), TrainingSet.of(held_out)


def tiny() -> TrainingPlan:
    return make_plan("default", TINY)


class StoppedError(Exception):
    """Somebody pulled the plug."""


def run_up_to(step: int, folder: Path) -> None:
    """Begin a run and stop it after so many steps."""

    def tell(progress) -> None:
        if progress.step == step:
            raise StoppedError

    create_run(tiny(), folder)
    with pytest.raises(StoppedError):
        train(*materials(), tiny(), folder, on_step=tell)


def change_plan(folder: Path, table: str, **changes: object) -> None:
    tables = json.loads((folder / "config.json").read_text())
    tables[table] |= changes
    (folder / "config.json").write_text(json.dumps(tables))


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize(
    ("table", "name", "value"),
    [("network", "dim", 16), ("training", "learning_rate", 0.5), ("views", "noise", 1)],
)
def test_a_run_does_not_go_on_with_other_numbers(tmp_path, step, table, name, value):
    """Before its first checkpoint and after it: the sentence names what was changed."""
    run_up_to(step, tmp_path / "run")
    change_plan(tmp_path / "run", table, **{name: value})
    with pytest.raises(InputError, match=rf"begun with other numbers: {table}\.{name} was .*now says"):
        read_plan(tmp_path / "run")


def test_a_checkpoint_of_another_network_is_refused(tmp_path):
    """Also where nobody noted how the run began."""
    run_up_to(3, tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "begun.json").unlink()
    change_plan(tmp_path / "run", "network", dim=16)
    with pytest.raises(InputError, match="was made with other numbers"):
        train(*materials(), read_plan(tmp_path / "run"), tmp_path / "run")


@pytest.mark.parametrize("step", [1, 3])
def test_a_run_does_not_go_on_with_other_motions(tmp_path, step):
    run_up_to(step, tmp_path / "run")
    learned, held_out = materials()
    with pytest.raises(InputError, match="trained on other motions"):
        train(TrainingSet(learned.clips[1:]), held_out, tiny(), tmp_path / "run")


def test_a_false_start_may_be_tried_again(tmp_path):
    """What never came to a checkpoint is begun anew, whatever it was begun with; what did is kept."""
    folder = tmp_path / "run"
    run_up_to(1, folder)
    create_run(make_plan("default", {**TINY, "views": {"noise": 1}}), folder)

    assert 1.0 == read_plan(folder).training.views.noise
    run_up_to(3, folder)
    with pytest.raises(ModelError, match="already holds a run"):
        create_run(tiny(), folder)


def test_a_model_is_no_false_start(tmp_path):
    save_small_model(tmp_path / "model")
    for content in (None, "{", "[]"):
        if content:
            (tmp_path / "model" / "config.json").write_text(content)
        with pytest.raises(ModelError, match="already holds a run or a model"):
            require_new_run(tmp_path / "model")


def test_two_processes_do_not_share_a_run(tmp_path):
    create_run(tiny(), tmp_path / "run")
    with lock_run(tmp_path / "run"):
        for another in (lambda: create_run(tiny(), tmp_path / "run"), lambda: run_up_to(1, tmp_path / "run")):
            with pytest.raises(ModelError, match="another process is training"):
                another()


@pytest.mark.parametrize(
    ("tables", "complaint"),
    [
        ({"training": {"seed": -1}}, "seed must be between 0 and"),
        ({"training": {"seed": 99999999999999999999999}}, "seed must be between 0 and"),
        ({"training": {"learning_rate": 10**400}}, "learning_rate is too large"),
        ({"training": {"fastest": float("inf")}}, "fastest must be 1 or more"),
        ({"training": {"patience": -1}}, "patience must be 0 or more"),
        ({"training": {"weight_decay": -0.1}}, "weight_decay must be 0 or more"),
        ({"network": {"patch_frames": 7}}, "crop_frames must be a multiple of patch_frames, got 64 and 7"),
        ({"weights": {"contrastive": -1.0}}, "contrastive must be 0 or more, got -1.0"),
        ({"weights": {"places": float("nan")}}, "places must be 0 or more, got nan"),
        ({"views": {"noise": -0.01}}, "noise must be 0 or more, got -0.01"),
        ({"views": {"dropout": 1.5}}, "dropout must be between 0 and 1, got 1.5"),
    ],
)
def test_numbers_that_cannot_be_are_refused(tables, complaint):
    with pytest.raises(InputError, match=complaint):
        make_plan("default", tables)


def test_k_means_takes_no_negative_seed():
    with pytest.raises(InputError, match="seed must be 0 or more, got -1"):
        fit_kmeans([dance(1)], seed=-1)


@pytest.fixture(scope="module")
def dances(tmp_path_factory) -> Path:
    """Two dances in which somebody is seen, three files in which nobody is, a view of a genre."""
    folder = tmp_path_factory.mktemp("dances")
    write_dance(folder / "dance0.npz", 0)
    write_dance(folder / "view_gPO_sBM_cAll_d04_mPO0_ch01.npz", 9)
    nobody = Motion(np.full_like(dance(0).joints, np.nan), dance(0).fps, dance(0).skeleton)
    for number in range(3):
        formats.write(folder / f"nobody{number}.npz", [nobody])
    return folder


def train_on(folder: Path, output: Path, *options: object) -> Answer:
    answer = run_main("train", folder, "-o", output, "--steps", 2, *options)
    assert 0 != answer.code
    assert not output.exists()
    return answer


def test_misspelt_genres_are_refused(dances, tmp_path):
    told = train_on(dances, tmp_path / "x", "--without-genres", "POO, PO,LHH").err

    assert "dancematch: there is no clip of the genre(s) LHH, POO; there are PO\n" == told


def test_whom_nobody_sees_teaches_nothing(dances, tmp_path):
    """Such files are left out with a line each; what is left must be enough."""
    told = train_on(dances, tmp_path / "x").err

    for number in range(3):
        assert f"left out: nobody is ever seen in {dances / f'nobody{number}.npz'}\n" in told
    assert f"{dances}: 2 files, 17 seconds\n" in told
    assert told.endswith(
        "training needs three dances or more, two of them to judge by, got 2; give more motions\n"
    )


def test_one_is_not_several():
    assert ["0 pairs", "1 pair", "2 pairs"] == [numbered(count, "pair") for count in range(3)]
    assert ["1 second", "119 seconds", "2 minutes"] == [duration(seconds) for seconds in (1.2, 119, 120)]


def test_a_body_without_a_pelvis_is_not_seen():
    """The canonical frame starts there: without it no joint has a place."""
    joints = dance(1).joints.copy()
    assert shows_dancer(Motion(joints, 30.0, dance(1).skeleton))
    for joint in ("pelvis", "left_hip", "right_hip"):
        joints[:, dance(1).skeleton.index(joint)] = np.nan

    assert not shows_dancer(Motion(joints, 30.0, dance(1).skeleton))


@pytest.mark.parametrize("tokeniser", ["network", "kmeans"])
def test_a_negative_seed_is_wrong_usage(dances, tmp_path, tokeniser):
    answer = run_main("train", dances, "-o", tmp_path / "x", "--tokeniser", tokeniser, "--seed", -1)

    assert 2 == answer.code
    assert "--seed" in answer.err


def test_a_plan_that_cannot_be_is_refused_before_anything_is_written(dances, tmp_path):
    config = tmp_path / "odd.toml"
    config.write_text("[network]\npatch_frames = 7\n")

    assert "multiple of patch_frames" in train_on(dances, tmp_path / "x", "--config", config).err


def test_help_says_what_the_choices_mean():
    told = " ".join(run_main("train", "--help").out.split())

    assert "words depend on their place in a chunk" in told
    assert "seven body parts, for these and seven ways in which they go together" in told


def test_a_run_is_not_taken_for_its_model(tmp_path):
    create_run(tiny(), tmp_path)
    with pytest.raises(ModelError, match="is a training run, not a model; it has no model yet"):
        load_model(tmp_path)
    save_small_model(tmp_path / "model")
    with pytest.raises(ModelError, match=f"not a model; you mean {tmp_path / 'model'}$"):
        load_model(tmp_path)


def test_another_models_background_is_refused(tmp_path):
    """It decides what is a match: of as many words and channels, but of other meaning, it decides wrongly."""
    other = small_model(seed=1)
    save_small_model(tmp_path / "own")
    save_model(other, tmp_path / "other", [other.fingerprint(dance(1))])
    (tmp_path / "other" / "background.npz").replace(tmp_path / "own" / "background.npz")
    own = load_model(tmp_path / "own")
    with pytest.raises(
        DanceMatchError, match=f"holds words of the model {other.model_id}, not of {own.model_id}"
    ):
        load_background(own, tmp_path / "own")
    with pytest.raises(DanceMatchError, match=f"words of the model {own.model_id}"):
        save_model(other, tmp_path / "third", [own.fingerprint(dance(1))])


def test_all_files_of_a_model_may_be_read_by_the_same_people(tmp_path):
    save_small_model(tmp_path / "model")

    assert 1 == len({path.stat().st_mode for path in (tmp_path / "model").iterdir()})
