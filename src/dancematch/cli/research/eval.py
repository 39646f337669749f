"""dancematch eval: how well dances are found."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click

from dancematch.cli.options import option, option_group
from dancematch.cli.output import counted, emit_json, json_line, require_free, say, share_bar
from dancematch.cli.research.audit import audit_command
from dancematch.cli.research.eval_tables import emit_tables
from dancematch.cli.research.weights import weights_command
from dancematch.evaluation.methods.word_methods import SEARCHES
from dancematch.evaluation.suites.registry import PROGRAMME_KINDS, SUITES, SuiteOptions, SuiteOptionsError
from dancematch.formats.files import fit_file_name


@dataclass(frozen=True)
class MethodOptions:
    """Which methods are measured."""

    methods: tuple[str, ...] = option(
        "--method", multiple=True,
        help="With the shipped network: stage1, two-stage, likelihood, brute-force, paper. Words without a "
        "network: kmeans, kmeans-two-stage, kmeans-cosine, kmeans-whole. Without words: dtw, "
        "late-interaction. May be given several times; default: the first five, kmeans and dtw, as far as "
        "they fit the suite. The suite real has methods of its own: words, synchrony, both, dtw-angles.",
    )  # fmt: skip
    models: tuple[str, ...] = option(
        "--model", multiple=True, help="A model's folder or name to run; may be given several times."
    )
    searches: tuple[str, ...] = option(
        "--search", type=click.Choice(list(SEARCHES)), multiple=True,
        help="How the words of a --model or of kmeans are searched: histograms alone (the default); with the "
        "order of words; with synchrony too, as 'search' does; words without a shortlist; or as the paper "
        "prints it. May be given several times.",
    )  # fmt: skip
    phases: int = option(
        "--phases", type=click.IntRange(1), default=1, help="Starting frames to count a query's words at."
    )
    soft: bool = option(
        "--soft", is_flag=True, help="Count each moment of a query as its three nearest words."
    )
    refit: bool = option(
        "--refit", is_flag=True,
        help="Fit each kmeans method anew on the genres that are not queried; a --model stays as it is.",
    )  # fmt: skip


@dataclass(frozen=True)
class QueryOptions:
    """Which queries are asked."""

    query_genres: str | None = option("--query-genres", help="Only queries of these genres, such as PO,LH.")
    max_queries: int | None = option(
        "--max-queries", type=click.IntRange(1), help="Only so many queries, drawn by the seed."
    )
    leave_out: int = option(
        "--leave-out", type=click.IntRange(1), default=1, show_default=True, metavar="K",
        help="Clips of a query's class that its catalogue lacks, itself included (leave-K-out): aist-genre, "
        "aist-choreography.",
    )  # fmt: skip
    seconds: tuple[float, ...] = option(
        "--seconds", type=click.FloatRange(0.5), multiple=True,
        help="Of an excerpt (default 5); several: each.",
    )  # fmt: skip
    strength: tuple[float, ...] = option(
        "--strength", type=click.FloatRange(0), multiple=True,
        help="Of an excerpt's changes (default 1, a usual amount); several: each.",
    )  # fmt: skip
    kinds: tuple[str, ...] = option(
        "--kind", type=click.Choice(PROGRAMME_KINDS), multiple=True,
        help="Of medley's programmes (default: those whose data is given); may be given several times.",
    )  # fmt: skip
    programmes: int | None = option(
        "--programmes",
        type=click.IntRange(1),
        help="Of each kind and part of medley (default 4).",
    )
    seed: int = option("--seed", type=click.IntRange(0), default=0, show_default=True)

    def by_name(self) -> dict[str, Any]:
        """The options, the genres as a list."""
        return {**vars(self), "query_genres": self.query_genres.split(",") if self.query_genres else ()}


@dataclass(frozen=True)
class DataOptions:
    """What is read."""

    data: Path = option(
        "--data", required=True, type=click.Path(path_type=Path),
        help="Folder in the public AIST++ layout; for benchmark a release, for real clips with an index.csv.",
    )  # fmt: skip
    views: Path | None = option(
        "--views", type=click.Path(path_type=Path), help="Folder of view_*.npz: video, open-set."
    )
    unknown: Path | None = option(
        "--unknown", type=click.Path(path_type=Path, exists=True),
        help="Folder of motions that are not in the data, for open-set, where as many made-up dances are "
        "added, and for medley.",
    )  # fmt: skip
    distractors: Path | None = option(
        "--distractors", type=click.Path(path_type=Path, exists=True),
        help="Folder in the AIST++ layout, for real: its sequences are further recordings to search among.",
    )  # fmt: skip
    skeletons: Path | None = option(
        "--skeletons", type=click.Path(path_type=Path),
        help="Folder for the skeletons of real and medley; default: one in the user's cache.",
    )  # fmt: skip
    clips: Path | None = option(
        "--clips", type=click.Path(path_type=Path, exists=True),
        help="Folder of clips with an index.csv, for medley: programmes of them, as skeletons and as videos.",
    )  # fmt: skip
    videos: Path | None = option(
        "--videos", type=click.Path(path_type=Path, file_okay=False),
        help="Folder for medley's programmes as videos, which are kept; without it there are none.",
    )  # fmt: skip


@dataclass(frozen=True)
class ResultOptions:
    """Where results go."""

    output: Path | None = option(
        "-o", "--output", type=click.Path(path_type=Path), help="Keep the JSON lines in this file."
    )
    force: bool = option("--force", is_flag=True, help="Replace the output file if it is there.")
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object per line.")


_SUITE_LINES = [
    *(f"{name:17}  {'by itself: ' if suite.alone else ''}{suite.summary}" for name, suite in SUITES.items()),
    "audit CATALOGUE    how well changed dances of your own catalogue are found ('eval audit --help')",
    "weights CATALOGUE  how much each metric counts, learnt from its dances ('eval weights --help')",
]
_HELP = "\n".join([
    "Run SUITEs and print what each method or model reaches, with 95 % intervals.", "",
    "\b", *_SUITE_LINES, "",
    """\b
