"""Why a match is one: every metric by body part, the words that agree and when, repeats, period, synchrony.

All numbers are those of the search: a match names its track and segment, and the engine still has their
words and statistics.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import UnknownDanceError
from dancematch.search.engine import PASSAGES, Engine, Query
from dancematch.search.metrics.registry import PRESETS
from dancematch.search.settings import DEFAULT_SETTINGS, Settings
from dancematch.search.stage2.local_alignment import AlignedSegment, align_segments, group_repeats
from dancematch.search.stage2.passage_holders import PassageHolders, count_holders
from dancematch.search.stage2.periodicity import Period, period_of
from dancematch.search.stage2.scoring import score_segments
from dancematch.search.stage2.synchrony import SynchronyPeak, synchrony_peak
from dancematch.search.stage2.variant import Variant
from dancematch.search.stage2.word_alignment import TEMPI, word_evidence
from dancematch.search.words.entries import Entries
from dancematch.search.words.word_store import SegmentBounds
from dancematch.types import SEEN_FROM, Codebook, Fingerprint, FloatArray, Match, Passage, Span

RARE_PASSAGES = 3  # whose rarity an explanation measures: each is compared with all dances
SHARED_WORDS = 12  # words that an explanation names
BESIDE_SECONDS = 1.0  # by which a pair of words may lie beside the line of the match and still be of it

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class MetricValue:
    """The value of one metric: 1 the same, 0 nothing in common."""

    weight: float  # in the score
    overall: float | None
    by_channel: dict[str, float]  # of the body parts that both show


@dataclass(frozen=True)
class SharedWord:
    """A word of the query that counts for the match."""

    channel: str
    word: int
    share: float  # of all evidence
    same: float  # of its moments in which the dance has the very same word, not just one like it
    query: tuple[Span, ...]
    reference: tuple[Span, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a match is one."""

    metrics: dict[str, MetricValue]
    words: tuple[SharedWord, ...]  # those with most evidence first
    passages: tuple[tuple[Passage, ...], ...]  # per passage of the query: all its places in the dance
    period: Period | None  # of the known dance; None if it does not repeat itself
    query_period: Period | None
    synchrony: SynchronyPeak | None  # None where the bones of either were not seen
    rarity: tuple[PassageHolders, ...] = ()  # of the first passages, in their order

    def __repr__(self) -> str:
        known = {name: metric.overall for name, metric in self.metrics.items()}
        scores = ", ".join(f"{name} {value:.2f}" for name, value in known.items() if value is not None)
        return f"<Explanation {scores}; {len(self.words)} words, {len(self.passages)} passages>"


