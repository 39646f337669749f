"""A run's steps, checks and checkpoints: what it learns, and that it can be stopped anywhere."""

import csv
import math
import os
import signal
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from dancematch.errors import ModelError
from dancematch.training.recipe import LossWeights, TrainingRecipe, make_plan
from dancematch.training.run.checkpoint import load_state, save_state
from dancematch.training.run.loop import TrainingRun, learning_rate, train
from dancematch.training.run.run_folder import create_run, latest_checkpoint, read_plan
from dancematch.training.run.run_log import RunLog
from training_samples import (
    TINY,
    logged,
    run_to_the_end,
    run_up_to,
    tiny_plan,
    training_sets,
)

pytestmark = pytest.mark.usefixtures("whole", "without_curves")  # in this order: `whole` draws its curves


def assert_same_weights(first: torch.nn.Module, second: torch.nn.Module) -> None:
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


@pytest.mark.parametrize("step", [2, 3, 7])
def test_a_resumed_run_is_the_same_to_the_last_bit(tmp_path, whole, step):
    """Stopped before, at and after a checkpoint, in and after the warm-up: losses and weights agree."""
    run_up_to(step, tiny_plan(), tmp_path / "run")
    resumed = run_to_the_end(tmp_path / "run", read_plan(tmp_path / "run"))

    assert logged(whole[0]) == logged(tmp_path / "run")
    assert_same_weights(whole[1], resumed)


KILLED_IN_STEP_FIVE = """
import itertools, os, signal
from pathlib import Path
from torch import nn
from training_samples import run_to_the_end, tiny_plan
clip, calls = nn.utils.clip_grad_norm_, itertools.count(1)

def clip_or_die(*arguments):
    if next(calls) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return clip(*arguments)

nn.utils.clip_grad_norm_ = clip_or_die
run_to_the_end(Path({folder!r}), tiny_plan())
"""


def test_a_killed_run_goes_on(tmp_path, whole):
    """A kill -9 in the middle of a step leaves a whole checkpoint, from which all comes out the same."""
    folder = tmp_path / "run"
    code = KILLED_IN_STEP_FIVE.format(folder=str(folder))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)

    assert -signal.SIGKILL == killed.returncode, killed.stderr
    assert 3 == load_state(latest_checkpoint(folder))["progress"]["step"]
    run_to_the_end(folder, read_plan(folder))
    assert [3, 6, 9, 12] == [row["step"] for row in logged(folder)]
    for expected, found in zip(logged(whole[0]), logged(folder), strict=True):
        assert expected == pytest.approx(found, rel=1e-3)  # another process may use other threads


def test_a_seed_is_a_run(tmp_path, whole):
    again = run_to_the_end(tmp_path / "again", tiny_plan())
    run_up_to(3, tiny_plan(seed=1), tmp_path / "other")

    assert_same_weights(whole[1], again)
    assert logged(whole[0])[:1] != logged(tmp_path / "other")


