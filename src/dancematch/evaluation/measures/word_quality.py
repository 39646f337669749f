"""Quality of a model's words apart from any search: usage, stability, and what they keep of a motion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

from dancematch.model.patches import PatchTokeniser
from dancematch.motion import CANONICAL, PERTURBATIONS, canonicalise, perturb
from dancematch.search.stage1.histogram import word_counts
from dancematch.types import SEEN_FROM, Fingerprint, FloatArray, Motion, WordArray

CHANGES = tuple(name for name in PERTURBATIONS if name != "crop")  # all that keep the motion's length

_BODY = slice(CANONICAL.index("pelvis") + 1, None)  # joints that move in the canonical frame


@dataclass(frozen=True)
class WordQuality:
    """What a set of motions shows about a model's words; by channel, or by perturbation."""

    usage: Mapping[str, float]  # share of the vocabulary that occurs
    perplexity: Mapping[str, float]  # number of equally frequent words with the same entropy
    agreement: Mapping[str, float]  # of the words before and after a perturbation, mean of the channels
    error_cm: float  # of the decoded motion, mean over joints
    words: int  # counted per channel


def measure_words(model: PatchTokeniser, motions: Sequence[Motion], *, seed: int = 0) -> WordQuality:
    """The quality of the words of these motions, plain, perturbed in every way, and decoded."""
    prints = [model.fingerprint(motion) for motion in motions]
    counts = np.stack([word_counts(one) for one in prints]).sum(axis=0, dtype=np.int64)
    agreement = {
        name: float(np.mean([
            edit_similarity(one.words, model.fingerprint(perturb(motion, name, seed=seed + number)).words)
            for number, (motion, one) in enumerate(zip(motions, prints, strict=True))
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
        words=int(np.sum([(one.visibility >= SEEN_FROM).sum(axis=0).max() for one in prints])),
    )


def perplexity(counts: Sequence[int] | np.ndarray) -> float:
    """The number of equally frequent words with the same entropy: e to the entropy."""
    values = np.asarray(counts, dtype=np.float64)
    shares = values[values > 0] / max(values.sum(), 1)
    return float(np.exp(-(shares * np.log(shares)).sum()))


def edit_similarity(first: WordArray, second: WordArray) -> float:
    """1 - Levenshtein distance / words of the longer, mean over the channels; both [steps, channels]."""
    edits = np.array(
        [Levenshtein.distance(*both) for both in zip(first.T.tolist(), second.T.tolist(), strict=True)]
    )
    return float(1 - (edits / max(len(first), len(second))).mean())


def decoding_error(model: PatchTokeniser, motion: Motion, words: Fingerprint) -> float:
    """The mean distance, in metres, of a decoded joint from the true one, over all that both show."""
    true, decoded = canonicalise(motion).joints, model.decode(words).joints
    length = min(len(true), len(decoded))
    distances: FloatArray = np.linalg.norm(true[:length, _BODY] - decoded[:length, _BODY], axis=2)
    return float(np.nanmean(distances))
