"""The spatio-temporal transformer, whole: canonical motion -> latents -> words -> motion.

Every joint has its own weights where a joint's meaning enters: at the input, in the
feed-forward layers and at the output. In between, attention in time (each joint by itself)
and attention in space (all joints of a moment) read the same input side by side.

Letters of the shapes: B batch, T frames, P frames per patch, S steps (patches), V joints,
C channels (body parts), D dim, H heads, E dim / heads, N tokens in time: S of them with the
stem, T without. Tokens are [V, B, N, D], joints first: one batched product for weights per joint.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dancematch.model.config import NetworkConfig
from dancematch.model.parts import HANGS_FROM, LAYOUTS, joint_places, limb_of
from dancematch.model.quantiser import Quantiser, QuantiserLosses
from dancematch.motion import CANONICAL

FEATURES = 4  # x, y, z and whether the joint is unseen
EXPANSION = 2  # hidden width of the feed-forward layers
BRANCH_SCALE = 0.5  # of what a fresh block adds: a network that starts near the identity learns sooner


class JointLinear(nn.Module):
    """A linear layer with weights per joint: [V, ..., inputs] -> [V, ..., outputs]."""

    def __init__(self, joints: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(joints, inputs, outputs) / math.sqrt(inputs))
        self.bias = nn.Parameter(torch.zeros(joints, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each joint's weights to it."""
        y = torch.bmm(x.flatten(1, -2), self.weight) + self.bias
        return y.unflatten(1, x.shape[1:-1])


class Attention(nn.Module):
    """Multi-head attention; subclasses say which tokens attend to which."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.scale = (config.dim // config.heads) ** -0.5
        self.inputs = nn.Linear(config.dim, 3 * config.dim, bias=False)
        self.output = nn.Linear(config.dim, config.dim)
        self.output.weight.data *= BRANCH_SCALE

    def forward(self, x: Tensor) -> Tensor:
        """Attend: [V, B, N, D] -> [V, B, N, D]."""
        split = self.inputs(x).unflatten(-1, (3, self.heads, -1))  # [V, B, N, 3, H, E]
        q, k, v = split.unbind(dim=3)
        return self.output(self.mix(q * self.scale, k, v).flatten(-2))

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Mix values by how queries fit keys: [V, B, N, H, E] each, and so the result."""
        raise NotImplementedError


class LocalTemporalAttention(Attention):
    """Each joint attends to itself a few tokens to each side, with a bias by distance.

    A shift of the motion shifts the result and changes nothing else. Costs N * window, not N * N.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        self.window = config.window
        self.bias = nn.Parameter(torch.zeros(config.heads, 2 * config.window + 1))  # by distance

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Mix the neighbours; their scores come from sliding the keys past the queries."""
        tokens = q.shape[2]
        places = [slice(shift, shift + tokens) for shift in range(2 * self.window + 1)]
        margin = (0, 0, 0, 0, self.window, self.window)
        k, v = F.pad(k, margin), F.pad(v, margin)  # [V, B, N + 2 * window, H, E]
        scores = torch.stack([(q * k[:, :, place]).sum(dim=-1) for place in places], dim=-1)
        outside = F.pad(q.new_zeros(tokens), (self.window, self.window), value=-math.inf)
        absent = torch.stack([outside[place] for place in places], dim=-1)  # [N, neighbours]
        weights = (scores + self.bias + absent.unsqueeze(1)).softmax(dim=-1)  # [V, B, N, H, neighbours]
        mixed = [weights[..., i].unsqueeze(-1) * v[:, :, place] for i, place in enumerate(places)]
        return torch.stack(mixed).sum(dim=0)


