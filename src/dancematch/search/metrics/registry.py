"""Stage two's measures of similarity: how similar two word sequences are, 0 nothing in common, 1 the same.

All compare one channel (body part) at a time and seen words only; a channel in which either clip shows
nothing has the value NaN: it says nothing. `METRICS` holds the defaults, which do not change when a
codebook's words are numbered otherwise; `PAPER` holds the same names as the paper prints them. Anything
that has a name and `similarities` can be registered beside them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import NamedTuple, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError, ModelMismatchError
from dancematch.types import SEEN_FROM, Codebook, Fingerprint, FloatArray, WordArray

GAP_STRENGTH = 0.5  # beta of ERP: what leaving a word out costs, of its distance to the gap


class Metric(Protocol):
    """A way to say how similar a clip and each of its candidates are."""

    @property
    def name(self) -> str:
        """What weights and a match's parts call it."""

    def similarities(
        self, query: Fingerprint, candidates: Sequence[Fingerprint], codebook: Codebook
    ) -> FloatArray:
        """[channels, candidates]: 1 the same, 0 nothing in common, NaN where either shows nothing."""


class ChannelWords(NamedTuple):
    """The seen words of one channel of many clips, end to end."""

    flat: WordArray
    offsets: NDArray[np.int64]  # [clips + 1]; clip c has flat[offsets[c]:offsets[c + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many words each clip has."""
        return np.diff(self.offsets)


@dataclass(frozen=True, eq=False)
class PackedCandidates(Sequence[Fingerprint]):
    """Candidates laid out once for all metrics; goes wherever a sequence of fingerprints does."""

    fingerprints: tuple[Fingerprint, ...]
    channels: tuple[ChannelWords, ...]

    @classmethod
    def of(cls, fingerprints: Iterable[Fingerprint]) -> Self:
        """Pack fingerprints of one model; what is packed already stays as it is."""
        if isinstance(fingerprints, cls):
            return fingerprints
        held = tuple(fingerprints)
        if len({_kind(fingerprint) for fingerprint in held}) > 1:
            raise ModelMismatchError(
                "expected candidates of one model, got several; fingerprint them with the same model"
            )
        return cls(held, _channels(held) if held else ())

    def __len__(self) -> int:
        return len(self.fingerprints)

    @overload
    def __getitem__(self, index: int) -> Fingerprint: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Fingerprint]: ...
    def __getitem__(self, index: int | slice) -> Fingerprint | Sequence[Fingerprint]:
        return self.fingerprints[index]


def _kind(fingerprint: Fingerprint) -> tuple[str, int, int]:
    return fingerprint.model_id, fingerprint.vocabulary, fingerprint.words.shape[1]


def _channels(fingerprints: Sequence[Fingerprint]) -> tuple[ChannelWords, ...]:
    words = np.concatenate([fingerprint.words for fingerprint in fingerprints])  # [all steps, channels]
    seen = np.concatenate([fingerprint.visibility for fingerprint in fingerprints]) >= SEEN_FROM
    ends = np.cumsum([0, *map(len, fingerprints)])
    counted = np.zeros((len(words) + 1, words.shape[1]), dtype=np.int64)
    np.cumsum(seen, axis=0, out=counted[1:])
    return tuple(
        ChannelWords(words[shown, channel], np.ascontiguousarray(counted[ends, channel]))
        for channel, shown in enumerate(np.ascontiguousarray(seen.T))
    )


class ComparedChannel(NamedTuple):
    """The seen words of one channel: the query's, of which there are some, and the candidates'."""

    query: WordArray
    words: ChannelWords
    codebook: Codebook
    number: int

    @property
    def sequences(self) -> tuple[WordArray, WordArray, NDArray[np.int64]]:
        """What every kernel begins with."""
        return self.query, self.words.flat, self.words.offsets

    @property
    def mean_lengths(self) -> NDArray[np.floating]:
        """The mean of the query's length and each candidate's."""
        return (len(self.query) + self.words.lengths) / 2


