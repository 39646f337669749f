"""The vocabulary of a model: every word with its count, its neighbours and a moving figure."""

import threading
from pathlib import Path

import numpy as np

from dancematch.errors import ModelError
from dancematch.formats.files import write_bytes
from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.catalogue import Catalogue
from dancematch.report.word_gallery_data import channel_joints, decode_words, list_words, neutral_pose
from dancematch.server.schemas.base import SkeletonResponse
from dancematch.server.schemas.vocabulary import ChannelResponse, VocabularyResponse, WordResponse
from dancematch.skeletons import BODY15
from dancematch.types import FloatArray

CENTIMETRE = 0.01
_SOURCE = "the model's background"


class VocabularyFile:
    """The vocabulary of one catalogue's model, made once and stored as JSON."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue = catalogue
        self._path = folder / f"words-{catalogue.tokeniser.model_id}.json"
        self._lock = threading.Lock()

    def read(self) -> bytes:
        """The JSON of a `VocabularyResponse`; the first call takes some seconds."""
        with self._lock:
            if not self._path.is_file():
                content = _describe(self._catalogue).model_dump_json().encode()
                write_bytes(self._path, content, overwrite=True)
            return self._path.read_bytes()


def _describe(catalogue: Catalogue) -> VocabularyResponse:
    tokeniser, background = catalogue.tokeniser, list(catalogue.background)
    figures = {(one.channel, one.word): one.joints for one in decode_words(tokeniser, background)}
    words = list_words(tokeniser, background)
    channels = [
        ChannelResponse(
            name=name,
            joints=[BODY15.index(joint) for joint in joints],
            words=[
                WordResponse(
                    word=one.word,
                    count=one.count,
                    nearest=one.nearest,
                    frames=[_centimetres(frame) for frame in figures[name, one.word]],
                )
                for one in words
                if one.channel == name
            ],
        )
        for name, joints in channel_joints(tokeniser).items()
    ]
    return VocabularyResponse(
        model_id=tokeniser.model_id,
        seconds_per_word=tokeniser.seconds_per_word,
        dances=len(background),
        source=_SOURCE,
        skeleton=SkeletonResponse.of(BODY15),
        metres_per_unit=CENTIMETRE,
        body=_centimetres(neutral_pose(tokeniser, background)[1:]),  # without the root
        channels=channels,
    )


def _centimetres(joints: FloatArray) -> list[int]:
    integers: list[int] = np.round(joints / CENTIMETRE).astype(int).ravel().tolist()
    return integers


def joints_by_channel(tokeniser: Tokeniser) -> dict[str, tuple[str, ...]] | None:
    """The joints of each channel; None if the model does not say."""
    try:
        return channel_joints(tokeniser)
    except ModelError:
        return None
