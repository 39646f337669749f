"""The words a model can say: how often each is said, which are alike, and how each one looks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import ModelError
from dancematch.model.kmeans import require_words_of
from dancematch.model.parts import LAYOUTS
from dancematch.model.tokeniser import Tokeniser
from dancematch.types import SEEN_FROM, Fingerprint, FloatArray, Motion

NEAREST = 5  # alike words named with each
_CONTEXT = 2  # times that a word is also said before and after: models look that far around, not farther


@dataclass(frozen=True)
class SimilarWord:
    """A word that is like another one."""

    word: int
    similarity: float


@dataclass(frozen=True)
class WordUsage:
    """One word of one channel, as it is used."""

    channel: str
    word: int
    count: int  # times it was said and seen
    share: float  # of all that its channel said
    nearest: tuple[SimilarWord, ...]  # most alike first


@dataclass(frozen=True, eq=False)
class WordMotion:
    """What a word looks like: its channel's joints, [frames, joints, 3] in the canonical frame."""

    channel: str
    word: int
    joints: FloatArray


def count_words(tokeniser: Tokeniser, said: Sequence[Fingerprint]) -> NDArray[np.intp]:
    """How often each word was said and seen: [channels, words]."""
    counts = np.zeros((len(tokeniser.codebook.channels), tokeniser.vocabulary), dtype=np.intp)
    for fingerprint in said:
        require_words_of(tokeniser.model_id, fingerprint)
        for channel, row in enumerate(counts):
            seen = fingerprint.visibility[:, channel] >= SEEN_FROM
            row += np.bincount(fingerprint.words[seen, channel], minlength=len(row))
    return counts


def list_words(
    tokeniser: Tokeniser, said: Sequence[Fingerprint], *, nearest: int = NEAREST
) -> list[WordUsage]:
    """Every word of every channel with its use in `said`: channel by channel, most common first."""
    book = tokeniser.codebook
    words = []
    for channel, counts in enumerate(count_words(tokeniser, said)):
        total = max(int(counts.sum()), 1)
        for word in np.argsort(-counts, kind="stable").tolist():
            alike = book.similarity[channel, word].copy()
            alike[word] = -np.inf  # of course it is like itself
            best = np.argsort(-alike, kind="stable")[: min(nearest, len(alike) - 1)].tolist()
            neighbours = tuple(SimilarWord(other, round(float(alike[other]), 4)) for other in best)
            count = int(counts[word])
            words.append(WordUsage(book.channels[channel], word, count, count / total, neighbours))
    return words


def channel_joints(tokeniser: Tokeniser) -> dict[str, tuple[str, ...]]:
    """Which joints each channel speaks of."""
    channels = tokeniser.codebook.channels
    for parts in LAYOUTS.values():
        if tuple(parts) == channels:
            return dict(parts)
    raise ModelError(f"which joints the channels {', '.join(channels)} speak of is not known")


def neutral_pose(tokeniser: Tokeniser, said: Sequence[Fingerprint]) -> FloatArray:
    """The body while every channel says its most common word: [joints, 3] on the canonical skeleton."""
    common = count_words(tokeniser, said).argmax(axis=1)
    spoken = np.tile(common, (2 * _CONTEXT + 1, 1))
    pose: FloatArray = _decoded(tokeniser, spoken).joints.mean(axis=0)
    return pose


def decode_words(tokeniser: Tokeniser, said: Sequence[Fingerprint]) -> Iterator[WordMotion]:
    """Every word of every channel as a movement of its joints, while the rest of the body is neutral.

    Channels that share joints with it would speak against it: they say what they say most often
    together with it, unseen.
    """
    joints = channel_joints(tokeniser)
    common = count_words(tokeniser, said).argmax(axis=1)
    for channel, name in enumerate(joints):
        sharing = [
            other
            for other, (their_name, theirs) in enumerate(joints.items())
            if their_name != name and set(theirs) & set(joints[name])
        ]
        spoken = np.tile(common, (tokeniser.vocabulary, 1))  # a word a row
        spoken[:, sharing] = _company(tokeniser, said, channel)[:, sharing]
        spoken[:, channel] = np.arange(tokeniser.vocabulary)
        # One after the other, since one long decoding is much quicker than many short ones.
        times = 2 * _CONTEXT + 1
        moving = _decoded(tokeniser, np.repeat(spoken, times, axis=0), unseen=sharing)
        places = [moving.skeleton.index(joint) for joint in joints[name]]
        steps = moving.joints[:, places].reshape(len(spoken), times, -1, len(places), 3)
        yield from (WordMotion(name, word, steps[word, _CONTEXT]) for word in range(len(spoken)))


def _company(tokeniser: Tokeniser, said: Sequence[Fingerprint], channel: int) -> NDArray[np.intp]:
    """What every channel says most often while `channel` says each word: [words, channels]."""
    size, channels = tokeniser.vocabulary, len(tokeniser.codebook.channels)
    company = np.tile(count_words(tokeniser, said).argmax(axis=1), (size, 1))
    if not said:
        return company
    words = np.concatenate([fingerprint.words for fingerprint in said]).astype(np.intp)
    seen = np.concatenate([fingerprint.visibility for fingerprint in said]) >= SEEN_FROM
    for other in range(channels):
        both = words[seen[:, channel] & seen[:, other]]
        together = np.bincount(both[:, channel] * size + both[:, other], minlength=size * size)
        table = together.reshape(size, size)
        spoken = table.any(axis=1)
        company[spoken, other] = table[spoken].argmax(axis=1)
    return company


def _decoded(tokeniser: Tokeniser, spoken: NDArray[np.intp], unseen: Sequence[int] = ()) -> Motion:
    visibility = np.ones(spoken.shape, dtype=np.float32)
    visibility[:, list(unseen)] = 0
    return tokeniser.decode(
        Fingerprint(
            spoken.astype(np.uint16),
            tokeniser.vocabulary,
            tokeniser.seconds_per_word,
            tokeniser.model_id,
            visibility=visibility,
        )
    )
