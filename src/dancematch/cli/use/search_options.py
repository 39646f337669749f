"""The options of `dancematch search`, in groups, and what they rule out."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dancematch.cli.options import JOBS_SETTINGS, FilterOptions, file_path, max_evalue_settings, option
from dancematch.search.settings import DEFAULT_LIMIT, DEFAULT_SETTINGS, SETTINGS, DanceFilter, Settings

_NOT_WITH_REPORT = (
    "limit",
    "label",
    "collection",
    "periodic",
    "weights",
    "shortlist",
    "explain",
    "recordings",
    "plot",
    "motions",
    "cluster",
    "review",
    "first",
)
STDOUT = Path("-")
_ABOUT_ONE_CLIP = ("report", "plot", "motions", "explain", "recordings", "first")


@dataclass(frozen=True)
class SearchFilterOptions(FilterOptions):
    """Which dances of a catalogue are searched."""

    periodic: bool | None = option(
        "--periodic/--no-periodic", default=None, help="Only dances that repeat themselves, or do not."
    )

    def dance_filter(self) -> DanceFilter:
        """The same for the library."""
        return DanceFilter(self.label, self.collection, self.periodic)


@dataclass(frozen=True)
class ScoringOptions:
    """How dances are scored."""

    weights: str = option(
        "--weights", metavar="default|paper|FILE", default="default", show_default=True,
        help="How much each metric counts; a FILE is what 'dancematch eval weights' writes. Rare words count "
        "more in histograms whatever the weights.",
    )  # fmt: skip
    shortlist: str | None = option(
        "--shortlist", type=click.Choice(["capped", "paper", "all"]),
        help="Dances to compare closely: the likeliest 200, half of them, or all of them (slow).",
    )  # fmt: skip

    def settings(self) -> Settings:
        """The same for the library; a file of weights is read."""
        from dancematch.search.metrics.weights import read_weights

        weights, shortlist = self.weights, self.shortlist
        chosen = SETTINGS.get(weights) or replace(
            DEFAULT_SETTINGS, weights=read_weights(weights), ranked_by="score"
        )
        return replace(chosen, shortlist=shortlist) if shortlist else chosen  # type: ignore[arg-type]


@dataclass(frozen=True)
class AnswerOptions:
    """What is said and written of the answer."""

    limit: int = option(
        "--limit", type=click.IntRange(1), default=DEFAULT_LIMIT, show_default=True,
        help="Dances to show; of several clips with --json.",
    )  # fmt: skip
    max_evalue: float = option(
        "--max-evalue",
        **max_evalue_settings(
            "A dance that a search gives by accident more often than this is no match, only a possible one."
        ),
    )
    explain: bool = option(
        "--explain", is_flag=True, help="Say, of each dancer, why the likeliest dance is a match or is none."
    )
    recordings: bool = option(
        "--recordings", is_flag=True,
        help="List, below each dance, its recordings that were compared, and how strongly each speaks alone.",
    )  # fmt: skip
    plot: Path | None = option(
        "--plot", type=file_path(),
        help="Draw how the clip lies in the first match: a .png, .svg or .pdf file.",
    )  # fmt: skip
    motions: Path | None = option(
        "--motions", type=click.Path(path_type=Path), metavar="DIR",
        help="Write both dancers of the first match, on one clock: a folder for figures (match.glb) and "
        "skeletons (query.bvh, reference.bvh), or one .glb file.",
    )  # fmt: skip
    report: Path | None = option(
        "--report", type=file_path(),
        help="Write the evidence down: a page (.html) to hand on or print, or the same as .json.",
    )  # fmt: skip
    dance: str | None = option(
        "--dance", help="With --report: the name or id of the dance it is about (default: the best match)."
    )
    reference_video: Path | None = option(
        "--reference-video", type=file_path(), metavar="FILE",
        help="With --report: the video that the dance was added from, to show its frames beside the clip's.",
    )  # fmt: skip
    first: bool = option(
        "--first", is_flag=True,
        help="Stop reading a video as soon as what has been read is a match; at the end if nothing is.",
    )  # fmt: skip
    review: bool = option(
        "--review", is_flag=True,
        help="Put possible matches on the list that 'dancematch review' shows, to be decided.",
    )  # fmt: skip
    force: bool = option(
        "--force", is_flag=True, help="Let --plot, --motions, --report and --csv replace files."
    )


@dataclass(frozen=True)
class BatchOptions:
    """How several clips are searched for, and where the table of them goes."""

    jobs: int = option("--jobs", **JOBS_SETTINGS)
    csv: Path | None = option(
        "--csv", type=file_path(), metavar="FILE",
        help="Write a table, one row per clip and dancer; - prints it in place of the sentences.",
    )  # fmt: skip
    resume: bool = option(
        "--resume", is_flag=True,
        help="With --csv FILE: go on with a run that was interrupted, or with a finished table; only clips "
        "that are new or failed are searched for.",
    )  # fmt: skip

    @property
    def prints_table(self) -> bool:
        """Whether the table goes to stdout."""
        return self.csv == STDOUT


@dataclass(frozen=True)
class ShardOptions:
    """Whether the search is spread over a cluster."""

    cluster: str | None = option(
        "--cluster", metavar="auto|ADDRESS",
        help="Search in shards on a Ray cluster: the one on this machine, or at an address. The shards are "
        "loaded first and end with the command: a service keeps them.",
    )  # fmt: skip
    shards: int | None = option(
        "--shards", type=click.IntRange(1), help="With --cluster: the number of shards [default: 4]."
    )


@dataclass(frozen=True)
class Question:
    """What is asked of a catalogue about each clip, and how the answer is given."""

    wanted: AnswerOptions
    batch: BatchOptions
    only: DanceFilter
    settings: Settings
    as_json: bool

    def search_options(self) -> dict[str, Any]:
        """The arguments of `Catalogue.search`."""
        return {
            "limit": self.wanted.limit,
            "max_evalue": self.wanted.max_evalue,
            "settings": self.settings,
            **vars(self.only),
        }


def refuse_contradictions(wanted: AnswerOptions, nodes: ShardOptions, batch: BatchOptions) -> None:
    """Refuse options that need another one, or that a report does not heed."""
    if nodes.shards is not None and nodes.cluster is None:
        raise click.UsageError("--shards says how a cluster splits the catalogue; give --cluster too")
    if batch.resume and (batch.csv is None or batch.prints_table):
        raise click.UsageError("--resume goes on with the table that --csv writes; give --csv FILE too")
    if wanted.report is None:
        if wanted.dance is not None:
            raise click.UsageError("--dance says which dance a --report is about; give --report too")
        if wanted.reference_video is not None:
            raise click.UsageError("--reference-video adds frames to a --report; give --report too")
        return
    context = click.get_current_context()
    for name in _NOT_WITH_REPORT:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--report is about all dances, searched as usual; leave out --{name}")


def refuse_about_one_clip(wanted: AnswerOptions, batch: BatchOptions, as_json: bool) -> None:
    """Refuse, where several clips are searched for, what is about one, and two results on one stream."""
    for name in _ABOUT_ONE_CLIP:
        if getattr(wanted, name):
            raise click.UsageError(f"--{name} is about one clip; give a single file, without --csv")
    if batch.prints_table and as_json:
        raise click.UsageError(
            "--csv - and --json would both be printed; leave one out, or give --csv a file"
        )
    limit = click.get_current_context().get_parameter_source("limit")
    if limit is ParameterSource.COMMANDLINE and not as_json:
        raise click.UsageError("of several clips only --json shows more than one dance; leave out --limit")
