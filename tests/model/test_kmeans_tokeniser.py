import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from dance_samples import LEGS, dance, save_small_model, shipped, small_model, standing, without, write_dance
from dancematch.errors import InputError, ModelError
from dancematch.model.kmeans import PATCH_FRAMES, KMeansTokeniser, PartWords
from dancematch.model.parts import LAYOUTS, joint_places
from dancematch.model.tokeniser import (
    Tokeniser,
    load_background,
    load_model,
    model_folder,
    save_model,
    shipped_models,
)
from dancematch.motion import CANONICAL, FPS, excerpt
from dancematch.skeletons import BODY15
from dancematch.training.background import pick_background
from dancematch.training.data.files import describe_files, find_motion_files, read_motions
from dancematch.training.kmeans import fit_kmeans
from dancematch.types import Motion

BORDER_WORDS = 3  # a quarter of a second of smoothing and heading at each end


@pytest.fixture
def folder(tmp_path) -> Path:
    save_small_model(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", shipped_models())
def test_shipped_models_load_and_speak(name):
    model = load_model(name)
    made = model.fingerprint(dance(1))

    assert isinstance(model, Tokeniser)
    assert len(dance(1).joints) // PATCH_FRAMES == len(made)
    assert model.codebook.channels == tuple(LAYOUTS[model.layout])
    assert model.model_id == made.model_id == model.codebook.model_id
    background = load_background(model, name)
    assert len(background) >= 50
    assert {model.model_id} == {other.model_id for other in background}


def test_parts_are_joints_of_the_canonical_body_and_mirror_each_other():
    for parts in LAYOUTS.values():
        for name, joints in parts.items():
            other = name.replace("left", "L").replace("right", "left").replace("L", "right")
            swapped = {CANONICAL.mirror[place] for place in joint_places(joints)}
            assert swapped == set(joint_places(parts[other]))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 100), st.integers(1, 5))
def test_a_shift_by_patches_shifts_the_words(seed, patches):
    """A word's meaning does not depend on its place: away from the borders the words are the same."""
    whole = shipped().fingerprint(dance(seed)).words
    later = (
        shipped().fingerprint(excerpt(dance(seed), patches * PATCH_FRAMES / FPS, dance(seed).seconds)).words
    )

    np.testing.assert_array_equal(whole[patches:][BORDER_WORDS:], later[BORDER_WORDS:])


def test_words_say_when_they_were_danced():
    late = Motion(dance(1).joints, FPS, BODY15, start=4.0)
    made = shipped().fingerprint(late)

    assert 4.0 == made.span(0, 0).start
    assert pytest.approx(PATCH_FRAMES / FPS) == made.seconds_per_word
    assert pytest.approx(4.0 + dance(1).seconds, abs=PATCH_FRAMES / FPS) == made.span(0, len(made) - 1).end


def test_unseen_joints_give_unseen_words():
    made = small_model().fingerprint(without(dance(1), LEGS))
    seen = dict(zip(LAYOUTS["parts7"], made.visibility.max(axis=0), strict=True))

    assert {"left_leg", "right_leg", "legs"} == {name for name, best in seen.items() if best == 0}
    assert {"left_arm", "right_arm", "arms", "torso"} == {name for name, best in seen.items() if best == 1}
    whole = small_model().fingerprint(dance(1))
    arms = list(LAYOUTS["parts7"]).index("arms")
    np.testing.assert_array_equal(whole.words[:, arms], made.words[:, arms])


def test_a_word_is_as_visible_as_its_worst_joint():
    seen = np.ones(dance(1).joints.shape[:2], dtype=np.float32)
    seen[:, BODY15.index("left_wrist")] = 0.5
    made = small_model().fingerprint(Motion(dance(1).joints, FPS, BODY15, seen))
    left, right = (list(LAYOUTS["parts7"]).index(name) for name in ("left_arm", "right_arm"))

    assert 0.5 == pytest.approx(made.visibility[:, left].max())
    assert 1.0 == made.visibility[:, right].min()


