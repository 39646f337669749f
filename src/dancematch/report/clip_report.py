"""A clip -> the evidence for its match, and the page that shows it."""

from functools import partial
from pathlib import Path

from dancematch.errors import InputError
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.catalogue import Catalogue
from dancematch.report.evidence import Evidence, gather_evidence, read_query_file, show_reference
from dancematch.report.evidence_page import write_evidence
from dancematch.report.footage import reference_footage, require_footage
from dancematch.search.confidence.verdict import MAX_EVALUE


def read_evidence(
    catalogue: Catalogue,
    clip: str | Path,
    *,
    dance: str | None = None,
    max_evalue: float = MAX_EVALUE,
    reference_video: str | Path | None = None,
    on_progress: Progress | None = None,
) -> Evidence:
    """The evidence for a clip being the dance of that name or id or, without one, the best match.

    The `reference_video`, the very file that the dance was added from, puts its frames beside the clip's.
    """
    if dance is not None:
        catalogue.dance(dance)  # an unknown name is refused before the long work
    if reference_video is not None:
        require_footage(Path(reference_video))
    query, file, footage = read_query_file(catalogue, clip, on_progress=on_progress)
    found = gather_evidence(catalogue, query, file, dance=dance, max_evalue=max_evalue, footage=footage)
    if reference_video is None:
        return found
    expected = found.match.recording_id or "not known", found.match.recording or found.match.name
    read = partial(catalogue.read_query, on_progress=on_progress)
    return show_reference(found, reference_footage(Path(reference_video), *expected, read))


def write_report(
    catalogue: Catalogue,
    clip: str | Path,
    path: str | Path,
    *,
    dance: str | None = None,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> Evidence:
    """Write the evidence as a page (.html) to print, whether it is a match or not, and return it."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{target} cannot be written: a report is a page, and its name ends in .html")
    if target.exists() and not overwrite:  # before the long work
        raise InputError(f"{target} exists already; choose another name or ask for overwriting")
    found = read_evidence(catalogue, clip, dance=dance, on_progress=on_progress)
    write_evidence(target, found, overwrite=overwrite)
    return found
