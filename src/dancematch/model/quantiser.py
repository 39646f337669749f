"""Vector quantisation with moving averages: latents -> words, one codebook per channel.

One contract: `forward(latents) -> (quantised, tokens, losses)`, and `lookup(tokens)` is its
inverse. All state lies in buffers, so that a saved training goes on exactly where it stopped.
Shapes: latents are [..., channel, dim], tokens [..., channel].
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dancematch.errors import InputError

EPSILON = 1e-5  # of the paper's c_k = m_k / max(n_k, epsilon)
RARE = 0.03  # a code used less than this share of its channel's mean is replaced


class QuantiserLosses(NamedTuple):
    """The quantiser's parts of the loss, each a mean over everything."""

    commitment: Tensor  # pulls latents to their codes
    codebook: Tensor  # pulls codes to their latents: without gradient here, the moving averages do it
    entropy: Tensor  # how evenly the words are used, 0..1: to be made large


class Quantised(NamedTuple):
    """Latents, quantised."""

    quantised: Tensor  # [..., channel, dim]; its gradient passes straight through to the latents
    tokens: Tensor  # [..., channel]
    losses: QuantiserLosses


def nearest_codes(latents: Tensor, codebook: Tensor) -> tuple[Tensor, Tensor]:
    """Return each latent's word, and its squared distance to every code less the latent's own square.

    latents [..., channel, dim], codebook [channel, word, dim] -> [..., channel], [..., channel, word]
    """
    rows = latents.flatten(0, -3).transpose(0, 1)  # [channel, row, dim]
    squares = (codebook**2).sum(dim=-1).unsqueeze(1)  # [channel, 1, word]
    offsets = (squares - 2 * rows @ codebook.transpose(1, 2)).transpose(0, 1)  # [row, channel, word]
    offsets = offsets.unflatten(0, latents.shape[:-2])
    return offsets.argmin(dim=-1), offsets


def lookup(tokens: Tensor, codebook: Tensor) -> Tensor:
    """Return the code of each word: [..., channel] -> [..., channel, dim]."""
    channels = torch.arange(len(codebook), device=tokens.device)
    return codebook[channels, tokens]


def word_counts(tokens: Tensor, words: int) -> Tensor:
    """Count how often each word occurs: [..., channel] -> [channel, word]."""
    channels = tokens.shape[-1]
    numbered = tokens + words * torch.arange(channels, device=tokens.device)
    return numbered.flatten().bincount(minlength=channels * words).unflatten(0, (channels, words))


def usage(tokens: Tensor, words: int) -> Tensor:
    """Return the share of each channel's `words` that occurs at all: [channel]."""
    return (word_counts(tokens, words) > 0).float().mean(dim=-1)


def perplexity(tokens: Tensor, words: int) -> Tensor:
    """Return the number of equally frequent words with the same entropy: [channel]."""
    counts = word_counts(tokens, words).float()
    return _entropy(counts / counts.sum(dim=-1, keepdim=True)).exp()


def _entropy(shares: Tensor) -> Tensor:
    return -(shares * shares.clamp_min(1e-12).log()).sum(dim=-1)


