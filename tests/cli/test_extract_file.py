"""`dancematch extract` into one file: skeletons of a clip, or the motion of words, as .glb, .bvh or .npz."""

from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import dance, save_small_model, write_dance
from dancematch import formats
from dancematch.types import Motion
from gltf_figures import read_figures


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder to work in: a dance, a duet, and a small model."""
    monkeypatch.chdir(tmp_path)
    write_dance(tmp_path / "clip.npz", 1)
    formats.write(tmp_path / "duet.npz", [dance(1), dance(2)])
    save_small_model(tmp_path / "model")
    return tmp_path


def run(line: str):
    return run_main(*line.split())


@pytest.mark.parametrize("suffix", ["glb", "bvh", "npz"])
def test_one_clip_goes_into_one_file(here, suffix):
    answer = run(f"extract clip.npz -o out.{suffix}")

    assert (0, f"clip.npz -> out.{suffix}: 1 dancer(s)\n") == (answer.code, answer.err)
    assert (here / f"out.{suffix}").is_file()


def test_a_figure_of_a_clip_moves_as_the_clip_does(here):
    told = run("extract clip.npz -o out.glb --json").objects
    (figure,) = read_figures(here / "out.glb")

    assert [("out.glb", 1)] == [(one["output"], one["dancers"]) for one in told]
    np.testing.assert_allclose(dance(1).joints[:, 0], figure.joints["pelvis"], atol=1e-5)


def test_several_clips_need_a_folder(here):
    answer = run("extract clip.npz duet.npz -o out.glb")

    assert 2 == answer.code
    assert "out.glb is one file, but 2 clips are given: name a folder" in answer.err
    assert not (here / "out.glb").exists()


def test_a_folder_stays_a_folder_whatever_its_name(here):
    (here / "out.glb").mkdir()
    run("extract clip.npz -o out.glb --jobs 1")

    assert ["clip.npz"] == [path.name for path in (here / "out.glb").iterdir()]


def test_a_file_that_is_there_is_kept_unless_forced(here):
    (here / "out.glb").write_text("mine")
    refused = run("extract clip.npz -o out.glb")
    assert (1, "mine") == (refused.code, (here / "out.glb").read_text())
    assert "out.glb exists already; choose another name, or say --force" in refused.complaint

    assert 0 == run("extract clip.npz -o out.glb --force").code
    assert 1 == len(read_figures(here / "out.glb"))


def test_a_clip_that_cannot_be_read_is_one_sentence(here):
    (here / "bad.bvh").write_bytes(b"garbage")
    answer = run("extract bad.bvh -o out.glb")

    assert 1 == answer.code
    assert "bad.bvh" in answer.complaint
    assert not (here / "out.glb").exists()


def test_the_motion_of_words_is_a_figure_per_dancer(here):
    """Words of a file, and of a catalogue; words do not say where dancers stand, so they stand apart."""
    run("extract duet.npz --words -o words.npz --model model")
    assert 0 == run("extract words.npz -o out.glb --model model").code
    run("add dances.db duet.npz --jobs 1 --model model")
    assert 0 == run("extract dances.db --dance duet -o dance.glb --model model").code
    first, second = read_figures(here / "out.glb")
    again = read_figures(here / "dance.glb")

    assert second.joints["pelvis"][0, 0] - first.joints["pelvis"][0, 0] > 1
    np.testing.assert_allclose(second.joints["head"], again[1].joints["head"], atol=1e-5)


def test_a_seen_span_starts_at_zero(here):
    """Of a dancer who comes into view at second 7, the file does not begin with seven still seconds."""
    late = Motion(dance(1).joints, dance(1).fps, dance(1).skeleton, start=7.0)
    formats.write(here / "late.npz", [late])
    run("extract late.npz -o out.glb")

    assert 0.0 == read_figures(here / "out.glb")[0].times[0]
