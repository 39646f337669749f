"""dancematch add: learn recordings of dances."""

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.logs import log_option
from dancematch.cli.options import file_path, jobs_option, json_option, model_option, option, option_group
from dancematch.cli.output import complain, emit_json, ignored_line, say, share_bar
from dancematch.errors import InputError
from dancematch.pipeline.analysis.limits import MEGABYTE, WorkLimits

if TYPE_CHECKING:
    from dancematch.pipeline.analysis.analyse_files import Analyser
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.pipeline.ingest import Added
    from dancematch.pipeline.recording_index import IndexRow
    from dancematch.pipeline.recording_plan import DanceFrom, RecordingPlan

_NAMED = 3  # files that a message names; more are only counted


@dataclass(frozen=True)
class DanceOptions:
    """Which dances the files are recordings of, and what is kept with them."""

    dance: str | None = option(
        "--dance", metavar="NAME",
        help="All files are recordings of this dance, which is made if it is not there.",
    )  # fmt: skip
    dance_from: "DanceFrom" = option(
        "--dance-from", type=click.Choice(["title", "file", "folder"]), default="title", show_default=True,
        help="One dance per file, named by the title in the .info.json that yt-dlp writes beside a video, "
        "else by the file; or by the file always; or one dance per folder.",
    )  # fmt: skip
    index: Path | None = option(
        "--index", type=file_path(), metavar="FILE",
        help="A table (CSV) with the columns file, dance, performer, labels, url, date, collection, notes.",
    )  # fmt: skip
    labels: tuple[str, ...] = option(
        "--label", multiple=True, help="A word to keep with the dances, such as the song; may be repeated."
    )
    collection: str | None = option("--collection", help="The collection that the dances belong to.")
    notes: str | None = option("--note", help="A line to keep with the dances.")


@dataclass(frozen=True)
class RecordingOptions:
    """What is kept with the recordings."""

    performer: str | None = option("--performer", help="Who dances in the files.")
    url: str | None = option("--url", help="The web page that the files come from.")
    date: str | None = option("--date", help="When they were made: 2020, 2020-12 or 2020-12-31.")
    posters: bool = option("--posters", is_flag=True, help="Keep one small picture of each video.")


@dataclass(frozen=True)
class ClusterOptions:
    """How clips are analysed on a cluster, if they are."""

    address: str | None = option(
        "--cluster", metavar="auto|ADDRESS",
        help="Analyse the clips on all nodes of a Ray cluster: the one on this machine, or at an address.",
    )  # fmt: skip
    clip_seconds: float = option(
        "--clip-seconds", type=click.FloatRange(1), default=WorkLimits.seconds, show_default=True,
        help="With --cluster: seconds that a clip may take on a node.",
    )  # fmt: skip
    clip_memory: int = option(
        "--clip-memory", type=click.IntRange(256), default=WorkLimits.memory_bytes // MEGABYTE,
        show_default=True, help="With --cluster: megabytes that a clip may take on a node.",
    )  # fmt: skip
    retry: bool = option("--retry", is_flag=True, help="With --cluster: analyse quarantined clips again.")


