"""Skeletons and motion words, of a recording or of a query."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from dancematch.motion import to_body15
from dancematch.pipeline.analysis.file_analysis import ImageTrack
from dancematch.server.problems import not_found
from dancematch.server.schemas.base import IntegerRows, SkeletonResponse, round_rows, round_times
from dancematch.server.schemas.requests import MotionRequest
from dancematch.skeletons import BODY15
from dancematch.types import SEEN_FROM, Fingerprint, Motion, Skeleton

MILLIMETRE = 0.001


JointNumbers = list[list[int]]


def _number_unseen(seen: NDArray[np.bool_]) -> JointNumbers:
    """Per frame, the numbers of the joints that the camera did not see: their places are guessed."""
    return [np.flatnonzero(~joints).tolist() for joints in seen]


class DancerMotionResponse(BaseModel):
    """One dancer's frames: x, y, z of each joint in turn; `unseen` are the joints that are only guessed."""

    dancer: int
    fps: float
    start: float
    seconds: float
    frames: IntegerRows
    unseen: JointNumbers

    @classmethod
    def of(cls, dancer: int, motion: Motion, wanted: MotionRequest) -> "DancerMotionResponse":
        """The wanted frames of a motion, on body15."""
        motion = to_body15(motion)
        times = motion.start + np.arange(len(motion.joints)) / motion.fps
        end = np.inf if wanted.end is None else wanted.end
        inside = (times >= (wanted.start or 0.0) - 1e-6) & (times <= end)
        every = max(1, int(motion.fps // wanted.fps)) if wanted.fps else 1
        chosen = np.flatnonzero(inside)[::every]
        return cls(
            dancer=dancer,
            fps=motion.fps / every,
            start=float(times[chosen[0]]) if len(chosen) else motion.start,
            seconds=motion.seconds,
            frames=round_rows(motion.joints[chosen] / MILLIMETRE),
            unseen=_number_unseen(motion.visibility[chosen] >= SEEN_FROM),
        )


def describe_motions(
    motions: Mapping[int, Motion], wanted: MotionRequest, what: str
) -> list[DancerMotionResponse]:
    """The motions of dancers by number, or of the one who is wanted; `what` they are of, for an error."""
    if wanted.dancer is not None and wanted.dancer not in motions:
        numbers = ", ".join(map(str, sorted(motions)))
        raise not_found("not_found", f"{what} has no dancer {wanted.dancer}; there is {numbers}")
    return [
        DancerMotionResponse.of(number, motion, wanted)
        for number, motion in motions.items()
        if wanted.dancer in (None, number)
    ]


class MotionResponse(BaseModel):
    """Skeletons to draw."""

    skeleton: SkeletonResponse = SkeletonResponse.of(BODY15)
    metres_per_unit: float = MILLIMETRE
    dancers: list[DancerMotionResponse]


class RecordingMotionResponse(MotionResponse):
    """The skeletons of a recording."""

    recording_id: str
    dance_id: str


class QueryMotionResponse(MotionResponse):
    """The skeletons of a query; `decoded` where they were made from its words."""

    search_id: str
    decoded: bool


class DancerImageResponse(BaseModel):
    """One dancer's joints in the pictures: x, y of each joint in turn, in thousandths."""

    dancer: int
    times: list[float]
    frames: IntegerRows
    unseen: JointNumbers

    @classmethod
    def of(cls, dancer: int, track: ImageTrack) -> "DancerImageResponse":
        """All joints, guessed ones too: those that are hidden, or beyond the picture's edge."""
        inside = ((track.image >= 0) & (track.image <= 1)).all(axis=2)
        return cls(
            dancer=dancer,
            times=round_times(track.times),
            frames=round_rows(1000 * track.image),
            unseen=_number_unseen(inside & (track.visibility >= SEEN_FROM)),
        )


class ImageResponse(BaseModel):
    """Skeletons to draw over the video."""

    search_id: str
    skeleton: SkeletonResponse
    dancers: list[DancerImageResponse]

    @classmethod
    def of(cls, search_id: str, tracks: Sequence[ImageTrack], skeleton: Skeleton) -> "ImageResponse":
        """The joints in thousandths of the picture."""
        dancers = [DancerImageResponse.of(number, track) for number, track in enumerate(tracks, start=1)]
        return cls(search_id=search_id, skeleton=SkeletonResponse.of(skeleton), dancers=dancers)


class DancerWordsResponse(BaseModel):
    """One dancer's words: one row per step, one word per channel or null."""

    dancer: int
    model_id: str
    vocabulary: int
    seconds_per_word: float
    start: float
    words: IntegerRows

    @classmethod
    def of(cls, dancer: int, fingerprint: Fingerprint) -> "DancerWordsResponse":
        """The words of a fingerprint, None where a body part is not seen."""
        return cls(
            dancer=dancer,
            model_id=fingerprint.model_id,
            vocabulary=fingerprint.vocabulary,
            seconds_per_word=fingerprint.seconds_per_word,
            start=fingerprint.start,
            words=round_rows(np.where(fingerprint.visibility >= SEEN_FROM, fingerprint.words, np.nan)),
        )


class WordsResponse(BaseModel):
    """Motion words."""

    channels: tuple[str, ...]
    dancers: list[DancerWordsResponse]


class RecordingWordsResponse(WordsResponse):
    """The words of a recording."""

    recording_id: str
    dance_id: str


class QueryWordsResponse(WordsResponse):
    """The words of a query, as danced or mirrored."""

    search_id: str
    mirrored: bool
