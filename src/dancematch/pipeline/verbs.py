"""Verbs of the command line as functions that answer in one call; `Catalogue` has their parts."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from dancematch.errors import InputError
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.search.confidence.verdict import MAX_EVALUE
from dancematch.search.settings import DanceChoice
from dancematch.types import Motion

if TYPE_CHECKING:
    from dancematch.pipeline.query import QueryClip
    from dancematch.pipeline.scan.scan import ScanSource
    from dancematch.search.explain import Explanation


def scan(
    catalogue: Catalogue,
    source: "ScanSource",
    *,
    max_evalue: float = MAX_EVALUE,
    on_progress: Progress | None = None,
    **which: Unpack[DanceChoice],
) -> list[ScanSegment]:
    """Which dance each dancer of a video dances when, and when none that is known, in order of time.

    `Catalogue.scan` tells the same segment by segment while it reads.
    """
    found = catalogue.scan(source, max_evalue=max_evalue, on_progress=on_progress, **which)
    with closing(found):
        return sorted(found, key=lambda one: (one.span.start, one.dancer))


def explain(
    catalogue: Catalogue,
    query: "str | Path | Motion | Sequence[Motion] | QueryClip",
    *,
    dance: str | None = None,
    on_progress: Progress | None = None,
) -> "Explanation":
    """Why a clip is like the dance of that name or id or, without one, like the best match, match or not.

    `Catalogue.explain` does it for a match that a search has found already.
    """
    which: DanceChoice = {} if dance is None else {"among": frozenset({catalogue.dance(dance).dance_id})}
    answer = catalogue.search(query, limit=1, on_progress=on_progress, **which)
    if not answer.candidates:
        raise InputError(f"{catalogue.where} holds nothing that the clip is like; add dances to it")
    return catalogue.explain(answer.query, answer.candidates[0])[0]
