"""The vocabulary as one HTML page that needs nothing beside it: one small moving figure per word.

The words go into the page as JSON; its script draws what is in view.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.analysis.file_analysis import Progress
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
    dances: Sequence[Fingerprint],
    *,
    source: str,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> None:
    """Write the page; `dances` are what words are counted in, and `source` is what the page calls them."""
    total = len(tokeniser.codebook.channels) * tokeniser.vocabulary
    figures = {}
    for done, figure in enumerate(decode_words(tokeniser, dances), start=1):
        figures[figure.channel, figure.word] = figure
        if on_progress is not None:
            on_progress(done / total)
    data = _page_data(tokeniser, dances, figures) | {"source": source}
    page = render_page("word_gallery.html", model=tokeniser.model_id, data=data)
    write_page(path, page, overwrite=overwrite)


def _page_data(
    tokeniser: Tokeniser, dances: Sequence[Fingerprint], figures: dict[tuple[str, int], WordMotion]
) -> dict[str, Any]:
    """The data of the page's script; a word is [number, count, alike, how alike in %, centimetres]."""
    words = list_words(tokeniser, dances)
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
        "dances": len(dances),
        "joints": BODY15.joints,
        "parents": BODY15.parents,
        "body": _centimetres(neutral_pose(tokeniser, dances)[1:]),  # without the root
        "channels": channels,
    }


def _centimetres(joints: FloatArray) -> list[int]:
    whole: list[int] = np.round(100 * joints).astype(int).ravel().tolist()
    return whole
