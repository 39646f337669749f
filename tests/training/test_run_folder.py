"""Where a training run is kept, and with what it refuses to continue."""

import json
from pathlib import Path

import pytest
import torch

from dance_samples import dance, save_small_model, small_model
from dancematch.cli.research.train import say_how_to_go_on
from dancematch.errors import DanceMatchError, InputError, ModelError
from dancematch.model.tokeniser import load_background, load_model, save_model
from dancematch.training.data.batches import TrainingSet
from dancematch.training.recipe import make_plan
from dancematch.training.run.loop import train
from dancematch.training.run.run_folder import (
    best_checkpoint,
    create_run,
    latest_checkpoint,
    lock_run,
    read_plan,
    require_new_run,
)
from dancematch.training.run.run_log import RunLog
from training_samples import TINY, run_up_to, tiny_plan, training_sets

PLAN = tiny_plan(steps=4, check_steps=2, head_start="random")


def change_plan(folder: Path, table: str, **changes: object) -> None:
    tables = json.loads((folder / "config.json").read_text())
    tables[table] |= changes
    (folder / "config.json").write_text(json.dumps(tables))


@pytest.mark.parametrize("step", [1, 3])
def test_a_run_does_not_go_on_with_other_numbers(tmp_path, step):
    """Before its first checkpoint and after it: the sentence names what was changed."""
    run_up_to(step, PLAN, tmp_path)
    config = (tmp_path / "config.json").read_text()
    for table, name, value in (
        ("network", "dim", 16),
        ("training", "learning_rate", 0.5),
        ("views", "noise", 1),
    ):
        (tmp_path / "config.json").write_text(config)
        change_plan(tmp_path, table, **{name: value})
        with pytest.raises(InputError, match=rf"begun with other numbers: {table}\.{name} was .*now says"):
            read_plan(tmp_path)


def test_a_checkpoint_of_another_network_is_refused(tmp_path):
    """Also without the record of how the run started."""
    run_up_to(3, PLAN, tmp_path)
    (tmp_path / "checkpoints" / "start.json").unlink()
    change_plan(tmp_path, "network", dim=16)
    with pytest.raises(InputError, match="was made with other numbers"):
        train(*training_sets(), read_plan(tmp_path), tmp_path)


@pytest.mark.parametrize("step", [1, 3])
def test_a_run_does_not_go_on_with_other_motions(tmp_path, step):
    run_up_to(step, PLAN, tmp_path)
    training, held_out = training_sets()
    with pytest.raises(InputError, match="trained on other motions"):
        train(TrainingSet(training.tracks[1:]), held_out, PLAN, tmp_path)


def test_a_run_without_a_checkpoint_may_be_replaced(tmp_path):
    """By any other plan; a run with a checkpoint is kept."""
    run_up_to(1, PLAN, tmp_path)
    create_run(make_plan("default", {**TINY, "views": {"noise": 1}}), tmp_path)

    assert 1.0 == read_plan(tmp_path).training.views.noise
    run_up_to(3, PLAN, tmp_path)
    with pytest.raises(ModelError, match="already holds a run"):
        create_run(PLAN, tmp_path)


def test_nothing_is_resumed_from_an_empty_folder(tmp_path):
    with pytest.raises(InputError, match="holds no run to go on with"):
        read_plan(tmp_path)


def test_a_model_is_not_replaced_by_a_run(tmp_path):
    save_small_model(tmp_path / "model")
    for content in (None, "{", "[]"):
        if content:
            (tmp_path / "model" / "config.json").write_text(content)
        with pytest.raises(ModelError, match="already holds a run or a model"):
            require_new_run(tmp_path / "model")


def test_two_processes_do_not_share_a_run(tmp_path):
    create_run(PLAN, tmp_path)
    with lock_run(tmp_path):
        for another in (
            lambda: create_run(PLAN, tmp_path),
            lambda: train(*training_sets(), PLAN, tmp_path),
        ):
            with pytest.raises(ModelError, match="another process is training"):
                another()


def test_a_run_is_not_taken_for_its_model(tmp_path):
    create_run(PLAN, tmp_path)
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


def test_all_files_of_a_model_have_the_same_permissions(tmp_path):
    save_small_model(tmp_path / "model")

    assert 1 == len({path.stat().st_mode for path in (tmp_path / "model").iterdir()})


def test_a_stopped_run_is_finished_as_far_as_it_came(tmp_path):
    """No step is added: the model is that of the checkpoint, and a second time the same."""
    run_up_to(3, PLAN, tmp_path)
    first, second = (train(*training_sets(), PLAN, tmp_path, finish=True) for _ in range(2))

    assert [2] == [row["step"] for row in RunLog(tmp_path).read()]
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_a_run_without_words_cannot_be_finished(tmp_path):
    create_run(PLAN, tmp_path)

    with pytest.raises(InputError, match="no check with words yet"):
        train(*training_sets(), PLAN, tmp_path, finish=True)


def test_a_run_that_is_stopped_says_what_can_be_done_with_it(tmp_path):
    """Nothing, then going on, then also making a model: as far as there are checkpoints for it."""
    create_run(PLAN, tmp_path)
    said = [say_how_to_go_on(tmp_path)]
    for file in (latest_checkpoint(tmp_path), best_checkpoint(tmp_path)):
        file.write_bytes(b"")
        said.append(say_how_to_go_on(tmp_path))

    assert [(False, False), (True, False), (True, True)] == [
        ("--resume goes on" in one, "--finish makes" in one) for one in said
    ]
