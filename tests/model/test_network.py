import math
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import LEGS, dance, without
from dancematch.errors import InputError
from dancematch.model.config import PRESETS, NetworkConfig
from dancematch.model.network import (
    Encoder,
    JointLinear,
    LocalTemporalAttention,
    MotionModel,
    SpatialAttention,
    TemporalAttention,
    TransformerBlock,
)
from dancematch.model.parts import LAYOUTS, joint_places
from dancematch.model.runtime import open_session
from dancematch.motion import CANONICAL, canonicalise
from dancematch.training.kmeans import fit_channel_centres
from dancematch.training.network.onnx_graph import build_decoder, build_encoder

SMALL = NetworkConfig(vocabulary=16, dim=16, heads=2, latent=8)
PAPER = replace(PRESETS["paper"], vocabulary=16, dim=16, layers=2)
SHAPES = {
    "default": SMALL,
    "paper": PAPER,
    "frames as tokens": replace(SMALL, stem=False),
    "one channel": replace(SMALL, layout="whole"),
    "flat patches": replace(SMALL, layout="whole", projected=False),
    "normed after": replace(SMALL, pre_norm=False, unit=False),
    "looking at codes": replace(SMALL, codebook_attention=True),
    "paper looking at codes": replace(PAPER, codebook_attention=True),
    "latents of length one": replace(SMALL, unit=True),
    "places in a window": replace(SMALL, positions="sinusoid", window=2),
    "limbs together": replace(SMALL, limbs_apart=False, hung=False),
    "another patch": replace(SMALL, patch_frames=3, window=3, layers=1),
}


def small(config: NetworkConfig = SMALL, seed: int = 0) -> MotionModel:
    torch.manual_seed(seed)
    return MotionModel(config).eval()


def start(model: MotionModel, motion: torch.Tensor) -> None:
    """Put the codes where the motion's latents are."""
    model.normalise_by(motion)
    latents = model.encode(motion).detach().flatten(0, 1).numpy()
    centres = fit_channel_centres(latents, model.config.vocabulary, np.random.default_rng(0))
    model.quantiser.place(torch.from_numpy(centres))


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def danced(seed: int, frames: int = 64) -> torch.Tensor:
    """A canonical dance: [1, T, V, 3]."""
    return torch.from_numpy(canonicalise(dance(seed)).joints[None, :frames].copy())


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_network_codes_a_motion(name):
    """Whole patches come back as frames, a word a step and channel, and every weight has a gradient."""
    config = SHAPES[name]
    model = small(config).train()
    frames = 5 * config.patch_frames
    coded = model(noise(2, frames + 2, 16, 3))
    (coded.reconstruction.square().mean() + coded.losses.commitment).backward()

    assert (2, frames, 16, 3) == coded.reconstruction.shape
    assert (2, 5, len(config.channels)) == coded.tokens.shape
    assert (2, 5, len(config.channels), config.code_dim) == coded.latents.shape == coded.quantised.shape
    assert [] == [name for name, weight in model.named_parameters() if weight.grad is None]


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_network_is_the_same_in_onnx(name):
    """Words, latents and motion, at any length, with joints unseen and frames left over."""
    model = small(SHAPES[name])
    for number, weight in enumerate(model.parameters()):
        weight.data += 0.1 * noise(*weight.shape, seed=number)  # of which many begin at 0 or 1
    start(model, danced(1))
    encoder, decoder = (open_session(make(model), 1) for make in (build_encoder, build_decoder))
    for frames in (model.config.patch_frames, 23, 64):
        motion = danced(2, frames)
        motion[:, 2:, 5] = math.nan
        with torch.no_grad():
            coded = model(motion)
        tokens, latents = encoder.run(["tokens", "latents"], {"motion": motion.numpy()})
        (told,) = decoder.run(["motion"], {"tokens": tokens})

        np.testing.assert_array_equal(coded.tokens[0], tokens)
        np.testing.assert_allclose(coded.latents[0], latents, atol=1e-4)
        np.testing.assert_allclose(coded.reconstruction[0], told, atol=1e-4)


def test_the_papers_preset_is_the_papers():
    config = PRESETS["paper"]

    assert (4, 64, 512, None) == (config.layers, config.dim, config.vocabulary, config.reach)
    assert ("body",) == config.channels
    assert config.patch_frames * config.joints * config.dim == config.code_dim


@pytest.mark.parametrize("name", ["default", "paper"])
def test_networks_learn(name):
    """A few steps on one dance halve the error, through the quantiser."""
    model = small(SHAPES[name]).train()
    motion = danced(1, frames=32)
    start(model, motion)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    errors = []
    for _ in range(40):
        coded = model(motion)
        error = torch.nn.functional.mse_loss(coded.reconstruction, motion)
        optimiser.zero_grad()
        (error + 0.1 * coded.losses.commitment).backward()
        optimiser.step()
        errors.append(error.item())

    assert errors[-1] < errors[0] / 2