@dataclass(frozen=True)
class WordMetric:
    """A metric that compares the words of one channel at a time.

    `compare` gives one value per candidate; its value for one without words is ignored.
    """

    name: str
    compare: Callable[[ComparedChannel], NDArray[np.floating]]

    def similarities(
        self, query: Fingerprint, candidates: Sequence[Fingerprint], codebook: Codebook
    ) -> FloatArray:
        """[channels, candidates]: 1 the same, 0 nothing in common, NaN where either shows nothing."""
        packed = PackedCandidates.of(candidates)
        for fingerprint in (query, *packed[:1]):
            _require_model(fingerprint, codebook)
        values = np.full((len(codebook.channels), len(packed)), np.nan, dtype=np.float32)
        for number, words in enumerate(packed.channels):
            asked = query.words[query.visibility[:, number] >= SEEN_FROM, number]
            if len(asked):
                shown = words.lengths > 0
                compared = self.compare(ComparedChannel(asked, words, codebook, number))
                values[number, shown] = np.clip(compared[shown], 0, 1)
        return values


def _require_model(fingerprint: Fingerprint, codebook: Codebook) -> None:
    expected = codebook.model_id, codebook.vocabulary, len(codebook.channels)
    if _kind(fingerprint) != expected:
        raise ModelMismatchError(
            "expected words of the model {}, {} words in {} channels, got {}, {} in {}; "
            "put the dance into words of this model".format(*expected, *_kind(fingerprint))
        )


class WordDistances(NamedTuple):
    """How far apart the words of a codebook are: Euclidean, 1 = the median over its pairs of words."""

    distances: FloatArray  # [channels, words, words]
    gaps: FloatArray  # [channels, words] to the mean of all words


@lru_cache(maxsize=4)
def measure_distances(codebook: Codebook) -> WordDistances:
    """The distances between a codebook's words, measured once for as long as it is in use."""
    pairs, gaps = zip(*map(_distances_of_channel, codebook.vectors), strict=True)
    known = WordDistances(np.stack(pairs), np.stack(gaps))
    for array in known:
        array.flags.writeable = False
    return known


def _distances_of_channel(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    places = vectors.astype(np.float64)
    squares = (places**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * places @ places.T, 0))
    np.fill_diagonal(distances, 0)
    gaps = np.linalg.norm(places - places.mean(axis=0), axis=1)
    apart = distances[distances > 1e-6 * distances.max()]  # words in one place say nothing about the scale
    scale = float(np.median(apart)) if apart.size else 1.0
    return (distances / scale).astype(np.float32), (gaps / scale).astype(np.float32)


# The kernels are imported where they are used: numba takes a second to load, and weights need none of it.


def _histogram(channel: ComparedChannel) -> NDArray[np.floating]:
    from dancematch.search.metrics.ngram import ngram_cosines

    return ngram_cosines(*channel.sequences, order=1)


def _ngram(channel: ComparedChannel) -> NDArray[np.floating]:
    from dancematch.search.metrics.ngram import short_runs

    return short_runs(*channel.sequences)


def _lcss(channel: ComparedChannel) -> NDArray[np.floating]:
    from dancematch.search.metrics.bit_parallel import common_subsequence

    common = common_subsequence(*channel.sequences, channel.codebook.vocabulary)
    return common / channel.mean_lengths


def _edr(channel: ComparedChannel) -> NDArray[np.floating]:
    from dancematch.search.metrics.bit_parallel import levenshtein

    edits = levenshtein(*channel.sequences, channel.codebook.vocabulary)
    return 1 - edits / np.maximum(len(channel.query), channel.words.lengths)


def _twed(channel: ComparedChannel, *, original: bool = False) -> NDArray[np.floating]:
    from dancematch.search.metrics.elastic import twed

    distances = twed(*channel.sequences, original=original)
    return np.exp(-distances / (2 * channel.mean_lengths))


def _erp(channel: ComparedChannel) -> NDArray[np.floating]:
    known = measure_distances(channel.codebook)
    return _erp_similarity(channel, known.distances[channel.number], known.gaps[channel.number])


def _erp_as_printed(channel: ComparedChannel) -> NDArray[np.floating]:
    """ERP on the words' numbers, with the gap 0: what it says depends on how the words are numbered."""
    numbers = np.arange(channel.codebook.vocabulary, dtype=np.float32)
    return _erp_similarity(channel, _number_distances(len(numbers)), numbers)


def _erp_similarity(
    channel: ComparedChannel, distances: FloatArray, gaps: FloatArray
) -> NDArray[np.floating]:
    from dancematch.search.metrics.elastic import erp

    edits = erp(*channel.sequences, distances, np.float32(GAP_STRENGTH) * gaps)
    return np.exp(-edits / channel.mean_lengths)


