"""dancematch search: which dance is this?"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

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
from dancematch.index.settings import DEFAULT, LIMIT, SETTINGS, Only, Settings
from dancematch.pipeline.wording import (
    accident_cell,
    basis_sentence,
    describe_span,
    ratio_words,
    verdict_sentence,
)

if TYPE_CHECKING:
    from dancematch.index.engine import Engine
    from dancematch.index.explain import Evidence, Explanation
    from dancematch.index.periodicity import Period
    from dancematch.pipeline.answer import Answer, DancerAnswer
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.pipeline.extract import Progress
    from dancematch.pipeline.readings import ClipReading
    from dancematch.types import Match, Passage, Span

NO_MATCH = 3
NEAREST = 3  # dances that are named when none is a match


@click.command("search")
@click.argument("catalogue")
@click.argument("clip", type=click.Path(path_type=Path))
@click.option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="Dances to show.")
@max_evalue_option(
    "A dance that a search gives by accident more often than this is no match, only a possible one."
)
@click.option("--label", help="Only dances with this label.")
@click.option("--bank", help="Only dances of this collection.")
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
@click.option("--explain", is_flag=True, help="Say why the first match is one.")
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
    bank: str | None,
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
    possible one and with 3 if none is; a label or bank that no dance has is an error. A file of
    words is what 'dancematch fingerprint' writes.

    \b
    Example:
      dancematch search dances.db phone.mp4
      dancematch search dances.db phone.mp4 --json
      dancematch search dances.db phone.mp4 --bank studio --explain
      dancematch search dances.db phone.mp4 --plot why.png
    """
    from dancematch.pipeline.answer import search_dancers
    from dancematch.pipeline.catalogue import open_catalogue

    if shards is not None and cluster is None:
        raise click.UsageError("--shards says how a cluster splits the catalogue; give --cluster too")
    settings, only = _settings(weights, shortlist), Only(label, bank, periodic)
    if plot is not None:
        _require_drawable(plot, force)
    with open_catalogue(catalogue, model=model, create=False) as known, share_bar("looking") as tell:
        known.require_any(label, bank)
        read = _read(clip, known, tell)
        with _searcher(known, catalogue, cluster, shards) as (search, engine_of):
            answer = search_dancers(
                search, read, limit=limit, max_evalue=max_evalue, only=only, settings=settings
            )
            first = answer.matches[0] if answer.matches else None
            wanted = first is not None and (explain or plot is not None)
            engine = engine_of(first.dance_id) if first is not None and wanted else None
        why, evidence = _explained(engine, read, first, settings) if engine and first else (None, None)
    _tell(answer, why if explain else None, clip, as_json)
    if answer.verdict == "no match":
        if not answer.candidates:
            _tell_of_nothing(clip, catalogue, only)
        sys.exit(NO_MATCH)
    if plot is not None and evidence is not None and first is not None:
        _draw(plot, first, evidence, clip.name, force)


def _read(clip: Path, known: "Catalogue", tell: "Progress") -> "ClipReading":
    """The dancers of the clip."""
    from dancematch.pipeline.readings import holds_words

    read = known.read_clip(clip, tell)
    if holds_words(clip):
        say(f"{clip} holds words alone: mirrored, it is read from what they tell of, which scores lower")
    return read


@contextmanager
def _searcher(
    known: "Catalogue", where: str, cluster: str | None, shards: int | None
) -> "Iterator[tuple[Callable[..., list[Match]], Callable[[str], Engine]]]":
    """How to search, and an engine to explain a dance by: those of a cluster, or of this process."""
    if cluster is None:
        engine = known.engine()
        yield engine.search, lambda _name: engine
        return
    from dancematch.cluster.search import SHARDS, ClusterSearch

    with ClusterSearch(known, where, cluster, shards=shards or SHARDS) as spread:
        yield spread.search_queries, spread.engine_of


def _explained(
    engine: "Engine", read: "ClipReading", match: "Match", settings: Settings
) -> "tuple[Explanation, Evidence]":
    from dancematch.index.explain import explain

    own = next(one for one in read.performances if one.dancer == match.dancer)
    return explain(engine, own.queries()[int(match.mirrored)], match, settings)


def _draw(path: Path, match: "Match", evidence: "Evidence", clip: str, force: bool) -> None:
    from dancematch.pipeline.pictures import draw_match

    draw_match(path, match, evidence, clip, overwrite=force)
    say(f"{path}: how {clip} lies in {match.dance_id}")


def _settings(weights: str, shortlist: str | None) -> Settings:
    """What the options say about a search."""
    from dataclasses import replace

    from dancematch.index.weights import read_weights

    chosen = SETTINGS.get(weights) or replace(DEFAULT, weights=read_weights(weights), ranked_by="score")
    return replace(chosen, shortlist=shortlist) if shortlist else chosen  # type: ignore[arg-type]