def test_every_joint_has_weights_of_its_own():
    torch.manual_seed(0)
    layer = JointLinear(16, 5, 3)
    x = noise(16, 2, 7, 5)
    expected = torch.stack([x[v] @ layer.weight[v] + layer.bias[v] for v in range(16)])

    torch.testing.assert_close(expected, layer(x))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_sliding_attention_is_attention_with_a_mask(tokens, window, seed):
    """The quick way agrees with all scores, a bias by distance, and minus infinity beyond the window."""
    torch.manual_seed(seed)
    layer = LocalTemporalAttention(replace(SMALL, window=window))
    torch.nn.init.normal_(layer.bias)
    q, k, v = (noise(16, 2, tokens, 2, 8, seed=seed + i) for i in range(3))
    places = torch.arange(tokens)
    distance = places - places[:, None]
    bias = layer.bias[:, distance.clamp(-window, window) + window]
    bias = bias.masked_fill(distance.abs() > window, -math.inf)
    scores = torch.einsum("vbqhe,vbkhe->vbhqk", q, k) + bias
    expected = torch.einsum("vbhqk,vbkhe->vbqhe", scores.softmax(dim=-1), v)

    torch.testing.assert_close(expected, layer.mix(q, k, v))


def test_attention_in_time_keeps_joints_apart_and_attention_in_space_moments():
    x = noise(16, 1, 6, 16)
    changed = x.clone()
    changed[3, :, 2] += 1
    with torch.no_grad():
        for attention in (LocalTemporalAttention(SMALL), TemporalAttention(PAPER)):
            moved = (attention(x) != attention(changed)).any(dim=-1)[:, 0]  # [V, N]
            assert {3} == set(moved.any(dim=1).nonzero().flatten().tolist())
        layer = SpatialAttention(SMALL)
        moved = (layer(x) != layer(changed)).any(dim=-1)[:, 0]

    assert {2} == set(moved.any(dim=0).nonzero().flatten().tolist())


def test_both_attentions_read_the_same_input():
    """Side by side: neither sees what the other has made of it."""
    block = TransformerBlock(SMALL)
    block.narrow.weight.data.zero_()  # what is left is attention
    x = noise(16, 1, 6, 16)
    normed = block.attention_norm(x)

    torch.testing.assert_close(x + block.temporal(normed) + block.spatial(normed), block(x))


@pytest.mark.parametrize("name", ["default", "frames as tokens", "another patch"])
def test_a_latent_depends_on_its_reach_and_on_nothing_else(name):
    config = SHAPES[name]
    model = small(config)
    motion = noise(1, 20 * config.patch_frames, 16, 3)
    changed = motion.clone()
    changed[:, 10 * config.patch_frames : 11 * config.patch_frames] += 1
    with torch.no_grad():
        moved = (model.encode(motion) - model.encode(changed)).abs().amax(dim=(0, 2, 3)) > 1e-6

    assert list(range(10 - config.reach, 10 + config.reach + 1)) == moved.nonzero().flatten().tolist()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 99), st.integers(1, 5))
def test_a_shift_by_patches_shifts_the_words(seed, patches):
    model = small()
    motion = danced(seed % 5, 80)
    reach = SMALL.reach
    with torch.no_grad():
        whole = model(motion).tokens[0]
        later = model(motion[:, patches * SMALL.patch_frames :]).tokens[0]

    assert torch.equal(whole[patches + reach :], later[reach:])


def test_the_papers_words_depend_on_their_place():
    """Absolute positions and no bound: why the default has neither."""
    model = small(PAPER)
    motion = danced(1, 80)
    with torch.no_grad():
        whole, later = model.encode(motion)[0], model.encode(motion[:, 8:])[0]

    assert (whole[2:] - later).abs().max() > 0.1


def test_a_motion_is_coded_alike_whatever_is_beside_it():
    model = small()
    motions = torch.cat([danced(seed) for seed in range(4)])
    with torch.no_grad():
        together = model(motions)
        alone = [model(motion.unsqueeze(0)) for motion in motions]

    assert torch.equal(together.tokens, torch.cat([each.tokens for each in alone]))
    torch.testing.assert_close(together.reconstruction, torch.cat([each.reconstruction for each in alone]))


def test_unseen_joints_stand_at_their_mean_and_are_flagged():
    model = small()
    model.normalise_by(danced(1))
    hidden = torch.from_numpy(canonicalise(without(dance(1), LEGS)).joints[None, :64].copy())
    legs = [CANONICAL.index(joint) for joint in LEGS]
    at_mean = hidden.clone()
    at_mean[:, :, legs] = model.encoder.mean[legs]
    with torch.no_grad():
        features = model.encoder._features(hidden)
        unseen, seen = model.encode(hidden), model.encode(at_mean)

    assert (0.0, 1.0) == (features[:, :, legs, :3].abs().max(), features[:, :, legs, 3].min())
    assert unseen.isfinite().all()
    assert (unseen - seen).abs().max() > 1e-3


