"""Augmentation: crops in the canonical frame as another dancer or a pose estimator would show them.

Only directions change, never lengths: the result stands on the canonical body again. Letters
in shapes: B crops, T frames, V joints of the canonical skeleton, of which the first is the root.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from dancematch.motion import BONE_LENGTHS
from dancematch.skeletons import BODY15
from dancematch.training.recipe import AugmentationSettings

DRIFT_KNOTS = 5  # per crop
MAX_HIDDEN_SHARE = 0.5  # of a crop, per joint

_PARENTS = [max(parent, 0) for parent in BODY15.parents]
_LENGTHS = torch.from_numpy(np.array(BONE_LENGTHS))[:, None]


def perturb_crops(crops: Tensor, settings: AugmentationSettings, generator: Generator) -> Tensor:
    """A perturbed copy of each crop [B, T, V, 3]; the same generator state gives the same copies."""
    root, body = crops[:, :, :1], crops[:, :, 1:]
    bones = body - body[:, :, _PARENTS]
    bones = _vary_style(bones, settings, generator)
    bones = _add_estimator_noise(bones, settings, generator)
    body = _rotate_body(_restore_bone_lengths(bones, body[:, :, 0]), settings, generator)
    root = _vary_root(root, settings, generator)
    return _hide_joints(torch.cat([root, body], dim=2), settings, generator)


def rotation_matrices(vectors: Tensor) -> Tensor:
    """The rotation about each vector [..., 3] by its length in radians: [..., 3, 3]."""
    angle = vectors.norm(dim=-1, keepdim=True).clamp_min(1e-8)
    x, y, z = (vectors / angle).unbind(dim=-1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).unflatten(-1, (3, 3))
    angle = angle[..., None]
    return torch.eye(3) + torch.sin(angle) * cross + (1 - torch.cos(angle)) * cross @ cross


def _draw_normal(generator: Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator)


def _vary_style(bones: Tensor, settings: AugmentationSettings, generator: Generator) -> Tensor:
    """Another dancer: each bone swings wider or narrower about its mean, and is held at another angle."""
    batch, _, count, _ = bones.shape
    mean = bones.nanmean(dim=1, keepdim=True)
    bones = mean + (bones - mean) * (1 + settings.amplitude * _draw_normal(generator, batch, 1, count, 1))
    offsets = rotation_matrices(
        math.radians(settings.offset_degrees) * _draw_normal(generator, batch, count, 3)
    )
    return torch.einsum("bvij,btvj->btvi", offsets, bones)


def _add_estimator_noise(bones: Tensor, settings: AugmentationSettings, generator: Generator) -> Tensor:
    """A pose estimator's errors: slow drift, and noise whose strength differs by crop."""
    batch, frames, count, _ = bones.shape
    knots = _draw_normal(generator, batch, count * 3, DRIFT_KNOTS)
    drift = F.interpolate(knots, size=frames, mode="linear", align_corners=True)  # [B, V 3, T]
    drift = drift.transpose(1, 2).unflatten(2, (count, 3))
    noise = _draw_normal(generator, *bones.shape) * torch.rand((batch, 1, 1, 1), generator=generator)
    return bones + (settings.drift * drift + settings.noise * noise) * _LENGTHS


def _restore_bone_lengths(bones: Tensor, pelvis: Tensor) -> Tensor:
    """Bones of any length [B, T, V - 1, 3] as joints of the canonical body."""
    directions = bones / bones.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    joints = [pelvis]
    for joint, parent in enumerate(_PARENTS[1:], start=1):
        joints.append(joints[parent] + directions[:, :, joint] * _LENGTHS[joint])
    return torch.stack(joints, dim=2)


def _rotate_body(body: Tensor, settings: AugmentationSettings, generator: Generator) -> Tensor:
    """A camera that is not level, and a heading that is a little off."""
    tilt = math.radians(settings.tilt_degrees)
    scale = torch.tensor([tilt, math.radians(settings.yaw_degrees), tilt])
    return torch.einsum(
        "bij,btvj->btvi", rotation_matrices(scale * _draw_normal(generator, len(body), 3)), body
    )


def _vary_root(root: Tensor, settings: AugmentationSettings, generator: Generator) -> Tensor:
    """Errors in travel and turning, which estimators get wrong first."""
    scale = 1 + settings.root_scale * _draw_normal(generator, len(root), 1, 1, 3)
    return root * scale + settings.root_noise * _draw_normal(generator, len(root), 1, 1, 3)


def _hide_joints(crops: Tensor, settings: AugmentationSettings, generator: Generator) -> Tensor:
    """Joints out of sight for a while, with all their children; root and pelvis always stay."""
    batch, frames, count, _ = crops.shape
    affected = torch.rand((batch, count), generator=generator) < settings.dropout
    first = torch.rand((batch, 1, count), generator=generator) * frames
    length = torch.rand((batch, 1, count), generator=generator) * MAX_HIDDEN_SHARE * frames
    clock = torch.arange(frames)[None, :, None]
    hidden = affected[:, None] & (clock >= first) & (clock < first + length)  # [B, T, V]
    hidden[:, :, :2] = False
    for joint, parent in enumerate(_PARENTS[1:], start=1):
        hidden[:, :, joint + 1] |= hidden[:, :, parent + 1]
    return crops.masked_fill(hidden[..., None], math.nan)
