"""The network together with what only training needs: losses, augmentation, codebook schedule."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Generator, Tensor, nn

from dancematch.model.network import MotionModel
from dancematch.model.quantiser import QuantiserLosses
from dancematch.training.data.augment import perturb_crops
from dancematch.training.data.batches import Batch, BatchSampler
from dancematch.training.data.tracks import TrainingTrack
from dancematch.training.kmeans import fit_channel_centres
from dancematch.training.network.discriminant import fit_part_discriminant
from dancematch.training.network.losses import (
    LossTerms,
    balance_commitment,
    contrastive_loss,
    joint_distances,
    masked_square_error,
    patch_distances,
    reconstruction_loss,
    swapped_prediction_loss,
)
from dancematch.training.recipe import TrainingPlan
from dancematch.types import FloatArray

STATISTICS_FRAMES = 50_000  # for means and variances
CODEBOOK_PATCHES = 30_000  # for k-means
MIN_SPREAD_METRES = 0.05  # below it a coordinate or distance counts as constant
ENCODED_CROPS = 64  # at once


class Learner(nn.Module):
    """What is optimised: the model, and a descriptor layer if the recipe weights its loss.

    Letters in shapes: B pairs of crops, T frames, V joints, S steps, C channels, D numbers per latent.
    """

    position_variance: Tensor
    distance_variance: Tensor

    def __init__(self, plan: TrainingPlan, tracks: Sequence[TrainingTrack]) -> None:
        super().__init__()
        self.plan = plan
        self.recipe = plan.training
        network = plan.network
        self.model = MotionModel(network, decay=self.recipe.codebook_decay)
        frames = torch.from_numpy(_sample_frames(tracks, self.recipe.seed))
        self.model.normalise_by(frames)
        distances = joint_distances(frames)
        self.register_buffer("position_variance", _variance(frames))
        self.register_buffer("distance_variance", _variance(distances))
        self.describe = (
            nn.Linear(len(network.channels) * network.code_dim, distances.shape[-1])
            if self.recipe.weights.descriptor
            else None
        )

    @torch.no_grad()
    def initialise_heads(self, sampler: BatchSampler) -> None:
        """Set each part's latent to the linear discriminant of its patches.

        The transformer's contribution starts at zero and is what training adds.
        """
        rng = np.random.default_rng(self.recipe.seed)
        generator = Generator().manual_seed(self.recipe.seed)
        sides: tuple[list[Tensor], list[Tensor]] = ([], [])
        for _ in range(self.recipe.head_batches):
            batch = sampler.draw(rng)
            for side, crops in enumerate((batch.first, batch.second)):
                view = perturb_crops(torch.from_numpy(crops), self.recipe.views, generator)
                patches = self.model.encoder.raw_patches(view).flatten(0, 1)  # [B S, V, P * 4]
                sides[side].append(patches[batch.matches[:, side]])
        first, second = torch.cat(sides[0]).numpy(), torch.cat(sides[1]).numpy()
        for head in self.model.encoder.part_heads:
            weight, bias = fit_part_discriminant(
                first[:, head.places], second[:, head.places], self.plan.network.latent
            )
            head.skip.weight.copy_(torch.from_numpy(weight))
            head.skip.bias.copy_(torch.from_numpy(bias))
            head.project.weight.zero_()
            head.project.bias.zero_()

    def compute_losses(self, batch: Batch, generator: Generator) -> tuple[LossTerms, Tensor]:
        """The losses of a freshly perturbed batch, and its latents [crops, S, C, D].

        Decoder and descriptor must give the clean motion, whatever the perturbed crop shows.
        """
        crops = (batch.first, batch.second) if self.recipe.contrasts else (batch.first,)
        clean = torch.from_numpy(np.concatenate(crops))
        latents = self.model.encode(perturb_crops(clean, self.recipe.views, generator))
        quantised, _, losses = self.model.quantiser(latents)
        terms = self._reconstruction_terms(clean, quantised)
        if not self.model.quantiser.suspended:
            terms |= self._quantiser_terms(latents, losses)
        if self.recipe.contrasts:
            terms |= self._invariance_terms(latents, batch)
        if self.describe is not None:
            wanted = patch_distances(clean, self.plan.network.patch_frames)
            predicted = self.describe(latents.flatten(2))
            terms["descriptor"] = masked_square_error(predicted, wanted, variance=self.distance_variance)
        return LossTerms.fill(**terms), latents

    def _reconstruction_terms(self, clean: Tensor, quantised: Tensor) -> dict[str, Tensor]:
        """How well the motion is decoded from its words."""
        decoded = self.model.decoder(quantised[: self.recipe.decoder_crops])
        clean = clean[: self.recipe.decoder_crops, : decoded.shape[1]]
        distances, positions = (
            (self.distance_variance, self.position_variance)
            if self.recipe.normalise_reconstruction
            else (1.0, 1.0)
        )
        return {
            "reconstruction": reconstruction_loss(clean, decoded, variance=distances),
            # Distances cannot tell left from right.
            "positions": masked_square_error(decoded, clean, variance=positions),
        }

    def _quantiser_terms(self, latents: Tensor, losses: QuantiserLosses) -> dict[str, Tensor]:
        commitment = losses.commitment
        if self.recipe.balance_commitment:
            commitment = balance_commitment(commitment, latents)
        return {"commitment": commitment, "codebook": losses.codebook, "entropy": losses.entropy}

    def _invariance_terms(self, latents: Tensor, batch: Batch) -> dict[str, Tensor]:
        """How alike two crops of one moment are."""
        halves = latents.unflatten(0, (2, -1)).flatten(1, 2)  # [2, B S, C, D]
        first, second = (halves[side, batch.matches[:, side]] for side in (0, 1))
        dances = torch.from_numpy(batch.dances)
        recipe, quantiser = self.recipe, self.model.quantiser
        terms = {"contrastive": contrastive_loss(first, second, dances, temperature=recipe.temperature)}
        if recipe.weights.swapped and not quantiser.suspended:
            terms["swapped"] = swapped_prediction_loss(
                first, second, quantiser.codebook, temperature=recipe.soft_temperature
            )
        return terms

    def schedule_codebook(self, step: int, tracks: Sequence[TrainingTrack]) -> None:
        """Put the codebook into the state of this step: suspended, blending in, in use."""
        recipe, quantiser = self.recipe, self.model.quantiser
        after = step - recipe.warm_up_steps
        quantiser.suspended = after <= 0
        ramp = max(1, round(recipe.blend_in * recipe.steps))
        quantiser.blend = min(1.0, max(0.0, after / ramp))
        if after == 1 and recipe.codebook_start == "kmeans":
            self.fit_codebook(tracks)

    def revive_words(self, step: int, epoch_steps: int, latents: Tensor, generator: Generator) -> None:
        """Move idle words to random latents, when the recipe says so."""
        recipe, quantiser = self.recipe, self.model.quantiser
        if quantiser.suspended or step > recipe.steps * (1 - recipe.revival_stop):
            return
        if recipe.revival == "step":
            quantiser.revive_rare(latents, generator=generator)
        elif recipe.revival == "epoch" and step % epoch_steps == 0:
            quantiser.revive_unused(latents, generator=generator)

    @torch.no_grad()
    def fit_codebook(self, tracks: Sequence[TrainingTrack]) -> None:
        """Set every code to a centre of the tracks' latents, by k-means."""
        crops = sample_crops(tracks, self.plan, CODEBOOK_PATCHES)
        was_training = self.training
        self.eval()
        encoded = [
            self.model.encode(torch.from_numpy(crops[first : first + ENCODED_CROPS])).flatten(0, 1)
            for first in range(0, len(crops), ENCODED_CROPS)
        ]
        self.train(was_training)
        rng = np.random.default_rng(self.recipe.seed)
        centres = fit_channel_centres(torch.cat(encoded).numpy(), self.plan.network.vocabulary, rng)
        self.model.quantiser.place(torch.from_numpy(centres))