def test_the_log_has_losses_words_and_time(whole):
    rows = RunLog(whole[0]).read()
    with (whole[0] / "log.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))

    assert [3, 6, 9, 12] == [row["step"] for row in rows]
    assert [[str(value) for value in row.values()] for row in rows] == [list(row.values()) for row in table]
    expected = {"loss_total", "learning_rate", "held_out_contrastive", "usage_left_arm", "perplexity_legs"}
    assert expected <= set(rows[0])
    assert 0 == rows[0]["loss_commitment"] < rows[-1]["loss_commitment"]  # the warm-up has none
    assert all(0 < row["usage"] <= 1 <= row["perplexity"] <= 8 for row in rows)
    assert sorted(row["seconds"] for row in rows) == [row["seconds"] for row in rows]
    assert b"\x89PNG" == (whole[0] / "curves.png").read_bytes()[:4]


def test_training_learns(tmp_path):
    """Within forty steps the contrast between held-out dances becomes easier by a fifth."""
    plan = tiny_plan(
        steps=40, check_steps=10, batch=8, learning_rate=3e-3, head_start="random", encoder_rate=1.0,
        temperature=1.0,
    )  # fmt: skip
    run_to_the_end(tmp_path, plan)
    contrast = [row["held_out_contrastive"] for row in logged(tmp_path)]

    assert min(contrast) < 0.8 * contrast[0]


def test_the_best_check_is_kept(whole):
    folder, learner = whole
    quantised = [row for row in logged(folder) if row["step"] > tiny_plan().training.warm_up_steps]
    best = min(quantised, key=lambda row: row["held_out_contrastive"])
    kept = load_state(folder / "checkpoints" / "best.safetensors")

    assert best["step"] == kept["progress"]["step"]
    assert best["held_out_contrastive"] == kept["progress"]["best"]
    weights = kept["learner"]["model.encoder.embed.weight"]
    assert torch.equal(weights, learner.state_dict()["model.encoder.embed.weight"])


def test_training_stops_when_nothing_gets_better(tmp_path):
    """With a learning rate of next to nothing the second check after the warm-up is the last."""
    plan = tiny_plan(steps=60, patience=1, learning_rate=1e-12, warm_up=0.05, weight_decay=0.0)
    run_to_the_end(tmp_path, plan)

    assert len(logged(tmp_path)) < 20
    assert 1 == load_state(latest_checkpoint(tmp_path))["progress"]["stale_checks"]
    assert TrainingRun(*training_sets(), plan, tmp_path).finished is False


def test_the_paper_trains_by_the_papers_losses(tmp_path):
    training = {**TINY["training"], "steps": 6}
    network = {"dim": 8, "layers": 1, "heads": 2, "vocabulary": 8}
    plan = make_plan("paper", {"network": network, "training": training})
    run_to_the_end(tmp_path, plan)
    last = logged(tmp_path)[-1]

    assert 0 == last["loss_contrastive"] == last["loss_swapped"] == last["loss_descriptor"]
    weights = plan.training.weights
    total = (
        weights.reconstruction * last["loss_reconstruction"]
        + last["loss_commitment"]
        + weights.codebook * last["loss_codebook"]
        - weights.entropy * last["loss_entropy"]
    )
    assert total == pytest.approx(last["loss_total"], rel=1e-4)
    assert 1e-4 == last["learning_rate"]


def test_every_loss_can_be_asked_for(tmp_path):
    """All terms at once, balanced commitment and hidden joints included: each is measured and learned."""
    weights = {field.name: 1.0 for field in fields(LossWeights)}
    training = {**TINY["training"], "steps": 6, "balance_commitment": True, "revival": "epoch"}
    tables = {**TINY, "training": training, "weights": weights, "views": {"dropout": 0.2}}
    run_to_the_end(tmp_path, make_plan("default", tables))
    last = logged(tmp_path)[-1]

    assert all(last[f"loss_{name}"] > 0 for name in weights)
    assert all(map(math.isfinite, last.values()))


def test_the_warm_up_leaves_the_codebook_alone():
    run = TrainingRun(*training_sets(), tiny_plan(steps=10, warm_up=0.5, blend_in=0.2), Path("unused"))
    quantiser = run.learner.model.quantiser
    first = quantiser.codebook.clone()
    blends = []
    for step in range(1, 9):
        run.advance()
        blends.append(quantiser.blend)
        assert torch.equal(first, quantiser.codebook) == (step <= 5)

    assert [0, 0, 0, 0, 0, 0.5, 1, 1] == blends


def test_a_loss_that_is_no_number_ends_the_run(tmp_path):
    plan = tiny_plan(learning_rate=1e30, gradient_clip=1e30, schedule="constant")
    create_run(plan, tmp_path)
    with pytest.raises(ModelError, match="the loss is no number at step"):
        train(*training_sets(), plan, tmp_path)


def test_the_one_cycle_rises_and_falls():
    recipe = TrainingRecipe(steps=100)
    rates = [learning_rate(recipe, step) for step in range(1, 101)]

    assert recipe.learning_rate == pytest.approx(max(rates))
    assert 10 == rates.index(max(rates)) + 1
    assert rates[:10] == sorted(rates[:10])
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert rates[-1] < 1e-3 * recipe.learning_rate
    assert {recipe.learning_rate} == {learning_rate(replace(recipe, schedule="constant"), s) for s in (1, 99)}


def test_a_state_comes_back_as_it_was(tmp_path):
    state = {
        "tensors": {0: torch.arange(3), 1: [torch.tensor(0.1), "text"]},
        "plain": {"third": 1 / 3, "none": None, "flags": [True, False], "empty": {}},
    }
    save_state(tmp_path / "state", state)
    save_state(tmp_path / "state", state)
    found = load_state(tmp_path / "state")

    assert state["plain"] == found["plain"]
    assert [0, 1] == list(found["tensors"])
    assert torch.equal(state["tensors"][0], found["tensors"][0])
    assert torch.equal(state["tensors"][1][0], found["tensors"][1][0])
    assert ["state"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x08\0\0\0\0\0\0\0{}      "])
def test_damaged_checkpoints_are_refused(tmp_path, content):
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(ModelError, match="cannot be read"):
        load_state(tmp_path / "state")


def test_a_log_is_truncated_to_a_step(tmp_path):
    """Half a line that a killed process left goes too."""
    log = RunLog(tmp_path)
    for step in (1, 2, 3):
        log.append({"step": step, "loss": step / 3})
    log.lines.write_text(log.lines.read_text() + '{"step": 4, "lo')
    log.truncate(2)

    assert [{"step": 1, "loss": 1 / 3}, {"step": 2, "loss": 2 / 3}] == log.read()
    assert ["step,loss", "1,0.3333333333333333", "2,0.6666666666666666"] == log.table.read_text().split()
