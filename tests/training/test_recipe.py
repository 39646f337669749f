"""Presets, config files, and the numbers that a plan refuses."""

import json

import pytest

from dancematch.cli.research.train import train_command
from dancematch.errors import InputError
from dancematch.training.recipe import RECIPES, AugmentationSettings, make_plan, read_config
from training_samples import tiny_plan


def test_a_written_plan_is_the_same_plan(tmp_path):
    for plan in (tiny_plan(), make_plan("paper")):
        (tmp_path / "plan.json").write_text(json.dumps(plan.to_tables()))
        assert plan == make_plan("default", read_config(tmp_path / "plan.json"))


def test_a_toml_file_changes_the_preset(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        '[training]\nsteps = 7\nlearning_rate = 1\n[views]\nnoise = 0.5\n[network]\nlayout = "whole"\n'
    )
    plan = make_plan("default", read_config(path))

    assert (7, 1.0) == (plan.training.steps, plan.training.learning_rate)
    assert (0.5, "whole") == (plan.training.views.noise, plan.network.layout)
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
        ({"training": {"share_itself": 1.8}}, "share_itself must be between 0 and 1"),
        ({"training": {"holdout": 0}}, "holdout must be above 0"),
        ({"training": {"crop_frames": 6}}, "two patches of 4 frames"),
        ({"training": {"seed": -1}}, "seed must be between 0 and"),
        ({"training": {"seed": 99999999999999999999999}}, "seed must be between 0 and"),
        ({"training": {"learning_rate": 10**400}}, "learning_rate is too large"),
        ({"training": {"max_tempo": float("inf")}}, "max_tempo must be 1 or more"),
        ({"training": {"patience": -1}}, "patience must be 0 or more"),
        ({"training": {"weight_decay": -0.1}}, "weight_decay must be 0 or more"),
        ({"network": {"layout": "parts9"}}, "layout must be one of"),
        ({"network": {"patch_frames": 7}}, "crop_frames must be a multiple of patch_frames, got 64 and 7"),
        ({"weights": {"contrastive": -1.0}}, "contrastive must be 0 or more, got -1.0"),
        ({"weights": {"positions": float("nan")}}, "positions must be 0 or more, got nan"),
        ({"views": 3}, "views must be a table"),
        ({"views": {"noise": -0.01}}, "noise must be 0 or more, got -0.01"),
        ({"views": {"dropout": 1.5}}, "dropout must be between 0 and 1, got 1.5"),
    ],
)
def test_invalid_numbers_are_refused(tables, complaint):
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
def test_what_is_no_config_file_is_refused(tmp_path, name, content, complaint):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=complaint):
        read_config(tmp_path / name)


def test_presets_offered_are_the_presets_there_are():
    preset = next(p for p in train_command.params if p.name == "preset")

    assert list(RECIPES) == list(preset.type.choices)
