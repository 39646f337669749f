"""Two clips, or a clip and a known dance, as files or motions -> how they differ."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from dancematch import formats
from dancematch.errors import InputError, UnknownDanceError
from dancematch.formats.web_address import refuse_web_address
from dancematch.model.tokeniser import Tokeniser, load_background, load_model
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.counts.counts import Counted
from dancematch.pipeline.counts.music import count_music
from dancematch.pipeline.query import QueryDancer, query_of_motions, read_query
from dancematch.report.compare import Comparison, compare
from dancematch.report.lesson import Lesson, make_lesson
from dancematch.types import Motion

Clip = str | Path | Motion | Sequence[Motion]


class ComparisonChoice(TypedDict, total=False):
    """How two clips are compared."""

    mirrored: bool | None  # whether the clip is; None: as it fits better
    catalogue: Catalogue | None  # whose dances may be named
    model: str | Path | None


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
    options: ComparisonChoice = {"mirrored": mirrored, "catalogue": catalogue, "model": model}
    return _compare(clip, reference, on_progress, **options)[0]


def compare_in_counts(
    clip: Clip, reference: Clip, *, on_progress: Progress | None = None, **options: Unpack[ComparisonChoice]
) -> Lesson:
    """The same with the diff of both choreographies in eight-counts, and what to practise."""
    found, theirs = _compare(clip, reference, on_progress, **options)
    return make_lesson(found, theirs, _count_music(reference))


def _compare(
    clip: Clip, reference: Clip, on_progress: Progress | None, **options: Unpack[ComparisonChoice]
) -> tuple[Comparison, Sequence[QueryDancer]]:
    """The comparison, and the dancers of the reference."""
    report = on_progress or (lambda _share: None)
    catalogue, model = options.get("catalogue"), options.get("model")
    tokeniser = load_model(model) if catalogue is None else catalogue.tokeniser
    background = load_background(tokeniser, model) if catalogue is None else catalogue.background
    own = _read_dancers(clip, tokeniser, catalogue, lambda share: report(share / 2))
    theirs = _read_dancers(reference, tokeniser, catalogue, lambda share: report((1 + share) / 2))
    report(1.0)  # a known dance is not read
    name = Path(reference).name if isinstance(reference, str | Path) else "reference"
    found = compare(own, theirs, tokeniser, background, name=name, mirrored=options.get("mirrored"))
    return found, theirs


def _count_music(clip: Clip) -> Counted | None:
    """The counts of a clip's sound track; None where it is no video."""
    if not isinstance(clip, str | Path) or not Path(clip).exists() or formats.is_motion_file(Path(clip)):
        return None
    return count_music(Path(clip))


def _read_dancers(
    clip: Clip, tokeniser: Tokeniser, catalogue: Catalogue | None, on_progress: Progress
) -> Sequence[QueryDancer]:
    if not isinstance(clip, str | Path) or Path(clip).exists():
        return read_query(clip, tokeniser, on_progress=on_progress).dancers
    if catalogue is None:
        refuse_web_address(clip)
        raise InputError(
            f"{clip} does not exist; where it is a dance's name, name its catalogue too "
            "(--catalogue, in Python catalogue=)"
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
