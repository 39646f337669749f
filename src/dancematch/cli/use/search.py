"""dancematch search: which dance is this?"""

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import (
    FilterOptions,
    file_path,
    json_option,
    max_evalue_settings,
    model_option,
    option,
    option_group,
)
from dancematch.cli.output import emit_json, emit_table, ignored_line, require_free, say, share_bar
from dancematch.cli.use.evidence import report_match
from dancematch.cli.use.explanation import print_explanation
from dancematch.errors import DanceMatchError
from dancematch.pipeline.wording import accident_cell, describe_span, verdict_sentence
from dancematch.search.settings import DEFAULT_LIMIT, DEFAULT_SETTINGS, SETTINGS, DanceFilter, Settings

if TYPE_CHECKING:
    from dancematch.pipeline.answer import Answer, DancerAnswer
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.search.explain import EvidenceMatrix, Explanation
    from dancematch.types import Match

NEAREST = 3  # dances that are named when none is a match
_NOT_WITH_REPORT = (
    *("limit", "label", "collection", "periodic", "weights", "shortlist", "explain", "plot", "cluster"),
)


@dataclass(frozen=True)
class SearchFilterOptions(FilterOptions):
    """Which dances of a catalogue are searched."""

    periodic: bool | None = option(
        "--periodic/--no-periodic", default=None, help="Only dances that repeat themselves, or do not."
    )


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


@click.command("search")
@click.argument("catalogue")
@click.argument("clip", type=click.Path(path_type=Path))
@option_group("wanted", AnswerOptions)
@option_group("among", SearchFilterOptions)
@option_group("scoring", ScoringOptions)
@option_group("nodes", ShardOptions)
@model_option
@json_option
def search_command(
    catalogue: str,
    clip: Path,
    wanted: AnswerOptions,
    among: SearchFilterOptions,
    scoring: ScoringOptions,
    nodes: ShardOptions,
    model: str | None,
    as_json: bool,
) -> None:
    """Say which dance of CATALOGUE the CLIP (a video, motion file or file of words) is.

    One verdict per dancer: match, possible match or no match. Exits with 0 if any is a match or a
    possible one and with 3 if none is; a label or collection that no dance has is an error. A file of
    words is what 'dancematch extract --words' writes.

    With --json, one object; of a clip that cannot be read or shows no dancer it has the verdict null
    and the error, which goes to stderr too, with exit code 1.

    With --report, the evidence is gathered for one dance: frames side by side, times, tempo and mirror,
    whether both move at the same moments, how strong the evidence is and how rare the passage, hashes and
    the command that repeats it. It is written whether it is a match or not, and --json prints it too.

    \b
    Example:
      dancematch search dances.db phone.mp4
      dancematch search dances.db phone.mp4 --json
      dancematch search dances.db phone.mp4 --collection studio --explain
      dancematch search dances.db phone.mp4 --plot why.png
      dancematch search dances.db phone.mp4 --report evidence.html --dance thriller
    """
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.pipeline.query import holds_words

    _refuse_contradictions(wanted, nodes)
    if wanted.report is not None:
        report_match(
            catalogue, clip, wanted.report, dance_id=wanted.dance_id, max_evalue=wanted.max_evalue,
            model=model, force=wanted.force, as_json=as_json,
        )  # fmt: skip
        return
    settings, only = _settings(scoring), DanceFilter(among.label, among.collection, among.periodic)
    plot = wanted.plot
    if plot is not None:
        _require_drawable(plot, wanted.force)
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("analysing") as show:
        known.require_any(only.label, only.collection)  # a misspelt name says nothing of the clip
        _choose_nodes(known, catalogue, nodes)
        try:
            answer = known.search(
                clip, limit=wanted.limit, max_evalue=wanted.max_evalue, only=only, settings=settings,
                on_progress=show,
            )  # fmt: skip
        except DanceMatchError as error:
            if as_json:  # one object for the clip, whatever is wrong with it
                emit_json({"clip": clip.name, "verdict": None, "error": str(error)})
            raise
        first = answer.matches[0] if answer.matches else None
        explained = [d.candidates[0] for d in answer.dancers if d.candidates] if wanted.explain else []
        if plot is not None and first is not None and first not in explained:
            explained.append(first)
        reasons = {_key(one): known.explain(answer.query, one, settings) for one in explained}
    if holds_words(clip):
        say(f"{clip} holds words alone: mirrored, it is read from what they tell of, which scores lower")
    shown = {key: why for key, (why, _) in reasons.items()} if wanted.explain else {}
    _print_answer(answer, shown, clip, wanted.max_evalue, as_json)
    if answer.verdict == "no match":
        if not answer.candidates:
            _say_that_nothing_was_searched(clip, catalogue, only)
        sys.exit(ExitCode.NO_MATCH)
    if plot is not None and first is not None:
        _draw(plot, first, reasons[_key(first)][1], clip.name, wanted.force)


