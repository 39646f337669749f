"""The options of `dancematch search`, in groups, and what they rule out."""

from dataclasses import dataclass, replace
from pathlib import Path

import click
from click.core import ParameterSource

from dancematch.cli.options import FilterOptions, file_path, max_evalue_settings, option
from dancematch.search.settings import DEFAULT_LIMIT, DEFAULT_SETTINGS, SETTINGS, DanceFilter, Settings

_NOT_WITH_REPORT = (
    "limit",
    "label",
    "collection",
    "periodic",
    "weights",
    "shortlist",
    "explain",
    "plot",
    "cluster",
)


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
        "--limit", type=click.IntRange(1), default=DEFAULT_LIMIT, show_default=True, help="Dances to show."
    )
    max_evalue: float = option(
        "--max-evalue",
        **max_evalue_settings(
            "A dance that a search gives by accident more often than this is no match, only a possible one."
        ),
    )
    explain: bool = option(
        "--explain", is_flag=True, help="Say, of each dancer, why the likeliest dance is a match or is none."
    )
    plot: Path | None = option(
        "--plot", type=file_path(),
        help="Draw how the clip lies in the first match: a .png, .svg or .pdf file.",
    )  # fmt: skip
    report: Path | None = option(
        "--report", type=file_path(),
        help="Write the evidence down: a page (.html) to hand on or print, or the same as .json.",
    )  # fmt: skip
    dance_id: str | None = option(
        "--dance", help="With --report: the dance it is about (default: the best match)."
    )
    force: bool = option(
        "--force", is_flag=True, help="Let --plot and --report replace a file that is there."
    )


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


def refuse_contradictions(wanted: AnswerOptions, nodes: ShardOptions) -> None:
    """Refuse options that need another one, or that a report does not heed."""
    if nodes.shards is not None and nodes.cluster is None:
        raise click.UsageError("--shards says how a cluster splits the catalogue; give --cluster too")
    if wanted.report is None:
        if wanted.dance_id is not None:
            raise click.UsageError("--dance says which dance a --report is about; give --report too")
        return
    context = click.get_current_context()
    for name in _NOT_WITH_REPORT:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--report is about all dances, searched as usual; leave out --{name}")
