"""dancematch report: the evidence for a match, to hand on."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from dancematch.cli.output import emit_json, json_option, max_evalue_option, require_free, say, share_bar
from dancematch.errors import InputError

NO_MATCH = 3
_SUFFIXES = (".html", ".htm")


@click.command("report")
@click.argument("catalogue")
@click.argument("clip", type=click.Path(path_type=Path))
@click.argument("dance", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
    help="The page to write (default: report.html; none with --json).",
)  # fmt: skip
@max_evalue_option("A match has at most this E-value: dances that one search gives by accident.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--model", help="A shipped model's name or a model's folder.")
@json_option
def report_command(
    catalogue: str,
    clip: Path,
    dance: str | None,
    output: Path | None,
    max_evalue: float,
    force: bool,
    model: str | None,
    as_json: bool,
) -> None:
    """Write down what speaks for CLIP being DANCE of CATALOGUE (default: the best match), and what against.

    One page for choreographers and their lawyers that needs nothing beside it: frames side by side, times,
    tempo and mirror, whether both move at the same moments, what the score is made of, how strong the
    evidence is and how rare the passage, hashes and the command that repeats it. Print it from a browser for
    a PDF. Exits with 0 for a match or a possible match and with 3 for none; the page is written all the same.

    \b
    Example:
      dancematch report dances.db phone.mp4
      dancematch report dances.db phone.mp4 thriller -o evidence.html
      dancematch report dances.db phone.mp4 thriller --json
    """
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.report.evidence import command_for, gather_evidence, limit_option, read_query_file
    from dancematch.report.evidence_page import write_evidence
    from dancematch.report.evidence_text import describe_evidence, headline

    target = output if output is not None or as_json else Path("report.html")
    if target is not None:
        _require_writable(target, force)
    more = (*limit_option(max_evalue), *(() if model is None else ("--model", model)))
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("looking") as tell:
        if dance is not None:
            known.dance(dance)  # said now, not after the long work, if there is none
        query, what, footage = read_query_file(known, clip, on_progress=tell)
        found = gather_evidence(known, query, what, dance_id=dance, max_evalue=max_evalue, footage=footage)
    found = replace(found, command=command_for(catalogue, str(clip), found.match.dance_id, *more))
    if as_json:
        emit_json(describe_evidence(found))
    else:
        click.echo(headline(found))
    if target is not None:
        write_evidence(target, found, overwrite=force)
        say(f"{target}: written; open it in a browser, and print it from there")
    if not found.found:
        sys.exit(NO_MATCH)


def _require_writable(target: Path, force: bool) -> None:
    """Say before the work what would stop its result from being written."""
    if target.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{target} cannot be written: a report is a page, {' or '.join(_SUFFIXES)}")
    require_free(target, force)