Example:
  dancematch eval aist-genre aist-choreography aist-cross-dancer --data aistpp -o results.jsonl
  dancematch eval aist-cross-dancer --data aistpp --query-genres PO,LH --method kmeans --refit
  dancematch eval aist-cross-dancer --data aistpp --model my-model --search two-stage --json
  dancematch eval excerpt --data aistpp --seconds 2 --seconds 10 --method two-stage --max-queries 100
  dancematch eval open-set --data aistpp --unknown cmu
  dancematch eval benchmark --data bench --json
  dancematch eval real --data clips --distractors aistpp -o real.jsonl
  dancematch eval medley --data aistpp --unknown cmu --clips clips --programmes 2 -o medley.jsonl
  dancematch eval audit dances.db
""",
])  # fmt: skip


class EvalCommand(click.Command):
    """`eval SUITE...`; suites that measure your own catalogue are commands with options of their own."""

    catalogue_suites: ClassVar[dict[str, click.Command]] = {
        "audit": audit_command, "weights": weights_command
    }  # fmt: skip

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """As click does, for the suite's own command if it has one."""
        own = self.catalogue_suites.get(args[0]) if args else None
        if own is None:
            return super().make_context(info_name, args, parent, **extra)
        return own.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)


@click.command("eval", cls=EvalCommand, help=_HELP)
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True, type=click.Choice(list(SUITES)))
@option_group("place", DataOptions)
@option_group("asked", QueryOptions)
@option_group("chosen", MethodOptions)
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count(), help="Threads to use (default: all cores)."
)
@option_group("results", ResultOptions)
def eval_command(
    suites: tuple[str, ...],
    place: DataOptions,
    asked: QueryOptions,
    chosen: MethodOptions,
    jobs: int,
    results: ResultOptions,
) -> None:
    """Run suites and print their results; click shows `_HELP`, which has the table of suites."""
    from dancematch.evaluation.suites.run import Reporter, run_suites

    options = SuiteOptions(**vars(place), **asked.by_name(), **vars(chosen), jobs=jobs)
    try:
        lines = run_suites(suites, options, Reporter(say, counted, share_bar))
    except SuiteOptionsError as error:
        raise click.UsageError(str(error)) from None
    with _emitter(results) as emit:
        for line in lines:
            emit(line)


@contextmanager
def _emitter(wanted: ResultOptions) -> Iterator[Callable[[Any], None]]:
    """Prints each result as it comes, or all in a table at the end; the file appears when all are there."""
    output = wanted.output
    if output is not None:
        require_free(output, wanted.force)
    results: list[Any] = []
    part = output.with_name(fit_file_name(f"{output.name}.part")) if output else None
    if part:
        part.write_text("", encoding="utf-8")

    def emit(result: Any) -> None:
        if getattr(result, "chance", 0) >= 1 and result.suite not in {one.suite for one in results}:
            say(
                f"{result.suite}: every answer is right here; add clips that would be wrong answers,"
                " or the figures say nothing"
            )
        results.append(result)
        if part:
            with part.open("a", encoding="utf-8") as file:
                file.write(json_line(result) + "\n")
        if wanted.as_json:
            emit_json(result)

    yield emit
    if part and output:
        part.replace(output)
    if not wanted.as_json:
        emit_tables(results)
