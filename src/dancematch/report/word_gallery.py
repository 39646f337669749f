"""The vocabulary as one HTML page that needs nothing beside it: every word a small moving figure.

The words go into the page as JSON; its script draws what is in view.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.analysis import Progress
from dancematch.report.page import render_page, write_page
from dancematch.report.word_gallery_data import (
    WordMotion,
    channel_joints,
    decode_words,
    list_words,
    neutral_pose,
)
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, FloatArray


def write_gallery(
    path: str | Path,
    tokeniser: Tokeniser,
    said: Sequence[Fingerprint],
    *,
    source: str,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> None:
    """Write the page; `said` tells how common each word is, and `source` where that was said."""
    total = len(tokeniser.codebook.channels) * tokeniser.vocabulary
    figures = {}
    for done, figure in enumerate(decode_words(tokeniser, said), start=1):
        figures[figure.channel, figure.word] = figure
        if on_progress is not None:
            on_progress(done / total)
    data = _page_data(tokeniser, said, figures) | {"source": source}
    page = render_page("word_gallery.html", model=tokeniser.model_id, data=data)
    write_page(path, page, overwrite=overwrite)


def _page_data(
    tokeniser: Tokeniser, said: Sequence[Fingerprint], figures: dict[tuple[str, int], WordMotion]
) -> dict[str, Any]:
    """Everything the page's script is told; a word is [number, count, alike, how alike in %, centimetres]."""
    words = list_words(tokeniser, said)
    channels = [
        {
            "name": name,
            "joints": [BODY15.index(joint) for joint in joints],
            "words": [
                [
                    word.word,
                    word.count,
                    [neighbour.word for neighbour in word.nearest],
                    [round(100 * neighbour.similarity) for neighbour in word.nearest],
                    _centimetres(figures[name, word.word].joints),
                ]
                for word in words
                if word.channel == name
            ],
        }
        for name, joints in channel_joints(tokeniser).items()
    ]
    return {
        "model": tokeniser.model_id,
        "seconds": tokeniser.seconds_per_word,
        "dances": len(said),
        "joints": BODY15.joints,
        "parents": BODY15.parents,
        "body": _centimetres(neutral_pose(tokeniser, said)[1:]),  # without the root
        "channels": channels,
    }


def _centimetres(joints: FloatArray) -> list[int]:
    whole: list[int] = np.round(100 * joints).astype(int).ravel().tolist()
    return whole