class TemporalAttention(Attention):
    """Each joint attends to itself at all times that are shown."""

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Mix over time."""
        q, k, v = (each.transpose(2, 3) for each in (q, k, v))  # [V, B, H, N, E]
        weights = (q @ k.transpose(-1, -2)).softmax(dim=-1)  # [V, B, H, N, N]
        return (weights @ v).transpose(2, 3)


class SpatialAttention(Attention):
    """Joints attend to each other, or within their limb, at the same time; one bias per pair."""

    apart: Tensor

    def __init__(self, config: NetworkConfig, *, limbs_apart: bool = False) -> None:
        super().__init__(config)
        limbs = torch.tensor([limb_of(joint) for joint in CANONICAL.joints])
        other_limb = (limbs[:, None] != limbs[None]) & limbs_apart
        apart = torch.zeros(other_limb.shape).masked_fill(other_limb, -math.inf)
        self.register_buffer("apart", apart, persistent=False)
        self.bias = nn.Parameter(torch.zeros(config.heads, config.joints, config.joints))

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Mix over joints."""
        q, k, v = (each.permute(1, 2, 3, 0, 4) for each in (q, k, v))  # [B, N, H, V, E]
        weights = (q @ k.transpose(-1, -2) + self.bias + self.apart).softmax(dim=-1)  # [B, N, H, V, V]
        return (weights @ v).permute(3, 0, 1, 2, 4)


class CodebookAttention(nn.Module):
    """Tokens attend to the codebook: queries from tokens, keys and values from the codes."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.scale = (config.dim // config.heads) ** -0.5
        self.queries = nn.Linear(config.dim, config.dim, bias=False)
        self.codes = nn.Linear(config.code_dim, 2 * config.dim, bias=False)
        self.output = nn.Linear(config.dim, config.dim)
        self.output.weight.data *= BRANCH_SCALE

    def forward(self, x: Tensor, codebook: Tensor) -> Tensor:
        """[V, B, N, D] and codes [C, words, code dim] -> [V, B, N, D]."""
        q = self.queries(x).unflatten(-1, (self.heads, -1)).transpose(2, 3)  # [V, B, H, N, E]
        k, v = self.keys_and_values(codebook)
        weights = (q * self.scale @ k.transpose(-1, -2)).softmax(dim=-1)
        return self.output((weights @ v).transpose(2, 3).flatten(-2))

    def keys_and_values(self, codebook: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values, the same for every token: [H, C * words, E] each."""
        split = self.codes(codebook.flatten(0, 1)).unflatten(-1, (2, self.heads, -1))  # [C * words, 2, H, E]
        k, v = split.transpose(0, 2).unbind(dim=1)
        return k, v


class TransformerBlock(nn.Module):
    """Attention in time and in space side by side on the same input, then a feed-forward layer per joint."""

    def __init__(self, config: NetworkConfig, *, sees_codes: bool = False, limbs_apart: bool = False) -> None:
        super().__init__()
        joints, dim = config.joints, config.dim
        self.pre_norm = config.pre_norm
        self.temporal = (LocalTemporalAttention if config.window else TemporalAttention)(config)
        self.spatial = SpatialAttention(config, limbs_apart=limbs_apart)
        self.codes = CodebookAttention(config) if sees_codes else None
        self.widen = JointLinear(joints, dim, EXPANSION * dim)
        self.narrow = JointLinear(joints, EXPANSION * dim, dim)
        self.narrow.weight.data *= BRANCH_SCALE
        self.attention_norm = nn.LayerNorm(dim)
        self.feed_norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor, codebook: Tensor | None = None) -> Tensor:
        """[V, B, N, D] -> [V, B, N, D]."""
        if self.pre_norm:
            x = x + self._attend(self.attention_norm(x), codebook)
            return x + self._feed(self.feed_norm(x))
        x = self.attention_norm(x + self._attend(x, codebook))
        return self.feed_norm(x + self._feed(x))

    def _attend(self, x: Tensor, codebook: Tensor | None) -> Tensor:
        seen = self.temporal(x) + self.spatial(x)
        if self.codes is None or codebook is None:
            return seen
        return seen + self.codes(x, codebook)

    def _feed(self, x: Tensor) -> Tensor:
        return self.narrow(F.gelu(self.widen(x)))


class Transformer(nn.Module):
    """Blocks, with positions before and a norm after them: [V, B, N, D] -> [V, B, N, D]."""

    rates: Tensor

    def __init__(self, config: NetworkConfig, *, sees_codes: bool = False, limbs_apart: bool = False) -> None:
        super().__init__()
        last = config.layers - 1
        self.adds_positions = config.positions == "sinusoid"
        rates = torch.exp(torch.arange(0, config.dim, 2) * (-math.log(10000.0) / config.dim))
        self.register_buffer("rates", rates, persistent=False)
        self.blocks = nn.ModuleList(
            TransformerBlock(config, sees_codes=sees_codes and number == last, limbs_apart=limbs_apart)
            for number in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.dim) if config.pre_norm else nn.Identity()

    def forward(self, x: Tensor, codebook: Tensor | None = None) -> Tensor:
        """Apply all blocks."""
        if self.adds_positions:
            x = x + sinusoid(x.shape[2], self.rates)
        for block in self.blocks:
            x = block(x, codebook)
        return self.norm(x)


