"""The score of a few stretches for one reading of a clip: all of stage two's parts, weighed together."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dancematch.search.metrics.registry import PRESETS, Packed, combine
from dancematch.search.settings import Settings
from dancematch.search.stage2.variant import Lines, Variant
from dancematch.search.words.word_store import Segments
from dancematch.types import Codebook, Fingerprint, FloatArray


@dataclass(frozen=True, eq=False)
class SegmentScores:
    """What both stages say of some stretches."""

    cosines: FloatArray  # [channels, stretches]; below 0 where a stretch shows nothing
    lines: Lines
    parts: dict[str, FloatArray]  # the score's parts by metric, a value a stretch
    scores: FloatArray  # the parts weighed together


def score_segments(
    reading: Variant,
    stretches: Segments,
    wholes: Segments,
    settings: Settings,
    *,
    of_whole: NDArray[np.intp] | None = None,
) -> SegmentScores:
    """Histograms and metrics of the stretches, order in the whole tracks that they are of.

    `of_whole` says which whole each stretch is of, where several are of one; else they come in one order.
    """
    cosines, lines = reading.cosines(stretches), reading.lines(wholes)
    if of_whole is not None:
        agreements, offsets, tempi = lines
        lines = Lines(agreements[of_whole], offsets[of_whole], tempi[of_whole])
    parts = {"histogram": reading.histogram(cosines), "order": np.maximum(lines.agreements, 0)}
    others = [name for name, weight in settings.weights.items() if weight > 0 and name not in parts]
    packed = Packed.of(_fingerprints(stretches, reading.codebook) if others else ())
    for name in others:
        metric = PRESETS[settings.metrics][name]
        parts[name] = reading.together(metric.similarities(reading.fingerprint, packed, reading.codebook))
    return SegmentScores(cosines, lines, parts, combine(parts, settings.weights))


def _fingerprints(stretches: Segments, codebook: Codebook) -> list[Fingerprint]:
    return [
        Fingerprint(
            stretches.words[first:end], codebook.vocabulary, 1.0, codebook.model_id,
            visibility=stretches.seen[first:end].astype(np.float32),
        )
        for first, end in pairwise(stretches.offsets.tolist())
    ]  # fmt: skip
