"""The names that a dance and its recording get of a file: whatever the file is called, it can be added."""

import os
from pathlib import Path

import pytest

from dance_samples import save_small_model, write_dance
from dancematch.catalogue.records import find_name_problem
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.ingest import name_dance, name_file

ODD = (
    "a\x1b[31mred\n", "\u202etxt", "a\u2028b", " ", "\u200b", "x" * 251, "é" * 125,
    os.fsdecode(b"caf\xe9"), "..",
)  # fmt: skip


@pytest.mark.parametrize("stem", ODD, ids=lambda stem: ascii(stem)[:20])
def test_a_file_of_any_name_can_be_added(tmp_path, stem):
    save_small_model(tmp_path / "model")
    clip = write_dance(tmp_path / "in" / f"{stem}.npz", 1)
    with open_catalogue(tmp_path / "dances.db", model=tmp_path / "model") as known:
        added = known.add(clip)
        (dance,), (recording,) = known.dances(), known.recordings()

        assert (added.dance, []) == (dance.name, known.verify())
        assert (name_dance(clip), name_file(clip)) == (dance.name, recording.file)


def test_control_characters_of_a_file_become_the_replacement_character():
    assert "a\ufffd[31mred\ufffd" == name_dance(Path("in/a\x1b[31mred\n.mp4"))
    assert "a\ufffd[31mred\ufffd.mp4" == name_file(Path("in/a\x1b[31mred\n.mp4"))
    assert "caf\ufffd" == name_dance(Path(os.fsdecode(b"caf\xe9.mp4")))


@pytest.mark.parametrize("stem", ["Thriller (1983)", "می‌خواهم", "踊り", "👩‍🎤", "a.b"])
def test_letters_of_every_script_are_kept(stem):
    """Also joiners, without which words of some scripts are other words."""
    assert stem == name_dance(Path(f"{stem}.mp4"))


def test_long_names_that_begin_alike_stay_two():
    one, two = (name_dance(Path("x" * 240 + f"{number}.mp4")) for number in (1, 2))

    assert one != two
    assert 200 == len(one) == len(two)
    assert find_name_problem("name", one) is None


def test_a_folder_that_is_named_by_a_dot_has_its_own_name(tmp_path, monkeypatch):
    (tmp_path / "frames").mkdir()
    monkeypatch.chdir(tmp_path / "frames")

    assert ("frames", "frames") == (name_dance(Path()), name_file(Path()))
