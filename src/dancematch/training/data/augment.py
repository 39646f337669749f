"""Other views of the same dance: crops in the canonical frame, as somebody else or some estimator shows them.

Only directions change, never lengths: every view stands on the canonical body again. Letters
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

KNOTS = 5  # of the drift over a crop
LONGEST_LOSS = 0.5  # share of a crop that a joint may be out of sight

_PARENTS = [max(parent, 0) for parent in BODY15.parents]
_LENGTHS = torch.from_numpy(np.array(BONE_LENGTHS))[:, None]


def perturb_crops(crops: Tensor, views: AugmentationSettings, generator: Generator) -> Tensor:
    """A view of each crop [B, T, V, 3]; the same generator state gives the same views."""
    root, body = crops[:, :, :1], crops[:, :, 1:]
    bones = body - body[:, :, _PARENTS]
    bones = _vary_style(bones, views, generator)
    bones = _add_estimator_noise(bones, views, generator)
    body = _rotate_body(_restore_bone_lengths(bones, body[:, :, 0]), views, generator)
    root = _vary_root(root, views, generator)
    return _hide_joints(torch.cat([root, body], dim=2), views, generator)


def rotation_matrices(vectors: Tensor) -> Tensor:
    """The rotation about each vector [..., 3] by its length in radians: [..., 3, 3]."""
    angle = vectors.norm(dim=-1, keepdim=True).clamp_min(1e-8)
    x, y, z = (vectors / angle).unbind(dim=-1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).unflatten(-1, (3, 3))
    angle = angle[..., None]
    return torch.eye(3) + torch.sin(angle) * cross + (1 - torch.cos(angle)) * cross @ cross


def _normal(generator: Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator)


def _vary_style(bones: Tensor, views: AugmentationSettings, generator: Generator) -> Tensor:
    """Another dancer: each bone swings wider or narrower about its mean, and is held otherwise."""
    batch, _, count, _ = bones.shape
    mean = bones.nanmean(dim=1, keepdim=True)
    bones = mean + (bones - mean) * (1 + views.amplitude * _normal(generator, batch, 1, count, 1))
    held = rotation_matrices(math.radians(views.offset_degrees) * _normal(generator, batch, count, 3))
    return torch.einsum("bvij,btvj->btvi", held, bones)


def _add_estimator_noise(bones: Tensor, views: AugmentationSettings, generator: Generator) -> Tensor:
    """An unsure estimator: slow drift, and noise of which some crops have more than others."""
    batch, frames, count, _ = bones.shape
    knots = _normal(generator, batch, count * 3, KNOTS)
    drift = F.interpolate(knots, size=frames, mode="linear", align_corners=True)  # [B, V 3, T]
    drift = drift.transpose(1, 2).unflatten(2, (count, 3))
    noise = _normal(generator, *bones.shape) * torch.rand((batch, 1, 1, 1), generator=generator)
    return bones + (views.drift * drift + views.noise * noise) * _LENGTHS


def _restore_bone_lengths(bones: Tensor, pelvis: Tensor) -> Tensor:
    """Bones of any length [B, T, V - 1, 3] back on the canonical body."""
    directions = bones / bones.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    joints = [pelvis]
    for joint, parent in enumerate(_PARENTS[1:], start=1):
        joints.append(joints[parent] + directions[:, :, joint] * _LENGTHS[joint])
    return torch.stack(joints, dim=2)


def _rotate_body(body: Tensor, views: AugmentationSettings, generator: Generator) -> Tensor:
    """A camera that is not level, and a heading that is a little off."""
    tilt = math.radians(views.tilt_degrees)
    angles = torch.tensor([tilt, math.radians(views.yaw_degrees), tilt]) * _normal(generator, len(body), 3)
    return torch.einsum("bij,btvj->btvi", rotation_matrices(angles), body)


def _vary_root(root: Tensor, views: AugmentationSettings, generator: Generator) -> Tensor:
    """Travel and turning, which are the first that an estimator gets wrong."""
    scale = 1 + views.root_scale * _normal(generator, len(root), 1, 1, 3)
    return root * scale + views.root_noise * _normal(generator, len(root), 1, 1, 3)


def _hide_joints(crops: Tensor, views: AugmentationSettings, generator: Generator) -> Tensor:
    """Joints out of sight for a while, with all that hangs on them; root and pelvis always stay."""
    batch, frames, count, _ = crops.shape
    lost = torch.rand((batch, count), generator=generator) < views.dropout
    first = torch.rand((batch, 1, count), generator=generator) * frames
    length = torch.rand((batch, 1, count), generator=generator) * LONGEST_LOSS * frames
    clock = torch.arange(frames)[None, :, None]
    gone = lost[:, None] & (clock >= first) & (clock < first + length)  # [B, T, V]
    gone[:, :, :2] = False
    for joint, parent in enumerate(_PARENTS[1:], start=1):
        gone[:, :, joint + 1] |= gone[:, :, parent + 1]
    return crops.masked_fill(gone[..., None], math.nan)
