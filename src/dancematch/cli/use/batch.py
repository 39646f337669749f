"""What `dancematch search` does with several clips: one sentence per dancer, a table and a summary."""

import glob
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.output import complain, emit, emit_json, require_free, say, share_bar
from dancematch.cli.use.search_options import AnswerOptions, BatchOptions, Question
from dancematch.errors import InputError, NoDancerError
from dancematch.pipeline.wording import describe_span, recalibration_sentence, verdict_sentence

if TYPE_CHECKING:
    from dancematch.pipeline.batch_search import SearchedClip
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.pipeline.search_table import SearchTable

_NO_DANCER, _UNREADABLE = "without a dancer", "could not be read"
_OUTCOMES = ("match", "possible match", "no match", _NO_DANCER, _UNREADABLE)


def is_one_clip(places: Sequence[Path], batch: BatchOptions) -> bool:
    """Whether a single file is named, or a folder that is one recording, and no table is wanted."""
    from dancematch import formats

    if len(places) > 1 or batch.csv is not None:
        return False
    (place,) = places
    if place.is_dir():
        return formats.is_motion_file(place)
    return place.exists() or not glob.has_magic(str(place))


def find_batch(places: Sequence[Path], wanted: AnswerOptions, batch: BatchOptions) -> list[Path]:
    """The clips that the places name; what would stop the table after the work is refused before it."""
    from dancematch.pipeline.analysis.clip_files import find_clips
    from dancematch.pipeline.search_table import find_part

    clips = find_clips(places)
    if batch.csv is None or batch.prints_table:
        return clips
    require_free(batch.csv, wanted.force or batch.resume)
    own = {batch.csv.absolute(), find_part(batch.csv).absolute()}  # where a pattern fits them too
    clips = [clip for clip in clips if clip.absolute() not in own]
    if not clips:
        raise InputError(f"{batch.csv} is the table that would be written; name clips besides it")
    return clips


def search_batch(known: "Catalogue", clips: Sequence[Path], asked: Question) -> None:
    """Print what each clip is, in the order given, then how many are what; exit with the code of them all."""
    from dancematch.pipeline.batch_search import BatchSearch, hash_clips
    from dancematch.pipeline.search_table import make_question_id

    contents = hash_clips(clips)
    search = partial(known.search, **asked.search_options())
    question_id = make_question_id(_describe_question(known, asked))
    outcomes: Counter[str] = Counter()
    words = 0
    with _open_table(known, asked) as table, ExitStack() as stack:
        waiting = _skip_searched(contents, table, outcomes)
        show = stack.enter_context(share_bar("searching"))
        batch = BatchSearch(known.tokeniser, search, asked.batch.jobs)
        for searched in stack.enter_context(closing(batch.run(waiting, show))):
            outcomes[_outcome(searched)] += 1
            words += searched.is_words
            if table is not None:
                table.add(searched)
            _print_searched(searched, asked, question_id)
            if asked.wanted.review and searched.answer is not None and searched.sha256 is not None:
                known.keep_for_review(searched.answer, searched.path.name, searched.sha256)
        if table is not None:
            say(f"{table.path}: {'written' if table.finish(contents) else 'nothing new'}")
    if words:
        say(f"{words} of them hold words alone: mirrored, these are made from the motion they decode to")
    recalibration = known.reviews.recalibration
    if recalibration is not None:
        say(recalibration_sentence(recalibration))
    if asked.wanted.review:
        say_what_waits(known)
    say(_summary(outcomes))
    sys.exit(_exit_code(outcomes))


def say_what_waits(known: "Catalogue") -> None:
    """Say how many possible matches of a catalogue wait for a decision, if any do."""
    waiting = known.reviews.count_waiting()
    if not waiting:
        return
    what = "possible match waits" if waiting == 1 else "possible matches wait"
    say(f"{waiting} {what} for review; 'dancematch review {known.where}' lists them")


@contextmanager
def _open_table(known: "Catalogue", asked: Question) -> "Iterator[SearchTable | None]":
    """The table to fill, if one is to be written; of a run that is cut short, what to do is said."""
    from dancematch.pipeline.search_table import SearchTable, header_line

    batch = asked.batch
    if batch.prints_table:
        emit(header_line())
    if batch.csv is None or batch.prints_table:
        yield None
        return
    facts = _describe_question(known, asked)
    table = SearchTable(batch.csv, facts, resume=batch.resume, overwrite=asked.wanted.force)
    try:
        yield table
    except BaseException:  # Ctrl-C too
        table.close()
        if table.part.exists():
            say(f"{table.part} has what was found so far; say --resume to go on with it")
        raise


def _describe_question(known: "Catalogue", asked: Question) -> dict[str, Any]:
    """What is asked of which catalogue: of what differs in any of it, no table is made together."""
    return {
        "catalogue": known.identity,
        "generation": known.generation,
        "model_id": known.tokeniser.model_id,
        "options": repr((asked.wanted.max_evalue, asked.only, asked.settings)),
    }


def _skip_searched(
    contents: Mapping[Path, str | None], table: "SearchTable | None", outcomes: "Counter[str]"
) -> dict[Path, str | None]:
    """The clips that are still to be searched; the verdicts on all others are counted."""
    if table is None:
        return dict(contents)
    verdicts = {clip: table.verdict(clip, sha256) for clip, sha256 in contents.items()}
    outcomes.update(verdict for verdict in verdicts.values() if verdict is not None)
    if outcomes:
        say(f"{outcomes.total()} of {len(contents)} clips were searched before; they are not printed again")
    return {clip: contents[clip] for clip, verdict in verdicts.items() if verdict is None}


def _outcome(searched: "SearchedClip") -> str:
    return searched.verdict or (_NO_DANCER if isinstance(searched.error, NoDancerError) else _UNREADABLE)


def _print_searched(searched: "SearchedClip", asked: Question, question_id: str) -> None:
    from dancematch.pipeline.search_table import row_lines

    if searched.error is not None:
        complain(searched.path, searched.error)
    if asked.batch.prints_table:
        for line in row_lines(searched, question_id):
            emit(line)
    elif asked.as_json:
        emit_json(searched.described())
    elif searched.answer is not None:
        _print_sentences(searched)


def _print_sentences(searched: "SearchedClip") -> None:
    """One line per dancer; one alone is not numbered."""
    answer = searched.answer
    for one in answer.dancers if answer is not None else ():
        who = f", dancer {one.dancer}, {describe_span(one.span)}" if answer and answer.dancers[1:] else ""
        found = verdict_sentence(one.candidates[0]) if one.candidates else str(answer)
        emit(f"{searched.path}{who}: {found}")


def _summary(outcomes: "Counter[str]") -> str:
    """How many clips are what: "40 clips: 31 match, 9 no match.", failures only if there are any."""
    total = outcomes.total()
    counts = [f"{outcomes[name]} {name}" for name in _OUTCOMES[:3]]
    counts += [f"{outcomes[name]} {name}" for name in _OUTCOMES[3:] if outcomes[name]]
    return f"{total} clip{'s' * (total != 1)}: {', '.join(counts)}."


def _exit_code(outcomes: "Counter[str]") -> ExitCode:
    """That of one clip, for all of them; a clip that failed comes before what the others are."""
    if outcomes[_NO_DANCER] or outcomes[_UNREADABLE]:
        return ExitCode.FAILED
    return ExitCode.DONE if outcomes["match"] or outcomes["possible match"] else ExitCode.NO_MATCH
