"""The vocabulary as one HTML page that needs nothing beside it: every word a small moving figure.

The page is `gallery.html` with the words put in as JSON; its script draws what is in view.
"""

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dancematch.formats.files import write_bytes
from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.analysis import Progress
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
    content = _content(tokeniser, said, figures) | {"source": source}
    # A name may hold "</script>"; JSON has another way to write the first of these letters.
    data = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    page = (files("dancematch.report") / "word_gallery.html").read_text(encoding="utf-8")
    page = page.replace("{{model}}", escape(tokeniser.model_id)).replace("{{data}}", data)
    write_bytes(Path(path), page.encode(), overwrite=overwrite)


def _content(
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
