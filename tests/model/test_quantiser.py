import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.errors import InputError
from dancematch.model.quantiser import Quantiser, nearest_codes, perplexity, usage, word_counts
from dancematch.training.kmeans import fit_channel_centres


def latents(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def started(channels: int, words: int, given_: torch.Tensor, seed: int = 0) -> Quantiser:
    """A quantiser whose codes are the centres of latents [row, channel, dim]."""
    made = Quantiser(channels, words, given_.shape[-1])
    made.place(torch.from_numpy(fit_channel_centres(given_.numpy(), words, np.random.default_rng(seed))))
    return made


def quantiser_at(codes: list[list[float]], **options: float) -> Quantiser:
    """One channel with these codes, each of count 1."""
    made = Quantiser(1, len(codes), len(codes[0]), **options)
    made.place(torch.tensor([codes]))
    return made


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(2, 9), st.integers(1, 5))
def test_a_latent_gets_the_nearest_code_of_its_own_channel(seed, channels, words, dim):
    given_ = latents(2, 6, channels, dim, seed=seed)
    codes = latents(channels, words, dim, seed=seed + 1)
    plain = (given_.unsqueeze(-2) - codes).norm(dim=-1)

    assert torch.equal(plain.argmin(dim=-1), nearest_codes(given_, codes)[0])


def test_of_unit_vectors_the_nearest_has_the_largest_cosine():
    given_ = torch.nn.functional.normalize(latents(5, 8, 2, 6), dim=-1)
    codes = torch.nn.functional.normalize(latents(2, 12, 6, seed=1), dim=-1)
    cosines = torch.einsum("bscd,ckd->bsck", given_, codes)

    assert torch.equal(cosines.argmax(dim=-1), nearest_codes(given_, codes)[0])


def test_lookup_is_the_inverse():
    """What comes out is exactly the code of the word that comes out."""
    quantiser = Quantiser(3, 8, 4).eval()
    quantised, tokens, _ = quantiser(latents(2, 5, 3, 4))

    assert torch.equal(quantiser.lookup(tokens), quantised)
    assert torch.equal(tokens, quantiser(quantised).tokens)


def test_gradients_pass_straight_through():
    given_ = latents(2, 5, 3, 4).requires_grad_()
    weights = latents(2, 5, 3, 4, seed=1)
    (Quantiser(3, 8, 4)(given_).quantised * weights).sum().backward()

    assert torch.equal(weights, given_.grad)


@pytest.mark.parametrize("blend", [0.0, 0.25, 1.0])
def test_blend_leads_from_the_latents_to_the_codes(blend):
    quantiser = quantiser_at([[0.0, 0.0], [4.0, 0.0]]).eval()
    quantiser.blend = blend
    quantised, tokens, _ = quantiser(torch.tensor([[[3.0, 1.0]]]))

    assert [[1]] == tokens.tolist()
    assert [3 + blend, 1 - blend] == quantised.flatten().tolist()
    assert blend == quantiser.blend


@pytest.mark.parametrize("blend", [-0.1, 1.1, math.nan])
def test_blend_is_a_share(blend):
    with pytest.raises(InputError, match="between 0 and 1"):
        Quantiser(1, 2, 2).blend = blend


def test_moving_averages_are_the_papers():
    """By hand with a = .5: n = a n + (1 - a) count, m = a m + (1 - a) sum, c = m / n."""
    quantiser = quantiser_at([[0.0], [10.0]], decay=0.5)
    quantiser(torch.tensor([[[1.0]], [[2.0]], [[12.0]]]))

    assert [1.5, 1.0] == quantiser.counts.flatten().tolist()
    assert [1.5, 11.0] == quantiser.sums.flatten().tolist()
    assert [1.0, 11.0] == quantiser.codebook.flatten().tolist()


def test_an_unused_code_stays_until_it_counts_for_nothing():
    """The paper's epsilon: below it a code sinks to the origin, which revival must forestall."""
    quantiser = quantiser_at([[0.0], [10.0]], decay=0.5)
    for _ in range(16):
        quantiser(torch.zeros(1, 1, 1))
    assert 10.0 == quantiser.codebook[0, 1].item()
    for _ in range(10):
        quantiser(torch.zeros(1, 1, 1))

    assert 0 < quantiser.codebook[0, 1].item() < 0.1


def test_losses_are_distances_to_the_code():
    given_ = torch.tensor([[[1.0, 0.0]], [[4.0, 2.0]]], requires_grad=True)
    losses = quantiser_at([[0.0, 0.0], [4.0, 0.0]]).eval()(given_).losses
    losses.commitment.backward()

    assert (1 + 4) / 4 == losses.commitment.item() == losses.codebook.item()
    assert [[0.5, 0.0], [0.0, 1.0]] == given_.grad.flatten(0, 1).tolist()


def test_entropy_is_large_when_all_words_are_said():
    spread = torch.tensor([[[0.1]], [[9.9]], [[20.1]]])
    entropy = quantiser_at([[0.0], [10.0], [20.0]])(spread).losses.entropy
    alone = quantiser_at([[0.0], [10.0], [20.0]])(spread[:1]).losses.entropy

    assert 1.0 == pytest.approx(entropy.item(), abs=1e-3)
    assert 0.0 == pytest.approx(alone.item(), abs=1e-3)