@click.command("add")
@click.argument("catalogue")
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
@option_group("dance", DanceOptions)
@option_group("recording", RecordingOptions)
@jobs_option
@option_group("cluster", ClusterOptions)
@model_option
@log_option
@json_option
def add_command(
    catalogue: str,
    places: tuple[Path, ...],
    dance: DanceOptions,
    recording: RecordingOptions,
    jobs: int,
    cluster: ClusterOptions,
    model: str | None,
    as_json: bool,
) -> None:
    """Learn the recordings in PLACES: videos, motion files, folders of them, patterns such as 'clips/*.mp4'.

    CATALOGUE is a file, made if it is not there, or a database URL. Each file is a recording of a dance. Say
    which with --dance, --dance-from folder or --index; else each is a dance of its own, named by its file or,
    in a folder of downloads, by the title in its .info.json; of two videos of one title, the second has its
    uploader or id in brackets. The .info.json also tells performer, url, date and the song, as a label. All
    else that a downloader writes is left alone.

    Files in an --index are absolute or relative to its folder; without PLACES all of them are added, with
    PLACES those that are there. Labels are separated by semicolons.

    A clip that is already known is skipped, so an interrupted run goes on where it stopped. On a cluster, a
    clip that ends the processes that analyse it is put in quarantine: listed beside CATALOGUE, and skipped
    from then on, until it is given more seconds or megabytes than it had.

    \b
    Example:
      dancematch add dances.db thriller.mp4
      dancematch add dances.db anna.mp4 ben.mp4 --dance Thriller --label "summer class"
      dancematch add dances.db clips/ --dance-from folder --posters --jobs 2
      dancematch add dances.db --index clips/index.csv
      dancematch add dances.db downloads/ --dance-from file
      dancematch add postgresql://db/dances /shared/clips --cluster auto
    """
    from dancematch.pipeline.catalogue import open_catalogue

    _refuse_contradictions(places, dance, cluster)
    plans = _plan(places, dance, recording)
    with open_catalogue(catalogue, model=model) as known, share_bar("adding") as tell:
        analyser = _analyse_on_cluster(known, cluster, model, recording.posters) if cluster.address else None
        counts = Counter({"added": 0, "skipped": 0, "failed": 0})
        differing: list[str] = []
        for added in known.add_planned(
            plans, jobs=jobs, analyser=analyser, posters=recording.posters, on_progress=tell
        ):
            state = "failed" if added.error else "skipped" if added.skipped else "added"
            counts[state] += 1
            _show_added(_note_claim(known, added, plans[added.path]), state, as_json)
            differing += _describe_difference(added, plans[added.path])
    if differing:
        _say_that_differences_stay(catalogue, differing)
    elif counts["skipped"]:
        _say_that_facts_stay(dance, recording)
    say(", ".join(f"{number} {state}" for state, number in counts.items()))
    if counts["failed"]:
        sys.exit(ExitCode.FAILED)


def _refuse_contradictions(places: tuple[Path, ...], dance: DanceOptions, cluster: ClusterOptions) -> None:
    context = click.get_current_context()
    if not places and dance.index is None:
        raise click.UsageError("say what to add: PLACES, or an --index of files")
    if dance.dance is not None and context.get_parameter_source("dance_from") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--dance names the dance of all files; leave out --dance-from")
    if cluster.retry and cluster.address is None:
        raise click.UsageError("--retry is about clips that a cluster put in quarantine; give --cluster too")


def _plan(
    places: tuple[Path, ...], dance: DanceOptions, recording: RecordingOptions
) -> "dict[Path, RecordingPlan]":
    """What is said of each file that is to be added."""
    from dancematch.pipeline.analysis.clip_files import find_clips
    from dancematch.pipeline.recording_plan import plan_clips, plan_of

    index = {} if dance.index is None else _read_index(dance.index, dance.dance)
    clips = find_clips(places) if places else list(index)
    resolved = {clip.resolve() for clip in clips}
    outside = sum(path.resolve() not in resolved for path in index)
    if outside:
        say(f"{outside} of the {len(index)} files in {dance.index} are not among those named: not added")
    said = plan_of(
        dance.dance,
        {
            "labels": dance.labels, "collection": dance.collection, "notes": dance.notes,
            "performer": recording.performer, "url": recording.url, "date": recording.date,
        },
    )  # fmt: skip
    return plan_clips(clips, said, dance_from=dance.dance_from, index=index)


def _read_index(path: Path, dance: str | None) -> "Mapping[Path, IndexRow]":
    """The rows of an index by their files."""
    from dancematch.pipeline.recording_index import match_rows_to_files, read_index

    rows = read_index(path)
    if not rows:
        raise InputError(f"{path} names no file; write one row per recording")
    for row in rows:
        if dance is not None and row.dance not in (None, dance):
            raise InputError(
                f"{path}, line {row.row}: {row.file} is of the dance {row.dance!r}, but --dance says "
                f"{dance!r}; leave out one of the two"
            )
    return match_rows_to_files(rows, path.parent)


