import csv
import json
import math
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from dance_samples import dance, write_dance
from dancematch.cli import main
from dancematch.cli.research.train import train_command
from dancematch.errors import InputError, ModelError
from dancematch.model.tokeniser import load_background, load_model
from dancematch.training.data.batches import TrainingSet
from dancematch.training.data.files import make_track, split
from dancematch.training.recipe import (
    RECIPES,
    AugmentationSettings,
    LossWeights,
    TrainingPlan,
    TrainingRecipe,
    make_plan,
    read_config,
)
from dancematch.training.run.checkpoint import load_state, save_state
from dancematch.training.run.folder import create_run, read_plan
from dancematch.training.run.log import RunLog
from dancematch.training.run.loop import TrainingRun, learning_rate, train

TINY = {
    "network": {"dim": 8, "layers": 1, "heads": 2, "vocabulary": 8, "latent": 4},
    "training": {"steps": 12, "batch": 4, "crop_frames": 32, "check_steps": 3},
}
LINES = Path(__file__).with_name("test_training.py")


def tiny(preset: str = "default", **training: object) -> TrainingPlan:
    return make_plan(preset, {**TINY, "training": {**TINY["training"], **training}})


@cache
def materials() -> tuple[TrainingSet, TrainingSet]:
    clips = [make_track(f"dance{number}", dance(number)) for number in range(6)]
    learned, held_out = split(clips, 0.3, seed=0)
    return TrainingSet.of(learned), TrainingSet.of(held_out)


def rows(folder: Path) -> list[dict[str, float]]:
    """The log without the one thing that may differ."""
    return [{**row, "seconds": 0} for row in RunLog(folder).rows()]


def run_to_the_end(folder: Path, plan: TrainingPlan) -> torch.nn.Module:
    if not (folder / "config.json").exists():
        create_run(plan, folder)
    return train(*materials(), plan, folder)


class StoppedError(Exception):
    """Somebody pulled the plug."""