def _dtw(channel: ComparedChannel) -> NDArray[np.floating]:
    return _dtw_similarity(channel, measure_distances(channel.codebook).distances[channel.number])


def _dtw_as_printed(channel: ComparedChannel) -> NDArray[np.floating]:
    """DTW where two words either agree or not."""
    return _dtw_similarity(channel, np.minimum(_number_distances(channel.codebook.vocabulary), 1))


def _dtw_similarity(channel: ComparedChannel, distances: FloatArray) -> NDArray[np.floating]:
    """DTW as a similarity. The paper prints none, because it gives DTW no weight; the form is ERP's."""
    from dancematch.search.metrics.elastic import dtw

    return np.exp(-dtw(*channel.sequences, distances) / channel.mean_lengths)


def _late(channel: ComparedChannel) -> NDArray[np.floating]:
    from dancematch.search.metrics.late_interaction import late_interaction

    return late_interaction(*channel.sequences, channel.codebook.similarity[channel.number])


@lru_cache(maxsize=1)
def _number_distances(vocabulary: int) -> FloatArray:
    numbers = np.arange(vocabulary, dtype=np.float32)
    distances: FloatArray = np.abs(numbers[:, None] - numbers)
    distances.flags.writeable = False
    return distances


def _by_name(*metrics: Metric) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


_REGISTERED = _by_name(
    WordMetric("histogram", _histogram),
    WordMetric("twed", _twed),
    WordMetric("twed-marteau", partial(_twed, original=True)),
    WordMetric("lcss", _lcss),
    WordMetric("edr", _edr),
    WordMetric("erp", _erp),
    WordMetric("ngram", _ngram),
    WordMetric("dtw", _dtw),
    WordMetric("late", _late),
)
METRICS: Mapping[str, Metric] = MappingProxyType(_REGISTERED)
PAPER: Mapping[str, Metric] = MappingProxyType(
    {name: METRICS[name] for name in ("histogram", "twed", "lcss", "edr", "ngram")}
    | _by_name(WordMetric("erp", _erp_as_printed), WordMetric("dtw", _dtw_as_printed))
)
PRESETS: Mapping[str, Mapping[str, Metric]] = MappingProxyType({"default": METRICS, "paper": PAPER})

# What the values mean to people, by metric, in the order of their explanation; `order` is the engine's own.
MEANINGS: Mapping[str, str] = {
    "histogram": "Both perform the same movements equally often, in whatever order; rare ones count more.",
    "order": "The same movements follow one another in the same order, at the same place and an even tempo. "
    "0 is what unrelated dances reach, 1 is a copy.",
    "ngram": "Both share the same short runs of movements, one directly after the other.",
    "lcss": "The longest series of movements that both perform in the same order, with others in between.",
    "edr": "How few movements would have to be exchanged, added or left out to turn one into the other.",
    "erp": "The same, where exchanging a movement for a similar one costs less.",
    "twed": "The same, where a movement that comes early or late costs something too.",
    "dtw": "How alike the movements are if each may last longer or shorter than its counterpart.",
    "late": "How alike each movement of the clip is to the most similar movement of the dance.",
}


def register(metric: Metric) -> None:
    """Register one more metric, such as a learned similarity, so that it can have a weight."""
    if not metric.name:
        raise InputError("a metric needs a name to be registered by, got an empty one")
    if metric.name in METRICS:
        raise InputError(f"there is a metric {metric.name!r} already; register yours by another name")
    _REGISTERED[metric.name] = metric


def combine(parts: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """The weighted mean of the metrics' values, over those that have one; NaN where none has.

    `parts` are arrays of one shape by metric. A metric that has a weight and no part, or no weight,
    does not count.
    """
    counted = {name: weight for name, weight in weights.items() if weight > 0 and name in parts}
    if not counted:
        raise InputError(
            f"expected a value of at least one of the weighted metrics {', '.join(weights)}, "
            f"got {', '.join(parts) or 'none'}"
        )
    values = np.stack([parts[name] for name in counted])  # [metrics, ...]
    shares = np.array(list(counted.values())).reshape(-1, *[1] * (values.ndim - 1))
    missing = np.isnan(values)
    if missing.any():
        shares, values = shares * ~missing, np.where(missing, 0, values)
    total = shares.sum(axis=0)
    mean = (shares * values).sum(axis=0) / np.where(total > 0, total, np.nan)
    return np.asarray(mean, dtype=np.float32)
