"""The vocabulary of a model: how often each word is used, which words are alike, and what each looks like."""

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
_CONTEXT = 2  # repeats of a word before and after it: a model's decoder sees no farther


@dataclass(frozen=True)
class SimilarWord:
    """A word that is like another word."""

    word: int
    similarity: float


@dataclass(frozen=True)
class WordCount:
    """One word of one channel, as it is used."""

    channel: str
    word: int
    count: int  # steps in which it was seen
    share: float  # of all words of its channel
    nearest: tuple[SimilarWord, ...]  # most alike first


@dataclass(frozen=True, eq=False)
class WordMotion:
    """The movement of a word: its channel's joints, [frames, joints, 3] in the canonical frame."""

    channel: str
    word: int
    joints: FloatArray


def count_words(tokeniser: Tokeniser, dances: Sequence[Fingerprint]) -> NDArray[np.intp]:
    """How often each word was seen: [channels, words]."""
    counts = np.zeros((len(tokeniser.codebook.channels), tokeniser.vocabulary), dtype=np.intp)
    for fingerprint in dances:
        require_words_of(tokeniser, fingerprint)
        for channel, row in enumerate(counts):
            seen = fingerprint.visibility[:, channel] >= SEEN_FROM
            row += np.bincount(fingerprint.words[seen, channel], minlength=len(row))
    return counts


def list_words(
    tokeniser: Tokeniser, dances: Sequence[Fingerprint], *, nearest: int = NEAREST
) -> list[WordCount]:
    """Every word of every channel with its use in `dances`: channel by channel, most common first."""
    book = tokeniser.codebook
    words = []
    for channel, counts in enumerate(count_words(tokeniser, dances)):
        total = max(int(counts.sum()), 1)
        for word in np.argsort(-counts, kind="stable").tolist():
            alike = book.similarity[channel, word].copy()
            alike[word] = -np.inf
            best = np.argsort(-alike, kind="stable")[: min(nearest, len(alike) - 1)].tolist()
            neighbours = tuple(SimilarWord(other, round(float(alike[other]), 4)) for other in best)
            count = int(counts[word])
            words.append(WordCount(book.channels[channel], word, count, count / total, neighbours))
    return words


def channel_joints(tokeniser: Tokeniser) -> dict[str, tuple[str, ...]]:
    """The joints of each channel."""
    channels = tokeniser.codebook.channels
    for parts in LAYOUTS.values():
        if tuple(parts) == channels:
            return dict(parts)
    raise ModelError(f"the joints of the channels {', '.join(channels)} are not known")


def neutral_pose(tokeniser: Tokeniser, dances: Sequence[Fingerprint]) -> FloatArray:
    """The body with the most common word in every channel: [joints, 3] on the canonical skeleton."""
    common = count_words(tokeniser, dances).argmax(axis=1)
    rows = np.tile(common, (2 * _CONTEXT + 1, 1))
    pose: FloatArray = _decode(tokeniser, rows).joints.mean(axis=0)
    return pose


def decode_words(tokeniser: Tokeniser, dances: Sequence[Fingerprint]) -> Iterator[WordMotion]:
    """Every word of every channel as a movement of its joints, while the rest of the body is neutral.

    Other channels with the same joints have the words they have most often together with it, marked unseen:
    otherwise they would pull the joints elsewhere.
    """
    joints = channel_joints(tokeniser)
    common = count_words(tokeniser, dances).argmax(axis=1)
    for channel, name in enumerate(joints):
        sharing = [
            other
            for other, (their_name, theirs) in enumerate(joints.items())
            if their_name != name and set(theirs) & set(joints[name])
        ]
        rows = np.tile(common, (tokeniser.vocabulary, 1))  # one row per word
        rows[:, sharing] = _companions(tokeniser, dances, channel)[:, sharing]
        rows[:, channel] = np.arange(tokeniser.vocabulary)
        # One after the other, since one long decoding is much quicker than many short ones.
        times = 2 * _CONTEXT + 1
        moving = _decode(tokeniser, np.repeat(rows, times, axis=0), unseen=sharing)
        places = [moving.skeleton.index(joint) for joint in joints[name]]
        steps = moving.joints[:, places].reshape(len(rows), times, -1, len(places), 3)
        yield from (WordMotion(name, word, steps[word, _CONTEXT]) for word in range(len(rows)))


def _companions(tokeniser: Tokeniser, dances: Sequence[Fingerprint], channel: int) -> NDArray[np.intp]:
    """The most frequent word of every channel together with each word of `channel`: [words, channels]."""
    size, channels = tokeniser.vocabulary, len(tokeniser.codebook.channels)
    companions = np.tile(count_words(tokeniser, dances).argmax(axis=1), (size, 1))
    if not dances:
        return companions
    words = np.concatenate([fingerprint.words for fingerprint in dances]).astype(np.intp)
    seen = np.concatenate([fingerprint.visibility for fingerprint in dances]) >= SEEN_FROM
    for other in range(channels):
        both = words[seen[:, channel] & seen[:, other]]
        together = np.bincount(both[:, channel] * size + both[:, other], minlength=size * size)
        table = together.reshape(size, size)
        used = table.any(axis=1)
        companions[used, other] = table[used].argmax(axis=1)
    return companions


def _decode(tokeniser: Tokeniser, words: NDArray[np.intp], unseen: Sequence[int] = ()) -> Motion:
    visibility = np.ones(words.shape, dtype=np.float32)
    visibility[:, list(unseen)] = 0
    return tokeniser.decode(
        Fingerprint(
            words.astype(np.uint16),
            tokeniser.vocabulary,
            tokeniser.seconds_per_word,
            tokeniser.model_id,
            visibility=visibility,
        )
    )