def stop_at(step: int):
    def tell(progress) -> None:
        if progress.step == step:
            raise StoppedError

    return tell


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, torch.nn.Module]:
    """A run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, run_to_the_end(folder, tiny())


def assert_same_weights(first: torch.nn.Module, second: torch.nn.Module) -> None:
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


@pytest.mark.parametrize("step", [2, 3, 7])
def test_a_resumed_run_is_the_same_to_the_last_bit(tmp_path, whole, step):
    """Stopped before, at and after a checkpoint, in and after the warm-up: losses and weights agree."""
    create_run(tiny(), tmp_path / "run")
    with pytest.raises(StoppedError):
        train(*materials(), tiny(), tmp_path / "run", on_step=stop_at(step))
    resumed = run_to_the_end(tmp_path / "run", read_plan(tmp_path / "run"))

    assert rows(whole[0]) == rows(tmp_path / "run")
    assert_same_weights(whole[1], resumed)


def test_a_killed_run_goes_on(tmp_path, whole):
    """A kill -9 in the middle of a step leaves a whole checkpoint, from which all comes out the same."""
    folder = tmp_path / "run"
    create_run(tiny(), folder)
    code = (
        f"import sys; sys.path[:0] = {[str(LINES.parent), str(LINES.parents[1])]!r}\n"
        "import time, test_training as t\n"
        "from pathlib import Path\n"
        "slowly = lambda progress: time.sleep(0.05)\n"
        f"t.train(*t.materials(), t.tiny(), Path({str(folder)!r}), on_step=slowly)"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    latest = folder / "checkpoints" / "latest.safetensors"
    deadline = time.monotonic() + 60
    while not latest.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.005)
    process.kill()

    assert -signal.SIGKILL == process.wait(10)
    assert 3 <= load_state(latest)["progress"]["step"] < 12
    run_to_the_end(folder, read_plan(folder))
    assert [row["step"] for row in rows(whole[0])] == [row["step"] for row in rows(folder)]
    for expected, found in zip(rows(whole[0]), rows(folder), strict=True):
        assert expected == pytest.approx(found, rel=1e-3)  # another process may use other threads


def test_a_seed_is_a_run(tmp_path, whole):
    again = run_to_the_end(tmp_path / "again", tiny())
    run_to_the_end(tmp_path / "other", tiny(seed=1))

    assert_same_weights(whole[1], again)
    assert rows(whole[0]) != rows(tmp_path / "other")


def test_the_log_tells_losses_words_and_time(whole):
    logged = RunLog(whole[0]).rows()
    with (whole[0] / "log.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))

    assert [3, 6, 9, 12] == [row["step"] for row in logged]
    assert [[str(value) for value in row.values()] for row in logged] == [list(row.values()) for row in table]
    assert {
        "loss_total",
        "learning_rate",
        "held_out_contrastive",
        "usage_left_arm",
        "perplexity_legs",
    } <= set(logged[0])
    assert 0 == logged[0]["loss_commitment"] < logged[-1]["loss_commitment"]  # the warm-up has none
    assert all(0 < row["usage"] <= 1 <= row["perplexity"] <= 8 for row in logged)
    assert sorted(row["seconds"] for row in logged) == [row["seconds"] for row in logged]
    assert b"\x89PNG" == (whole[0] / "curves.png").read_bytes()[:4]


def test_training_learns(tmp_path):
    """Within sixty steps the contrast between dances never seen becomes easier."""
    plan = tiny(
        steps=60,
        check_steps=10,
        batch=8,
        learning_rate=3e-3,
        heads="random",
        encoder_rate=1.0,
        temperature=1.0,
    )
    run_to_the_end(tmp_path, plan)
    judged = [row["held_out_contrastive"] for row in RunLog(tmp_path).rows()]

    assert min(judged) < 0.8 * judged[0]


def test_the_best_check_is_kept(whole):
    folder, learner = whole
    after_warm_up = [row for row in RunLog(folder).rows() if row["step"] > tiny().training.warm_up_steps]
    best = min(after_warm_up, key=lambda row: row["held_out_contrastive"])
    kept = load_state(folder / "checkpoints" / "best.safetensors")

    assert (best["step"], best["held_out_contrastive"]) == (
        kept["progress"]["step"],
        kept["progress"]["best"],
    )
    weights = kept["learner"]["model.encoder.embed.weight"]
    assert torch.equal(weights, learner.state_dict()["model.encoder.embed.weight"])


def test_training_stops_when_nothing_gets_better(tmp_path):
    """With a learning rate of next to nothing the second check after the warm-up is the last."""
    plan = tiny(steps=60, patience=1, learning_rate=1e-12, warm_up=0.05, weight_decay=0.0)
    run_to_the_end(tmp_path, plan)

    assert len(rows(tmp_path)) < 20
    kept = load_state(tmp_path / "checkpoints" / "latest.safetensors")["progress"]
    assert 1 == kept["waited"]
    assert TrainingRun(*materials(), plan, tmp_path).finished is False


def test_the_paper_trains_by_the_papers_losses(tmp_path):
    plan = make_plan("paper", {**TINY, "network": {"dim": 8, "layers": 1, "heads": 2, "vocabulary": 8}})
    run_to_the_end(tmp_path, plan)
    last = RunLog(tmp_path).rows()[-1]

    assert 0 == last["loss_contrastive"] == last["loss_swapped"] == last["loss_descriptor"]
    weights = plan.training.weights
    parts = (
        weights.reconstruction * last["loss_reconstruction"]
        + last["loss_commitment"]
        + weights.codebook * last["loss_codebook"]
        - weights.entropy * last["loss_entropy"]
    )
    assert parts == pytest.approx(last["loss_total"], rel=1e-4)
    assert 1e-4 == last["learning_rate"]


def test_every_loss_can_be_asked_for(tmp_path):
    """All terms at once, balanced commitment and hidden joints included: each is measured and learned."""
    weights = {field.name: 1.0 for field in fields(LossWeights)}
    tables = {**TINY, "weights": weights, "views": {"dropout": 0.2}}
    tables["training"] = {**TINY["training"], "balanced_commitment": True, "revival": "epoch"}
    run_to_the_end(tmp_path, make_plan("default", tables))
    last = RunLog(tmp_path).rows()[-1]

    assert all(last[f"loss_{name}"] > 0 for name in weights)
    assert all(map(math.isfinite, last.values()))


def test_warm_up_leaves_the_codebook_at_rest():
    run = TrainingRun(*materials(), tiny(steps=10, warm_up=0.5, blend_in=0.2), Path("unused"))
    quantiser = run.learner.model.quantiser
    first = quantiser.codebook.clone()
    blends = []
    for step in range(1, 9):
        run.advance()
        blends.append(quantiser.blend)
        assert torch.equal(first, quantiser.codebook) == (step <= 5)

    assert [0, 0, 0, 0, 0, 0.5, 1, 1] == blends


def test_other_motions_cannot_go_on_with_a_run(tmp_path):
    create_run(tiny(), tmp_path / "run")
    with pytest.raises(StoppedError):
        train(*materials(), tiny(), tmp_path / "run", on_step=stop_at(4))
    learned, held_out = materials()
    fewer = TrainingSet(learned.clips[1:])
    with pytest.raises(InputError, match="trained on other motions"):
        train(fewer, held_out, tiny(), tmp_path / "run")


def test_runs_are_not_overwritten_nor_taken_from_nowhere(tmp_path, whole):
    with pytest.raises(ModelError, match="already holds a run"):
        create_run(tiny(), whole[0])
    with pytest.raises(InputError, match="holds no run to resume"):
        read_plan(tmp_path)


def test_a_loss_that_is_no_number_ends_the_run(tmp_path):
    with pytest.raises(ModelError, match="the loss is no number at step"):
        run_to_the_end(tmp_path, tiny(learning_rate=1e30, clip=1e30, schedule="constant"))


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


def test_a_log_forgets_what_came_after(tmp_path):
    """And half a line that a killed process left."""
    journal = RunLog(tmp_path)
    for step in (1, 2, 3):
        journal.write({"step": step, "loss": step / 3})
    journal.lines.write_text(journal.lines.read_text() + '{"step": 4, "lo')
    journal.truncate(2)

    assert [{"step": 1, "loss": 1 / 3}, {"step": 2, "loss": 2 / 3}] == journal.rows()
    assert ["step,loss", "1,0.3333333333333333", "2,0.6666666666666666"] == journal.table.read_text().split()


def test_a_written_plan_is_the_same_plan(tmp_path):
    for preset in RECIPES:
        plan = tiny(preset) if preset == "default" else make_plan(preset)
        (tmp_path / "plan.json").write_text(json.dumps(plan.tables()))
        assert plan == make_plan("default", read_config(tmp_path / "plan.json"))


def test_a_toml_file_changes_the_preset(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        '[training]\nsteps = 7\nlearning_rate = 1\n[views]\nnoise = 0.5\n[network]\nlayout = "whole"\n'
    )
    plan = make_plan("default", read_config(path))

    assert (7, 1.0, 0.5, "whole") == (
        plan.training.steps,
        plan.training.learning_rate,
        plan.training.views.noise,
        plan.network.layout,
    )
    assert AugmentationSettings().drift == plan.training.views.drift


@pytest.mark.parametrize(
    ("tables", "complaint"),
    [
        ({"traning": {}}, "no table 'traning'; it may have network, training, weights, views"),
        ({"training": {"step": 3}}, "'training' has no key 'step'; it may have .*steps"),
        ({"training": {"weights": 3}}, "no key 'weights'"),
        ({"training": {"steps": 3.5}}, r"training.steps must be int, such as \d+, got 3.5"),
        ({"training": {"steps": True}}, "must be int"),
        ({"training": {"steps": 0}}, "steps must be 1 or more, got 0"),
        ({"training": {"optimiser": "sgd"}}, "optimiser must be one of adamw, adam, got 'sgd'"),
        ({"training": {"share_dancers": 0.8, "share_estimator": 0.8}}, "share_dancers must be"),
        ({"training": {"holdout": 0}}, "holdout must be above 0"),
        ({"training": {"crop_frames": 6}}, "two patches of 4 frames"),
        ({"views": 3}, "views must be a table"),
        ({"network": {"layout": "parts9"}}, "layout must be one of"),
    ],
)
def test_what_a_config_cannot_mean_is_said(tables, complaint):
    with pytest.raises(InputError, match=complaint):
        make_plan("default", tables)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.toml", "steps = = 3", "is not a readable"),
        ("a.json", "[3]", "must hold tables"),
        ("b.toml", None, "exist"),
    ],
)
def test_what_is_no_config_file_is_said(tmp_path, name, content, complaint):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=complaint):
        read_config(tmp_path / name)


def test_presets_offered_are_the_presets_there_are():
    preset = next(p for p in train_command.params if p.name == "preset")

    assert list(RECIPES) == list(preset.type.choices)


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command line as the console script does."""

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dancematch", "train", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return int(left.value.code or 0), captured.out, captured.err

    return command