def test_a_word_that_is_half_seen_is_not_seen():
    """The hand goes out of view in the second frame of word 15 and comes back in the first of word 30."""
    joints = dance(1).joints.copy()
    joints[61:121, BODY15.index("left_wrist")] = np.nan
    made = small_model().fingerprint(Motion(joints, FPS, BODY15))
    left = made.visibility[:, list(LAYOUTS["parts7"]).index("left_arm")]

    assert [1, 0, 0, 1] == left[[14, 15, 30, 31]].tolist()


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_less_than_a_word_is_refused(frames):
    short = Motion(dance(1).joints[:frames], FPS, BODY15)

    assert not small_model().is_long_enough(short)
    with pytest.raises(InputError, match=f"a word needs 0.13 s of motion, got {frames} frame"):
        small_model().fingerprint(short)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.floats(1, 240))
def test_long_enough_means_a_word(frames, fps):
    """Whoever asks first is never refused afterwards."""
    shown = standing(frames, fps)
    if small_model().is_long_enough(shown):
        assert len(small_model().fingerprint(shown)) >= 1
    else:
        with pytest.raises(InputError, match="a word needs"):
            small_model().fingerprint(shown)


def test_alike_words_are_alike():
    """Similarity is 1 with itself, symmetric, and falls with the distance of the centres."""
    book = small_model().codebook
    for channel, part in enumerate(small_model().parts.values()):
        table = book.similarity[channel]
        squares = np.square(part.centres[:, None] - part.centres[None]).sum(axis=2)
        np.testing.assert_array_equal(1, np.diag(table))
        order = np.argsort(squares[0])
        assert (np.diff(table[0][order]) <= 1e-6).all()


def test_saving_and_loading_changes_nothing(folder):
    loaded = load_model(folder)

    assert small_model().model_id == loaded.model_id
    assert small_model().trained_on == loaded.trained_on
    for seed in (1, 50):
        np.testing.assert_array_equal(
            small_model().fingerprint(dance(seed)).words, loaded.fingerprint(dance(seed)).words
        )
    background = load_background(loaded, folder)
    expected = pick_background(small_model(), [[dance(number) for number in range(4)]])
    assert [other.words.tolist() for other in expected] == [other.words.tolist() for other in background]


def test_a_model_is_not_overwritten(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ModelError, match="already holds a model"):
        save_model(small_model(seed=1), folder, [])

    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {"config.json", "weights.safetensors", "background.npz"} == set(before)


def test_a_model_needs_no_background(tmp_path):
    save_model(small_model(), tmp_path / "m", [])

    assert [] == load_background(load_model(tmp_path / "m"), tmp_path / "m")


def test_a_model_needs_a_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="cannot be saved in"):
        save_model(small_model(), tmp_path / "file", [])


@pytest.mark.parametrize("name", ["no-such-model", "", "."])
def test_unknown_models_are_refused_with_the_known_ones(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=re.escape(", ".join(shipped_models()))):
        model_folder(name)


def change_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


def change_weight(folder: Path) -> None:
    arrays = load_file(folder / "weights.safetensors")
    arrays["arms.centres"][3, 0] += 1e-3
    save_file(arrays, folder / "weights.safetensors")


def drop_weight(folder: Path) -> None:
    arrays = load_file(folder / "weights.safetensors")
    del arrays["torso.mean"]
    save_file(arrays, folder / "weights.safetensors")


