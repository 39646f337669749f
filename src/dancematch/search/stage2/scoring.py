"""The score of segments for one variant of the query: the values of all metrics, weighted."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dancematch.search.metrics.registry import PRESETS, PackedCandidates, combine
from dancematch.search.settings import Settings
from dancematch.search.stage2.variant import Lines, Variant
from dancematch.search.words.word_store import Segments
from dancematch.types import Codebook, Fingerprint, FloatArray


@dataclass(frozen=True, eq=False)
class SegmentScores:
    """The values of all metrics for some segments."""

    cosines: FloatArray  # [channels, segments]; below 0 where a segment shows nothing
    lines: Lines
    parts: dict[str, FloatArray]  # by metric: [segments]
    scores: FloatArray  # the weighted mean of the parts


def score_segments(
    variant: Variant,
    segments: Segments,
    whole_tracks: Segments,
    settings: Settings,
) -> SegmentScores:
    """Score histograms and metrics on the segments, order on the whole tracks that they are of."""
    cosines, lines = variant.cosines(segments), variant.best_lines(whole_tracks)
    parts = {"histogram": variant.combine_cosines(cosines), "order": np.maximum(lines.agreements, 0)}
    others = [name for name, weight in settings.weights.items() if weight > 0 and name not in parts]
    packed = PackedCandidates.of(_fingerprints(segments, variant.codebook) if others else ())
    for name in others:
        metric = PRESETS[settings.metrics][name]
        parts[name] = variant.average_channels(
            metric.similarities(variant.fingerprint, packed, variant.codebook)
        )
    return SegmentScores(cosines, lines, parts, combine(parts, settings.weights))


def _fingerprints(segments: Segments, codebook: Codebook) -> list[Fingerprint]:
    return [
        Fingerprint(
            segments.words[first:end], codebook.vocabulary, 1.0, codebook.model_id,
            visibility=segments.seen[first:end].astype(np.float32),
        )
        for first, end in pairwise(segments.offsets.tolist())
    ]  # fmt: skip