@pytest.fixture(scope="module")
def dances(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dances")
    for number in range(5):
        write_dance(folder / f"dance{number}.npz", number)
    write_dance(folder / "view_gPO_sBM_cAll_d04_mPO0_ch01.npz", 9)
    return folder


def test_the_command_trains_a_model_that_serves(command, dances, tmp_path):
    """As documented: a run folder whose model speaks and has a background."""
    folder, config = tmp_path / "run", tmp_path / "small.toml"
    config.write_text("[training]\nbatch = 8\n[network]\ndim = 16\nlayers = 1\n")
    options = ["--steps", 20, "--vocabulary", 16, "--without-genres", "po", "--config", config]
    code, out, err = command(dances, "-o", folder, *options)
    model = load_model(folder / "model")

    assert 0 == code
    assert f"{folder / 'model'}: {model.model_id}\n" == out
    assert "step 20: loss" in err
    assert {"config.json", "log.csv", "log.jsonl", "curves.png", "checkpoints", "model"} == {
        path.name for path in folder.iterdir()
    }
    spoken = model.fingerprint(dance(1))
    assert np.unique(spoken.words).size > 3
    assert 5 == len(load_background(model, folder / "model"))
    assert {"files": 5, "aist_genres": [], "seed": 0, "steps": 20} == model.trained_on
    assert "is finished" in command(dances, "-o", folder, "--resume")[2]
    assert "already holds a run" in command(dances, "-o", folder)[2]


def test_options_that_contradict_each_other_are_wrong_usage(command, dances, tmp_path):
    for arguments, complaint in [
        (["--tokeniser", "kmeans", "--steps", 3], "--steps is for networks"),
        (["--resume", "--seed", 3], "leave out --seed"),
    ]:
        code, _, err = command(dances, "-o", tmp_path / "x", *arguments)
        assert (2, True) == (code, complaint in err)


def test_a_missing_library_is_one_sentence(command, dances, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, err = command(dances, "-o", tmp_path / "x")

    assert (1, "") == (code, out)
    assert (
        "dancematch: training a network needs torch: pip install 'dancematch[train]', or --tokeniser kmeans\n"
        == err
    )
    assert not (tmp_path / "x").exists()