def sinusoid(tokens: int, rates: Tensor) -> Tensor:
    """Return the usual sines and cosines of positions: [N, D]."""
    angles = torch.arange(tokens, device=rates.device).unsqueeze(-1) * rates  # [N, D / 2]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Normalised(nn.Module):
    """A module that normalises coordinates by `mean` and `scale`, [V, 3] each."""

    mean: Tensor
    scale: Tensor

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("mean", torch.zeros(config.joints, 3))
        self.register_buffer("scale", torch.ones(config.joints, 3))

    @torch.no_grad()
    def normalise_by(self, frames: Tensor) -> None:
        """Take mean and spread of every coordinate from [frames, V, 3], NaN left out."""
        mean = frames.nanmean(dim=0).nan_to_num(0.0)
        spread = (frames - mean).square().nanmean(dim=0).sqrt().nan_to_num(1.0)
        self.mean.copy_(mean)
        self.scale.copy_(torch.where(spread > 1e-3, spread, 1.0))  # the pelvis does not move here


class Encoder(Normalised):
    """Canonical motion, NaN where unseen -> latents, one vector per step and channel.

    An unseen joint is at its mean, and flagged.
    """

    hangs: Tensor

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        joints, frames = config.joints, config.token_frames
        self.embed = JointLinear(joints, frames * FEATURES, config.dim)
        self.transformer = Transformer(
            config, sees_codes=config.codebook_attention, limbs_apart=config.limbs_apart
        )
        self.origins = joint_places(tuple(HANGS_FROM.get(joint, joint) for joint in CANONICAL.joints))
        hangs = torch.tensor([[joint in HANGS_FROM] for joint in CANONICAL.joints])
        self.register_buffer("hangs", hangs, persistent=False)
        parts = LAYOUTS[config.layout].values() if config.projected else ()
        self.heads = nn.ModuleList(PartHead(config, joint_places(part)) for part in parts)

    def forward(self, motion: Tensor, codebook: Tensor | None = None) -> Tensor:
        """[B, T, V, 3] -> [B, S, C, code dim]; frames beyond the last whole patch are left out.

        The codebook is only used with `codebook_attention`, and gets no gradient from it.
        """
        frames = motion.shape[1] // self.config.patch_frames * self.config.patch_frames
        features = self._features(motion[:, :frames])  # [B, T, V, 4]
        raw = self._tokens(features)  # [V, B, N, token frames * 4]
        codes = codebook.detach() if codebook is not None and self.config.codebook_attention else None
        x = self.transformer(self.embed(raw), codes)
        x, raw = self._patches(x), self._patches(raw)  # [B, S, V, a patch of the joint]
        if self.config.projected:
            latents = torch.stack([head(x, raw) for head in self.heads], dim=2)
        else:
            latents = self._flattened(x)
        return F.normalize(latents, dim=-1) if self.config.unit else latents

    @property
    def part_heads(self) -> "list[PartHead]":
        """The heads of the parts, in the order of the channels."""
        return [head for head in self.heads if isinstance(head, PartHead)]

    def hung(self, motion: Tensor) -> Tensor:
        """Return each joint relative to where its limb hangs, if the config says so."""
        if not self.config.hung:
            return motion
        return torch.where(self.hangs, motion - motion[..., self.origins, :], motion)

    def raw_patches(self, motion: Tensor) -> Tensor:
        """Return what the heads see of the coordinates: [B, T, V, 3] -> [B, S, V, P * 4]."""
        return self._patches(self._tokens(self._features(motion)))

    def _features(self, motion: Tensor) -> Tensor:
        motion = self.hung(motion)
        unseen = motion.isnan().any(dim=-1, keepdim=True)
        normalised = (motion - self.mean) / self.scale
        return torch.cat([normalised.where(~unseen, 0.0), unseen.to(motion.dtype)], dim=-1)

    def _tokens(self, features: Tensor) -> Tensor:
        grouped = features.unflatten(1, (-1, self.config.token_frames))  # [B, N, frames, V, 4]
        return grouped.permute(3, 0, 1, 2, 4).flatten(3)

    def _patches(self, x: Tensor) -> Tensor:
        """Join the tokens of a patch: [V, B, N, n] -> [B, S, V, tokens per patch * n]."""
        tokens = self.config.patch_frames // self.config.token_frames
        return x.unflatten(2, (-1, tokens)).flatten(3).permute(1, 2, 0, 3)

    def _flattened(self, x: Tensor) -> Tensor:
        """Flatten each patch, P x (V * D) as in the paper: [B, S, V, P * D] -> [B, S, 1, .]."""
        return x.unflatten(-1, (-1, self.config.dim)).transpose(2, 3).flatten(2).unsqueeze(2)