def _refuse_contradictions(wanted: AnswerOptions, nodes: ShardOptions) -> None:
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


def _choose_nodes(known: "Catalogue", where: str, nodes: ShardOptions) -> None:
    """Let the catalogue search on a cluster, if one is named."""
    if nodes.cluster is not None:
        from dancematch.cluster.search import SHARDS, ClusterSearch

        known.searcher = ClusterSearch(known, where, nodes.cluster, shards=nodes.shards or SHARDS)


def _key(match: "Match") -> tuple[int, str]:
    return match.dancer, match.dance_id


def _draw(path: Path, match: "Match", evidence: "EvidenceMatrix", clip: str, force: bool) -> None:
    from dancematch.report.plots import draw_match

    draw_match(path, match, evidence, clip, overwrite=force)
    say(f"{path}: how {clip} lies in {match.dance_id}")


def _settings(scoring: ScoringOptions) -> Settings:
    """What the options say about a search."""
    from dancematch.search.metrics.weights import read_weights

    weights, shortlist = scoring.weights, scoring.shortlist
    chosen = SETTINGS.get(weights) or replace(
        DEFAULT_SETTINGS, weights=read_weights(weights), ranked_by="score"
    )
    return replace(chosen, shortlist=shortlist) if shortlist else chosen  # type: ignore[arg-type]


def _require_drawable(path: Path, force: bool) -> None:
    """Say before the work what would stop the picture after it."""
    from dancematch.report.plots import require_drawable

    require_free(path, force)
    require_drawable(path)


def _print_answer(
    answer: "Answer",
    reasons: "Mapping[tuple[int, str], Explanation]",
    clip: Path,
    max_evalue: float,
    as_json: bool,
) -> None:
    """One object, or one section per dancer: the verdict in a sentence, the likeliest dances, the reasons."""
    if as_json:
        emit_json({"clip": clip.name, **_describe(answer, reasons)})
        return
    for one in answer.dancers:
        if len(answer.dancers) > 1:
            apart = "\n" if reasons and one is not answer.dancers[0] else ""
            click.echo(f"{apart}Dancer {one.dancer}, {describe_span(one.span)} of the clip:")
        _print_dancer(one)
        if one.candidates and reasons:
            print_explanation(one, reasons[_key(one.candidates[0])], max_evalue)
    for ignored in answer.ignored if reasons else ():
        click.echo(ignored_line(ignored))


def _describe(answer: "Answer", reasons: "Mapping[tuple[int, str], Explanation]") -> dict[str, Any]:
    """The answer as JSON has it, with the reasons of each dancer's best candidate."""
    described = answer.described()
    for one, told in zip(answer.dancers, described["dancers"], strict=True):
        if one.candidates and reasons:
            told["explanation"] = dataclasses.asdict(reasons[_key(one.candidates[0])])
    return described


def _print_dancer(one: "DancerAnswer") -> None:
    if not one.candidates:
        return
    click.echo(verdict_sentence(one.candidates[0]))
    if one.verdict == "no match":
        click.echo("The nearest dances, none of them near enough:")
        print_matches(list(one.candidates[:NEAREST]))
    else:
        print_matches(list(one.candidates))


def _say_that_nothing_was_searched(clip: Path, catalogue: str, only: DanceFilter) -> None:
    if only == DanceFilter():
        say(f"no match: {clip} is none of the dances in {catalogue}, which is empty")
    else:
        say(
            f"no match: {catalogue} has no dance of that label, collection and kind; "
            "'dancematch list' names all"
        )


def print_matches(matches: "list[Match]") -> None:
    """Show matches as a table."""
    emit_table(
        ["verdict", "dance", "where in the dance", "tempo", "mirrored", "body", "by accident"],
        [
            [
                match.verdict,
                match.dance_id,
                f"{match.reference.start:.1f} to {match.reference.end:.1f} s",
                f"x{match.tempo:.2f}",
                "yes" if match.mirrored else "no",
                _body(match),
                accident_cell(match.evalue),
            ]
            for match in matches
        ],
    )


def _body(match: "Match") -> str:
    """How much each region of the body agrees; one that the clip does not show is left out."""
    regions = [name for name in ("arms", "torso", "legs") if name in match.parts]
    return ", ".join(f"{name} {match.parts[name]:.2f}" for name in regions)
