"""Two clips, or a clip and a known dance, as files or motions -> how they differ."""

from collections.abc import Sequence
from pathlib import Path

from dancematch.errors import InputError, UnknownDanceError
from dancematch.formats.web_address import refuse_web_address
from dancematch.model.tokeniser import Tokeniser, load_background, load_model
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.query import QueryDancer, query_of_motions, read_query
from dancematch.report.compare import Comparison, compare
from dancematch.types import Motion

Clip = str | Path | Motion | Sequence[Motion]


def compare_clips(
    clip: Clip,
    reference: Clip,
    *,
    mirrored: bool | None = None,
    catalogue: Catalogue | None = None,
    model: str | Path | None = None,
    on_progress: Progress | None = None,
) -> Comparison:
    """How the dancers of two clips differ, for the two of them that match best.

    A clip is a video, a motion file or motions or, where a `catalogue` is given, the name of one of its
    dances. `mirrored` says whether the clip is mirrored; by default, as it fits better.
    """
    report = on_progress or (lambda _share: None)
    tokeniser = load_model(model) if catalogue is None else catalogue.tokeniser
    background = load_background(tokeniser, model) if catalogue is None else catalogue.background
    own = _read_dancers(clip, tokeniser, catalogue, lambda share: report(share / 2))
    theirs = _read_dancers(reference, tokeniser, catalogue, lambda share: report((1 + share) / 2))
    name = Path(reference).name if isinstance(reference, str | Path) else "reference"
    return compare(own, theirs, tokeniser, background, name=name, mirrored=mirrored)


def _read_dancers(
    clip: Clip, tokeniser: Tokeniser, catalogue: Catalogue | None, on_progress: Progress
) -> Sequence[QueryDancer]:
    if not isinstance(clip, str | Path) or Path(clip).exists():
        return read_query(clip, tokeniser, on_progress=on_progress).dancers
    if catalogue is None:
        refuse_web_address(clip)
        raise InputError(
            f"{clip} does not exist; where it is a dance's name, name its catalogue too (--catalogue)"
        )
    try:
        motions = catalogue.motions(str(clip))
    except UnknownDanceError:
        refuse_web_address(clip)
        reason = f"{clip} is neither a file nor a dance of {catalogue.where}; 'dancematch list' names them"
        raise InputError(reason) from None
    if not motions:
        raise InputError(f"{catalogue.where} keeps no skeletons of {str(clip)!r}; compare with its clip")
    return query_of_motions(motions, tokeniser, clip).dancers