def test_a_part_reads_its_own_coordinates_past_the_transformer():
    """The skip: with the heads' projection silenced, only a part's own joints move its latent."""
    model = small(replace(SMALL, unit=False))
    for head in model.encoder.heads:
        head.project.weight.data.zero_()
    motion = noise(1, 8, 16, 3)
    changed = motion.clone()
    changed[:, :, CANONICAL.index("left_wrist")] += 1
    with torch.no_grad():
        moved = (model.encode(motion) - model.encode(changed)).abs().amax(dim=(0, 1, 3)) > 1e-6
    named = [name for name, is_moved in zip(SMALL.channels, moved, strict=True) if is_moved]

    expected = [name for name, part in LAYOUTS[SMALL.layout].items() if "left_wrist" in part]
    assert expected == named
    assert "legs" not in named


def test_limbs_are_apart_in_the_encoder():
    """An arm's word does not change with the legs, however deep the network."""
    model = small(replace(SMALL, layers=3))
    motion = noise(1, 40, 16, 3)
    changed = motion.clone()
    changed[:, :, joint_places(("left_knee", "left_ankle", "right_knee", "right_ankle"))] += 1
    with torch.no_grad():
        moved = (model.encode(motion) - model.encode(changed)).abs().amax(dim=(0, 1, 3)) > 1e-6
    named = {name for name, is_moved in zip(SMALL.channels, moved, strict=True) if is_moved}

    assert not {"left_arm", "right_arm", "arms", "torso"} & named
    assert {"left_leg", "legs", "body", "left_arm_right_leg"} <= named


def test_a_hand_is_seen_from_its_shoulder():
    """Moving an arm together with its shoulder changes no arm word: only the trunk's do."""
    model = small()
    motion = noise(1, 40, 16, 3)
    changed = motion.clone()
    changed[:, :, joint_places(("left_shoulder", "left_elbow", "left_wrist"))] += 1
    with torch.no_grad():
        moved = (model.encode(motion) - model.encode(changed)).abs().amax(dim=(0, 1, 3)) > 1e-5
    named = {name for name, is_moved in zip(SMALL.channels, moved, strict=True) if is_moved}

    assert {"torso", "lower_body", "body"} == named


def test_the_papers_patch_is_frames_by_joints_by_dimensions():
    """With an encoder that only copies, a flat patch is P x (V * D), and the decoder reads it so."""
    model = small(PAPER)
    for half in (model.encoder, model.decoder):
        half.transformer = torch.nn.Identity()
        half.transformer.forward = lambda x, _=None: x
    for layer in (model.encoder.embed, model.decoder.place):
        layer.weight.data.zero_()
        layer.weight.data[:, torch.arange(3), torch.arange(3)] = 1
    motion = noise(1, 12, 16, 3)
    with torch.no_grad():
        latents = model.encode(motion)

        torch.testing.assert_close(motion.flatten(0, 1), latents.view(12, 16, 16)[..., :3])
        torch.testing.assert_close(motion, model.decoder(latents))


def test_codes_are_looked_at_only_when_asked_and_learn_nothing_from_it():
    for asked in (False, True):
        encoder = Encoder(replace(SMALL, codebook_attention=asked)).eval()
        codes = noise(7, 16, 8).requires_grad_()
        motion = danced(1, 16)
        latents = encoder(motion, codes)
        latents.sum().backward()

        assert codes.grad is None
        assert asked == bool((latents - encoder(motion, codes.flip(-1))).abs().max() > 1e-6)


def test_normalising_leaves_out_the_unseen_and_the_unmoving():
    model = small(replace(SMALL, hung=False))
    motion = 3 + 2 * noise(4, 50, 16, 3)
    motion[..., 5, :] = math.nan
    motion[..., 1, :] = 7.0
    model.normalise_by(motion)
    moving = [joint for joint in range(16) if joint not in (1, 5)]

    torch.testing.assert_close(torch.full((14, 3), 3.0), model.encoder.mean[moving], atol=0.5, rtol=0)
    torch.testing.assert_close(torch.full((14, 3), 2.0), model.decoder.scale[moving], atol=0.4, rtol=0)
    assert [[7.0] * 3, [1.0] * 3] == [model.encoder.mean[1].tolist(), model.encoder.scale[1].tolist()]
    assert [[0.0] * 3, [1.0] * 3] == [model.encoder.mean[5].tolist(), model.encoder.scale[5].tolist()]


@pytest.mark.parametrize("name", PRESETS)
def test_configs_survive_being_written_down(name):
    assert PRESETS[name] == NetworkConfig.from_json({**asdict(PRESETS[name]), "kind": "network"})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"layout": "parts9"}, "layout must be one of parts7, parts14, whole"),
        ({"positions": "none"}, "positions must be one of relative, sinusoid"),
        ({"window": 0}, "relative positions cannot go with a window of 0"),
        ({"window": -1, "positions": "sinusoid"}, "a window of -1"),
        ({"heads": 5}, "5 heads cannot share 48 dimensions"),
        ({"dim": 0}, "dim must be at least 1"),
        ({"vocabulary": 1 << 17}, "vocabulary must be 2 to 65536"),
        ({"projected": False}, "14 channels, which needs projected latents"),
    ],
)
def test_impossible_networks_are_refused(change, complaint):
    with pytest.raises(InputError, match=complaint):
        replace(NetworkConfig(), **change)
