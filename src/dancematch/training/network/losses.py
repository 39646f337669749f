"""What training minimises, one function per term, written like the equations.

    total = lambda reconstruction + commitment + beta codebook - gamma entropy
            + terms that keep a word stable across dancer, tempo and estimator

Commitment, codebook and entropy are the quantiser's own (`model/quantiser.py`).
Letters in shapes: B crops, T frames, V joints, N patches in any arrangement, C channels,
D numbers per latent, K words, M matched patches of two crops.
"""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from dancematch.training.recipe import LossWeights


@dataclass
class LossTerms:
    """One step's losses by name."""

    reconstruction: Tensor
    positions: Tensor
    commitment: Tensor
    codebook: Tensor
    entropy: Tensor
    contrastive: Tensor
    swapped: Tensor
    descriptor: Tensor

    @classmethod
    def fill(cls, **terms: Tensor) -> "LossTerms":
        """These terms, and 0 for every other one."""
        return cls(**{field.name: terms.get(field.name, torch.zeros(())) for field in fields(cls)})

    def to_floats(self) -> dict[str, float]:
        """Each term as a plain number."""
        return {field.name: float(getattr(self, field.name).detach()) for field in fields(self)}


def total_loss(terms: LossTerms, weights: LossWeights) -> Tensor:
    """The weighted sum; higher entropy of usage is better, so it alone is subtracted."""
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
    return paper + invariance + weights.positions * terms.positions


def joint_distances(joints: Tensor) -> Tensor:
    """Distance of any two joints of a frame: [..., V, 3] -> [..., V (V - 1) / 2]."""
    first, second = torch.triu_indices(joints.shape[-2], joints.shape[-2], offset=1)
    return (joints[..., first, :] - joints[..., second, :]).norm(dim=-1)


def reconstruction_loss(motion: Tensor, decoded: Tensor, *, variance: Tensor | float = 1.0) -> Tensor:
    """The squared error of inter-joint distances, which do not depend on place and heading.

    Divided by the data's `variance` of each distance, a wrist counts as much as a hip.
    """
    return masked_square_error(joint_distances(decoded), joint_distances(motion), variance=variance)


def masked_square_error(found: Tensor, wanted: Tensor, *, variance: Tensor | float = 1.0) -> Tensor:
    """The mean squared error over the finite entries of `wanted`, in units of `variance`."""
    seen = wanted.isfinite()
    # Masked before squaring: the gradient of NaN squared is NaN even where nothing flows.
    error = torch.where(seen, found - wanted, 0.0)
    return (error.square() / variance).sum() / seen.sum().clamp_min(1)


def balance_commitment(commitment: Tensor, latents: Tensor) -> Tensor:
    """The commitment in variances of the latents [N, C, D]: else they reduce it by shrinking."""
    spread = latents.detach().flatten(0, -3).var(dim=0, unbiased=False).mean()
    return commitment / spread.clamp_min(1e-8)


def assignment_logits(latents: Tensor, vectors: Tensor, *, temperature: float) -> Tensor:
    """Negative squared distance to each code over `temperature`: [N, C, D], [C, K, D] -> [N, C, K]."""
    squares = vectors.square().sum(dim=-1) - 2 * torch.einsum("...cd,ckd->...ck", latents, vectors)
    return -(squares + latents.square().sum(dim=-1, keepdim=True)) / temperature


def contrastive_loss(first: Tensor, second: Tensor, dances: Tensor, *, temperature: float) -> Tensor:
    """InfoNCE: each patch must find its match in the other crop, per channel and in both directions.

    `first` and `second` are [M, C, D], matched row by row; `dances` [M] says which dance each
    row shows. Rows of the same dance are no negatives: dances repeat themselves.
    """
    squares = torch.cdist(first.transpose(0, 1), second.transpose(0, 1)).square()  # [C, M, M]
    same_dance = (dances[:, None] == dances[None]) & ~torch.eye(len(dances), dtype=torch.bool)
    logits = (-squares / temperature).masked_fill(same_dance, -1e9)
    matches = torch.arange(len(dances)).expand(len(logits), -1)
    forward = F.cross_entropy(logits.flatten(0, 1), matches.flatten())
    backward = F.cross_entropy(logits.transpose(1, 2).flatten(0, 1), matches.flatten())
    return (forward + backward) / 2


def swapped_prediction_loss(
    first: Tensor, second: Tensor, vectors: Tensor, *, temperature: float, sharpness: float = 4.0
) -> Tensor:
    """Cross-entropy of each crop's soft words [M, C, D] against the other's, sharpened `sharpness` times."""
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
