import builtins
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from dance_samples import LEGS, dance, random_words, small_model, standing, without
from dancematch.errors import InputError, ModelError, ModelMismatchError
from dancematch.model.config import PRESETS, NetworkConfig
from dancematch.model.network import MotionModel
from dancematch.model.parts import LAYOUTS
from dancematch.model.patches import PatchTokeniser, soft_assignment, word_similarity
from dancematch.model.runtime import NetworkTokeniser, split_chunks
from dancematch.model.tokeniser import Tokeniser, load_background, load_model, save_model
from dancematch.motion import BONE_LENGTHS, CANONICAL, FPS, canonicalise
from dancematch.skeletons import BODY15
from dancematch.training.kmeans import fit_channel_centres
from dancematch.training.network.export import export_model
from dancematch.types import Fingerprint, Motion

TRAINED = NetworkConfig(layout="parts7", vocabulary=32, dim=16, heads=2, window=1, latent=8)
# Without bounds, and with all that an export must carry.
PAPER = replace(PRESETS["paper"], vocabulary=32, dim=8, layers=1, heads=2, chunk=8, codebook_attention=True)
P = TRAINED.patch_frames


def place_codes(model: MotionModel, motion: torch.Tensor) -> None:
    latents = model.encode(motion).detach().flatten(0, 1).numpy()
    centres = fit_channel_centres(latents, model.config.vocabulary, np.random.default_rng(0))
    model.quantiser.place(torch.from_numpy(centres))


@cache
def trained_model() -> MotionModel:
    """A small network trained for a moment."""
    torch.manual_seed(0)
    model = MotionModel(TRAINED)
    motion = torch.from_numpy(np.stack([canonicalise(dance(seed)).joints[:128] for seed in range(2)]))
    model.normalise_by(motion)
    place_codes(model, motion)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(15):
        coded = model(motion)
        loss = torch.nn.functional.mse_loss(coded.reconstruction, motion) + 0.1 * coded.losses.commitment
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


@cache
def paper_model() -> MotionModel:
    torch.manual_seed(0)
    model = MotionModel(PAPER).eval()
    motion = torch.from_numpy(np.stack([canonicalise(dance(seed)).joints[:128] for seed in range(4)]))
    model.normalise_by(motion)
    place_codes(model, motion)
    return model


@cache
def trained() -> NetworkTokeniser:
    return export_model(trained_model(), trained_on={"seed": 0})


@cache
def paper() -> NetworkTokeniser:
    return export_model(paper_model(), trained_on={})


def in_chunks_of(steps: int) -> NetworkTokeniser:
    model = trained()
    return NetworkTokeniser(model.network, model.arrays, model.files, trained_on={}, chunk_steps=steps)


def torch_tokens(model: MotionModel, canonical: Motion) -> np.ndarray:
    with torch.no_grad():
        return model(torch.from_numpy(canonical.joints[None].copy())).tokens[0].numpy()


def cut(canonical: Motion, first: int, last: int | None = None) -> Motion:
    return Motion(
        canonical.joints[first:last], FPS, CANONICAL, canonical.visibility[first:last], canonical.start
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 20), st.integers(P, 260), st.booleans())
def test_words_are_those_of_torch(seed, frames, hidden):
    """Whatever the length, and with joints out of view."""
    motion = without(dance(seed), LEGS) if hidden else dance(seed)
    canonical = cut(canonicalise(motion), 0, frames)

    np.testing.assert_array_equal(torch_tokens(trained_model(), canonical), trained().words(canonical))


@pytest.mark.parametrize("frames", [4, 17, 8 * P])
def test_the_papers_words_are_those_of_torch(frames):
    canonical = cut(canonicalise(dance(1)), 0, frames)
    words = paper().words(canonical)

    np.testing.assert_array_equal(torch_tokens(paper_model(), canonical), words)
    said = Fingerprint(words, 32, P / FPS, paper().model_id)
    assert (len(words) * P, 16, 3) == paper().decode(said).joints.shape