class EvidenceMatrix:
    """A clip, as it was read, beside the dancer of the known dance that it was matched with."""

    def __init__(
        self,
        query: Fingerprint,
        reference: Fingerprint,
        codebook: Codebook,
        usual: FloatArray,
        line: tuple[int, float],
    ) -> None:
        """`line` is where in the reference the query begins, as a word, and the reference's words a word."""
        self.query, self.reference, self.codebook, self.usual = query, reference, codebook, usual
        self.line = line

    @cached_property
    def matrix(self) -> FloatArray:
        """The evidence of every pair of words: [query words, reference words]."""
        return word_evidence(self.query, self.reference, self.codebook, self.usual)

    @cached_property
    def segments(self) -> list[AlignedSegment]:
        """The segments that match, best first."""
        return align_segments(self.matrix, limit=PASSAGES)

    @cached_property
    def on_line(self) -> list[AlignedSegment]:
        """The segments that match along the line, as far as they lie on it, best first.

        The match is claimed for its line alone: a segment may match elsewhere as well, above all where the
        dance repeats itself.
        """
        return [replace(one, path=one.path[near]) for one, near in self._near_line if near.mean() >= 0.5]

    @cached_property
    def off_line(self) -> list[AlignedSegment]:
        """The segments that match at another place than the line, best first."""
        return [one for one, near in self._near_line if near.mean() < 0.5]

    @cached_property
    def _near_line(self) -> list[tuple[AlignedSegment, NDArray[np.bool_]]]:
        (offset, tempo), step = self.line, self.reference.seconds_per_word
        beside = [step * np.abs(one.path[:, 1] - offset - tempo * one.path[:, 0]) for one in self.segments]
        return [(one, apart <= BESIDE_SECONDS) for one, apart in zip(self.segments, beside, strict=True)]

    def place(self, seconds: NDArray[np.floating]) -> NDArray[np.float64]:
        """The seconds of the reference that go with those of the query on the line."""
        (offset, tempo), step = self.line, self.reference.seconds_per_word
        return np.asarray(self.reference.start + step * offset + tempo * (seconds - self.query.start))

    @property
    def line_pairs(self) -> IntArray:
        """The pairs of words on the line at an even tempo: [k, 2]."""
        offset, tempo = self.line
        own = np.arange(len(self.query))
        places = offset + np.round(own * tempo).astype(np.int64)
        inside = (places >= 0) & (places < len(self.reference))
        return np.stack([own, places], axis=1)[inside]

    @property
    def path(self) -> IntArray:
        """The pairs of words of the best passage on the line or, without one, of the line itself."""
        return self.on_line[0].path if self.on_line else self.line_pairs

    def agreement(self, pairs: IntArray) -> FloatArray:
        """How similar the words of pairs are: [pairs, channels], 1 the same, 0 the usual, NaN not shown."""
        beyond, possible = self._beyond(pairs)
        return np.asarray(beyond / np.maximum(possible, 1e-6), dtype=np.float32)

    def by_channel(self, pairs: IntArray) -> FloatArray:
        """The same over all pairs: [channels]."""
        beyond, possible = self._beyond(pairs)
        shown = ~np.isnan(beyond)
        total = np.where(shown, possible, 0).sum(axis=0)
        return np.asarray(np.nansum(beyond, axis=0) / np.where(total > 0, total, np.nan), dtype=np.float32)

    def _beyond(self, pairs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Similarity of the pairs' words beyond the usual, and what copies would have: [pairs, channels]."""
        channels = np.arange(len(self.codebook.channels))
        asked, found = self.query.words[pairs[:, 0]], self.reference.words[pairs[:, 1]]
        usual = self.usual[channels, asked]
        seen = (self.query.visibility[pairs[:, 0]] >= SEEN_FROM) & (
            self.reference.visibility[pairs[:, 1]] >= SEEN_FROM
        )
        like = self.codebook.similarity[channels, asked, found]
        return np.where(seen, like - usual, np.nan), 1 - usual

    def shared_words(self, limit: int = SHARED_WORDS) -> tuple[SharedWord, ...]:
        """Return the query's words with most evidence along the path of the match, and when they come."""
        pairs = self.path
        beyond = np.nan_to_num(self._beyond(pairs)[0])
        total = max(float(np.maximum(beyond, 0).sum()), 1e-9)
        found = [
            self._shared_word(
                pairs[self.query.words[pairs[:, 0], channel] == word], channel, float(value) / total
            )
            for channel in range(beyond.shape[1])
            for word, value in _sums(self.query.words[pairs[:, 0], channel], beyond[:, channel])
        ]
        return tuple(sorted(found, key=lambda one: (-one.share, one.channel, one.word))[:limit])

    def _shared_word(self, pairs: IntArray, channel: int, share: float) -> SharedWord:
        asked = self.query.words[pairs[:, 0], channel]
        same = asked == self.reference.words[pairs[:, 1], channel]
        return SharedWord(
            self.codebook.channels[channel], int(asked[0]), share, float(same.mean()),
            tuple(_spans(self.query, pairs[:, 0])), tuple(_spans(self.reference, pairs[:, 1])),
        )  # fmt: skip


def _sums(words: NDArray[np.integer], values: FloatArray) -> Iterator[tuple[int, float]]:
    kinds, places = np.unique(words, return_inverse=True)
    yield from zip(kinds.tolist(), np.bincount(places, weights=values).tolist(), strict=True)


def _spans(fingerprint: Fingerprint, steps: IntArray) -> Iterator[Span]:
    """The times of words, neighbours as one."""
    steps = np.unique(steps)
    for run in np.split(steps, np.flatnonzero(np.diff(steps) > 1) + 1):
        yield fingerprint.span(int(run[0]), int(run[-1]))


def evidence_of(
    engine: Engine, query: Query, match: Match, settings: Settings = DEFAULT_SETTINGS
) -> EvidenceMatrix:
    """The query beside the dancer that it was matched with; `query` is the variant that `match` is of."""
    return _score_again(engine, query, match, settings).evidence


def explain(
    engine: Engine, query: Query, match: Match, settings: Settings = DEFAULT_SETTINGS
) -> tuple[Explanation, EvidenceMatrix]:
    """Why a match is one, and the evidence itself, to draw."""
    scores = _score_again(engine, query, match, settings)
    evidence = scores.evidence
    groups = tuple(
        tuple(make_passage(evidence, segment) for segment in group)
        for group in group_repeats(evidence.segments)
    )
    explanation = Explanation(
        dict(_measure(scores, settings)), evidence.shared_words(), groups,
        period_of(evidence.reference, evidence.codebook), period_of(evidence.query, evidence.codebook),
        _synchrony(evidence, match), _measure_rarity(engine, query, match, groups),
    )  # fmt: skip
    return explanation, evidence


def _measure_rarity(
    engine: Engine, query: Query, match: Match, groups: tuple[tuple[Passage, ...], ...]
) -> tuple[PassageHolders, ...]:
    """How many other dances hold each of the first passages of the query; nothing if no other is known."""
    if len(engine.search_state().index.entries.names) < 2:  # as on a cluster, where one dance is fetched
        return ()
    cut = [query.fingerprint.segment(*_word_bounds(query.fingerprint, one[0].query)) for one in groups]
    return tuple(count_holders(engine, Query(words), match.dance_id) for words in cut[:RARE_PASSAGES])


@dataclass(frozen=True, eq=False)
class _MatchScores:
    """A match with the words and scores that it was ranked by."""

    evidence: EvidenceMatrix
    variant: Variant
    segment: Fingerprint  # of the reference, which histogram and metrics compare with
    cosines: FloatArray  # [channels]
    histogram: float
    order: float


def _score_again(engine: Engine, query: Query, match: Match, settings: Settings) -> _MatchScores:
    """Score the track and the segment of the match again."""
    state = engine.search_state()
    index, statistics, codebook = state.index, state.statistics, state.codebook
    words = index.word_store
    track = _track_number(index.entries, match)
    reference = words.read_track(track)
    first, last = _word_bounds(reference, match.segment) if match.segment else (0, len(reference) - 1)
    bounds = SegmentBounds(*np.array([[track], [first], [last]], dtype=np.int64))
    variant = Variant(query.fingerprint, codebook, statistics)
    whole = words.read_segments(words.whole_tracks(bounds.tracks))
    scores = score_segments(variant, words.read_segments(bounds), whole, settings)
    line = _line(query.fingerprint, reference, match) or (
        int(scores.lines.offsets[0]),
        TEMPI[scores.lines.tempi[0]],
    )
    return _MatchScores(
        EvidenceMatrix(query.fingerprint, reference, codebook, statistics.usual, line),
        variant, reference.segment(first, last), scores.cosines[:, 0],
        float(scores.parts["histogram"][0]), float(scores.lines.agreements[0]),
    )  # fmt: skip


def _line(query: Fingerprint, reference: Fingerprint, match: Match) -> tuple[int, float] | None:
    """The line that the match lies on, which may be that of synchrony; None if its tempo was not measured."""
    if match.tempo is None:
        return None
    begin = match.reference.start - reference.start - match.tempo * (match.query.start - query.start)
    return round(begin / query.seconds_per_word), match.tempo


def _track_number(entries: Entries, match: Match) -> int:
    tracks = entries.tracks
    found = tracks[entries.keys_of(tracks) == match.track]
    if not len(found):
        named = repr(match.dance or match.dance_id)
        raise UnknownDanceError(f"the recording of {named} that was matched is there no more; search again")
    return int(found[0])


def _word_bounds(words: Fingerprint, span: Span) -> tuple[int, int]:
    """First and last word within a span that `Fingerprint.span` made."""
    first, end = (round((time - words.start) / words.seconds_per_word) for time in (span.start, span.end))
    return first, end - 1


def _measure(scores: _MatchScores, settings: Settings) -> Iterator[tuple[str, MetricValue]]:
    """The value of every metric, whether it counts in the score or not."""
    evidence, variant = scores.evidence, scores.variant
    shown = (scores.cosines >= 0) & (variant.seen > 0)
    cosines = np.where(shown, scores.cosines, np.nan)
    in_order = evidence.by_channel(evidence.line_pairs)
    known = {"histogram": (scores.histogram, cosines), "order": (scores.order, in_order)}
    for name, metric in PRESETS[settings.metrics].items():
        if name not in known:
            values = metric.similarities(evidence.query, [scores.segment], evidence.codebook)
            known[name] = float(variant.average_channels(values)[0]), values[:, 0]
    for name, (overall, values) in known.items():
        by_channel = {
            channel: float(value)
            for channel, value in zip(evidence.codebook.channels, values, strict=True)
            if not np.isnan(value)
        }
        weight = settings.weights.get(name, 0.0)
        yield name, MetricValue(weight, None if np.isnan(overall) else overall, by_channel)


def _synchrony(evidence: EvidenceMatrix, match: Match) -> SynchronyPeak | None:
    """The peak that the match was ranked by: not every candidate is compared at other tempi."""
    peaks = [synchrony_peak(evidence.query, evidence.reference, tempi) for tempi in ((1.0,), TEMPI)]
    known = [peak for peak in peaks if peak is not None]
    height = match.parts.get("synchrony", 0.0)
    return min(known, key=lambda peak: abs(peak.correlation - height), default=None)


def make_passage(evidence: EvidenceMatrix, segment: AlignedSegment) -> Passage:
    """The times of a segment in the query and in the dance."""
    return Passage(
        evidence.query.span(*segment.query), evidence.reference.span(*segment.reference), segment.tempo
    )
