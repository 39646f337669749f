"""Does a dance repeat itself, and after how long: peaks of its words' autocorrelation.

`paper` is the equation as printed, on word numbers. The numbers mean nothing (renaming the words
changes the result), so the default compares words: match or no match or, given the codebook, how
alike they are beyond what any two moments of the dance are. The latter finds more loops at the
same threshold: a second take of a step is seldom word for word the first.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError, ModelMismatchError
from dancematch.types import SEEN_FROM, Codebook, Fingerprint

Method = Literal["match", "paper"]
LEAST_PEAK = 0.6  # theta of the paper
LEAST_SIMILARITY = (
    0.4  # the same for similarity, which is 0 where the dance is as like itself as at any distance
)
LEAST_PEAKS = 2
FIRST_LAG = 2  # words: neighbours are similar in every dance
AS_HIGH = 0.85  # of the highest peak: the first such is the period, later ones its multiples

Curve = NDArray[np.float64]


@dataclass(frozen=True)
class Period:
    """After how long a dance repeats itself, and how truly, at the nearest whole word: 1 is word for word."""

    seconds: float
    strength: float
    peaks: int  # of the autocorrelation that are high enough


def period_of(
    fingerprint: Fingerprint,
    codebook: Codebook | None = None,
    method: Method = "match",
    *,
    least_peak: float | None = None,
    least_peaks: int = LEAST_PEAKS,
) -> Period | None:
    """The period of a dance; None if its autocorrelation has too few high peaks.

    A peak is a lag, of 2 words to half the dance, that is strictly better than both its neighbours.
    Of a move that is danced three times only the first return lies there; its second counts
    too, beyond half the dance, at twice the lag of the first. `paper` has peaks at any lag.
    """
    curve = autocorrelation(fingerprint, codebook, method)
    compared = codebook is not None and method == "match"
    least = (LEAST_SIMILARITY if compared else LEAST_PEAK) if least_peak is None else least_peak
    high = [_apex(curve, lag) for lag in _strict_peaks(curve) if lag >= FIRST_LAG and curve[lag] > least]
    last = len(curve) if method == "paper" else len(fingerprint) // 2
    peaks = [peak for peak in high if peak.lag <= last]
    twice = [2 * peak.place for peak in peaks]
    again = [peak for peak in high if peak.lag > last and any(abs(peak.lag - lag) <= 1 for lag in twice)]
    count = len(peaks) + len(again)
    if not peaks or count < least_peaks:
        return None
    highest = max(peak.height for peak in peaks)
    chosen = next(peak for peak in peaks if peak.height >= AS_HIGH * highest)
    return Period(chosen.place * fingerprint.seconds_per_word, float(curve[chosen.lag]), count)


class _Apex(NamedTuple):
    """Where a peak is and how high, between words: a period is seldom a whole number of them."""

    lag: int
    place: float
    height: float


def _apex(curve: Curve, lag: int) -> _Apex:
    """Where two equally steep lines through a peak and its neighbours meet.

    Words agree the less the more their moments are apart, evenly: a line on either side. At half a
    word from its lag a peak shows only part of its height, and its double, a whole number of
    words, would pass for the period.
    """
    before, here, after = (float(value) for value in curve[lag - 1 : lag + 2])
    steep = here - min(before, after)
    return _Apex(lag, lag + (after - before) / (2 * steep), here + abs(after - before) / 2)


def autocorrelation(
    fingerprint: Fingerprint, codebook: Codebook | None = None, method: Method = "match"
) -> Curve:
    """How similar the dance is to itself so many words later, by lag from 0; NaN where nothing is seen.

    To two thirds of the dance and a little beyond, so that a third time can be a peak; `paper` to the end.
    """
    if method not in get_args(Method):
        raise InputError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    if codebook is not None and codebook.model_id != fingerprint.model_id:
        raise ModelMismatchError(
            f"these words are of the model {fingerprint.model_id}, the codebook of {codebook.model_id}; "
            "use the codebook of the model that made the words"
        )
    if method == "paper":
        return _of_numbers(fingerprint)
    return _of_matches(fingerprint) if codebook is None else _of_similarity(fingerprint, codebook)


def _of_numbers(fingerprint: Fingerprint) -> Curve:
    """The paper's equation; over several channels the mean of those seen half the time that vary."""
    length = len(fingerprint)
    centred = fingerprint.words - fingerprint.words.mean(axis=0)  # [T, C]
    power = (centred**2).sum(axis=0)
    used = (power > 0) & ((fingerprint.visibility >= SEEN_FROM).mean(axis=0) >= 0.5)
    if not used.any():
        return np.full(length, np.nan)
    centred, power = centred[:, used], power[used]
    sums = [(centred[: length - lag] * centred[lag:]).sum(axis=0) for lag in range(length)]
    return np.asarray((np.array(sums) / power).mean(axis=1))


def _of_matches(fingerprint: Fingerprint) -> Curve:
    """The share of words that are the same again, each lag by the words it has."""
    words, seen = fingerprint.words, fingerprint.visibility >= SEEN_FROM
    same = [(words[: len(words) - lag] == words[lag:]) for lag in _lags(words)]
    return _means([one.astype(np.float64) for one in same], seen)


def _of_similarity(fingerprint: Fingerprint, codebook: Codebook) -> Curve:
    """The paper's equation with the words' vectors for their numbers, unbiased.

    Similarity stands for the product of two vectors; taking away the mean over all pairs of moments
    is what centring the vectors would do.
    """
    words, seen = fingerprint.words, fingerprint.visibility >= SEEN_FROM
    channels = np.arange(words.shape[1])
    like = [codebook.similarity[channels, words[: len(words) - lag], words[lag:]] for lag in _lags(words)]
    usual, pairs = 0.0, 0
    for channel in channels:
        counts = np.bincount(words[seen[:, channel], channel], minlength=codebook.vocabulary)
        usual += float(counts @ codebook.similarity[channel].astype(np.float64) @ counts)
        pairs += int(counts.sum()) ** 2
    usual /= max(pairs, 1)
    if usual > 1 - 1e-6:  # the dancer stands still
        return np.full(len(like), np.nan)
    return (_means([one.astype(np.float64) for one in like], seen) - usual) / (1 - usual)


def _lags(words: NDArray[np.uint16]) -> range:
    return range(min(2 * len(words) // 3 + 3, len(words)))


def _means(values: list[Curve], seen: NDArray[np.bool_]) -> Curve:
    """The mean at each lag over the moments and channels that are seen at both ends."""
    curve = np.full(len(values), np.nan)
    for lag, value in enumerate(values):
        both = seen[: len(seen) - lag] & seen[lag:]
        if both.any():
            curve[lag] = value[both].mean()
    return curve


def _strict_peaks(curve: Curve) -> list[int]:
    rises = np.diff(curve)
    return [lag + 1 for lag, (up, down) in enumerate(pairwise(rises)) if up > 0 > down]
