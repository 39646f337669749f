"""dancematch search: which dance is this?"""

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import json_option, model_option, option_group
from dancematch.cli.output import (
    ShareBar,
    emit,
    emit_json,
    emit_table,
    ignored_line,
    require_free,
    say,
    share_bar,
)
from dancematch.cli.use.batch import find_batch, is_one_clip, say_what_waits, search_batch
from dancematch.cli.use.evidence import report_match
from dancematch.cli.use.explanation import print_explanation
from dancematch.cli.use.search_options import (
    AnswerOptions,
    BatchOptions,
    Question,
    ScoringOptions,
    SearchFilterOptions,
    ShardOptions,
    refuse_about_one_clip,
    refuse_contradictions,
)
from dancematch.errors import DanceMatchError
from dancematch.pipeline.wording import (
    accident_cell,
    describe_span,
    likeliest_so_far,
    ratio_cell,
    recalibration_sentence,
    verdict_sentence,
)
from dancematch.search.settings import DanceFilter

if TYPE_CHECKING:
    from dancematch.pipeline.answer import Answer, DancerAnswer
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.pipeline.counts.counts import Counts
    from dancematch.search.explain import EvidenceMatrix, Explanation
    from dancematch.types import Match, RecordingMatch

NEAREST = 3  # dances that are named when none is a match


@click.command("search")
@click.argument("catalogue")
@click.argument("clips", nargs=-1, required=True, type=click.Path(path_type=Path))
@option_group("wanted", AnswerOptions)
@option_group("batch", BatchOptions)
@option_group("among", SearchFilterOptions)
@option_group("scoring", ScoringOptions)
@option_group("nodes", ShardOptions)
@model_option
@json_option
def search_command(
    catalogue: str,
    clips: tuple[Path, ...],
    wanted: AnswerOptions,
    batch: BatchOptions,
    among: SearchFilterOptions,
    scoring: ScoringOptions,
    nodes: ShardOptions,
    model: str | None,
    as_json: bool,
) -> None:
    """Say which dance of CATALOGUE the CLIPS (videos, motion files or files of words) are.

    One verdict per dancer: match, possible match or no match; all recordings of a dance speak for it, and the
    one that fits best is named. Exits with 0 if any is a match or a
    possible one and with 3 if none is; a label or collection that no dance has is an error. A file of
    words is what 'dancematch extract --words' writes.

    With --json, one object per clip; of a clip that cannot be read or shows no dancer it has the verdict
    null and the error, which goes to stderr too, with exit code 1.

    CLIPS may also be folders, or patterns such as 'clips/*.mp4'. Of several, one sentence per dancer is
    printed as they come, in the order given, and a summary at the end. A clip that fails spoils no other,
    but the exit code is 1: the answer is not complete. Files of the same content are searched for once.

    With --csv, a table: the match of each dancer, under the names of --json. It is written when all is
    done; until then FILE.part has what was found, and --resume goes on with it unless the dances or the
    options have changed. Given again later, the same line with --resume searches only for clips that are new,
    that have changed or that failed, and keeps all other rows of the finished table. A text that a
    spreadsheet would take for a formula, since it begins with =, +, - or @, has an apostrophe before it, as
    has one that begins with an apostrophe.

    While a video is read, the likeliest dance so far stands behind the progress bar. With --first, the
    reading ends as soon as what has been read is a match, with a tenth of the usual risk of an accident.

    With --review, each dancer whose likeliest dance is a possible match is put on the list that
    'dancematch review' shows, to be confirmed or rejected.

    With --report, the evidence is gathered for one dance: frames side by side, times, tempo and mirror,
    whether both move at the same moments, how strong the evidence is and how rare the passage, hashes and
    the command that repeats it. It is written whether it is a match or not, and --json prints it too. With
    --reference-video, frames are of both sides; only the very file that the dance was added from is taken.

    \b
    Example:
      dancematch search dances.db phone.mp4
      dancematch search dances.db phone.mp4 --json
      dancematch search dances.db phone.mp4 --collection studio --explain
      dancematch search dances.db phone.mp4 --recordings
      dancematch search dances.db phone.mp4 --first
      dancematch search dances.db phone.mp4 --plot why.png
      dancematch search dances.db phone.mp4 --report evidence.html --dance thriller
      dancematch search dances.db phone.mp4 --report evidence.html --reference-video thriller.mp4
      dancematch search dances.db archive/ 'more/*.mov' --csv found.csv --jobs 4
      dancematch search dances.db archive/ --csv found.csv --resume
      dancematch search dances.db archive/ --review
      dancematch search dances.db archive/ --json | jq 'select(.verdict == "match").file'
    """
    from dancematch.pipeline.catalogue import open_catalogue

    refuse_contradictions(wanted, nodes, batch)
    several = not is_one_clip(clips, batch)
    if several:
        refuse_about_one_clip(wanted, batch, as_json)
    if wanted.report is not None:
        report_match(catalogue, clips[0], wanted, model, as_json)
        return
    asked = Question(wanted, batch, among.dance_filter(), scoring.settings(), as_json)
    found = find_batch(clips, wanted, batch) if several else []
    if wanted.plot is not None:
        _require_drawable(wanted.plot, wanted.force)
    if wanted.motions is not None:
        _require_motions_free(wanted.motions, wanted.force)
    with open_catalogue(catalogue, model=model, create=False) as known:
        known.require_any(asked.only.label, asked.only.collection)  # a misspelt name says nothing of clips
        choose_nodes(known, catalogue, nodes)
        if several:
            search_batch(known, found, asked)
        else:
            _search_one(known, catalogue, clips[0], asked)