@pytest.mark.parametrize("still", ["suspended", "evaluating"])
def test_codes_stay_while_suspended_or_not_training(still):
    quantiser = Quantiser(2, 4, 3)
    before = quantiser.codebook.clone()
    if still == "suspended":
        quantiser.suspended = True
    else:
        quantiser.eval()
    quantiser(latents(4, 5, 2, 3))

    assert torch.equal(before, quantiser.codebook)
    assert (20 * 2 if still == "suspended" else 0) == quantiser.said.sum()
    quantiser.train().suspended = False
    quantiser(latents(4, 5, 2, 3))
    assert not torch.equal(before, quantiser.codebook)


def test_a_saved_quantiser_goes_on_as_if_nothing_had_been():
    first, second = Quantiser(2, 6, 3, decay=0.9), Quantiser(2, 6, 3, decay=0.9)
    first.blend, first.suspended = 0.5, False
    for seed in range(3):
        first(latents(4, 5, 2, 3, seed=seed))
    second.load_state_dict(first.state_dict())
    for quantiser in (first, second):
        quantiser(latents(4, 5, 2, 3, seed=9))
        quantiser.revive_unused(latents(4, 5, 2, 3, seed=9), generator=chance(1))

    assert 0.5 == second.blend
    assert all(torch.equal(mine, second.state_dict()[name]) for name, mine in first.state_dict().items())


def test_the_start_finds_clusters():
    """Four clear clusters a channel: every code sits in the middle of one."""
    centres = 10 * torch.tensor([[[0.0, 0], [0, 1], [1, 0], [1, 1]], [[5.0, 5], [5, 9], [9, 5], [9, 9]]])
    around = centres.repeat(1, 50, 1).transpose(0, 1) + 0.1 * latents(200, 2, 2)  # [row, channel, dim]
    quantiser = started(2, 4, around)
    found = (quantiser.codebook.unsqueeze(2) - centres.unsqueeze(1)).norm(dim=-1)  # [channel, code, centre]

    assert found.amin(dim=-1).max() < 0.1
    assert 1.0 == usage(quantiser.eval()(around).tokens, 4).min()
    assert torch.equal(quantiser.codebook, quantiser.sums)


def test_words_without_a_patch_of_their_own_start_at_another_words():
    patches = torch.tensor([[[1.0]], [[5.0]], [[9.0]]])

    assert {1.0, 5.0, 9.0} == set(started(1, 8, patches).codebook.flatten().tolist())


def test_placed_codes_begin_a_new_epoch():
    """What was said of other codes says nothing of these."""
    quantiser = Quantiser(2, 4, 3)
    quantiser(latents(60, 2, 3))
    quantiser.place(latents(2, 4, 3))

    assert 0 == quantiser.said.sum()
    assert 1 == quantiser.counts.min() == quantiser.counts.max()


def test_the_start_follows_its_seed():
    first, second, third = (started(2, 5, latents(40, 2, 3), seed) for seed in (1, 1, 2))

    assert torch.equal(first.codebook, second.codebook)
    assert not torch.equal(first.codebook, third.codebook)


def test_codes_unused_in_an_epoch_take_the_place_of_patches():
    """The paper's revival; the next moving average does not undo it, and the epoch begins anew."""
    quantiser = quantiser_at([[0.0], [50.0], [60.0]], decay=0.5)
    epoch = torch.tensor([[[0.0]], [[1.0]]])
    quantiser(epoch)
    assert 2 == quantiser.revive_unused(epoch + 100, generator=chance())

    assert {100.0, 101.0} == set(quantiser.codebook[0, 1:, 0].tolist())
    assert 0 == quantiser.said.sum()
    quantiser(torch.tensor([[[0.5]]]))
    assert {100.0, 101.0} == set(quantiser.codebook[0, 1:, 0].tolist())
    assert 2 == quantiser.revive_unused(epoch, generator=chance())


def test_rare_codes_begin_anew_and_are_given_time():
    quantiser = quantiser_at([[0.0], [50.0]], decay=0.9)
    patches = torch.full((100, 1, 1), 1.0)
    lost = [step for step in range(60) if quantiser(patches) and quantiser.revive_rare(patches + step)]

    # It counts .9^k against a mean near 50 (1 - .9^k): soon lost, and not again for a while.
    assert lost[0] < 5
    assert lost[1] - lost[0] > 20
    assert 1 + lost[-1] == pytest.approx(quantiser.codebook[0, 1].item())


def test_nothing_is_revived_while_all_is_used():
    quantiser = started(2, 4, latents(60, 2, 3))
    quantiser(latents(60, 2, 3))
    before = quantiser.codebook.clone()

    assert 0 == quantiser.revive_rare(latents(60, 2, 3)) + quantiser.revive_unused(latents(60, 2, 3))
    assert torch.equal(before, quantiser.codebook)


def test_usage_and_perplexity_by_hand():
    """Channel 0 says two of four words equally often, channel 1 always the same."""
    tokens = torch.tensor([[[0, 3], [2, 3]], [[2, 3], [0, 3]]])

    assert [[2, 0, 2, 0], [0, 0, 0, 4]] == word_counts(tokens, 4).tolist()
    assert [0.5, 0.25] == usage(tokens, 4).tolist()
    assert [2.0, 1.0] == pytest.approx(perplexity(tokens, 4).tolist())


def test_following_codes_do_not_spoil_the_gradient():
    """The codes move within the step whose gradient is still to come."""
    given_ = latents(4, 5, 2, 3).requires_grad_()
    moving, still = Quantiser(2, 4, 3, decay=0.5), Quantiser(2, 4, 3, decay=0.5)
    still.load_state_dict(moving.state_dict())
    expected = torch.autograd.grad(sum(still.eval()(given_).losses), given_)
    found = torch.autograd.grad(sum(moving(given_).losses), given_)

    assert torch.equal(expected[0], found[0])