class Quantiser(nn.Module):
    """One codebook per channel, updated by exponential moving averages as in the paper.

    `decay` is the paper's alpha: at its .5 a code is little more than the mean of the last few
    patches it stood for. `suspended` leaves the codes unchanged (the paper's warm-up); `blend`
    is the share of quantisation, from 0 (latents pass unchanged) to 1.
    """

    codebook: Tensor  # [channel, word, dim]
    counts: Tensor  # [channel, word], the paper's n_k
    sums: Tensor  # [channel, word, dim], the paper's m_k
    said: Tensor  # [channel, word], occurrences in this epoch
    _suspended: Tensor
    _blend: Tensor

    def __init__(self, channels: int, words: int, dim: int, *, decay: float = 0.99) -> None:
        super().__init__()
        self.words = words
        self.decay = decay
        codes = torch.randn(channels, words, dim) / dim**0.5
        self.register_buffer("codebook", codes)
        self.register_buffer("counts", torch.ones(channels, words))
        self.register_buffer("sums", codes.clone())
        self.register_buffer("said", torch.zeros(channels, words, dtype=torch.long))
        self.register_buffer("_suspended", torch.tensor(False))
        self.register_buffer("_blend", torch.tensor(1.0))

    @property
    def suspended(self) -> bool:
        """Whether the codes stay unchanged."""
        return bool(self._suspended)

    @suspended.setter
    def suspended(self, value: bool) -> None:
        self._suspended.fill_(value)

    @property
    def blend(self) -> float:
        """The share of quantisation, 0..1."""
        return float(self._blend)

    @blend.setter
    def blend(self, value: float) -> None:
        if not 0 <= value <= 1:
            raise InputError(f"blend must lie between 0 and 1, got {value}")
        self._blend.fill_(value)

    def forward(self, latents: Tensor) -> Quantised:
        """Quantise; while training, also update the codes."""
        tokens, offsets = nearest_codes(latents, self.codebook)
        codes = self.lookup(tokens)
        losses = QuantiserLosses(
            commitment=F.mse_loss(latents, codes),
            codebook=F.mse_loss(codes, latents.detach()),
            entropy=self._evenness(latents, offsets),
        )
        passed = torch.lerp(latents.detach(), codes, self._blend)
        quantised = passed + (latents - latents.detach())  # straight through, and exactly the code
        if self.training:
            self.said += word_counts(tokens, self.words)
            if not self.suspended:
                self._update_codes(latents.detach(), tokens)
        return Quantised(quantised, tokens, losses)

    def lookup(self, tokens: Tensor) -> Tensor:
        """Return the codes of words: [..., channel] -> [..., channel, dim]."""
        return lookup(tokens, self.codebook)

    def _evenness(self, latents: Tensor, offsets: Tensor) -> Tensor:
        """Return the entropy of the words' mean soft shares, as a share of the largest possible.

        The typical distance to the nearest code is the temperature, so that no scale is assumed.
        """
        nearest = offsets.detach().amin(dim=-1) + (latents.detach() ** 2).sum(dim=-1)
        shares = (-offsets / nearest.mean().clamp_min(1e-6)).softmax(dim=-1)
        mean = shares.flatten(0, -3).mean(dim=0)  # [channel, word]
        limit = torch.log(torch.tensor(float(self.words)))
        return (_entropy(mean) / limit).mean()

    @torch.no_grad()
    def _update_codes(self, latents: Tensor, tokens: Tensor) -> None:
        """One step of the moving averages: n_k, m_k, and c_k = m_k / max(n_k, epsilon)."""
        new_counts, new_sums = _gather(latents, tokens, self.words)
        self.counts.mul_(self.decay).add_((1 - self.decay) * new_counts)
        self.sums.mul_(self.decay).add_((1 - self.decay) * new_sums)
        # A new tensor: the gradient of this very step still needs the old codes.
        self.codebook = self.sums / self.counts.clamp_min(EPSILON).unsqueeze(-1)

    def place(self, codes: Tensor) -> None:
        """Start again from these codes, each with the count of one patch."""
        self.codebook = codes
        self.sums.copy_(codes)
        self.counts.fill_(1)
        self.said.zero_()

    @torch.no_grad()
    def revive_rare(
        self, latents: Tensor, *, threshold: float = RARE, generator: torch.Generator | None = None
    ) -> int:
        """Replace codes whose moving count is below `threshold` of the mean, after a step; return how many.

        They become random latents with the mean count, so that they are not replaced again at once.
        """
        mean = self.counts.mean(dim=-1, keepdim=True)
        rare = self.counts < threshold * mean
        return self._revive(rare, latents, mean.expand_as(self.counts), generator)

    @torch.no_grad()
    def revive_unused(self, latents: Tensor, *, generator: torch.Generator | None = None) -> int:
        """Replace codes that did not occur in an epoch, as in the paper; return how many.

        They become random latents with the count of one patch: without it the next moving average would undo
        the replacement. The count of the epoch starts again.
        """
        revived = self._revive(self.said == 0, latents, torch.ones_like(self.counts), generator)
        self.said.zero_()
        return revived

    def _revive(
        self, dead: Tensor, latents: Tensor, counts: Tensor, generator: torch.Generator | None
    ) -> int:
        fresh = _random_rows(latents.detach().flatten(0, -3), self.words, generator)
        self.codebook = torch.where(dead.unsqueeze(-1), fresh, self.codebook)
        self.sums.copy_(torch.where(dead.unsqueeze(-1), fresh * counts.unsqueeze(-1), self.sums))
        self.counts.copy_(torch.where(dead, counts, self.counts))
        return int(dead.sum())


def _gather(latents: Tensor, tokens: Tensor, words: int) -> tuple[Tensor, Tensor]:
    """Count the latents of each word, and add them up: [channel, word], [channel, word, dim]."""
    rows = latents.flatten(0, -3).transpose(0, 1)  # [channel, row, dim]
    chosen = tokens.flatten(0, -2).transpose(0, 1)  # [channel, row]
    sums = rows.new_zeros(len(rows), words, rows.shape[-1])
    sums.scatter_add_(1, chosen.unsqueeze(-1).expand_as(rows), rows)
    return word_counts(tokens, words).to(rows.dtype), sums


def _random_rows(rows: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """Draw `count` rows per channel, different ones as far as there are so many: [channel, count, dim]."""
    channels = rows.shape[1]
    order = torch.rand(channels, len(rows), generator=generator).argsort(dim=-1)
    places = order.repeat(1, -(-count // len(rows)))[:, :count].to(rows.device)
    return rows[places, torch.arange(channels, device=rows.device).unsqueeze(-1)]
