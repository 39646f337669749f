"""Evidence reports on the matches of a held search."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from dancematch.errors import InputError
from dancematch.pipeline.catalogue import Catalogue
from dancematch.report.evidence import command_for, gather_evidence, limit_option
from dancematch.report.evidence_page import render_evidence
from dancematch.report.footage import Footage
from dancematch.server.files.upload import Upload
from dancematch.server.jobs.child import cut_stills
from dancematch.server.limits import STILLS_SECONDS
from dancematch.server.options import Options
from dancematch.server.queries.held_searches import HeldSearch
from dancematch.types import Match


def write_report(
    catalogue: Catalogue, options: Options, search: HeldSearch, match: Match, clip: Upload | None = None
) -> str:
    """The evidence for a match as a page; with pictures if the clip itself is sent again."""
    if clip is not None and clip.digest != search.clip.sha256:
        raise InputError("this is not the file that was searched for; send that one, or none")
    query, limit = search.query, search.response.max_evalue
    is_best = search.match(match.dance_id).dancer == match.dancer  # the report finds it among all dancers
    # Names alone, as in errors: a report does not reveal the paths of this machine.
    model = () if options.model is None else ("--model", Path(options.model).name)
    names = Path(catalogue.where).name, search.clip.name, match.name
    found = gather_evidence(
        catalogue,
        query if is_best else replace(query, dancers=(query.dancer(match.dancer),)),
        search.clip,
        dance=match.dance_id,
        max_evalue=limit,
        footage=_footage(options, search, clip) if clip and query.images else None,
        command=command_for(*names, *limit_option(limit), *model),
    )
    return render_evidence(found)


def _footage(options: Options, search: HeldSearch, clip: Upload) -> Footage:
    limits = replace(options.work, seconds=min(options.work.seconds, STILLS_SECONDS))
    tracks = dict(enumerate(search.query.images, start=1))
    cut = partial(cut_stills, command=options.worker, limits=limits)
    return Footage(clip.path, tracks, search.query.dancers[0].motion.skeleton, cut)
