"""A network with all that only training needs: its losses, its views, and the codebook's way of life."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Generator, Tensor, nn

from dancematch.model.network import MotionModel
from dancematch.model.quantiser import Losses
from dancematch.training.data.augment import perturb_crops
from dancematch.training.data.batches import Batch, BatchSampler
from dancematch.training.data.files import TrainingTrack
from dancematch.training.kmeans import fit_channel_centres
from dancematch.training.network.discriminant import part_discriminant
from dancematch.training.network.losses import (
    LossTerms,
    balanced,
    contrastive,
    descriptor,
    joint_distances,
    patch_distances,
    places,
    reconstruction,
    swapped_prediction,
)
from dancematch.training.recipe import TrainingPlan
from dancematch.types import FloatArray

MOST_FRAMES = 50_000  # to measure means and variances by
MOST_PATCHES = 30_000  # to place a codebook by
FEWEST_METRES = 0.05  # spread below which a coordinate or distance counts as fixed
ENCODED_AT_ONCE = 64
DISCRIMINANT_BATCHES = 120


class Learner(nn.Module):
    """What is optimised: the model, and a reader of descriptors if the recipe has one.

    Letters in shapes: B pairs of crops, T frames, V joints, S steps, C channels, D numbers of a latent.
    """

    place_variance: Tensor
    distance_variance: Tensor

    def __init__(self, plan: TrainingPlan, clips: Sequence[TrainingTrack]) -> None:
        super().__init__()
        self.plan = plan
        self.recipe = plan.training
        network = plan.network
        self.model = MotionModel(network, decay=self.recipe.decay)
        frames = torch.from_numpy(_sample_frames(clips, self.recipe.seed))
        self.model.normalise_by(frames)
        distances = joint_distances(frames)
        self.register_buffer("place_variance", _variance(frames))
        self.register_buffer("distance_variance", _variance(distances))
        self.describe = (
            nn.Linear(len(network.channels) * network.code_dim, distances.shape[-1])
            if self.recipe.weights.descriptor
            else None
        )

    @torch.no_grad()
    def initialise_heads(self, batches: BatchSampler) -> None:
        """Start each part's latent as the linear discriminant of its patches.

        The transformer's share starts at nothing and is what training adds.
        """
        rng = np.random.default_rng(self.recipe.seed)
        generator = Generator().manual_seed(self.recipe.seed)
        sides: tuple[list[Tensor], list[Tensor]] = ([], [])
        for _ in range(DISCRIMINANT_BATCHES):
            batch = batches.draw(rng)
            for side, crops in enumerate((batch.first, batch.second)):
                view = perturb_crops(torch.from_numpy(crops), self.recipe.views, generator)
                patches = self.model.encoder.raw_patches(view).flatten(0, 1)  # [B S, V, P * 4]
                sides[side].append(patches[batch.matches[:, side]])
        first, second = torch.cat(sides[0]).numpy(), torch.cat(sides[1]).numpy()
        for head in self.model.encoder.part_heads:
            weight, bias = part_discriminant(
                first[:, head.places], second[:, head.places], self.plan.network.latent
            )
            head.skip.weight.copy_(torch.from_numpy(weight))
            head.skip.bias.copy_(torch.from_numpy(bias))
            head.project.weight.zero_()
            head.project.bias.zero_()

    def terms(self, batch: Batch, generator: Generator) -> tuple[LossTerms, Tensor]:
        """The losses of a batch in fresh views, and the views' latents [crops, S, C, D].

        Decoder and descriptor must name the clean motion, whatever the view shows.
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
            told = self.describe(latents.flatten(2))
            terms["descriptor"] = descriptor(told, wanted, variance=self.distance_variance)
        return LossTerms.measured(**terms), latents

    def _reconstruction_terms(self, clean: Tensor, quantised: Tensor) -> dict[str, Tensor]:
        """What the words must still tell of the motion."""
        decoded = self.model.decoder(quantised[: self.recipe.decoded])
        clean = clean[: self.recipe.decoded, : decoded.shape[1]]
        distances, coordinates = (
            (self.distance_variance, self.place_variance) if self.recipe.normalised else (1.0, 1.0)
        )
        return {
            "reconstruction": reconstruction(clean, decoded, variance=distances),
            "places": places(clean, decoded, variance=coordinates),
        }

    def _quantiser_terms(self, latents: Tensor, losses: Losses) -> dict[str, Tensor]:
        """The quantiser's own terms, once its codebook is in use."""
        commitment = losses.commitment
        if self.recipe.balanced_commitment:
            commitment = balanced(commitment, latents)
        return {"commitment": commitment, "codebook": losses.codebook, "entropy": losses.entropy}

    def _invariance_terms(self, latents: Tensor, batch: Batch) -> dict[str, Tensor]:
        """What two views of a moment must have in common."""
        halves = latents.unflatten(0, (2, -1)).flatten(1, 2)  # [2, B S, C, D]
        first, second = (halves[side, batch.matches[:, side]] for side in (0, 1))
        groups = torch.from_numpy(batch.groups)
        recipe, quantiser = self.recipe, self.model.quantiser
        terms = {"contrastive": contrastive(first, second, groups, temperature=recipe.temperature)}
        if recipe.weights.swapped and not quantiser.suspended:
            terms["swapped"] = swapped_prediction(
                first, second, quantiser.codebook, temperature=recipe.soft_temperature
            )
        return terms

    def prepare_codebook(self, step: int, clips: Sequence[TrainingTrack]) -> None:
        """Put the codebook into the state that a step asks for: at rest, coming into use, in use."""
        recipe, quantiser = self.recipe, self.model.quantiser
        after = step - recipe.warm_up_steps
        quantiser.suspended = after <= 0
        ramp = max(1, round(recipe.blend_in * recipe.steps))
        quantiser.blend = min(1.0, max(0.0, after / ramp))
        if after == 1 and recipe.start == "kmeans":
            self.fit_codebook(clips)

    def revive_codes(self, step: int, epoch_steps: int, latents: Tensor, generator: Generator) -> None:
        """Give idle words a new meaning, when the recipe says so."""
        recipe, quantiser = self.recipe, self.model.quantiser
        if quantiser.suspended or step > recipe.steps * (1 - recipe.settled):
            return
        if recipe.revival == "step":
            quantiser.revive_rare(latents, generator=generator)
        elif recipe.revival == "epoch" and step % epoch_steps == 0:
            quantiser.revive_unused(latents, generator=generator)

    def fit_codebook(self, clips: Sequence[TrainingTrack]) -> None:
        """Put every code at a centre of the clips' latents, by k-means."""
        rng = np.random.default_rng(self.recipe.seed)
        latents = self.encode_patches(clips, MOST_PATCHES)
        centres = fit_channel_centres(latents, self.plan.network.vocabulary, rng)
        self.model.quantiser.place(torch.from_numpy(centres))

    @torch.no_grad()
    def encode_patches(self, clips: Sequence[TrainingTrack], count: int) -> FloatArray:
        """Latents of about `count` patches of the clips, by the recipe's seed: [patches, C, D]."""
        crops = sample_crops(clips, self.plan, count)
        was_training = self.training
        self.eval()
        encoded = [
            self.model.encode(torch.from_numpy(crops[first : first + ENCODED_AT_ONCE])).flatten(0, 1)
            for first in range(0, len(crops), ENCODED_AT_ONCE)
        ]
        self.train(was_training)
        return np.asarray(torch.cat(encoded).numpy())


def sample_crops(clips: Sequence[TrainingTrack], plan: TrainingPlan, patches: int) -> FloatArray:
    """Crops of the clips, none overlapping, with about so many patches: [crops, T, V, 3]."""
    length = plan.training.crop_frames
    places = [(clip, first) for clip in clips for first in range(0, len(clip.joints) - length + 1, length)]
    wanted = max(1, patches * plan.network.patch_frames // length)
    rng = np.random.default_rng(plan.training.seed)
    chosen = rng.choice(len(places), min(wanted, len(places)), replace=False)
    return np.stack([clip.joints[first : first + length] for clip, first in (places[i] for i in chosen)])


def _sample_frames(clips: Sequence[TrainingTrack], seed: int) -> FloatArray:
    frames = np.concatenate([clip.joints for clip in clips])
    if len(frames) <= MOST_FRAMES:
        return frames
    return frames[np.random.default_rng(seed).choice(len(frames), MOST_FRAMES, replace=False)]


def _variance(rows: Tensor) -> Tensor:
    """The variance of each column over what is seen of it; never so small that dividing by it explodes."""
    spread = (rows - rows.nanmean(dim=0)).square().nanmean(dim=0)
    return spread.nan_to_num(1.0).clamp_min(FEWEST_METRES**2)