def test_the_papers_words_are_made_in_chunks_of_fixed_length():
    """Without bounds a word depends on its chunk, so chunks begin at fixed steps and nowhere else."""
    canonical = canonicalise(dance(1))
    length = PAPER.chunk * P
    pieces = [cut(canonical, first, first + length) for first in range(0, 3 * length, length)]
    expected = np.concatenate([torch_tokens(paper_model(), piece) for piece in pieces])

    np.testing.assert_array_equal(expected, paper().words(canonical)[: len(expected)])


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 70), st.integers(0, 5))
def test_words_do_not_depend_on_chunks(steps, seed):
    canonical = canonicalise(dance(seed))
    whole, cut_up = in_chunks_of(10_000), in_chunks_of(steps)
    words = whole.words(canonical)

    np.testing.assert_array_equal(words, cut_up.words(canonical))
    said = trained().fingerprint(dance(seed))
    np.testing.assert_allclose(
        in_chunks_of(10_000).decode(said).joints, cut_up.decode(said).joints, atol=1e-5
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.integers(1, 30))
def test_a_shift_by_patches_shifts_the_words(seed, patches):
    """Exactly, for all words whose reach lies within both motions."""
    canonical = canonicalise(dance(seed))
    reach = TRAINED.reach
    whole = trained().words(canonical)
    later = trained().words(cut(canonical, patches * P))

    np.testing.assert_array_equal(whole[patches + reach :], later[reach:])


@given(st.integers(1, 300), st.integers(1, 90), st.integers(0, 12))
def test_chunks_keep_every_step_once_with_all_within_reach(steps, size, reach):
    kept = []
    for shown, part in split_chunks(steps, size, reach):
        assert 0 <= shown.start < shown.stop <= steps
        first, last = shown.start + part.start, shown.start + part.stop
        assert shown.start == max(0, first - reach)
        assert shown.stop == min(steps, last + reach)
        kept += range(first, last)

    assert list(range(steps)) == kept


def test_a_network_is_a_tokeniser_like_any_other():
    late = Motion(dance(1).joints, FPS, BODY15, start=4.0)
    made = trained().fingerprint(late)

    assert isinstance(trained(), Tokeniser)
    assert len(late.joints) // P == len(made)
    assert (4.0, 32, P / FPS) == (made.start, made.vocabulary, made.seconds_per_word)
    assert trained().model_id == made.model_id == trained().codebook.model_id
    assert trained().model_id.startswith("network-parts7-32-")
    assert tuple(LAYOUTS["parts7"]) == trained().codebook.channels
    np.testing.assert_array_equal(
        small_model().fingerprint(without(late, LEGS)).visibility,
        trained().fingerprint(without(late, LEGS)).visibility,
    )
    with pytest.raises(InputError, match=r"a word needs 0\.13 s"):
        trained().fingerprint(standing(3))


TOKENISERS = {"network": trained, "kmeans": small_model}


@pytest.mark.parametrize("kind", TOKENISERS)
def test_soft_words_begin_with_the_word_itself(kind):
    model: PatchTokeniser = TOKENISERS[kind]()
    latents = model.latents(canonicalise(dance(1)))
    words, weights = soft_assignment(latents, model.vectors, 3)
    said = model.fingerprint(dance(1))

    assert (len(said), 7, 3) == words.shape == weights.shape
    np.testing.assert_array_equal(said.words, words[:, :, 0])
    np.testing.assert_allclose(1, weights.sum(axis=2), atol=1e-5)
    assert (np.diff(weights, axis=2) <= 0).all()
    assert all(len(set(three)) == 3 for three in words.reshape(-1, 3).tolist())
    np.testing.assert_array_equal(1, soft_assignment(latents, model.vectors, 1)[1])


def test_soft_weights_by_hand():
    """Distances 1 and 2 where 1 is usual: weights 1 : 1/e."""
    latents = np.array([[[1.0]], [[1.0]]], dtype=np.float32)
    words, weights = soft_assignment(latents, np.array([[[-1.0], [0.0], [9.0]]], dtype=np.float32), 2)

    assert [[[1, 0]], [[1, 0]]] == words.tolist()
    assert [np.e / (np.e + 1), 1 / (np.e + 1)] == pytest.approx(weights[0, 0].tolist())


