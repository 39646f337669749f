from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance
from dancematch.motion import BONE_LENGTHS, CANONICAL, canonicalise
from dancematch.skeletons import BODY15
from dancematch.training.data.augment import perturb_crops, rotation_matrices
from dancematch.training.recipe import AugmentationSettings

STILL = AugmentationSettings(**{field.name: 0.0 for field in fields(AugmentationSettings)})
ALL = AugmentationSettings(dropout=0.3)


def crops(count: int = 3, frames: int = 40) -> torch.Tensor:
    return torch.stack(
        [torch.from_numpy(canonicalise(dance(seed)).joints[20 : 20 + frames].copy()) for seed in range(count)]
    )


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 3))
def test_views_stand_on_the_canonical_body(seed, strength):
    """However strong the changes, every bone that is seen keeps its length and the pelvis its place."""
    views = AugmentationSettings(
        **{field.name: strength * getattr(ALL, field.name) for field in fields(AugmentationSettings)}
    )
    body = perturb_crops(crops(), views, generator(seed))[:, :, 1:].numpy()
    lengths = np.linalg.norm(body - body[:, :, list(BODY15.parents)], axis=-1)[..., 1:]
    seen = np.isfinite(lengths)

    assert seen.any()
    np.testing.assert_allclose(
        np.broadcast_to(BONE_LENGTHS[1:], lengths.shape)[seen], lengths[seen], atol=1e-4
    )
    np.testing.assert_allclose(0, body[:, :, 0], atol=1e-6)


def test_no_strength_changes_nothing():
    torch.testing.assert_close(crops(), perturb_crops(crops(), STILL, generator(0)), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", [field.name for field in fields(AugmentationSettings)])
def test_each_strength_changes_something(name):
    usual = getattr(ALL, name)
    seen = perturb_crops(crops(), replace(STILL, **{name: usual}), generator(3))

    assert not torch.allclose(crops(), seen, atol=1e-3)


def test_views_follow_their_generator():
    first, again, other = (perturb_crops(crops(), ALL, generator(seed)) for seed in (1, 1, 2))

    torch.testing.assert_close(first, again, atol=0, rtol=0, equal_nan=True)
    assert not torch.equal(first.nan_to_num(), other.nan_to_num())


def test_what_hangs_on_a_hidden_joint_is_hidden_too():
    """As in the canonical frame itself: a hand whose elbow is unseen has no place. Root and pelvis stay."""
    hidden = perturb_crops(crops(), replace(STILL, dropout=0.5), generator(0)).isnan().any(dim=-1)

    assert 0.02 < hidden.float().mean() < 0.6
    assert not hidden[:, :, :2].any()
    for joint, parent in enumerate(CANONICAL.parents):
        if parent > 0:
            assert (hidden[:, :, joint] | ~hidden[:, :, parent]).all()


def test_unseen_joints_stay_unseen_and_spoil_no_others():
    shown = crops()
    wrist = CANONICAL.index("left_wrist")
    shown[0, 5:, wrist] = torch.nan
    seen = perturb_crops(shown, replace(ALL, dropout=0.0), generator(0))

    assert torch.equal(shown.isnan(), seen.isnan())


def test_rotations_turn_about_their_vector():
    quarter = rotation_matrices(torch.tensor([0, torch.pi / 2, 0]))

    torch.testing.assert_close(torch.tensor([0.0, 0, -1]), quarter @ torch.tensor([1.0, 0, 0]))
    many = rotation_matrices(torch.randn(20, 3, generator=generator(0)))
    torch.testing.assert_close(torch.eye(3).expand(20, 3, 3), many @ many.mT, atol=1e-5, rtol=0)