def _analyse_on_cluster(
    known: "Catalogue", cluster: ClusterOptions, model: str | None, posters: bool
) -> "Analyser":
    from dancematch.cluster.ingest import ClusterAnalyser
    from dancematch.pipeline.analysis.quarantine import Quarantine, quarantine_path
    from dancematch.pipeline.analysis.worker_process import WorkerSetup

    limits = WorkLimits(cluster.clip_seconds, cluster.clip_memory * MEGABYTE)
    setup = WorkerSetup(limits, model, known.tokeniser.model_id, posters=posters)
    return ClusterAnalyser(setup, Quarantine(quarantine_path(known)), str(cluster.address), cluster.retry)


def _say_that_facts_stay(dance: DanceOptions, recording: RecordingOptions) -> None:
    facts = (dance.dance, dance.index, dance.labels, dance.collection, dance.notes)
    if any((*facts, recording.performer, recording.url, recording.date, recording.posters)):
        say("what was known already stays as it is; 'dancematch edit' changes it")


def _describe_difference(added: "Added", plan: "RecordingPlan") -> list[str]:
    """What is said of a known recording and is something else there: "0001.mp4: performer, date"."""
    if added.known is None:
        return []
    differ = [
        name
        for name in ("performer", "date", "url")
        if getattr(plan, name) not in (None, getattr(added.known, name))
    ]
    return [f"{added.path.name}: {', '.join(differ)}"] if differ else []


def _say_that_differences_stay(catalogue: str, differing: Sequence[str]) -> None:
    shown = "; ".join(differing[:_NAMED]) + ("; ..." if differing[_NAMED:] else "")
    where = shlex.quote(catalogue)
    say(
        f"{len(differing)} known otherwise ({shown}): what was known already stays as it is; to correct it: "
        f"'dancematch list {where} --recordings --csv FILE', then 'dancematch edit {where} --csv FILE'"
    )


def _note_claim(known: "Catalogue", added: "Added", plan: "RecordingPlan") -> "Added":
    """The same, with a note if it is known as a recording of another dance than was said."""
    said, there = plan.dance, added.dance
    if not added.skipped or not plan.join or there is None or said in (None, there, added.dance_id):
        return added
    edit = f"dancematch edit {shlex.quote(known.where)} {shlex.quote(there)}"
    own = f"--recording {shlex.quote(_name_recording(known, added, there))}"
    name = shlex.quote(said)
    if said in known:
        advice = f"{edit} {own} --move-to {name}"
    elif len(known.recordings(there)) == 1:
        advice = f"{edit} --name {name}"
    else:
        advice = f"{edit} --name {name} (all its recordings), or {edit} {own} --new-dance {name} (this one)"
    return replace(added, note=f"it was said to be of {said!r}; to correct it: {advice}")


def _name_recording(known: "Catalogue", added: "Added", dance: str) -> str:
    """The file of a known recording, or its id where another one of the dance has that name too."""
    if added.known is None:  # it was added in this very run
        return added.path.name
    same = [one for one in known.recordings(dance) if one.file == added.known.file]
    return added.known.file if len(same) == 1 else added.known.recording_id


def _show_added(added: "Added", state: str, as_json: bool) -> None:
    from dancematch.pipeline.analysis.file_analysis import describe_ignored

    facts = {"file": str(added.path), "state": state, "dance": added.dance, "dance_id": added.dance_id}
    if added.error is not None:
        complain(added.path, added.error)
    elif not as_json and added.skipped:
        say(f"{added.path}: skipped, its very content is known as {added.dance}", **facts)
    elif not as_json:
        number = f", recording {added.recordings}" if added.recordings > 1 else ""
        measured = f"{added.seconds:.1f} s, {added.dancers} dancer(s)"
        say(f"{added.path}: {added.dance}{number}, {measured}", **facts)
        for one in added.ignored:
            say(f"  {ignored_line(one)}", **facts)
    if added.note is not None and not as_json:
        say(f"  {added.note}", **facts)
    if as_json:
        reason = str(added.error) if added.error else None
        ignored = [describe_ignored(one) for one in added.ignored]
        counts = {"recordings": added.recordings, "dancers": added.dancers, "seconds": added.seconds}
        emit_json(facts | counts | {"ignored": ignored, "reason": reason, "note": added.note})