@pytest.mark.parametrize("kind", TOKENISERS)
def test_phases_are_the_same_motion_begun_later(kind):
    model: PatchTokeniser = TOKENISERS[kind]()
    late = Motion(dance(1).joints, FPS, BODY15, start=2.0)
    first, second = model.phases(late)
    canonical = canonicalise(late)

    np.testing.assert_array_equal(model.fingerprint(late).words, first.words)
    np.testing.assert_array_equal(model.words(cut(canonical, 2)), second.words)
    assert [2.0, 2.0 + 2 / FPS] == pytest.approx([first.start, second.start])
    assert [0, 1, 2, 3] == pytest.approx([FPS * (made.start - 2) for made in model.phases(late, 4)])
    assert 1 == len(model.phases(standing(5)))  # no whole patch is left two frames later
    with pytest.raises(InputError, match="4 frames to begin at, not 5"):
        model.phases(late, 5)


def test_words_are_as_alike_as_their_vectors():
    """1 to itself, 1/e at the median distance, even for many dimensions."""
    vectors = np.random.default_rng(0).normal(size=(20, 4096)).astype(np.float32)
    squares = np.square(vectors[:, None] - vectors).sum(axis=2)
    expected = np.exp(-squares / np.median(squares[squares > 0]))

    np.testing.assert_allclose(expected, word_similarity(vectors), atol=1e-4)
    np.testing.assert_array_equal(1, np.diag(word_similarity(vectors)))
    np.testing.assert_array_equal(1, word_similarity(np.zeros((3, 2), dtype=np.float32)))


def test_decoding_is_that_of_torch_on_the_canonical_body():
    said = trained().fingerprint(Motion(dance(1).joints, FPS, BODY15, start=3.0))
    decoded = trained().decode(said)
    with torch.no_grad():
        codes = trained_model().quantiser.lookup(torch.from_numpy(said.words.astype(np.int64)))
        expected = trained_model().decoder(codes[None])[0].numpy()

    assert (len(said) * P, CANONICAL, FPS, 3.0) == (
        len(decoded.joints), decoded.skeleton, decoded.fps, decoded.start,
    )  # fmt: skip
    np.testing.assert_allclose(expected[:, 0], decoded.joints[:, 0], atol=1e-5)  # travel and turning
    bones = np.linalg.norm(decoded.joints[:, 1:] - decoded.joints[:, 1:][:, list(BODY15.parents)], axis=2)
    np.testing.assert_allclose(np.broadcast_to(BONE_LENGTHS[1:], bones[:, 1:].shape), bones[:, 1:], atol=1e-4)


def test_what_was_not_seen_is_not_decoded():
    decoded = trained().decode(trained().fingerprint(without(dance(1), LEGS)))
    unseen = {CANONICAL.joints[joint] for joint in range(16) if np.isnan(decoded.joints[:, joint]).all()}

    assert set(LEGS) == unseen
    assert np.isfinite(decoded.joints[:, CANONICAL.index("left_wrist")]).all()


def test_words_of_another_model_are_not_decoded():
    with pytest.raises(ModelMismatchError, match="words of the model toy"):
        trained().decode(random_words(5, 0, channels=7))


def test_the_name_changes_with_weights_and_config_but_not_with_what_is_made_of_them():
    model = trained()
    nudged = {name: array.copy() for name, array in model.arrays.items()}
    nudged["encoder.mean"][3, 0] += 1e-4
    others = [
        NetworkTokeniser(model.network, nudged, model.files, trained_on={}),
        NetworkTokeniser(replace(model.network, chunk=7), model.arrays, model.files, trained_on={}),
    ]
    again = NetworkTokeniser(
        model.network, model.arrays, {**model.files, "decoder.onnx": b""}, trained_on={"note": 1}
    )

    assert 3 == len({model.model_id, *(other.model_id for other in others)})
    assert model.model_id == again.model_id


def restore_model(tokeniser: NetworkTokeniser) -> MotionModel:
    """The network behind a tokeniser."""
    model = MotionModel(tokeniser.network)
    arrays = {name: torch.from_numpy(array.copy()) for name, array in tokeniser.arrays.items()}
    model.quantiser.place(arrays.pop("quantiser.codebook"))
    model.load_state_dict({**model.state_dict(), **arrays})
    return model.eval()


def test_exporting_keeps_all_that_makes_the_words():
    restored = restore_model(trained())
    canonical = canonicalise(dance(2))

    np.testing.assert_array_equal(trained().words(canonical), torch_tokens(restored, canonical))
    assert all(
        torch.equal(weight, restored.state_dict()[name])
        for name, weight in trained_model().state_dict().items()
        if not name.startswith("quantiser.") or name == "quantiser.codebook"
    )
    torch.testing.assert_close(restored.quantiser.codebook, restored.quantiser.sums)


