"""What `dancematch search --report` writes: the evidence for a match, to hand on."""

import sys
from dataclasses import replace
from pathlib import Path

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.output import emit, emit_json, json_line, require_free, say, share_bar
from dancematch.cli.use.search_options import AnswerOptions
from dancematch.errors import InputError

_SUFFIXES = (".html", ".htm", ".json")


def report_match(catalogue: str, clip: Path, wanted: AnswerOptions, model: str | None, as_json: bool) -> None:
    """Write what speaks for the clip being the dance (default: the best match), and what against.

    The file is written, as a page or as JSON, whether it is a match or not; the exit code tells.
    """
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.report.clip_report import read_evidence
    from dancematch.report.evidence import command_for, limit_option
    from dancematch.report.evidence_page import write_evidence
    from dancematch.report.evidence_text import describe_evidence, headline

    target = Path(wanted.report or "")
    _require_writable(target, wanted.force)
    more = [*limit_option(wanted.max_evalue), *(() if model is None else ("--model", model))]
    if wanted.reference_video is not None:
        more += ["--reference-video", str(wanted.reference_video)]
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("analysing") as tell:
        found = read_evidence(
            known,
            clip,
            dance=wanted.dance,
            max_evalue=wanted.max_evalue,
            reference_video=wanted.reference_video,
            on_progress=tell,
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


def _require_writable(target: Path, force: bool) -> None:
    """Refuse, before the work, a file that could not be written after it."""
    if target.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{target} cannot be written: a report ends in {', '.join(_SUFFIXES)}")
    require_free(target, force)
