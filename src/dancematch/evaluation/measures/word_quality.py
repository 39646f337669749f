"""How good words are as words: how many are used, how well they stay, how much of the motion they keep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dancematch.model.patches import PatchTokeniser
from dancematch.motion import CANONICAL, PERTURBATIONS, canonicalise, perturb
from dancematch.search.stage1.histogram import word_counts
from dancematch.types import SEEN_FROM, Fingerprint, FloatArray, Motion, WordArray

CHANGES = tuple(name for name in PERTURBATIONS if name != "crop")  # all that keep the dance's extent

_BODY = slice(CANONICAL.index("pelvis") + 1, None)  # joints that move in the canonical frame


@dataclass(frozen=True)
class WordQuality:
    """What a set of motions says about a model's words; by channel, or by perturbation."""

    usage: Mapping[str, float]  # share of the words that occur
    perplexity: Mapping[str, float]  # as many equally frequent words would be as varied
    agreement: Mapping[str, float]  # of the words before and after a change, mean of the channels
    error_cm: float  # of the decoded motion, a joint on average
    words: int  # counted a channel


def measure_words(model: PatchTokeniser, motions: Sequence[Motion], *, seed: int = 0) -> WordQuality:
    """Put the motions into words, plain and changed in every way, and back."""
    prints = [model.fingerprint(motion) for motion in motions]
    counts = np.stack([word_counts(spoken) for spoken in prints]).sum(axis=0, dtype=np.int64)
    agreement = {
        name: float(np.mean([
            edit_similarity(spoken.words, model.fingerprint(perturb(motion, name, seed=seed + number)).words)
            for number, (motion, spoken) in enumerate(zip(motions, prints, strict=True))
        ]))
        for name in CHANGES
    }  # fmt: skip
    errors = [decoding_error(model, *both) for both in zip(motions, prints, strict=True)]
    by_channel = dict(zip(model.channels, counts, strict=True))
    return WordQuality(
        usage={name: float((row > 0).mean()) for name, row in by_channel.items()},
        perplexity={name: perplexity(row) for name, row in by_channel.items()},
        agreement=agreement,
        error_cm=100 * float(np.mean(errors)),
        words=int(np.sum([(spoken.visibility >= SEEN_FROM).sum(axis=0).max() for spoken in prints])),
    )


def perplexity(counts: Sequence[int] | np.ndarray) -> float:
    """How many equally frequent words would be as varied: e to the entropy."""
    values = np.asarray(counts, dtype=np.float64)
    shares = values[values > 0] / max(values.sum(), 1)
    return float(np.exp(-(shares * np.log(shares)).sum()))


def edit_similarity(first: WordArray, second: WordArray) -> float:
    """1 - edits / words of the longer, by channel and on average: 1 for the same words in the same order.

    [steps, channels] each; all channels at once, a step of `first` after the other.
    """
    places = np.arange(len(second) + 1)
    row = np.tile(places, (first.shape[1], 1))  # [channels, steps of second + 1]
    for step, words in enumerate(first, start=1):
        changed = row[:, :-1] + (words[:, None] != second.T)
        best = np.concatenate([np.full((len(row), 1), step), np.minimum(row[:, 1:] + 1, changed)], axis=1)
        row = np.minimum.accumulate(best - places, axis=1) + places  # insertions: each costs a place
    return float(1 - (row[:, -1] / max(len(first), len(second))).mean())


def decoding_error(model: PatchTokeniser, motion: Motion, spoken: Fingerprint) -> float:
    """Metres that a joint of the decoded motion is off, on average over all that both show."""
    true, told = canonicalise(motion).joints, model.decode(spoken).joints
    length = min(len(true), len(told))
    distances: FloatArray = np.linalg.norm(true[:length, _BODY] - told[:length, _BODY], axis=2)
    return float(np.nanmean(distances))