class PartHead(nn.Module):
    """A body part's latent: from its joints' tokens, and straight from its coordinates."""

    def __init__(self, config: NetworkConfig, places: Sequence[int]) -> None:
        super().__init__()
        self.places = list(places)
        frames, tokens = config.patch_frames, config.patch_frames // config.token_frames
        self.project = nn.Linear(len(self.places) * tokens * config.dim, config.latent)
        self.skip = nn.Linear(len(self.places) * frames * FEATURES, config.latent)

    def forward(self, x: Tensor, raw: Tensor) -> Tensor:
        """[B, S, V, .] and [B, S, V, P * 4] -> [B, S, latent]."""
        tokens, coordinates = x[:, :, self.places].flatten(2), raw[:, :, self.places].flatten(2)
        return self.project(tokens) + self.skip(coordinates)


class Decoder(Normalised):
    """Quantised latents -> canonical motion: the encoder backwards."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        joints, frames = config.joints, config.token_frames
        patch = config.patch_frames // frames * joints * config.dim
        words = len(config.channels) * config.code_dim
        self.expand = nn.Linear(words, patch) if config.projected else nn.Identity()
        self.transformer = Transformer(config)
        self.place = JointLinear(joints, config.dim, frames * 3)

    def forward(self, latents: Tensor) -> Tensor:
        """[B, S, C, code dim] -> [B, T, V, 3]."""
        config = self.config
        patches = self.expand(latents.flatten(2))  # [B, S, tokens per patch * V * D]
        tokens = patches.unflatten(2, (-1, config.joints, config.dim)).flatten(1, 2)  # [B, N, V, D]
        x = self.transformer(tokens.permute(2, 0, 1, 3))
        frames = self.place(x).unflatten(-1, (config.token_frames, 3))  # [V, B, N, frames, 3]
        motion = frames.flatten(2, 3).permute(1, 2, 0, 3)
        return motion * self.scale + self.mean


class CodedMotion(NamedTuple):
    """A motion put into words and back."""

    reconstruction: Tensor  # [B, T, V, 3]
    latents: Tensor  # [B, S, C, code dim], before quantisation
    quantised: Tensor  # [B, S, C, code dim]
    tokens: Tensor  # [B, S, C]
    losses: QuantiserLosses


class MotionModel(nn.Module):
    """Encoder, quantiser and decoder."""

    def __init__(self, config: NetworkConfig, *, decay: float | None = None) -> None:
        super().__init__()
        self.config = config
        options = {} if decay is None else {"decay": decay}
        self.encoder = Encoder(config)
        self.quantiser = Quantiser(len(config.channels), config.vocabulary, config.code_dim, **options)
        self.decoder = Decoder(config)

    def forward(self, motion: Tensor) -> CodedMotion:
        """Put canonical motion [B, T, V, 3] into words and back."""
        latents = self.encode(motion)
        quantised, tokens, losses = self.quantiser(latents)
        return CodedMotion(self.decoder(quantised), latents, quantised, tokens, losses)

    def encode(self, motion: Tensor) -> Tensor:
        """Canonical motion -> latents [B, S, C, code dim]."""
        return self.encoder(motion, self.quantiser.codebook)

    def normalise_by(self, motion: Tensor) -> None:
        """Take mean and spread of every coordinate from canonical motion [..., V, 3], NaN left out."""
        frames = motion.flatten(0, -3)
        self.encoder.normalise_by(self.encoder.hung(frames))
        self.decoder.normalise_by(frames)
