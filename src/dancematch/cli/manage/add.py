"""dancematch add: learn dances."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.logs import log_option
from dancematch.cli.options import jobs_option, json_option, model_option, option, option_group
from dancematch.cli.output import complain, emit_json, ignored_line, say, share_bar
from dancematch.pipeline.analysis.limits import MEGABYTE, WorkLimits

if TYPE_CHECKING:
    from dancematch.pipeline.analysis.analyse_files import Analyser
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.pipeline.ingest import Added


@dataclass(frozen=True)
class DanceOptions:
    """What is kept with the dances."""

    dance_id: str | None = option(
        "--id", help="The dance's name, for a single file (default: by --name-from)."
    )
    name_from: str = option(
        "--name-from", type=click.Choice(["title", "file"]), default="title", show_default=True,
        help="By the title in the .info.json that yt-dlp writes beside a video, else the file's name; "
        "or by the file's name always.",
    )  # fmt: skip
    label: str | None = option("--label", help="Words to keep with the dances, such as the song.")
    collection: str | None = option("--collection", help="The collection that the dances belong to.")


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
@click.argument("places", nargs=-1, required=True, type=click.Path(path_type=Path))
@option_group("dance", DanceOptions)
@jobs_option
@option_group("cluster", ClusterOptions)
@model_option
@log_option
@json_option
def add_command(
    catalogue: str,
    places: tuple[Path, ...],
    dance: DanceOptions,
    jobs: int,
    cluster: ClusterOptions,
    model: str | None,
    as_json: bool,
) -> None:
    """Learn the dances in PLACES (videos, motion files, folders of them, or patterns such as 'clips/*.mp4').

    CATALOGUE is a file, made if it is not there, or a database URL. A dance is named by its file or, in a
    folder of downloads, by the title in its .info.json; of two videos of one title, the second has its
    uploader or id in brackets, and all else that a downloader writes is left alone. A clip that is
    already known is skipped, so an interrupted run goes on where it stopped. On a cluster, a clip that
    ends the processes that analyse it is put in quarantine: listed beside CATALOGUE, and skipped from
    then on, until it is given more seconds or megabytes than it had.

    \b
    Example:
      dancematch add dances.db thriller.mp4
      dancematch add dances.db clips/ --label "summer class" --jobs 2
      dancematch add dances.db downloads/ --name-from file
      dancematch add postgresql://db/dances /shared/clips --cluster auto
    """
    from dancematch.pipeline.analysis.clip_files import find_clips
    from dancematch.pipeline.catalogue import open_catalogue

    _refuse_contradictions(places, dance, cluster)
    clips = find_clips(places)
    if dance.dance_id is not None and len(clips) > 1:
        raise click.UsageError(f"--id names one dance, but {len(clips)} files fit {places[0]}")
    kept = {"label": dance.label, "collection": dance.collection}
    counts = {"added": 0, "skipped": 0, "failed": 0}
    with open_catalogue(catalogue, model=model) as known, share_bar("adding") as tell:
        if dance.dance_id is not None:
            results = iter([known.add(clips[0], dance_id=dance.dance_id, on_progress=tell, **kept)])
        else:
            analyser = _analyse_on_cluster(known, cluster, model) if cluster.address else None
            by_title = dance.name_from == "title"
            results = known.add_clips(
                clips, by_title=by_title, jobs=jobs, analyser=analyser, on_progress=tell, **kept
            )
        for added in results:
            state = "failed" if added.error else "skipped" if added.skipped else "added"
            counts[state] += 1
            _show_added(added, state, as_json)
    if counts["skipped"] and (dance.label or dance.collection):
        say("what was known already keeps the label and collection that it has")
    say(", ".join(f"{number} {state}" for state, number in counts.items()))
    if counts["failed"]:
        sys.exit(ExitCode.FAILED)


def _refuse_contradictions(places: tuple[Path, ...], dance: DanceOptions, cluster: ClusterOptions) -> None:
    if dance.dance_id is not None and cluster.address is not None:
        raise click.UsageError("--id names one dance; --cluster is for many")
    if cluster.retry and cluster.address is None:
        raise click.UsageError("--retry is about clips that a cluster put in quarantine; give --cluster too")
    if dance.dance_id is not None and len(places) > 1:
        raise click.UsageError(f"--id names one dance, but {len(places)} files are given")


def _analyse_on_cluster(known: "Catalogue", cluster: ClusterOptions, model: str | None) -> "Analyser":
    from dancematch.cluster.ingest import ClusterAnalyser
    from dancematch.pipeline.analysis.quarantine import Quarantine, quarantine_path
    from dancematch.pipeline.analysis.worker_process import WorkerSetup

    limits = WorkLimits(cluster.clip_seconds, cluster.clip_memory * MEGABYTE)
    setup = WorkerSetup(limits, model, known.tokeniser.model_id)
    return ClusterAnalyser(setup, Quarantine(quarantine_path(known)), str(cluster.address), cluster.retry)


def _show_added(added: "Added", state: str, as_json: bool) -> None:
    from dancematch.pipeline.analysis.file_analysis import describe_ignored

    facts = {"file": str(added.path), "state": state, "dance_id": added.dance_id}
    if added.error is not None:
        complain(added.path, added.error)
    elif not as_json and added.skipped:
        say(f"{added.path}: skipped, its very content is known as {added.dance_id}", **facts)
    elif not as_json:
        say(f"{added.path}: {added.dance_id}, {added.seconds:.1f} s, {added.dancers} dancer(s)", **facts)
        for one in added.ignored:
            say(f"  {ignored_line(one)}", **facts)
    if added.note is not None and not as_json:
        say(f"  {added.note}", **facts)
    if as_json:
        reason = str(added.error) if added.error else None
        ignored = [describe_ignored(one) for one in added.ignored]
        counts = {"dancers": added.dancers, "seconds": added.seconds}
        emit_json(facts | counts | {"ignored": ignored, "reason": reason, "note": added.note})