def sample_crops(tracks: Sequence[TrainingTrack], plan: TrainingPlan, patches: int) -> FloatArray:
    """Random crops without overlap, with about `patches` patches in all: [crops, T, V, 3]."""
    length = plan.training.crop_frames
    starts = [(track, at) for track in tracks for at in range(0, len(track.joints) - length + 1, length)]
    wanted = max(1, patches * plan.network.patch_frames // length)
    rng = np.random.default_rng(plan.training.seed)
    chosen = rng.choice(len(starts), min(wanted, len(starts)), replace=False)
    return np.stack([track.joints[at : at + length] for track, at in (starts[i] for i in chosen)])


def _sample_frames(tracks: Sequence[TrainingTrack], seed: int) -> FloatArray:
    frames = np.concatenate([track.joints for track in tracks])
    if len(frames) <= STATISTICS_FRAMES:
        return frames
    return frames[np.random.default_rng(seed).choice(len(frames), STATISTICS_FRAMES, replace=False)]


def _variance(rows: Tensor) -> Tensor:
    """The variance of each column over its finite entries, at least `MIN_SPREAD_METRES` squared."""
    spread = (rows - rows.nanmean(dim=0)).square().nanmean(dim=0)
    return spread.nan_to_num(1.0).clamp_min(MIN_SPREAD_METRES**2)
