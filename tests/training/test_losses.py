import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.model.quantiser import Quantiser
from dancematch.training.data.augment import rotation_matrices
from dancematch.training.network.losses import (
    LossTerms,
    assignment_logits,
    balance_commitment,
    contrastive_loss,
    joint_distances,
    masked_square_error,
    patch_distances,
    reconstruction_loss,
    swapped_prediction_loss,
    total_loss,
)
from dancematch.training.recipe import LossWeights


def numbers(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_distances_are_of_every_two_joints_once():
    triangle = torch.tensor([[0.0, 0, 0], [3, 0, 0], [0, 4, 0]])

    assert [3, 4, 5] == joint_distances(triangle).tolist()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_reconstruction_does_not_see_turning_and_moving(seed):
    """A dancer who is turned and moved as a whole is reconstructed perfectly; the positions are not."""
    motion = numbers(seed, 2, 5, 16, 3)
    moved = motion @ rotation_matrices(numbers(seed + 1, 3)).T + numbers(seed + 2, 3)

    assert 0 == pytest.approx(float(reconstruction_loss(motion, moved)), abs=1e-9)
    assert float(masked_square_error(moved, motion)) > 1e-4


def test_reconstruction_is_a_mean_of_squares():
    """Two joints 1 m apart, decoded as 3 m apart; in units of a variance of 2, half of that."""
    motion = torch.tensor([[[[0.0, 0, 0], [1, 0, 0]]]])
    decoded = torch.tensor([[[[0.0, 0, 0], [3, 0, 0]]]])

    assert 4 == float(reconstruction_loss(motion, decoded))
    assert 2 == float(reconstruction_loss(motion, decoded, variance=2.0))


def test_unseen_joints_teach_nothing_and_spoil_nothing():
    motion = numbers(0, 1, 4, 16, 3)
    motion[:, :2, 5] = math.nan
    decoded = numbers(1, 1, 4, 16, 3).requires_grad_()
    (reconstruction_loss(motion, decoded) + masked_square_error(decoded, motion)).backward()

    assert decoded.grad.isfinite().all()
    assert 0 == decoded.grad[:, :2, 5].abs().max()
    assert decoded.grad[:, 2:, 5].abs().min() > 0


def test_a_balanced_commitment_does_not_depend_on_scale():
    """Shrinking everything shrinks the commitment, but not the balanced one."""
    latents, codes = numbers(0, 50, 2, 4), numbers(1, 50, 2, 4)
    plain = [(scale * (latents - codes)).square().mean() for scale in (1, 0.1)]
    counted = [
        balance_commitment(value, scale * latents) for value, scale in zip(plain, (1, 0.1), strict=True)
    ]

    assert 100 == pytest.approx(float(plain[0] / plain[1]))
    assert 1 == pytest.approx(float(counted[0] / counted[1]))


def test_the_nearest_code_is_the_likeliest():
    """Soft words and the quantiser's words agree, and are squared distances over a temperature."""
    latents, quantiser = numbers(0, 30, 3, 4), Quantiser(3, 8, 4).eval()
    logits = assignment_logits(latents, quantiser.codebook, temperature=0.5)

    assert torch.equal(quantiser(latents).tokens, logits.argmax(dim=-1))
    apart = (latents[7, 1] - quantiser.codebook[1, 5]).square().sum()
    assert -2 * float(apart) == pytest.approx(float(logits[7, 1, 5]), rel=1e-4)


def test_contrast_is_low_for_views_that_agree():
    """Equal views of different moments score near 0, unrelated ones near chance, in whatever order."""
    groups = torch.arange(64)
    first, other = numbers(0, 64, 2, 32), numbers(1, 64, 2, 32)
    agreeing = float(contrastive_loss(first, first, groups, temperature=0.05))
    unrelated = float(contrastive_loss(first, other, groups, temperature=1e4))

    assert agreeing < 0.01
    assert math.log(64) == pytest.approx(unrelated, abs=0.1)
    assert float(contrastive_loss(first, other, groups, temperature=0.1)) == pytest.approx(
        float(contrastive_loss(other, first, groups, temperature=0.1))
    )


def test_other_moments_of_the_same_dance_are_no_negatives():
    """A dance repeats itself: what the loss is blind to gets no gradient."""
    groups = torch.tensor([0, 0, 1])
    first, second = numbers(0, 3, 1, 8), numbers(1, 3, 1, 8).requires_grad_()
    contrastive_loss(first[:2], second[:2], groups[:2], temperature=0.1).backward()

    assert 0 == second.grad.abs().max()
    contrastive_loss(first, second, groups, temperature=0.1).backward()
    assert second.grad.abs().max() > 0


def test_contrast_by_hand():
    """Two dances, orthogonal latents: each must tell squared distance 0 from 2 at temperature 1."""
    views = torch.eye(2)[:, None]

    expected = -math.log(math.exp(2) / (math.exp(2) + 1))
    assert expected == pytest.approx(float(contrastive_loss(views, views, torch.arange(2), temperature=1.0)))


def test_swapped_prediction_wants_the_same_words():
    vectors = numbers(0, 2, 8, 4)
    here = vectors[:, 3].expand(10, 2, 4)
    there = vectors[:, 5].expand(10, 2, 4)
    same = float(swapped_prediction_loss(here, here, vectors, temperature=0.1))
    different = float(swapped_prediction_loss(here, there, vectors, temperature=0.1))

    assert same < 0.01 < 1 < different
    assert different == pytest.approx(float(swapped_prediction_loss(there, here, vectors, temperature=0.1)))


def test_the_descriptor_is_the_patchs_mean_distances():
    motion = numbers(0, 2, 11, 16, 3)
    wanted = patch_distances(motion, 4)

    assert (2, 2, 120) == tuple(wanted.shape)
    torch.testing.assert_close(joint_distances(motion[:, 4:8]).mean(dim=1), wanted[:, 1])
    assert 0 == float(masked_square_error(wanted, wanted))
    assert 1 == pytest.approx(float(masked_square_error(wanted + 1, wanted)))


def test_the_total_is_the_papers():
    """The formula: lambda rec + commit + beta codebook - gamma entropy, and the rest by its weight."""
    terms = LossTerms.fill(
        reconstruction=torch.tensor(2.0),
        commitment=torch.tensor(3.0),
        codebook=torch.tensor(5.0),
        entropy=torch.tensor(7.0),
        contrastive=torch.tensor(11.0),
    )
    paper = LossWeights(0.5, 1.0, codebook=0.25, entropy=0.1, positions=0.0, contrastive=0.0)

    assert 0.5 * 2 + 3 + 0.25 * 5 - 0.1 * 7 == pytest.approx(float(total_loss(terms, paper)))
    only = LossWeights(0, 0, contrastive=2.0, positions=0)
    assert 22 == float(total_loss(terms, only))
    assert {"reconstruction": 2.0, "swapped": 0.0}.items() <= terms.to_floats().items()