def _search_one(known: "Catalogue", catalogue: str, clip: Path, asked: Question) -> None:
    """Print all that is wanted of one clip, and exit with its code."""
    from dancematch.pipeline.query import holds_words

    wanted, plot = asked.wanted, asked.wanted.plot
    answer = _answer(known, clip, asked)
    first = answer.matches[0] if answer.matches else None
    explained = [d.candidates[0] for d in answer.dancers if d.candidates] if wanted.explain else []
    if plot is not None and first is not None and first not in explained:
        explained.append(first)
    reasons = {_key(one): known.explain(answer.query, one, asked.settings) for one in explained}
    if holds_words(clip):
        say(
            f"{clip} holds words alone: mirrored, it is made from the motion they decode to, and scores lower"
        )
    shown = {key: why for key, (why, _) in reasons.items()} if wanted.explain else {}
    _print_answer(answer, shown, clip, asked, lambda recording_id: known.counts(recording_id).counts)
    if wanted.review:
        from dancematch.pipeline.analysis.clip_files import content_hash

        known.keep_for_review(answer, clip.name, content_hash(clip))
        say_what_waits(known)
    if answer.verdict == "no match":
        if plot is not None:
            say(f"{plot} is not drawn: there is no match")
        if wanted.motions is not None:
            say(f"{wanted.motions} is not written: there is no match")
        if not answer.candidates:
            _say_that_nothing_was_searched(clip, catalogue, asked.only)
        sys.exit(ExitCode.NO_MATCH)
    if plot is not None and first is not None:
        _draw(plot, first, reasons[_key(first)][1], clip.name, wanted.force)
    if wanted.motions is not None and first is not None:
        _write_motions(known, answer, first, wanted)


def _write_motions(known: "Catalogue", answer: "Answer", match: "Match", wanted: AnswerOptions) -> None:
    from dancematch.report.match_motions import write_match_motions

    for path in write_match_motions(known, answer.query, match, wanted.motions or "", overwrite=wanted.force):
        say(f"{path}: written")


def _require_motions_free(path: Path, force: bool) -> None:
    """Say before the work what would stop the motions after it."""
    from dancematch.report.match_motions import require_motions_free

    require_motions_free(path, overwrite=force)


def _answer(known: "Catalogue", clip: Path, asked: Question) -> "Answer":
    """The answer; an error is printed as the clip's object too, if that is JSON."""
    try:
        with share_bar("analysing") as bar:
            if not (bar.visible or asked.wanted.first):  # nothing would show what is found so far
                return known.search(clip, on_progress=bar, **asked.search_options())
            answers = known.search_progressively(clip, on_progress=bar, **asked.search_options())
            with closing(answers):
                return _follow_answers(answers, bar, first=asked.wanted.first)
    except DanceMatchError as error:
        if asked.as_json:
            emit_json({**_name(clip), "verdict": None, "error": str(error)})
        raise


def _follow_answers(answers: "Iterator[Answer]", bar: ShareBar, *, first: bool) -> "Answer":
    """The last answer, or the `first` match; until then the likeliest dance stands behind the bar."""
    for answer in answers:
        if answer.read_seconds is None or (first and answer.verdict == "match"):
            return answer
        bar.note(likeliest_so_far(answer.candidates[0]) if answer.candidates else "")
    raise AssertionError("a search gives an answer on all of a clip")


def _name(clip: Path) -> dict[str, str | None]:
    """How the object of a clip names it, alone or among several."""
    from dancematch.pipeline.batch_search import SearchedClip, hash_clips

    return SearchedClip(clip, hash_clips([clip])[clip]).named()