DAMAGES = {
    "a changed weight": change_weight,
    "a missing weight": drop_weight,
    "cut weights": lambda f: (f / "weights.safetensors").write_bytes(b"\x10\x00\x00"),
    "no weights": lambda f: (f / "weights.safetensors").unlink(),
    "weights that are a folder": lambda f: (
        (f / "weights.safetensors").unlink(),
        (f / "weights.safetensors").mkdir(),
    ),
    "no JSON": lambda f: (f / "config.json").write_text("{"),
    "other JSON": lambda f: (f / "config.json").write_text("[1, 2]"),
    "no text": lambda f: (f / "config.json").write_bytes(b"\xff\xfe\x00"),
    "an empty config": lambda f: (f / "config.json").write_text("{}"),
    "another layout": lambda f: change_config(f, layout="whole"),
    "no layout": lambda f: change_config(f, layout=["parts7"]),
    "another rate": lambda f: change_config(f, fps=25.0),
    "another vocabulary": lambda f: change_config(f, vocabulary=17),
    "other channels": lambda f: change_config(f, channels=["arms"]),
    "another name": lambda f: change_config(f, model_id="kmeans-parts7-16-000000000000"),
    "a later format": lambda f: change_config(f, format=2),
    "another kind": lambda f: change_config(f, kind="stt"),
    "nonsense about training": lambda f: change_config(f, trained_on=7),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_models_are_refused(folder, damage):
    DAMAGES[damage](folder)
    with pytest.raises(ModelError) as caught:
        load_model(folder)

    told = str(caught.value)
    assert str(folder) in told or "weights lack" in told
    assert not re.search(
        r"\('\w+'\)|not supported|indices|deserializ|Errno|Expecting", told
    )  # a library's words


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", b"PK\x03\x04 cut short", "model_id", "lengths", "words", "too many", "beyond"],
)
def test_damaged_backgrounds_are_refused(folder, content):
    path = folder / "background.npz"
    good = dict(np.load(path))
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content in good:
        np.savez(path, **{name: array for name, array in good.items() if name != content})
    elif content == "too many":
        np.savez(path, **{**good, "lengths": good["lengths"][:-1]})
    else:
        np.savez(path, **{**good, "words": good["words"] + 200})
    with pytest.raises(ModelError, match="is damaged") as caught:
        load_background(load_model(folder), folder)

    assert "pickle" not in str(caught.value)


def test_an_interrupted_training_leaves_no_model(folder, tmp_path):
    """The config comes last: a folder without one is nothing yet, and may be written to."""
    shutil.copytree(folder, tmp_path / "half")
    (tmp_path / "half" / "config.json").unlink()
    with pytest.raises(ModelError, match=r"nor a folder with a config\.json"):
        load_model(tmp_path / "half")

    save_small_model(tmp_path / "half")
    assert small_model().model_id == load_model(tmp_path / "half").model_id


def test_the_name_changes_with_any_weight():
    model = small_model()
    seen = {model.model_id}
    for part in model.parts:
        for field in ("mean", "basis", "centres"):
            arrays = {name: array.copy() for name, array in model.arrays.items()}
            arrays[f"{part}.{field}"].flat[0] += 1e-4
            seen.add(KMeansTokeniser.from_arrays("parts7", arrays, trained_on={}).model_id)

    assert 1 + 3 * 7 == len(seen)


def test_the_name_does_not_depend_on_what_was_only_written_down():
    again = KMeansTokeniser.from_arrays("parts7", small_model().arrays, trained_on={"note": "other"})

    assert small_model().model_id == again.model_id


def test_parts_must_be_the_layouts():
    with pytest.raises(ModelError, match="with just its parts"):
        KMeansTokeniser("parts7", {"arms": small_model().parts["arms"]}, trained_on={})
    with pytest.raises(ModelError, match="layout must be one of"):
        KMeansTokeniser("parts9", small_model().parts, trained_on={})


def test_the_nearest_centre_is_the_word():
    """The quick formula agrees with plain distances."""
    rng = np.random.default_rng(0)
    part = PartWords(rng.normal(size=6), rng.normal(size=(6, 4)), rng.normal(size=(9, 4)))
    features = rng.normal(size=(50, 6))
    distances = np.linalg.norm(((features - part.mean) @ part.basis)[:, None] - part.centres, axis=2)

    np.testing.assert_array_equal(distances.argmin(axis=1), part.words(features))