@pytest.fixture
def folder(tmp_path) -> Path:
    save_model(trained(), tmp_path / "model", [trained().fingerprint(dance(seed)) for seed in range(2)])
    return tmp_path / "model"


def test_saving_and_loading_changes_nothing(folder):
    loaded = load_model(folder)

    assert isinstance(loaded, NetworkTokeniser)
    assert (trained().model_id, trained().trained_on) == (loaded.model_id, loaded.trained_on)
    np.testing.assert_array_equal(trained().fingerprint(dance(3)).words, loaded.fingerprint(dance(3)).words)
    background = load_background(loaded, folder)
    assert [trained().fingerprint(dance(seed)).words.tolist() for seed in range(2)] == [
        made.words.tolist() for made in background
    ]
    names = {"config.json", "weights.safetensors", "encoder.onnx", "decoder.onnx", "background.npz"}
    assert names == {path.name for path in folder.iterdir()}


def change_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


def change_weights(folder: Path, name: str, *, drop: bool = False) -> None:
    arrays = load_file(folder / "weights.safetensors")
    arrays[name].flat[0] += 1e-3
    if drop:
        del arrays[name]
    save_file(arrays, folder / "weights.safetensors")


DAMAGES = {
    "a changed weight": lambda f: change_weights(f, "decoder.mean"),
    "a missing codebook": lambda f: change_weights(f, "quantiser.codebook", drop=True),
    "a missing weight": lambda f: change_weights(f, "encoder.mean", drop=True),
    "no encoder": lambda f: (f / "encoder.onnx").unlink(),
    "a cut encoder": lambda f: (f / "encoder.onnx").write_bytes((f / "encoder.onnx").read_bytes()[:-9]),
    "an empty decoder": lambda f: (f / "decoder.onnx").write_bytes(b""),
    "no digests": lambda f: change_config(f, files=7),
    "another window": lambda f: change_config(f, window=3),
    "an impossible window": lambda f: change_config(f, window=0),
    "a window in words": lambda f: change_config(f, window="2"),
    "another vocabulary": lambda f: change_config(f, vocabulary=31),
    "another rate": lambda f: change_config(f, fps=25.0),
    "another name": lambda f: change_config(f, model_id="network-parts7-32-000000000000"),
    "another kind": lambda f: change_config(f, kind="kmeans"),
    "a later format": lambda f: change_config(f, format=2),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_models_are_refused(folder, damage):
    DAMAGES[damage](folder)
    with pytest.raises(ModelError, match=r"damaged|weights lack|cannot read"):
        load_model(folder)


def test_a_network_that_cannot_run_says_so():
    broken = NetworkTokeniser(
        TRAINED, trained().arrays, dict.fromkeys(trained().files, b"nonsense"), trained_on={}
    )
    with pytest.raises(ModelError, match="the network cannot be run"):
        broken.fingerprint(dance(1))


def test_missing_onnxruntime_is_named(folder, monkeypatch):
    really = builtins.__import__

    def without_onnxruntime(name, *arguments, **options):
        if name == "onnxruntime":
            raise ImportError("No module named 'onnxruntime'")
        return really(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_onnxruntime)
    loaded = load_model(folder)
    with pytest.raises(ModelError, match="pip install onnxruntime"):
        loaded.fingerprint(dance(1))


def test_the_kinds_share_one_catalogue_of_meanings():
    """Both kinds' codebooks are Codebooks with a vector a word, 1 on the diagonal."""
    for make in TOKENISERS.values():
        book = make().codebook
        assert (7, make().vocabulary) == book.vectors.shape[:2]
        np.testing.assert_array_equal(1, np.diagonal(book.similarity, axis1=1, axis2=2))
        assert isinstance(make().fingerprint(dance(0)), Fingerprint)


def test_the_runtime_notes_nothing_about_this_machine(tmp_path):
    """Its makers would like to know processor, paths and times; nothing is written, hence nothing sent."""
    code = (
        "from dancematch.model.tokeniser import load_model\n"
        "from dancematch.model.runtime import open_session\n"
        "open_session(load_model().files['encoder.onnx'], 1)"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)

    assert [] == [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name]
