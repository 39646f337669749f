"""`dancematch train`: the model it writes, and what it refuses before anything is written."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from cli_samples import Answer, run_main
from dance_samples import dance, write_dance
from dancematch import formats
from dancematch.cli.research.train import duration, numbered
from dancematch.errors import InputError
from dancematch.model.tokeniser import load_background, load_model
from dancematch.training.kmeans import fit_kmeans
from dancematch.training.run.run_folder import record_sources
from dancematch.types import Motion


@pytest.fixture(scope="module")
def dances(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dances")
    for number in range(5):
        write_dance(folder / f"dance{number}.npz", number)
    write_dance(folder / "view_gPO_sBM_cAll_d04_mPO0_ch01.npz", 9)
    return folder


@pytest.fixture(scope="module")
def two_dances(tmp_path_factory) -> Path:
    """A dance, a view of a genre, and three files without a visible dancer."""
    folder = tmp_path_factory.mktemp("two-dances")
    write_dance(folder / "dance0.npz", 0)
    write_dance(folder / "view_gPO_sBM_cAll_d04_mPO0_ch01.npz", 9)
    empty = Motion(np.full_like(dance(0).joints, np.nan), dance(0).fps, dance(0).skeleton)
    for number in range(3):
        formats.write(folder / f"empty{number}.npz", [empty])
    return folder


def test_the_command_trains_a_model_that_serves(dances, tmp_path):
    """As documented: a run folder whose model gives words and has a background."""
    folder, config = tmp_path / "run", tmp_path / "small.toml"
    config.write_text(
        "[training]\nbatch = 4\ncrop_frames = 32\nhead_batches = 4\n[network]\ndim = 16\nlayers = 1\n"
    )
    options = ["--steps", 8, "--vocabulary", 16, "--without-genres", "po", "--config", config]
    answer = run_main("train", dances, "-o", folder, *options)
    model = load_model(folder / "model")

    assert 0 == answer.code
    assert f"{folder / 'model'}: {model.model_id}\n" == answer.out
    assert "step 8: loss" in answer.err
    expected = {"config.json", "log.csv", "log.jsonl", "curves.png", "checkpoints", "model"}
    assert expected == {path.name for path in folder.iterdir()}
    assert np.unique(model.fingerprint(dance(1)).words).size > 3
    assert 5 == len(load_background(model, folder / "model"))
    assert ("files", 5) in model.trained_on.items()
    assert [] == model.trained_on["aist_genres"]
    assert (0, 8) == (model.trained_on["seed"], model.trained_on["steps"])
    assert "is finished" in run_main("train", dances, "-o", folder, "--resume").err
    assert "already holds a run" in run_main("train", dances, "-o", folder).err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--tokeniser", "kmeans", "--steps", 3], "--steps is for networks"),
        (["--resume", "--seed", 3], "leave out --seed"),
        (["--tokeniser", "network", "--seed", -1], "--seed"),
        (["--tokeniser", "kmeans", "--seed", -1], "--seed"),
    ],
)
def test_wrong_usage_is_named(dances, tmp_path, options, complaint):
    answer = run_main("train", dances, "-o", tmp_path / "x", *options)

    assert (2, True) == (answer.code, complaint in answer.err)


def test_a_missing_library_is_one_sentence(dances, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    answer = run_main("train", dances, "-o", tmp_path / "x")
    needed = "training a network needs torch: pip install 'dancematch[train]', or --tokeniser kmeans"

    assert (1, "", f"dancematch: {needed}\n") == (answer.code, answer.out, answer.err)
    assert not (tmp_path / "x").exists()


def refuse(folder: Path, output: Path, *options: object) -> Answer:
    """The answer to a training that is refused before it writes anything."""
    answer = run_main("train", folder, "-o", output, "--steps", 2, *options)
    assert 0 != answer.code
    assert not output.exists()
    return answer


def test_misspelt_genres_are_refused(two_dances, tmp_path):
    answer = refuse(two_dances, tmp_path / "x", "--without-genres", "POO, PO,LHH")

    assert "dancematch: there is no clip of the genre(s) LHH, POO; there are PO\n" == answer.err


def test_files_without_a_visible_dancer_are_left_out(two_dances, tmp_path):
    """Each with a line of its own; what is left must be enough."""
    printed = refuse(two_dances, tmp_path / "x").err

    for number in range(3):
        assert f"left out: no dancer is visible in {two_dances / f'empty{number}.npz'}\n" in printed
    assert f"{two_dances}: 2 files, 17 seconds\n" in printed
    assert printed.endswith("two of them held out to measure progress, got 2; give more motions\n")


def test_an_invalid_plan_is_refused_before_anything_is_written(two_dances, tmp_path):
    config = tmp_path / "odd.toml"
    config.write_text("[network]\npatch_frames = 7\n")

    assert "multiple of patch_frames" in refuse(two_dances, tmp_path / "x", "--config", config).err


def test_k_means_takes_no_negative_seed():
    with pytest.raises(InputError, match="seed must be 0 or more, got -1"):
        fit_kmeans([dance(1)], seed=-1)


def test_one_is_not_several():
    assert ["0 pairs", "1 pair", "2 pairs"] == [numbered(count, "pair") for count in range(3)]
    assert ["1 second", "119 seconds", "2 minutes"] == [duration(seconds) for seconds in (1.2, 119, 120)]


def test_help_says_what_the_choices_mean():
    printed = " ".join(run_main("train", "--help").out.split())

    assert "words depend on their place in a chunk" in printed
    assert "seven body parts, for these and seven ways in which they go together" in printed


def test_a_run_goes_on_with_its_sources_alone(tmp_path):
    """Neither weights nor licences can be changed behind a run's back."""
    sources = [{"name": "own", "weight": 1.0, "licence": "our own", "commercial": True}]
    (tmp_path / "checkpoints").mkdir()
    record_sources(tmp_path, sources)
    record_sources(tmp_path, sources)

    with pytest.raises(InputError, match="other sources, weights or licences"):
        record_sources(tmp_path, [{**sources[0], "licence": "CC0"}])


def test_a_folder_is_given_once(dances, tmp_path):
    answer = run_main("train", dances, dances / ".", "-o", tmp_path / "run")

    assert (1, True) == (answer.code, "give every folder once" in answer.err)


def test_what_has_no_effect_is_said(dances, tmp_path):
    """An index of another kind, and weights where no pairs are drawn."""
    folder = tmp_path / "dances"
    shutil.copytree(dances, folder)
    (folder / "index.csv").write_text("name,dance\n")
    listed = tmp_path / "sources.toml"
    listed.write_text('[[sources]]\nname = "own"\nfolder = "dances"\nweight = 4\nlicence = "our own"\n')
    options = ["--tokeniser", "kmeans", "--vocabulary", 4, "--layout", "whole"]
    answer = run_main("train", "--sources", listed, "-o", tmp_path / "model", *options)

    assert 0 == answer.code
    assert "index.csv is not used: it has no columns file, group, performer" in answer.err
    assert "the weight of own has no effect" in answer.err
    said = run_main("words", "--model", tmp_path / "model", "--limit", 1).err
    assert "learnt from own (our own); commercial use: not of all" in said
