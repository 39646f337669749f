"""The vocabulary as JSON: every word with its use, its neighbours and a figure that moves."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np

from dancematch.errors import ModelError
from dancematch.formats.files import write_bytes
from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.catalogue import Catalogue
from dancematch.report.word_gallery_data import (
    WordUsage,
    channel_joints,
    decode_words,
    list_words,
    neutral_pose,
)
from dancematch.server.schemas.views import skeleton_view
from dancematch.skeletons import BODY15
from dancematch.types import FloatArray

CENTIMETRE = 0.01
_SOURCE = "the model's background"


class Gallery:
    """The vocabulary of one catalogue's model, made once and kept in a file."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue = catalogue
        self._path = folder / f"words-{catalogue.tokeniser.model_id}.json"
        self._turn = threading.Lock()

    def content(self) -> bytes:
        """All of it as JSON; the first call takes some seconds."""
        with self._turn:
            if not self._path.is_file():
                made = _described(self._catalogue)
                write_bytes(self._path, json.dumps(made, separators=(",", ":")).encode(), overwrite=True)
            return self._path.read_bytes()


def _described(catalogue: Catalogue) -> dict[str, Any]:
    tokeniser, said = catalogue.tokeniser, list(catalogue.background)
    figures = {(one.channel, one.word): one.joints for one in decode_words(tokeniser, said)}
    words = list_words(tokeniser, said)
    return {
        "model_id": tokeniser.model_id,
        "seconds_per_word": tokeniser.seconds_per_word,
        "dances": len(said),
        "source": _SOURCE,
        "skeleton": skeleton_view(BODY15),
        "metres_per_unit": CENTIMETRE,
        "body": _whole(neutral_pose(tokeniser, said)[1:]),  # without the root
        "channels": [
            {
                "name": name,
                "joints": [BODY15.index(joint) for joint in joints],
                "words": [_word(one, figures[name, one.word]) for one in words if one.channel == name],
            }
            for name, joints in channel_joints(tokeniser).items()
        ],
    }


def _word(word: WordUsage, joints: FloatArray) -> dict[str, Any]:
    return {
        "word": word.word,
        "count": word.count,
        "nearest": [{"word": near.word, "similarity": near.similarity} for near in word.nearest],
        "frames": [_whole(frame) for frame in joints],
    }


def _whole(joints: FloatArray) -> list[int]:
    whole: list[int] = np.round(joints / CENTIMETRE).astype(int).ravel().tolist()
    return whole


def joints_of_channels(tokeniser: Tokeniser) -> dict[str, tuple[str, ...]] | None:
    """Which joints each channel speaks of; None if that is not known."""
    try:
        return channel_joints(tokeniser)
    except ModelError:
        return None