def choose_nodes(known: "Catalogue", where: str, nodes: ShardOptions) -> None:
    """Let the catalogue search on a cluster, if one is named."""
    if nodes.cluster is not None:
        from dancematch.cluster.search import SHARDS, ClusterSearch

        known.searcher = ClusterSearch(known, where, nodes.cluster, shards=nodes.shards or SHARDS)


def _key(match: "Match") -> tuple[int, str]:
    return match.dancer, match.dance_id


def _draw(path: Path, match: "Match", evidence: "EvidenceMatrix", clip: str, force: bool) -> None:
    from dancematch.report.plots import draw_match

    draw_match(path, match, evidence, clip, overwrite=force)
    say(f"{path}: how {clip} lies in {match.name}")


def _require_drawable(path: Path, force: bool) -> None:
    """Say before the work what would stop the picture after it."""
    from dancematch.report.plots import require_drawable

    require_free(path, force)
    require_drawable(path)


def _print_answer(
    answer: "Answer",
    reasons: "Mapping[tuple[int, str], Explanation]",
    clip: Path,
    asked: Question,
    count: "Callable[[str], Counts | None]",
) -> None:
    """One object, or one section per dancer: the verdict in a sentence, the likeliest dances, the reasons."""
    if asked.as_json:
        emit_json({**_name(clip), **_describe(answer, reasons)})
        return
    for one in answer.dancers:
        if len(answer.dancers) > 1:
            if reasons and one is not answer.dancers[0]:
                emit()
            emit(f"Dancer {one.dancer}, {describe_span(one.span)} of the clip:")
        _print_dancer(one, asked.wanted.recordings)
        if one.candidates and reasons:
            best = one.candidates[0]
            counts = count(best.recording_id) if best.recording_id else None
            print_explanation(one, reasons[_key(best)], asked.wanted.max_evalue, counts)
    for ignored in answer.ignored if reasons else ():
        emit(ignored_line(ignored))
    if answer.recalibrated is not None:
        emit(recalibration_sentence(answer.recalibrated))
    if answer.read_seconds is not None:
        say(f"answered after {answer.read_seconds:.0f} s of {clip}; without --first, all of it is read")


def _describe(answer: "Answer", reasons: "Mapping[tuple[int, str], Explanation]") -> dict[str, Any]:
    """The answer as JSON has it, with the reasons of each dancer's best candidate."""
    described = answer.described()
    for one, told in zip(answer.dancers, described["dancers"], strict=True):
        if one.candidates and reasons:
            told["explanation"] = dataclasses.asdict(reasons[_key(one.candidates[0])])
    return described


def _print_dancer(one: "DancerAnswer", with_recordings: bool) -> None:
    if not one.candidates:
        return
    emit(verdict_sentence(one.candidates[0]))
    if one.verdict == "no match":
        emit("The nearest dances, none of them near enough:")
        print_matches(one.candidates[:NEAREST], with_recordings)
    else:
        print_matches(one.candidates, with_recordings)


def _say_that_nothing_was_searched(clip: Path, catalogue: str, only: DanceFilter) -> None:
    if only == DanceFilter():
        say(f"no match: {clip} is none of the dances in {catalogue}, which is empty")
    else:
        say(
            f"no match: {catalogue} has no dance of that label, collection and kind; "
            "'dancematch list' names all"
        )


def print_matches(matches: "Sequence[Match]", with_recordings: bool = False) -> None:
    """Show matches as a table: each dance with the recording that fits best, perhaps all of several below."""
    rows = []
    for match in matches:
        rows.append(
            [match.verdict, match.name, *_place_cells(match), _body(match), accident_cell(match.evalue)]
        )
        for one in match.recordings if with_recordings and len(match.recordings) > 1 else ():
            alone = "" if one.log_ratio is None else ratio_cell(one.log_ratio)
            rows.append(["", "", *_place_cells(one), "", f"alone: {alone}"])
    headings = ["verdict", "dance", "recording", "where in it", "tempo", "mirrored", "body", "by accident"]
    emit_table(headings, rows)


def _place_cells(match: "Match | RecordingMatch") -> list[str]:
    """Which recording, where in it, and how changed."""
    return [
        match.recording or "",
        f"{match.reference.start:.1f} to {match.reference.end:.1f} s",
        "" if match.tempo is None else f"x{match.tempo:.2f}",
        "yes" if match.mirrored else "no",
    ]


def _body(match: "Match") -> str:
    """How much each region of the body agrees; one that the clip does not show is left out."""
    regions = [name for name in ("arms", "torso", "legs") if name in match.parts]
    return ", ".join(f"{name} {match.parts[name]:.2f}" for name in regions)
