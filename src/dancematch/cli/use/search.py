"""dancematch search: which dance is this?"""

import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.output import (
    emit_json,
    emit_table,
    ignored_line,
    json_option,
    max_evalue_option,
    require_free,
    say,
    share_bar,
)
from dancematch.cli.use.explanation import print_explanation
from dancematch.errors import DanceMatchError
from dancematch.pipeline.wording import accident_cell, describe_span, verdict_sentence
from dancematch.search.settings import DEFAULT_LIMIT, DEFAULT_SETTINGS, SETTINGS, DanceFilter, Settings

if TYPE_CHECKING:
    from dancematch.pipeline.answer import Answer, DancerAnswer
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.search.explain import EvidenceMatrix, Explanation
    from dancematch.types import Match

NO_MATCH = 3
NEAREST = 3  # dances that are named when none is a match


@click.command("search")
@click.argument("catalogue")
@click.argument("clip", type=click.Path(path_type=Path))
@click.option(
    "--limit", type=click.IntRange(1), default=DEFAULT_LIMIT, show_default=True, help="Dances to show."
)
@max_evalue_option(
    "A dance that a search gives by accident more often than this is no match, only a possible one."
)
@click.option("--label", help="Only dances with this label.")
@click.option("--collection", help="Only dances of this collection.")
@click.option("--periodic/--no-periodic", default=None, help="Only dances that repeat themselves, or do not.")
@click.option(
    "--weights", metavar="default|paper|FILE", default="default", show_default=True,
    help="How much each metric counts; a FILE is what 'dancematch fit-weights' writes. Rare words count more "
    "in histograms whatever the weights.",
)  # fmt: skip
@click.option(
    "--shortlist", type=click.Choice(["capped", "paper", "all"]),
    help="Dances to look at closely: the likeliest 200, half of them, or all of them (slow).",
)  # fmt: skip
@click.option(
    "--explain", is_flag=True, help="Say, of each dancer, why the likeliest dance is a match or is none."
)
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False),
    help="Draw how the clip lies in the first match: a .png, .svg or .pdf file.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Let --plot replace a file that is there.")
@click.option(
    "--cluster", metavar="auto|ADDRESS",
    help="Search in parts on a Ray cluster: the one on this machine, or at an address. The parts are loaded "
    "first and end with the command: a service keeps them.",
)  # fmt: skip
@click.option("--shards", type=click.IntRange(1), help="With --cluster: the number of parts [default: 4].")
@click.option("--model", help="A shipped model's name or a model's folder.")
@json_option
def search_command(
    catalogue: str,
    clip: Path,
    limit: int,
    max_evalue: float,
    label: str | None,
    collection: str | None,
    periodic: bool | None,
    weights: str,
    shortlist: str | None,
    explain: bool,
    plot: Path | None,
    force: bool,
    cluster: str | None,
    shards: int | None,
    model: str | None,
    as_json: bool,
) -> None:
    """Say which dance of CATALOGUE the CLIP (a video, motion file or file of words) is.

    One verdict per dancer: match, possible match or no match. Exits with 0 if any is a match or a
    possible one and with 3 if none is; a label or collection that no dance has is an error. A file of
    words is what 'dancematch fingerprint' writes.

    With --json, one object; of a clip that cannot be read or shows nobody it has the verdict null
    and the error, which goes to stderr too, with exit code 1.

    \b
    Example:
      dancematch search dances.db phone.mp4
      dancematch search dances.db phone.mp4 --json
      dancematch search dances.db phone.mp4 --collection studio --explain
      dancematch search dances.db phone.mp4 --plot why.png
    """
    from dancematch.pipeline.catalogue import open_catalogue
    from dancematch.pipeline.query import holds_words

    if shards is not None and cluster is None:
        raise click.UsageError("--shards says how a cluster splits the catalogue; give --cluster too")
    settings, only = _settings(weights, shortlist), DanceFilter(label, collection, periodic)
    if plot is not None:
        _require_drawable(plot, force)
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("analysing") as report:
        if cluster is not None:
            _search_on_cluster(known, catalogue, cluster, shards)
        try:
            answer = known.search(
                clip, limit=limit, max_evalue=max_evalue, only=only, settings=settings, on_progress=report
            )
        except DanceMatchError as error:
            if as_json:  # one object for the clip, whatever is wrong with it
                emit_json({"clip": clip.name, "verdict": None, "error": str(error)})
            raise
        first = answer.matches[0] if answer.matches else None
        wanted = [one.candidates[0] for one in answer.dancers if one.candidates] if explain else []
        if plot is not None and first is not None and first not in wanted:
            wanted.append(first)
        reasons = {_key(one): known.explain(answer.query, one, settings) for one in wanted}
    if holds_words(clip):
        say(f"{clip} holds words alone: mirrored, it is read from what they tell of, which scores lower")
    explained = {key: why for key, (why, _) in reasons.items()} if explain else {}
    _print_answer(answer, explained, clip, max_evalue, as_json)
    if answer.verdict == "no match":
        if not answer.candidates:
            _say_that_nothing_was_searched(clip, catalogue, only)
        sys.exit(NO_MATCH)
    if plot is not None and first is not None:
        _draw(plot, first, reasons[_key(first)][1], clip.name, force)


def _search_on_cluster(known: "Catalogue", where: str, address: str, shards: int | None) -> None:
    from dancematch.cluster.search import SHARDS, ClusterSearch

    known.searcher = ClusterSearch(known, where, address, shards=shards or SHARDS)


def _key(match: "Match") -> tuple[int, str]:
    return match.dancer, match.dance_id


def _draw(path: Path, match: "Match", evidence: "EvidenceMatrix", clip: str, force: bool) -> None:
    from dancematch.report.plots import draw_match

    draw_match(path, match, evidence, clip, overwrite=force)
    say(f"{path}: how {clip} lies in {match.dance_id}")


def _settings(weights: str, shortlist: str | None) -> Settings:
    """What the options say about a search."""
    from dataclasses import replace

    from dancematch.search.metrics.weights import read_weights

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