def _require_drawable(path: Path, force: bool) -> None:
    """Say before the work what would stop the picture after it."""
    from dancematch.pipeline.pictures import require_drawable

    require_free(path, force)
    require_drawable(path)


def _tell(answer: "Answer", why: "Explanation | None", clip: Path, as_json: bool) -> None:
    """One object, or one section per dancer: the verdict in a sentence, then the likeliest dances."""
    if as_json:
        import dataclasses

        described = {"clip": clip.name, **answer.described()}
        emit_json(described | ({"explanation": dataclasses.asdict(why)} if why is not None else {}))
        return
    for one in answer.dancers:
        if len(answer.dancers) > 1:
            click.echo(f"Dancer {one.dancer}, {describe_span(one.span)} of the clip:")
        _print_dancer(one)
    if why is not None:
        print_explanation(answer.matches[0], why)
        for ignored in answer.ignored:
            click.echo(ignored_line(ignored))


def _print_dancer(one: "DancerAnswer") -> None:
    if not one.candidates:
        return
    click.echo(verdict_sentence(one.candidates[0]))
    if one.verdict == "no match":
        click.echo("The nearest dances, none of them near enough:")
        print_matches(list(one.candidates[:NEAREST]))
    else:
        print_matches(list(one.candidates))


def _tell_of_nothing(clip: Path, catalogue: str, only: Only) -> None:
    if only == Only():
        say(f"no match: {clip} is none of the dances in {catalogue}, which is empty")
    else:
        say(f"no match: {catalogue} has no dance of that label, bank and kind; 'dancematch list' names all")


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


def print_explanation(match: "Match", why: "Explanation") -> None:
    """Show why a match is one, as tables."""
    click.echo("\n" + _explain_evidence(match))
    click.echo(f"\nWhy {match.dance_id}: each metric, 1 = the same; those with a weight make the score")
    _print_metrics(why)
    click.echo("\nThe words that say most for it; in brackets, how often the dance has the very same word")
    emit_table(
        ["body part", "word", "share", "in the clip", "in the dance"],
        [
            [
                said.channel.replace("_", " "),
                f"{said.word} ({100 * said.same:.0f} %)",
                f"{100 * said.share:.1f} %",
                _when(said.query),
                _when(said.reference),
            ]
            for said in why.words
        ],
    )
    click.echo("\nThe passages that match, best first")
    emit_table(
        ["in the clip", "in the dance", "tempo", "and again in the dance"],
        [_passage_row(group) for group in why.passages],
    )
    click.echo("\n" + _period_line(match.dance_id, why.period))
    click.echo(_period_line("the clip", why.query_period))


def _explain_evidence(match: "Match") -> str:
    """How strong the evidence is, and how far both move at the same moments."""
    said = [] if match.log_ratio is None else [ratio_words(match.log_ratio)]
    if not basis_sentence(match):
        agree, seconds = match.parts["synchrony"], match.parts["synchrony_seconds"]
        said.append(f"Both move at the same moments: they agree by {agree:.2f} of 1 over {seconds:.0f} s.")
    return " ".join(said)


def _print_metrics(why: "Explanation") -> None:
    names = list(why.metrics)
    channels = dict.fromkeys(channel for one in why.metrics.values() for channel in one.by_channel)
    weights = [f"{one.weight:.2f}" if one.weight else "" for one in why.metrics.values()]
    overall = ["" if one.overall is None else f"{one.overall:.2f}" for one in why.metrics.values()]
    rows = [["weight", *weights], ["all together", *overall]]
    for channel in channels:
        values = [one.by_channel.get(channel) for one in why.metrics.values()]
        shown = ["" if value is None else f"{value:.2f}" for value in values]
        rows.append([channel.replace("_", " "), *shown])
    emit_table(["", *names], rows)


def _when(spans: "tuple[Span, ...]", most: int = 3) -> str:
    named = ", ".join(f"{span.start:.1f} to {span.end:.1f}" for span in spans[:most])
    return f"{named} s" + (f" and {len(spans) - most} more" if len(spans) > most else "")


def _passage_row(group: "tuple[Passage, ...]") -> list[str]:
    first, *again = group
    repeated = _when(tuple(passage.reference for passage in again)) if again else ""
    return [_when((first.query,)), _when((first.reference,)), f"x{first.tempo:.2f}", repeated]


def _period_line(what: str, period: "Period | None") -> str:
    if period is None:
        return f"{what} does not repeat itself"
    return f"{what} repeats itself every {period.seconds:.1f} s (strength {period.strength:.2f} of 1)"
