"""The vocabulary of a model, each word with a moving figure."""

from pydantic import BaseModel

from dancematch.report.word_gallery_data import SimilarWord
from dancematch.server.schemas.base import SkeletonResponse


class WordResponse(BaseModel):
    """One word of a channel, with its figure."""

    word: int
    count: int
    nearest: tuple[SimilarWord, ...]
    frames: list[list[int]]


class ChannelResponse(BaseModel):
    """The words of one body part."""

    name: str
    joints: list[int]
    words: list[WordResponse]


class VocabularyResponse(BaseModel):
    """All words of the model."""

    model_id: str
    seconds_per_word: float
    dances: int
    source: str
    skeleton: SkeletonResponse
    metres_per_unit: float
    body: list[int]
    channels: list[ChannelResponse]
