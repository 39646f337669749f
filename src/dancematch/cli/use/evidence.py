"""What `dancematch search --report` writes: the evidence for a match, to hand on."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.output import emit, emit_json, json_line, require_free, say, share_bar
from dancematch.cli.use.search_options import AnswerOptions
from dancematch.errors import InputError

if TYPE_CHECKING:
    from dancematch.pipeline.query import QueryClip
    from dancematch.report.evidence import Evidence

_SUFFIXES = (".html", ".htm", ".json")


def report_match(catalogue: str, clip: Path, wanted: AnswerOptions, model: str | None, as_json: bool) -> None:
    """Write what speaks for the clip being the dance (default: the best match), and what against.

    The file is written, as a page or as JSON, whether it is a match or not; the exit code tells.
    """
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.report.evidence import command_for, gather_evidence, limit_option, read_query_file
    from dancematch.report.evidence_page import write_evidence
    from dancematch.report.evidence_text import describe_evidence, headline
    from dancematch.report.footage import require_footage

    target, dance = Path(wanted.report or ""), wanted.dance
    _require_writable(target, wanted.force)
    more = [*limit_option(wanted.max_evalue), *(() if model is None else ("--model", model))]
    if wanted.reference_video is not None:
        require_footage(wanted.reference_video)
        more += ["--reference-video", str(wanted.reference_video)]
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("analysing") as tell:
        if dance is not None:
            known.dance(dance)  # an unknown name is refused before the long work
        query, what, footage = read_query_file(known, clip, on_progress=tell)
        found = gather_evidence(
            known, query, what, dance=dance, max_evalue=wanted.max_evalue, footage=footage
        )
        if wanted.reference_video is not None:
            found = _with_reference(
                found, wanted.reference_video, partial(known.read_query, on_progress=tell)
            )
    found = replace(found, command=command_for(catalogue, str(clip), found.match.name, *more))
    described = describe_evidence(found)
    if as_json:
        emit_json(described)
    else:
        emit(headline(found))
    if target.suffix.lower() == ".json":
        target.write_text(json_line(described) + "\n", encoding="utf-8")
        say(f"{target}: written")
    else:
        write_evidence(target, found, overwrite=wanted.force)
        say(f"{target}: written; open it in a browser, and print it from there")
    if not found.found:
        sys.exit(ExitCode.NO_MATCH)


def _with_reference(found: "Evidence", video: Path, read_query: "Callable[[Path], QueryClip]") -> "Evidence":
    from dancematch.report.evidence import show_reference
    from dancematch.report.footage import reference_footage

    match = found.match
    expected = match.recording_id or "not known", match.recording or match.name
    return show_reference(found, reference_footage(video, *expected, read_query))


def _require_writable(target: Path, force: bool) -> None:
    """Refuse, before the work, a file that could not be written after it."""
    if target.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{target} cannot be written: a report ends in {', '.join(_SUFFIXES)}")
    require_free(target, force)