def test_fitting_follows_its_seed():
    motions = [dance(number) for number in range(4)]
    again = fit_kmeans(motions, vocabulary=16, seed=0)

    assert small_model(seed=0).model_id == again.model_id
    assert small_model(seed=0).model_id != small_model(seed=1).model_id
    assert {"seed": 0} == again.trained_on


def test_fitting_uses_every_word():
    """On the motions it was fitted on, no word lies idle."""
    prints = [small_model().fingerprint(dance(number)) for number in range(4)]
    words = np.concatenate([made.words for made in prints])

    assert {16} == {len(np.unique(column)) for column in words.T}


def test_fitting_passes_over_the_unseen():
    """A motion without legs, and one too short for a patch, teach what they show and spoil nothing."""
    motions = [dance(0), without(dance(1), LEGS), standing(2)]
    parts: list[str] = []
    model = fit_kmeans(motions, vocabulary=8, on_part=parts.append)

    assert list(LAYOUTS["parts7"]) == parts
    assert all(np.isfinite(array).all() for array in model.arrays.values())
    assert 2 == len(pick_background(model, [motions]))


@pytest.mark.parametrize(
    ("motions", "options", "complaint"),
    [
        ([], {}, "got none"),
        ([standing(40)], {"vocabulary": 11}, "11 words need at least as many patches of left_arm"),
        ([standing(2)], {"vocabulary": 2}, "the motions have 0"),
        ([without(dance(1), LEGS)], {"vocabulary": 2}, "patches of left_leg, the motions have 0"),
        ([dance(1)], {"layout": "parts9"}, "layout must be one of parts7, parts14, whole"),
    ],
)
def test_too_little_to_learn_from_is_refused(motions, options, complaint):
    with pytest.raises(InputError, match=complaint):
        fit_kmeans(motions, **options)


def test_words_can_be_fitted_to_a_dancer_who_never_moves():
    model = fit_kmeans([standing(60)], vocabulary=4)

    assert all(np.isfinite(array).all() for array in model.arrays.values())
    assert len(model.fingerprint(dance(1))) > 0


def test_the_background_is_ten_seconds_at_most_and_fair_to_groups():
    groups = [[dance(0, eight_counts=4), dance(1)], [dance(2), dance(3)]]
    picked = pick_background(small_model(), groups, count=2)

    assert 2 == len(picked)
    assert all(len(made) * made.seconds_per_word <= 10.01 for made in picked)
    whole = pick_background(small_model(), [[dance(0, eight_counts=4)]])
    assert 10.0 == pytest.approx(len(whole[0]) * whole[0].seconds_per_word, abs=0.1)


def test_an_eighth_of_the_background_has_no_depth():
    model, group = small_model(), [dance(number) for number in range(16)]
    picked = pick_background(model, [group], count=16)
    flat = [replace(one, joints=one.joints * np.array([1, 1, 0], np.float32)) for one in group]
    words = {model.fingerprint(one).words.tobytes() for one in flat}

    assert 16 == len(picked)
    assert 2 == sum(one.words.tobytes() in words for one in picked)


def test_motion_files_are_found_by_name_without_the_ignored(tmp_path):
    kept = write_dance(tmp_path / "b" / "x.npz", 1)
    for name in ("gBR_sBM_cAll_d04_mBR0_ch01", "gBR_sBM_cAll_d04_mBR0_ch02"):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / f"{name}.pkl").touch()
    (tmp_path / "a" / "ignore_list.txt").write_text("gBR_sBM_cAll_d04_mBR0_ch02\n")
    found = find_motion_files([tmp_path])

    assert [tmp_path / "a" / "gBR_sBM_cAll_d04_mBR0_ch01.pkl", kept] == found
    assert {"files": 2, "aist_genres": ["BR"]} == describe_files(found)
    results = [result for _, result in read_motions(found)]
    assert isinstance(results[0], InputError)
    assert 1 == len(results[1])
