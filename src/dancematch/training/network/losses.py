"""What training minimises, a function a term, written like the equations.

    total = lambda reconstruction + commitment + beta codebook - gamma entropy
            + what makes a word survive another dancer, tempo or estimator

Commitment, codebook and entropy are the quantiser's own (`model/quantiser.py`).
Letters in shapes: B crops, T frames, V joints, N patches in any arrangement, C channels,
D numbers of a latent, K words, M matched patches of two views.
"""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from dancematch.training.recipe import LossWeights


@dataclass
class LossTerms:
    """One step's losses by name; what a step does not measure is 0."""

    reconstruction: Tensor
    places: Tensor
    commitment: Tensor
    codebook: Tensor
    entropy: Tensor
    contrastive: Tensor
    swapped: Tensor
    descriptor: Tensor

    @classmethod
    def measured(cls, **terms: Tensor) -> "LossTerms":
        """These terms, and 0 for every other one."""
        return cls(**{field.name: terms.get(field.name, torch.zeros(())) for field in fields(cls)})

    def numbers(self) -> dict[str, float]:
        """Each term as a plain number."""
        return {field.name: float(getattr(self, field.name).detach()) for field in fields(self)}


def total(terms: LossTerms, weights: LossWeights) -> Tensor:
    """The weighted sum; more entropy of usage is better, so it alone is subtracted."""
    paper = (
        weights.reconstruction * terms.reconstruction
        + weights.commitment * terms.commitment
        + weights.codebook * terms.codebook
        - weights.entropy * terms.entropy
    )
    invariance = (
        weights.contrastive * terms.contrastive
        + weights.swapped * terms.swapped
        + weights.descriptor * terms.descriptor
    )
    return paper + invariance + weights.places * terms.places


def joint_distances(joints: Tensor) -> Tensor:
    """How far any two joints of a frame are apart: [..., V, 3] -> [..., V (V - 1) / 2]."""
    first, second = torch.triu_indices(joints.shape[-2], joints.shape[-2], offset=1)
    return (joints[..., first, :] - joints[..., second, :]).norm(dim=-1)


def reconstruction(motion: Tensor, decoded: Tensor, *, variance: Tensor | float = 1.0) -> Tensor:
    """The squared error of inter-joint distances, which turning and moving the dancer do not change.

    Divided by the data's `variance` of each distance, a wrist counts as much as a hip.
    """
    return _mean_square(joint_distances(decoded), joint_distances(motion), variance)


def places(motion: Tensor, decoded: Tensor, *, variance: Tensor | float = 1.0) -> Tensor:
    """The squared error of the coordinates themselves: distances cannot tell left from right."""
    return _mean_square(decoded, motion, variance)


def _mean_square(found: Tensor, wanted: Tensor, variance: Tensor | float) -> Tensor:
    """The mean of squares over what is seen of `wanted`."""
    seen = wanted.isfinite()
    # Masked before squaring: the gradient of NaN squared is NaN even where nothing flows.
    error = torch.where(seen, found - wanted, 0.0)
    return (error.square() / variance).sum() / seen.sum().clamp_min(1)


def balanced(commitment: Tensor, latents: Tensor) -> Tensor:
    """The commitment in variances of the latents [N, C, D], which otherwise escape it by shrinking."""
    spread = latents.detach().flatten(0, -3).var(dim=0, unbiased=False).mean()
    return commitment / spread.clamp_min(1e-8)


def assignment_logits(latents: Tensor, vectors: Tensor, *, temperature: float) -> Tensor:
    """How near each code is, before a softmax: [N, C, D] and [C, K, D] -> [N, C, K]."""
    squares = vectors.square().sum(dim=-1) - 2 * torch.einsum("...cd,ckd->...ck", latents, vectors)
    return -(squares + latents.square().sum(dim=-1, keepdim=True)) / temperature


def contrastive(first: Tensor, second: Tensor, groups: Tensor, *, temperature: float) -> Tensor:
    """Each patch must find its match in the other view, a channel at a time and in both directions.

    `first` and `second` are [M, C, D], matched row by row; `groups` [M] says which dance each
    row is from. Rows of the same dance are no negatives: dances repeat themselves.
    """
    apart = torch.cdist(first.transpose(0, 1), second.transpose(0, 1)).square()  # [C, M, M]
    same_dance = (groups[:, None] == groups[None]) & ~torch.eye(len(groups), dtype=torch.bool)
    logits = (-apart / temperature).masked_fill(same_dance, -1e9)
    matches = torch.arange(len(groups)).expand(len(logits), -1)
    forth = F.cross_entropy(logits.flatten(0, 1), matches.flatten())
    back = F.cross_entropy(logits.transpose(1, 2).flatten(0, 1), matches.flatten())
    return (forth + back) / 2


def swapped_prediction(
    first: Tensor, second: Tensor, vectors: Tensor, *, temperature: float, sharpness: float = 4.0
) -> Tensor:
    """Each view's soft words [M, C, D] must predict the other's, made `sharpness` times as sure."""
    logits = [assignment_logits(view, vectors, temperature=temperature) for view in (first, second)]
    wanted = [(view.detach() * sharpness).softmax(dim=-1) for view in logits]
    surprise = [
        -(other * view.log_softmax(dim=-1)).sum(dim=-1).mean()
        for view, other in zip(logits, reversed(wanted), strict=True)
    ]
    return (surprise[0] + surprise[1]) / 2


def patch_distances(motion: Tensor, patch_frames: int) -> Tensor:
    """The mean inter-joint distances of each patch: [B, T, V, 3] -> [B, steps, V (V - 1) / 2]."""
    steps = motion.shape[1] // patch_frames
    distances = joint_distances(motion[:, : steps * patch_frames])
    return distances.unflatten(1, (steps, patch_frames)).mean(dim=2)


def descriptor(predicted: Tensor, clean: Tensor, *, variance: Tensor | float = 1.0) -> Tensor:
    """What the latents of a perturbed view say of the clean patch's distances, against the truth."""
    return _mean_square(predicted, clean, variance)
