"""The nouns as JSON: names as in types.py, long arrays compact."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dancematch.motion import to_body15
from dancematch.pipeline import wording
from dancematch.pipeline.analysis import ImageTrack, describe_ignored
from dancematch.pipeline.answer import Answer
from dancematch.report.compare import BONES, VISIBLE, Comparison
from dancematch.report.compare_page import round_values
from dancematch.report.svg import pool_matrix
from dancematch.search.explain import EvidenceMatrix, Explanation
from dancematch.skeletons import BODY15
from dancematch.types import SEEN_FROM, Codebook, Fingerprint, FloatArray, Match, Motion, Skeleton, Span

MILLIMETRE = 0.001
MOST_CELLS = 256  # of the matrix, either way
_MOMENT_SECONDS = 1 / 15  # of the differences


@dataclasses.dataclass(frozen=True)
class Cut:
    """Which part of a motion is wanted, and how densely."""

    fps: float | None = None
    start: float | None = None
    end: float | None = None


def skeleton_view(skeleton: Skeleton) -> dict[str, Any]:
    """A joint layout, as far as it is drawn."""
    return {"name": skeleton.name, "joints": skeleton.joints, "parents": skeleton.parents}


def motions_view(motions: Mapping[int, Motion], cut: Cut) -> dict[str, Any]:
    """The skeletons of dancers, by their number."""
    return {
        "skeleton": skeleton_view(BODY15),
        "metres_per_unit": MILLIMETRE,
        "dancers": [_motion_view(number, to_body15(motion), cut) for number, motion in motions.items()],
    }


def _motion_view(dancer: int, motion: Motion, cut: Cut) -> dict[str, Any]:
    times = motion.start + np.arange(len(motion.joints)) / motion.fps
    inside = (times >= (cut.start or 0.0) - 1e-6) & (times <= (np.inf if cut.end is None else cut.end))
    every = max(1, int(motion.fps // cut.fps)) if cut.fps else 1
    kept = np.flatnonzero(inside)[::every]
    return {
        "dancer": dancer,
        "fps": motion.fps / every,
        "start": float(times[kept[0]]) if len(kept) else motion.start,
        "seconds": motion.seconds,
        "frames": _whole(motion.joints[kept] / MILLIMETRE),
    }


def pictures_view(pictures: Sequence[ImageTrack], skeleton: Skeleton) -> dict[str, Any]:
    """Where dancers are in the picture, in thousandths of it."""
    return {
        "skeleton": skeleton_view(skeleton),
        "dancers": [
            {
                "dancer": number,
                "times": round_values(one.times, 3),
                "frames": _whole(np.where(one.visibility[:, :, None] >= VISIBLE, 1000 * one.image, np.nan)),
            }
            for number, one in enumerate(pictures, start=1)
        ],
    }


def _whole(values: FloatArray) -> list[list[int | None]]:
    """Frames of numbers without their fractions, None where there is none."""
    if not values.size:
        return [[] for _ in values]
    flat = np.round(values.reshape(len(values), -1))
    known = np.isfinite(flat)
    whole = np.where(known, flat, 0).astype(np.int64).astype(object)
    whole[~known] = None
    listed: list[list[int | None]] = whole.tolist()
    return listed


def words_view(said: Mapping[int, Fingerprint], codebook: Codebook) -> dict[str, Any]:
    """The words of dancers, by their number; None where a part is not seen."""
    return {
        "channels": codebook.channels,
        "dancers": [
            {
                "dancer": dancer,
                "model_id": words.model_id,
                "vocabulary": words.vocabulary,
                "seconds_per_word": words.seconds_per_word,
                "start": words.start,
                "words": _whole(np.where(words.visibility >= SEEN_FROM, words.words, np.nan)),
            }
            for dancer, words in said.items()
        ],
    }


def answer_view(answer: Answer) -> dict[str, Any]:
    """One verdict per dancer with the likeliest dances, and what is no dancer."""
    return {
        "verdict": answer.verdict,
        "dancers": [
            {
                "dancer": one.dancer,
                "start": one.span.start,
                "seconds": one.span.seconds,
                "verdict": one.verdict,
                "sentence": wording.verdict_sentence(one.candidates[0]) if one.candidates else "No match.",
                "candidates": [match_view(match) for match in one.candidates],
            }
            for one in answer.dancers
        ],
        "ignored": [describe_ignored(one) for one in answer.ignored],
    }


def match_view(match: Match) -> dict[str, Any]:
    """A known dance with the verdict on it, and what that was made of."""
    ratio = match.log_ratio
    return {
        "dance_id": match.dance_id,
        "verdict": match.verdict,
        "likelihood_ratio": None if ratio is None else wording.likelihood_ratio(ratio),
        "bounded": ratio is not None and wording.is_bounded(ratio),
        "evalue": match.evalue,
        "score": match.score,
        "query": dataclasses.asdict(match.query),
        "reference": dataclasses.asdict(match.reference),
        "mirrored": match.mirrored,
        "tempo": match.tempo,
        "dancer": match.dancer,
        "reference_dancer": match.reference_dancer,
        "same_performance": match.same_performance,
        "evidence": _evidence_view(match),
        "passages": _all(match.passages),
    }


_SYNCHRONY = {  # names of the view by those of the match's parts
    "height": "synchrony",
    "lag_seconds": "synchrony_lag",
    "overlap_seconds": "synchrony_seconds",
    "ratio": "synchrony_ratio",
}
_NOT_OF_WORDS = {
    *_SYNCHRONY.values(),
    *("query_bones", "reference_bones", "timing_jitter", "timing_correlation"),
}


def _evidence_view(match: Match) -> dict[str, Any]:
    parts, reason = match.parts, wording.synchrony_reason(match)
    return {
        "words": {name: value for name, value in parts.items() if name not in _NOT_OF_WORDS},
        "synchrony": None if reason else {name: parts[of] for name, of in _SYNCHRONY.items()},
        "reason": reason,
    }


def explanation_view(match: Match, why: Explanation, evidence: EvidenceMatrix, dancer: int) -> dict[str, Any]:
    """Why a match is one."""
    path = evidence.path
    own, theirs = evidence.query, evidence.reference
    agreement = evidence.agreement(path)
    told = dataclasses.asdict(why)
    del told["synchrony"]  # told with the match already
    return {
        "match": match_view(match),
        "reference_dancer": dancer,
        "path": {
            "query": round_values(own.start + path[:, 0] * own.seconds_per_word, 3),
            "reference": round_values(theirs.start + path[:, 1] * theirs.seconds_per_word, 3),
            "agreement": {
                name: round_values(agreement[:, number], 3)
                for number, name in enumerate(evidence.codebook.channels)
            },
        },
        "matrix": {
            "query": dataclasses.asdict(_whole_span(own)),
            "reference": dataclasses.asdict(_whole_span(theirs)),
            "values": _whole(100 * pool_matrix(evidence.matrix, MOST_CELLS)),
        },
        **told,
    }


def _whole_span(words: Fingerprint) -> Span:
    return words.span(0, len(words) - 1)


def differences_view(found: Comparison) -> dict[str, Any]:
    """Two performances, moment by moment."""
    times = found.reference
    step = float(np.median(np.diff(times))) if len(times) > 1 else _MOMENT_SECONDS
    kept = slice(None, None, max(1, round(_MOMENT_SECONDS / step)))
    return {
        "mirrored": found.match.mirrored,
        "tempo": found.tempo,
        "same": found.same,
        "matched": found.matched,
        "query": round_values(found.query[kept], 3),
        "reference": round_values(found.reference[kept], 3),
        "late": round_values(found.late[kept], 3),
        "degrees": {name: round_values(found.degrees[kept, n], 1) for n, name in enumerate(BONES)},
        "bones": _all(found.bones),
        "worst": _all(found.worst),
    }


def _all(things: Iterable[Any]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(thing) for thing in things]
